-- The candidates of a recall that _ranked serves, in the order of what their lines are worth:
-- without obstacles, and not in the profile part.
-- With extra_lines, the best of the procedural kinds have places of their own after the line_limit
-- of the others (D3 4.4), so that neither takes the other's places. A near-duplicate leaves its
-- place empty.
CREATE OR REPLACE FUNCTION _candidates(
    user_id text, settings mode, model smallint, query halfvec, question sparsevec,
    by_importance boolean, as_of timestamptz, keywords text[], except_ids bigint[],
    candidate_limit int, plain_question sparsevec, times tstzmultirange, pool bigint[])
    RETURNS TABLE (id bigint, kind smallint, score float8, cost float8, brief_cost float8,
                   terms sparsevec, term_count int, line text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    extra_kinds CONSTANT smallint[] :=
        CASE WHEN settings.extra_lines > 0 AND settings.line_limit IS NOT NULL
             THEN ARRAY(SELECT k.kind_id FROM kind AS k WHERE k.layer = 'procedural') END;
BEGIN
    -- The usual case, in which only the candidates get their lines.
    IF NOT settings.turns AND as_of = 'infinity' THEN
        RETURN QUERY
        SELECT s.id, s.kind, s.score, s.cost, s.brief_cost, l.terms, s.term_count, l.line
        FROM (
            SELECT s.*, row_number() OVER (PARTITION BY s.kind = ANY (extra_kinds)
                                           ORDER BY s.score DESC, s.created_at DESC, s.id) AS place
            FROM _scored(user_id, settings, model, query, question, by_importance, as_of, keywords,
                         plain_question, times, pool, with_line => false) AS s
            WHERE s.obstacle IS NULL AND s.id <> ALL (except_ids)
        ) AS s
        CROSS JOIN LATERAL (
            SELECT t.terms, t.line FROM trace AS t
            WHERE t.user_id = _candidates.user_id AND t.memory_id = s.id
              AND t.model = _candidates.model
            UNION ALL
            SELECT e.terms, e.line FROM event AS e
            WHERE s.id < 0 AND e.user_id = _candidates.user_id
              AND e.created_at = s.created_at AND e.event_id = -s.id
            OFFSET 0
        ) AS l
        WHERE s.place <= CASE WHEN s.kind = ANY (extra_kinds) THEN settings.extra_lines
                              WHEN extra_kinds IS NULL THEN candidate_limit
                              ELSE settings.line_limit END
        ORDER BY s.score DESC, s.created_at DESC, s.id
        LIMIT candidate_limit;
        RETURN;
    END IF;
    IF extra_kinds IS NULL THEN
        RETURN QUERY
        SELECT s.id, s.kind, s.score * s.worth AS score, s.cost, s.brief_cost, s.terms,
               s.term_count, s.line
        FROM (
            SELECT s.*
            FROM _ranked(user_id, settings, model, query, question, by_importance, as_of, keywords,
                         plain_question, times, candidate_limit, pool) AS s
            WHERE s.obstacle IS NULL AND s.id <> ALL (except_ids)
            ORDER BY s.score DESC
            FETCH FIRST (candidate_limit) ROWS WITH TIES
        ) AS s
        ORDER BY score DESC, s.created_at DESC, s.id
        LIMIT candidate_limit;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.id, s.kind, s.score * s.worth AS score, s.cost, s.brief_cost, s.terms, s.term_count,
           s.line
    FROM (
        SELECT s.*, row_number() OVER (PARTITION BY s.kind = ANY (extra_kinds)
                                       ORDER BY s.score DESC, s.created_at DESC, s.id) AS place
        FROM _ranked(user_id, settings, model, query, question, by_importance, as_of, keywords,
                     plain_question, times, candidate_limit, pool) AS s
        WHERE s.obstacle IS NULL AND s.id <> ALL (except_ids)
    ) AS s
    WHERE s.place <= CASE WHEN s.kind = ANY (extra_kinds) THEN settings.extra_lines
                          ELSE settings.line_limit END
    ORDER BY score DESC, s.created_at DESC, s.id
    LIMIT candidate_limit;
END $$;
