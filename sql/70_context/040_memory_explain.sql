-- Why each memory is or is not in the block: the debugger's view of one recall, with the same
-- arguments and the same arithmetic. It scores with _ranked and chooses with _select, as _recall
-- does, and writes no log row.
-- only_memory is not called memory_id because a column of the result is.

-- What _recall makes of a question: its words alone, and with names and features, the times that it
-- names, and the keywords that it asks for.
CREATE OR REPLACE FUNCTION _question_explained(
    user_id text, settings mode, model smallint, query_text text, has_vector boolean,
    known_until timestamptz, at timestamptz, OUT plain_question sparsevec, OUT question sparsevec,
    OUT times tstzmultirange, OUT keywords text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF query_text <> '' THEN
        plain_question := _question_of(user_id, model, query_text, known_until, 0, '');
        question := _question_of(
            user_id, model, query_text, known_until,
            settings.name_boost
                * CASE WHEN has_vector THEN 1 ELSE settings.boost_without_vector END,
            settings.asks_feature
            || CASE WHEN _asks_when(query_text) THEN settings.when_feature ELSE '' END);
        IF settings.time_boost <> 0 AND (question IS NOT NULL OR NOT has_vector) THEN
            times := _time_windows(query_text, at);
        END IF;
        IF settings.keyword_weight > 0 THEN
            keywords := _asked_keywords(user_id, query_text, known_until);
        END IF;
    END IF;
END $$;

-- What to call the words and features of a question that a memory has: for each its name, its
-- terms, and the weight from which on a memory is said to have it.
CREATE OR REPLACE FUNCTION _question_labels(
    user_id text, settings mode, query_text text,
    OUT labels text[], OUT terms sparsevec[], OUT sizes float8[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    SELECT array_agg(w.label ORDER BY w.label COLLATE "C"),
           array_agg(_term_set(w.terms, '{}') ORDER BY w.label COLLATE "C"),
           array_agg(w.size - 0.5 ORDER BY w.label COLLATE "C")
    INTO labels, terms, sizes
    FROM (
        SELECT q.word || CASE WHEN q.form = q.word THEN '' ELSE ' → ' || q.form END AS label,
               array_agg(DISTINCT q.term) AS terms, count(DISTINCT q.term) AS size
        FROM _question_words(_question_labels.user_id, query_text) AS q
        GROUP BY q.word, q.form
        -- A feature counts 2^-12 in a memory, a word 1.
        UNION ALL
        SELECT 'name ' || word, ARRAY[_feature('name ' || word)], 0.5
        FROM unnest(tokens(query_text)) AS word WHERE settings.name_boost <> 0
        UNION ALL
        SELECT 'says when', ARRAY[_feature('when')], 0.5
        WHERE settings.when_feature <> '' AND _asks_when(query_text)
        LIMIT 400
    ) AS w;
END $$;

-- Why a candidate was left out in favour of a chosen one; events have negative ids.
CREATE OR REPLACE FUNCTION _repeats(user_id text, id bigint, chosen_id bigint) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN format(
        '%s %s %s',
        CASE WHEN EXISTS (
            SELECT FROM relation AS r
            WHERE r.user_id = _repeats.user_id AND r.type = 'derived_from'
              AND (r.from_id, r.to_id) IN ((chosen_id, id), (id, chosen_id)))
        THEN 'told by' ELSE 'duplicate of' END,
        CASE WHEN chosen_id > 0 THEN 'memory' ELSE 'event' END, abs(chosen_id));
END $$;

-- Memories that no recall finds, and why: all, so many of the newest, or one.
CREATE OR REPLACE FUNCTION _not_recalled(
    user_id text, model smallint, known_until timestamptz, newest int, only_memory bigint)
    RETURNS TABLE (kind text, memory_id bigint, line text, reason text, importance float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.kind, m.memory_id, _line(_with_speaker(m.content, m.speaker, m.position), 200),
           CASE WHEN m.created_at > known_until THEN 'not known yet'
                WHEN m.status <> 'active' THEN m.status
                ELSE 'no trace of the active model' END,
           m.importance
    FROM (SELECT o.* FROM memory AS o
          WHERE o.user_id = _not_recalled.user_id AND o.memory_id = only_memory
          UNION ALL
          (SELECT o.* FROM memory AS o
           WHERE o.user_id = _not_recalled.user_id AND only_memory IS NULL
           ORDER BY o.user_id DESC, o.memory_id DESC
           LIMIT newest)) AS m
    WHERE (m.status <> 'active' AND (m.status IN ('superseded', 'archived')
                                     AND m.retired_at > known_until) IS NOT TRUE
           OR m.created_at > known_until
           OR NOT EXISTS (SELECT FROM trace AS t
                          WHERE t.user_id = _not_recalled.user_id AND t.memory_id = m.memory_id
                            AND t.model = _not_recalled.model
                            AND (t.active OR m.status <> 'active')));
END $$;

CREATE OR REPLACE FUNCTION memory_explain(
    query_vec halfvec DEFAULT NULL, mode text DEFAULT 'execute', budget int DEFAULT 800,
    query_text text DEFAULT NULL, user_id text DEFAULT NULL, session_id text DEFAULT NULL,
    as_of timestamptz DEFAULT NULL, only_memory bigint DEFAULT NULL)
    RETURNS TABLE (place int, kind text, memory_id bigint, event_id bigint, content text,
                   relevance float8, cosine float8, coverage float8, decay float8, weight float8,
                   score float8, tokens int, reason text,
                   keyword float8, graph float8, recency float8, importance float8,
                   interaction float8, priority float8, boost float8, neighbours float8,
                   session float8, matched text[], via text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    citing CONSTANT boolean := _cites(owner);
    refusal CONSTANT text := _writing_refused(owner, session_id);
    known_until CONSTANT timestamptz := coalesce(as_of, 'infinity');
    at CONSTANT timestamptz := coalesce(nullif(as_of, 'infinity'), now());
    settings mode;
    model embedding_model;
    profile_cost float8;
    profile_ids bigint[];
    question sparsevec;
    plain_question sparsevec;
    times tstzmultirange;
    by_day boolean;
    keywords text[];
    labels text[];
    label_terms sparsevec[];
    label_sizes float8[];
    by_importance boolean;
    candidate_limit int;
    large boolean;
    nearest boolean;
    pool bigint[];
    edges bigint[] := '{}';
    ids bigint[];
    brief_costs float8[];
    chosen int[];
    spent float8;
    outcomes int[];
BEGIN
    SELECT m.* INTO settings FROM mode AS m WHERE m.name = memory_explain.mode;
    model := _known_model(NULL);
    IF settings.name IS NULL OR coalesce(budget NOT BETWEEN 1 AND 100000, true)
       OR NOT (isfinite(at) AND at >= '1970-01-01 00:00:00+00')
       OR vector_dims(query_vec) <> model.dimensions OR l2_norm(query_vec) = 0
    THEN
        PERFORM _check_recall(mode, coalesce(budget, -2147483648), query_vec, model.dimensions, at);
    END IF;
    IF only_memory IS NOT NULL THEN
        PERFORM _check_memory(owner, only_memory);
    END IF;
    SELECT q.* INTO plain_question, question, times, keywords
    FROM _question_explained(owner, settings, model.model_id, query_text, query_vec IS NOT NULL,
                             known_until, at) AS q;
    IF query_text <> '' THEN
        SELECT q.labels, q.terms, q.sizes INTO labels, label_terms, label_sizes
        FROM _question_labels(owner, settings, query_text) AS q;
    END IF;
    by_day := _wants_days(settings.day_headings, query_text, at);
    by_importance := query_vec IS NULL AND question IS NULL;
    SELECT p.cost, p.memory_ids INTO profile_cost, profile_ids
    FROM _profile_as_of(owner, mode, budget, known_until) AS p;
    candidate_limit := _candidate_limit(settings.candidate_limit, budget);
    large := EXISTS (SELECT FROM profile AS p WHERE p.user_id = owner AND p.ann > 0);
    -- A live recall of a fast mode compares those near the question and no others.
    nearest := large AND settings.fast AND NOT settings.turns AND NOT by_importance
        AND known_until = 'infinity';
    IF large AND NOT nearest THEN
        SELECT p.ids, p.edges INTO pool, edges
        FROM _pool(owner, settings, model.model_id, query_vec, question, keywords,
                   candidate_limit, at, by_importance, known_until, times) AS p;
    END IF;

    -- As _recall does, with more candidates where short lines leave the budget unused.
    LOOP
        IF nearest THEN
            pool := ARRAY(SELECT n.memory_id
                          FROM _near_rows(owner, query_vec, question, 1, candidate_limit) AS n);
        END IF;
        SELECT c.ids, c.brief_costs, r.chosen, r.spent, r.outcome
        INTO ids, brief_costs, chosen, spent, outcomes
        FROM (
            SELECT array_agg(c.id) AS ids, array_agg(c.score) AS scores,
                   array_agg(c.kind) AS kinds,
                   array_agg(_cited_cost(c.cost, c.id, citing)) AS costs,
                   array_agg(_cited_cost(c.brief_cost, c.id, citing)) AS brief_costs,
                   array_agg(c.terms) AS term_sets, array_agg(c.term_count) AS term_counts,
                   array_agg(c.line) AS lines,
                   min(least(c.cost, c.brief_cost)) AS smallest_cost
            FROM _candidates(owner, settings, model.model_id, query_vec, question, by_importance,
                             known_until, keywords, profile_ids || edges, candidate_limit,
                             plain_question, times, pool) AS c
        ) AS c
        CROSS JOIN LATERAL _provenance(owner, c.ids, c.kinds, c.lines, settings.turns)
            AS p
        CROSS JOIN LATERAL _line_groups(owner, model.model_id, by_day, c.ids, c.kinds,
                                        settings.kind_headings, settings.heading_costs) AS g
        CROSS JOIN LATERAL _select(
            c.scores, g.groups, c.costs, c.brief_costs, c.term_sets, c.term_counts,
            g.costs, c.smallest_cost, settings.mmr_lambda, settings.mmr_lines,
            settings.duplicate_at, coalesce(settings.line_limit + settings.extra_lines, 2147483647),
            budget - profile_cost, p.derived_places, p.source_places) AS r;
        EXIT WHEN _enough(cardinality(ids), candidate_limit, cardinality(chosen),
                          settings.line_limit + settings.extra_lines, spent, budget - profile_cost);
        candidate_limit := _more_candidates(candidate_limit);
    END LOOP;

    RETURN QUERY
    SELECT CASE WHEN o.outcome > 0 AND refusal IS NULL THEN o.outcome END,
           k.name,
           CASE WHEN s.id > 0 THEN s.id END,
           CASE WHEN s.id < 0 THEN -s.id END,
           s.line, s.relevance, s.cosine, s.coverage,
           _decay(settings.kind_rates[s.kind],
                  date_part('epoch', at) - date_part('epoch', s.created_at)),
           settings.kind_weights[s.kind],
           s.score * s.worth,
           _whole_tokens(CASE WHEN -o.place = ANY (chosen) THEN o.brief_cost
                              ELSE _cited_cost(s.cost, s.id, citing)
                         END),
           CASE
               WHEN refusal IS NOT NULL THEN refusal
               WHEN s.id = ANY (profile_ids) THEN 'profile'
               WHEN o.outcome > 0 THEN 'in block'
               WHEN s.id > 0 AND s.id <> ALL (pool) OR s.id = ANY (edges)
                   THEN 'not near the question'
               WHEN s.obstacle IS NOT NULL THEN s.obstacle
               WHEN o.id IS NULL AND settings.extra_lines > 0 THEN 'beyond the line limit'
               WHEN o.id IS NULL THEN 'beyond the candidate limit'
               WHEN o.outcome < 0 THEN _repeats(owner, s.id, ids[-o.outcome])
               WHEN o.outcome IS NULL
                    AND settings.line_limit + settings.extra_lines <= cardinality(chosen)
                   THEN 'beyond the line limit'
               ELSE 'over budget'
           END,
           s.keyword, s.graph, s.recency, s.importance, s.interaction, s.priority,
           s.boost, s.neighbours, s.session,
           ARRAY(SELECT w.label
                 FROM unnest(labels, label_terms, label_sizes) WITH ORDINALITY
                      AS w (label, terms, size, place)
                 WHERE -(s.terms <#> w.terms) > w.size
                 ORDER BY w.place)
           || ARRAY(SELECT 'keyword ' || m FROM unnest(hit.matched) AS m),
           s.via
    FROM _ranked(owner, settings, model.model_id, query_vec, question, by_importance, known_until,
                 keywords, plain_question, times, candidate_limit,
                 CASE WHEN pool IS NOT NULL THEN pool || only_memory END) AS s
    LEFT JOIN _keyword_match(owner, keywords, NULL, pool) AS hit ON hit.memory_id = s.id
    JOIN kind AS k ON k.kind_id = s.kind
    LEFT JOIN unnest(ids, outcomes, brief_costs) WITH ORDINALITY
              AS o (id, outcome, brief_cost, place) ON o.id = s.id
    WHERE only_memory IS NULL OR s.id = only_memory
    UNION ALL
    SELECT NULL, m.kind, m.memory_id, NULL, m.line, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           m.reason, NULL, NULL, NULL, m.importance, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM _not_recalled(owner, model.model_id, known_until, CASE WHEN large THEN 1000 END,
                       only_memory) AS m
    UNION ALL
    (SELECT NULL, 'event', NULL, e.event_id, e.line, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            'not in mode.event_types', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL
     FROM event AS e
     WHERE only_memory IS NULL AND e.user_id = owner
       AND NOT (e.type = ANY (settings.event_types) OR _is_log(e.type))
       AND e.created_at > at - settings.event_hours * interval '1 hour' AND e.created_at <= at
     ORDER BY e.created_at DESC, e.event_id DESC
     LIMIT settings.event_limit)
    ORDER BY 1 NULLS LAST, 11 DESC NULLS LAST, 3, 4
    LIMIT 1000;
END $$;

COMMENT ON FUNCTION memory_explain(halfvec, text, int, text, text, text, timestamptz, bigint) IS
    'One row for each memory and recent event with every part of its score and why it is or is not '
    'in the block: in block, profile, no vector and no words to compare, below minimum relevance, '
    'below threshold, expired, not valid yet, beyond the candidate limit, beyond the line limit, '
    'duplicate of ..., told by ... (the memory made from it, or all it was made from, is in the '
    'block), over budget, not near the question, not known yet, no trace of the active model, not '
    'in mode.event_types, memory is off, the session is temporary, or its status. place: order of '
    'choice. tokens: of its line, or of its summary where only that fits. How the parts make '
    'relevance and score: comments on table mode; for a mode of vector and words alone score = '
    'relevance x decay x weight. boost: what names and times in the question added to relevance. '
    'neighbours and session: what the turns next to it and the best of its session added to the '
    'score, which is squared first (mode conversation); the sum is multiplied by what the line is '
    'worth (mode.question_factor, detail_weight, cost_power). matched: the words of the question '
    'that the memory has, synonyms ("认证 → auth"), and in a mode with keyword_weight its keywords '
    '("keyword auth"). via: the link that brought it in. only_memory: a memory id, to ask about '
    'that one alone. At most 1,000 rows, the block first; for a user with indexes of their own '
    'those near the question, and of memories that cannot be recalled those among the newest '
    '1,000. Other arguments and errors as recall(), and ME012 for an id that the user does not '
    'have.';
