-- The embedding models of this database, and how far each is filled. Counted from the traces: a
-- change of model is rare, and then it must be right.
CREATE OR REPLACE FUNCTION models()
    RETURNS TABLE (name text, dimensions int, state text, vectors bigint, missing bigint,
                   added_at timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT e.name, e.dimensions,
           CASE WHEN e.active THEN 'in use' WHEN e.dropping THEN 'being dropped'
                WHEN c.missing > 0 THEN 'to be filled' ELSE 'ready' END,
           c.vectors, c.missing, e.created_at
    FROM embedding_model AS e
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(1) FILTER (WHERE t.embedding IS NOT NULL), 0)::bigint AS vectors,
               coalesce(sum(1) FILTER (WHERE t.active AND t.embedding IS NULL), 0)
                   + _without_trace(e.model_id) AS missing
        FROM trace AS t
        WHERE t.model = e.model_id) AS c
    ORDER BY e.active DESC, e.model_id;
END $$;

COMMENT ON FUNCTION models() IS
    'The embedding models of this database, the one in use first: name (NULL: no client named it '
    'yet), dimensions, state (in use, ready, to be filled, being dropped), vectors, missing '
    '(memories that have none of it, or not even a trace), added_at. Only rows that the caller may '
    'see are counted.';
