-- Why each memory is or is not in the block: the debugger's view of one recall, same arguments, same arithmetic.
-- Scores with the functions of 50_score and chooses with _select, as _recall does; it writes no log row.
CREATE OR REPLACE FUNCTION memory_explain(
    query_vec halfvec DEFAULT NULL, mode text DEFAULT 'execute', budget int DEFAULT 800,
    query_text text DEFAULT NULL, user_id text DEFAULT NULL, session_id text DEFAULT NULL,
    as_of timestamptz DEFAULT NULL)
    RETURNS TABLE (place int, kind text, memory_id bigint, event_id bigint, content text, relevance float8,
                   cosine float8, coverage float8, decay float8, weight float8, score float8, tokens int,
                   reason text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    live CONSTANT boolean := as_of IS NULL;
    known_until CONSTANT timestamptz := coalesce(as_of, 'infinity');
    at CONSTANT timestamptz := coalesce(as_of, now());
    settings mode;
    model embedding_model;
    owned profile;
    question sparsevec;
    vector_share float8;
    candidate_limit int;
    ids bigint[];
    selection record;
BEGIN
    SELECT m.* INTO settings FROM mode AS m WHERE m.name = memory_explain.mode;
    SELECT e.* INTO STRICT model FROM embedding_model AS e WHERE e.active;
    IF settings.name IS NULL OR coalesce(budget NOT BETWEEN 1 AND 100000, true)
       OR NOT (isfinite(at) AND at >= '1970-01-01 00:00:00+00')
       OR vector_dims(query_vec) <> model.dimensions OR l2_norm(query_vec) = 0
    THEN
        PERFORM _check_recall(mode, coalesce(budget, -2147483648), query_vec, model.dimensions, at);
    END IF;
    SELECT p.* INTO owned FROM profile AS p WHERE p.user_id = owner;
    IF NOT live THEN
        SELECT p.snippet, _token_cost(p.snippet), p.memory_ids, 0, 0
        INTO owned.snippet, owned.snippet_cost, owned.snippet_ids, owned.counted, owned.counted_up_to
        FROM _profile_snippet(owner, at) AS p;
    END IF;
    IF NOT settings.profile OR owned.snippet_cost IS NULL OR owned.snippet_cost > budget THEN
        owned.snippet_cost := 0;
        owned.snippet_ids := '{}';
    END IF;
    question := _question(owner, model.model_id, nullif(query_text, ''), coalesce(owned.counted, 0),
                          coalesce(owned.counted_up_to, 0), known_until);
    vector_share := CASE WHEN question IS NULL THEN 1
                         ELSE settings.vector_weight / (settings.vector_weight + settings.word_weight) END;
    candidate_limit := greatest(settings.candidate_limit, budget / 20);

    RETURN QUERY
    WITH scored AS MATERIALIZED (
        SELECT r.*, r.relevance * r.factor AS score,
               row_number() OVER (ORDER BY r.relevance * r.factor DESC NULLS LAST, r.created_at DESC, r.id) AS rank
        FROM (
            SELECT t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms, t.term_count, t.line,
                   1 - (t.embedding <=> query_vec) AS cosine, -(t.terms <#> question) AS coverage,
                   _relevance(t.embedding, query_vec, vector_share, t.terms, question,
                              CASE WHEN query_vec IS NULL AND coalesce(query_text, '') = '' THEN t.importance END)
                       AS relevance,
                   _kind_factor(settings.plain_kinds, t.kind, settings.kind_weights, settings.kind_rates,
                                date_part('epoch', at), t.created_at) AS factor
            FROM trace AS t
            WHERE t.user_id = owner AND t.model = model.model_id AND t.active AND t.created_at <= known_until
            UNION ALL
            (SELECT -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms, e.term_count, e.line,
                    NULL, NULL, settings.event_relevance,
                    _kind_factor(settings.plain_kinds, 3::smallint, settings.kind_weights, settings.kind_rates,
                                 date_part('epoch', at), e.created_at)
             FROM event AS e
             WHERE e.user_id = owner AND e.type = ANY (settings.event_types)
               AND e.created_at > at - settings.event_hours * interval '1 hour' AND e.created_at <= at
             ORDER BY e.created_at DESC
             LIMIT settings.event_limit)
        ) AS r
    ), candidate AS MATERIALIZED (
        SELECT s.*, row_number() OVER (ORDER BY s.rank) AS number
        FROM scored AS s
        WHERE s.score > settings.threshold AND s.id <> ALL (owned.snippet_ids)
        ORDER BY s.rank
        LIMIT candidate_limit
    ), selection AS MATERIALIZED (
        SELECT o.outcome, o.number
        FROM (
            SELECT _select(array_agg(c.score ORDER BY c.number), array_agg(c.kind ORDER BY c.number),
                           array_agg(c.cost ORDER BY c.number), array_agg(c.brief_cost ORDER BY c.number),
                           array_agg(c.terms ORDER BY c.number), array_agg(c.term_count ORDER BY c.number),
                           settings.heading_costs, min(least(c.cost, c.brief_cost)), settings.mmr_lambda,
                           settings.mmr_lines, settings.duplicate_at, coalesce(settings.line_limit, 2147483647),
                           budget - owned.snippet_cost) AS result
            FROM candidate AS c
        ) AS s, unnest((s.result).outcome) WITH ORDINALITY AS o (outcome, number)
    )
    SELECT CASE WHEN o.outcome > 0 THEN o.outcome END,
           k.name,
           CASE WHEN s.id > 0 THEN s.id END,
           CASE WHEN s.id < 0 THEN -s.id END,
           s.line, s.relevance, s.cosine, s.coverage,
           _decay(settings.kind_rates[s.kind], date_part('epoch', at) - date_part('epoch', s.created_at)),
           settings.kind_weights[s.kind],
           s.score,
           ceil(s.cost)::int,
           CASE
               WHEN s.id = ANY (owned.snippet_ids) THEN 'profile'
               WHEN o.outcome > 0 THEN 'in block'
               WHEN s.score IS NULL THEN 'no vector and no words to compare'
               WHEN s.score <= settings.threshold THEN 'below threshold'
               WHEN c.number IS NULL THEN 'beyond the candidate limit'
               WHEN o.outcome < 0 THEN (
                   SELECT format('duplicate of %s %s', CASE WHEN d.id > 0 THEN 'memory' ELSE 'event' END, abs(d.id))
                   FROM candidate AS d WHERE d.number = -o.outcome)
               ELSE 'over budget'
           END
    FROM scored AS s
    JOIN kind AS k ON k.kind_id = s.kind
    LEFT JOIN candidate AS c ON c.id = s.id
    LEFT JOIN selection AS o ON o.number = c.number
    UNION ALL
    SELECT NULL, m.kind, m.memory_id, NULL, _line(m.content, 200), NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           CASE WHEN m.created_at > known_until THEN 'not known yet' ELSE m.status END
    FROM memory AS m
    WHERE m.user_id = owner AND (m.status <> 'active' OR m.created_at > known_until)
    ORDER BY 1 NULLS LAST, 11 DESC NULLS LAST, 3, 4
    LIMIT 1000;
END $$;

COMMENT ON FUNCTION memory_explain(halfvec, text, int, text, text, text, timestamptz) IS
    'One row for each memory and recent event with every part of its score and why it is or is not in the block: '
    'in block, profile, below threshold, beyond the candidate limit, duplicate of ..., over budget, or its status. '
    'score = relevance x decay x weight. place: order of choice. At most 1,000 rows, the block first. Arguments '
    'and errors as recall().';
