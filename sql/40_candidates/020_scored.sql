-- Every memory and recent event of a user with all parts of its score: the complete, slower form of
-- the candidate statement in _recall, for memory_explain and for recalls of the past (as_of), which
-- see what was known then.
CREATE OR REPLACE FUNCTION _scored(
    user_id text, settings mode, model smallint, query halfvec, question sparsevec,
    by_importance boolean, as_of timestamptz)
    RETURNS TABLE (id bigint, kind smallint, created_at timestamptz, cost float8, brief_cost float8,
                   terms sparsevec, term_count int, line text, cosine float8, coverage float8,
                   relevance float8, factor float8, score float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := CASE WHEN as_of = 'infinity' THEN now() ELSE as_of END;
    at_epoch CONSTANT float8 := date_part('epoch', at);
    vector_share CONSTANT float8 := CASE WHEN question IS NULL THEN 1
        ELSE settings.vector_weight / (settings.vector_weight + settings.word_weight) END;
BEGIN
    RETURN QUERY
    SELECT s.*, s.factor * s.relevance
    FROM (
        SELECT t.memory_id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms, t.term_count,
               t.line, 1 - (t.embedding <=> query), -(t.terms <#> question),
               _relevance(t.embedding, query, vector_share, t.terms, question,
                          CASE WHEN by_importance THEN t.importance END) AS relevance,
               _kind_factor(settings.plain_kinds, t.kind, settings.kind_weights,
                            settings.kind_rates, at_epoch, t.created_at) AS factor
        FROM trace AS t
        WHERE t.user_id = _scored.user_id AND t.model = _scored.model AND t.active
          AND t.created_at <= _scored.as_of
        UNION ALL
        (SELECT -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms, e.term_count,
                e.line, NULL, NULL, settings.event_relevance,
                _kind_factor(settings.plain_kinds, 3::smallint, settings.kind_weights,
                             settings.kind_rates, at_epoch, e.created_at)
         FROM event AS e
         WHERE e.user_id = _scored.user_id AND e.type = ANY (settings.event_types)
           AND e.created_at > at - settings.event_hours * interval '1 hour' AND e.created_at <= at
         ORDER BY e.created_at DESC
         LIMIT settings.event_limit)
    ) AS s;
END $$;
