-- Why each memory is or is not in the block: the debugger's view of one recall, same arguments,
-- same arithmetic. Scores with the functions of 50_score and chooses with _select, as _recall does;
-- it writes no log row.
CREATE OR REPLACE FUNCTION memory_explain(
    query_vec halfvec DEFAULT NULL, mode text DEFAULT 'execute', budget int DEFAULT 800,
    query_text text DEFAULT NULL, user_id text DEFAULT NULL, session_id text DEFAULT NULL,
    as_of timestamptz DEFAULT NULL)
    RETURNS TABLE (place int, kind text, memory_id bigint, event_id bigint, content text,
                   relevance float8, cosine float8, coverage float8, decay float8, weight float8,
                   score float8, tokens int, reason text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    known_until CONSTANT timestamptz := coalesce(as_of, 'infinity');
    at CONSTANT timestamptz := coalesce(as_of, now());
    settings mode;
    model embedding_model;
    profile_cost float8;
    profile_ids bigint[];
    question sparsevec;
    by_importance CONSTANT boolean := query_vec IS NULL AND coalesce(query_text, '') = '';
    candidate_limit int;
    ids bigint[];
    chosen int[];
    spent float8;
    outcomes int[];
BEGIN
    SELECT m.* INTO settings FROM mode AS m WHERE m.name = memory_explain.mode;
    SELECT e.* INTO STRICT model FROM embedding_model AS e WHERE e.active;
    IF settings.name IS NULL OR coalesce(budget NOT BETWEEN 1 AND 100000, true)
       OR NOT (isfinite(at) AND at >= '1970-01-01 00:00:00+00')
       OR vector_dims(query_vec) <> model.dimensions OR l2_norm(query_vec) = 0
    THEN
        PERFORM _check_recall(mode, coalesce(budget, -2147483648), query_vec, model.dimensions, at);
    END IF;
    -- Counted from the memories themselves: the same numbers as the statistics give.
    question := _question_counting(owner, model.model_id, nullif(query_text, ''), 0, 0,
                                   known_until);
    SELECT p.cost, p.memory_ids INTO profile_cost, profile_ids
    FROM _profile_as_of(owner, mode, budget, known_until) AS p;
    candidate_limit := _candidate_limit(settings.candidate_limit, budget);

    -- As _recall does, with more candidates where short lines leave the budget unused.
    LOOP
        SELECT x.ids, (x.result).chosen, (x.result).spent, (x.result).outcome
        INTO ids, chosen, spent, outcomes
        FROM (
            SELECT array_agg(c.id) AS ids,
                   _select(array_agg(c.score), array_agg(c.kind), array_agg(c.cost),
                           array_agg(c.brief_cost), array_agg(c.terms), array_agg(c.term_count),
                           settings.heading_costs, min(least(c.cost, c.brief_cost)),
                           settings.mmr_lambda, settings.mmr_lines, settings.duplicate_at,
                           coalesce(settings.line_limit, 2147483647),
                           budget - profile_cost, NULL, NULL) AS result
            FROM (SELECT s.*
                  FROM _scored(owner, settings, model.model_id, query_vec, question,
                               by_importance, known_until) AS s
                  WHERE s.score > settings.threshold AND s.id <> ALL (profile_ids)
                  ORDER BY s.score DESC, s.created_at DESC, s.id
                  LIMIT candidate_limit) AS c
        ) AS x;
        EXIT WHEN _enough(cardinality(ids), candidate_limit, cardinality(chosen),
                          settings.line_limit, spent, budget - profile_cost);
        candidate_limit := least(4 * candidate_limit, 1000);
    END LOOP;

    RETURN QUERY
    SELECT CASE WHEN o.outcome > 0 THEN o.outcome END,
           k.name,
           CASE WHEN s.id > 0 THEN s.id END,
           CASE WHEN s.id < 0 THEN -s.id END,
           s.line, s.relevance, s.cosine, s.coverage,
           _decay(settings.kind_rates[s.kind],
                  date_part('epoch', at) - date_part('epoch', s.created_at)),
           settings.kind_weights[s.kind],
           s.score,
           _whole_tokens(s.cost),
           CASE
               WHEN s.id = ANY (profile_ids) THEN 'profile'
               WHEN o.outcome > 0 THEN 'in block'
               WHEN s.score IS NULL THEN 'no vector and no words to compare'
               WHEN s.score <= settings.threshold THEN 'below threshold'
               WHEN o.id IS NULL THEN 'beyond the candidate limit'
               WHEN o.outcome < 0 THEN (
                   SELECT format('duplicate of %s %s',
                                 CASE WHEN d.id > 0 THEN 'memory' ELSE 'event' END, abs(d.id))
                   FROM (VALUES (ids[-o.outcome])) AS d (id))
               WHEN o.outcome IS NULL AND settings.line_limit <= cardinality(chosen)
                   THEN 'beyond the line limit'
               ELSE 'over budget'
           END
    FROM _scored(owner, settings, model.model_id, query_vec, question, by_importance,
                 known_until) AS s
    JOIN kind AS k ON k.kind_id = s.kind
    LEFT JOIN unnest(ids, outcomes) AS o (id, outcome) ON o.id = s.id
    UNION ALL
    SELECT NULL, m.kind, m.memory_id, NULL, _line(m.content, 200),
           NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           CASE WHEN m.created_at > known_until THEN 'not known yet' ELSE m.status END
    FROM memory AS m
    WHERE m.user_id = owner AND (m.status <> 'active' OR m.created_at > known_until)
    ORDER BY 1 NULLS LAST, 11 DESC NULLS LAST, 3, 4
    LIMIT 1000;
END $$;

COMMENT ON FUNCTION memory_explain(halfvec, text, int, text, text, text, timestamptz) IS
    'One row for each memory and recent event with every part of its score and why it is or is not '
    'in the block: in block, profile, below threshold, beyond the candidate limit, duplicate of '
    '..., over budget, or its status. score = relevance x decay x weight. place: order of choice. '
    'At most 1,000 rows, the block first. Arguments and errors as recall().';
