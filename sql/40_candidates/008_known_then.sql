-- The traces of a user as they were known at a time: what was superseded or archived since is among
-- them, what was rewritten since has the text and vector it had (none, if another model made it),
-- and its importance. Forgotten memories are not: they take part in no recall (SPEC 4.2). pool: of
-- the active ones only these; NULL: all.
CREATE OR REPLACE FUNCTION _known_then(
    user_id text, model smallint, as_of timestamptz, pool bigint[]) RETURNS SETOF trace
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH known AS NOT MATERIALIZED (
        SELECT t.* FROM trace AS t
        WHERE pool IS NULL AND t.user_id = _known_then.user_id AND t.model = _known_then.model
          AND t.active AND t.created_at <= as_of
        UNION ALL
        SELECT t.* FROM trace AS t
        WHERE t.user_id = _known_then.user_id AND t.memory_id = ANY (pool)
          AND t.model = _known_then.model AND t.active AND t.created_at <= as_of
        UNION ALL
        SELECT t.* FROM memory AS m
        JOIN trace AS t ON t.user_id = m.user_id AND t.memory_id = m.memory_id
                       AND t.model = _known_then.model
        WHERE m.user_id = _known_then.user_id AND m.retired_at > as_of AND m.created_at <= as_of
          -- The end of one that was superseded was not known yet; its own end it had before.
          AND (m.status = 'superseded'
               OR m.status = 'archived' AND (m.valid_until <= as_of) IS NOT TRUE)
    ), before AS MATERIALIZED (
        SELECT r.memory_id,
               (array_agg(r.old_values || CASE WHEN r.model <> _known_then.model
                                               THEN '{"embedding": null}' ELSE '{}' END::jsonb
                          ORDER BY r.revision_id)
                    FILTER (WHERE r.old_values ? 'content'))[1] AS told,
               (array_agg((r.old_values ->> 'importance')::float8 ORDER BY r.revision_id)
                    FILTER (WHERE r.old_values ? 'importance'))[1] AS importance
        FROM revision AS r
        WHERE r.user_id = _known_then.user_id AND r.created_at > as_of
          AND r.old_values ?| '{content,importance}'
        GROUP BY r.memory_id
    )
    SELECT k.user_id, k.memory_id, k.model, k.kind, k.created_at,
           coalesce(b.importance, k.importance), k.session, k.position, coalesce(w.asks, k.asks),
           k.derived,
           CASE WHEN b.told IS NULL THEN k.cost ELSE _cost_of_line(l.line) END,
           CASE WHEN b.told IS NULL THEN k.brief_cost END,
           coalesce(w.term_count, k.term_count), coalesce(w.terms, k.terms),
           CASE WHEN b.told IS NULL OR NOT b.told ? 'embedding' THEN k.embedding
                ELSE (b.told ->> 'embedding')::halfvec END,
           coalesce(l.line, k.line), CASE WHEN b.told IS NULL THEN k.brief END, k.active, k.wide
    -- OFFSET 0: of what was not rewritten neither text is looked up nor words are counted.
    FROM known AS k
    LEFT JOIN before AS b ON b.memory_id = k.memory_id
    LEFT JOIN embedding_model AS e ON e.model_id = k.model AND b.told IS NOT NULL
    LEFT JOIN LATERAL (SELECT _line(_said(b.told ->> 'content', m.speaker, m.position),
                                    e.line_length) AS line, m.subject
                       FROM memory AS m
                       WHERE b.told IS NOT NULL AND m.user_id = _known_then.user_id
                         AND m.memory_id = k.memory_id
                       OFFSET 0) AS l ON true
    LEFT JOIN LATERAL (SELECT v.* FROM _word_vector(
                           b.told ->> 'content', _worded(b.told ->> 'content', l.subject), '',
                           e.term_limit) AS v
                       WHERE b.told IS NOT NULL
                       OFFSET 0) AS w ON true;
END $$;
