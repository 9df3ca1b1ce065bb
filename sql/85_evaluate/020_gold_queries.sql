-- The questions of a gold set as they were added: to export, to look at, and for a client that
-- makes missing vectors.
CREATE OR REPLACE FUNCTION gold_queries(gold_set text, user_id text DEFAULT NULL)
    RETURNS TABLE (gold_id bigint, query text, relevant_ids bigint[], grades float8[],
                   has_vector boolean)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_model smallint;
BEGIN
    PERFORM _check_gold_set(owner, gold_set);
    in_model := (_known_model(NULL)).model_id;
    RETURN QUERY
    SELECT g.gold_id, g.query,
           array_agg(r.memory_id ORDER BY r.memory_id) FILTER (WHERE r.memory_id IS NOT NULL),
           array_agg(r.grade ORDER BY r.memory_id) FILTER (WHERE r.memory_id IS NOT NULL),
           coalesce(g.model = in_model, false)
    FROM gold AS g
    LEFT JOIN gold_relevant AS r ON r.user_id = owner AND r.gold_id = g.gold_id
    WHERE g.user_id = owner AND g.gold_set = gold_queries.gold_set
    GROUP BY g.user_id, g.gold_id
    ORDER BY g.created_at, g.gold_id;
END $$;

COMMENT ON FUNCTION gold_queries(text, text) IS
    'The questions of a gold set, oldest first: relevant_ids with their grades (NULL when all of '
    'them were deleted since), and whether a vector of the active model is stored. Errors: ME006 '
    'user, ME012 no such gold set.';

CREATE OR REPLACE FUNCTION _check_gold_set(owner text, gold_set text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM gold AS g
                   WHERE g.user_id = owner AND g.gold_set = _check_gold_set.gold_set)
    THEN
        RAISE EXCEPTION 'user "%" has no gold set "%"', owner, gold_set
            USING ERRCODE = 'ME012',
                  DETAIL = (SELECT 'Gold sets: '
                                   || coalesce(string_agg(DISTINCT g.gold_set, ', '), 'none')
                            FROM gold AS g WHERE g.user_id = owner),
                  HINT = 'memoir.gold_add() makes one, and so does memoir eval import.';
    END IF;
END $$;
