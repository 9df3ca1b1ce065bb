-- One recall of one user, from question to block: settings, words, candidates, selection, text.
-- STRICT, user first, no NULLs, every statement filtered by user_id: a cluster can run it whole
-- beside the user's rows. No vector is '[65504]', no text is '', as_of 'infinity' is live: all that
-- is active, aged to now. One statement a step: each costs 10-20 µs besides its rows. A user with
-- indexes of his own (number > 0) has only those memories compared that they find (_near_rows).
-- random_page_cost: where one user fills the table in order, the planner would rather read and sort
-- the table than read the covering index (1.4 times as slow at 11,000 memories).
CREATE OR REPLACE FUNCTION _recall(
    user_id text, query_vec halfvec, mode text, budget int, query_text text, as_of timestamptz,
    OUT block text, OUT memory_ids bigint[], OUT tokens int, OUT candidates int,
    OUT retrieval_id bigint)
    LANGUAGE plpgsql STRICT
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    started CONSTANT timestamptz := clock_timestamp();
    at CONSTANT timestamptz := CASE WHEN as_of = 'infinity' THEN now() ELSE as_of END;
    at_epoch CONSTANT float8 := date_part('epoch', at);
    query halfvec := nullif(query_vec, '[65504]');
    by_importance CONSTANT boolean := query_text = '' AND query_vec = '[65504]';
    question sparsevec;
    vector_share float8;
    threshold float8;
    candidate_limit int;
    line_limit int;
    mmr_lambda float8;
    mmr_lines int;
    duplicate_at float8;
    event_types text[];
    event_limit int;
    event_relevance float8;
    event_after timestamptz;
    turns boolean;
    name_boost float8;
    features text;
    when_feature text;
    time_boost float8;
    hybrid_time_boost float8;
    time_before interval;
    time_after interval;
    time_after_day interval;
    near float8;
    beyond float8;
    answer float8;
    session_weight float8;
    times tstzmultirange;
    timed boolean;
    plain_kinds bigint;
    kind_weights float8[];
    kind_rates float8[];
    kind_headings text[];
    heading_costs float8[];
    in_model smallint;
    dimensions int;
    counted int;
    counted_up_to bigint;
    profile_text text;
    profile_cost float8;
    except_ids bigint[];
    newer boolean;
    log_recalls boolean;
    ids bigint[];
    kinds smallint[];
    scores float8[];
    costs float8[];
    brief_costs float8[];
    term_sets sparsevec[];
    term_counts int[];
    lines text[];
    smallest float8;
    derived boolean := true;
    some_wide boolean;
    all_ids bigint[];
    places bigint[];
    own_scores real[];
    makers int[];
    sources int[];
    selection record;
    fast boolean;
    number int;
    pool bigint[];
    edges bigint[];
    settings mode;
    keywords text[];
    groups text[] := '{}';
    slots int[];
    slot int;
    place int;
    line text;
BEGIN
    SELECT m.vector_weight / (m.vector_weight + m.word_weight), m.threshold,
           _candidate_limit(m.candidate_limit, budget),
           coalesce(m.line_limit + m.extra_lines, 2147483647),
           m.mmr_lambda, m.mmr_lines, m.duplicate_at,
           m.event_types, m.event_limit, m.event_relevance,
           at - m.event_hours * interval '1 hour',
           m.name_boost, m.asks_feature, m.when_feature,
           m.time_boost, m.time_before, m.time_after, m.time_after_day,
           m.turns, m.neighbour_weight, m.second_neighbour_weight,
           m.answer_weight, m.session_weight,
           m.plain_kinds, m.kind_weights, m.kind_rates, m.kind_headings, m.heading_costs,
           m.model_id, m.dimensions, m.log_recalls, as_of = 'infinity' AND m.fast,
           coalesce(p.counted, 0), coalesce(p.counted_up_to, 0),
           CASE WHEN m.profile AND p.snippet_cost <= budget THEN p.snippet ELSE '' END,
           CASE WHEN m.profile AND p.snippet_cost <= budget THEN p.snippet_cost ELSE 0 END,
           -- What may not become a line: what the profile shows, and what has expired (2 µs).
           CASE WHEN m.profile AND p.snippet_cost <= budget THEN p.snippet_ids ELSE '{}' END
               || ARRAY(SELECT v.memory_id FROM memory AS v
                        WHERE v.user_id = _recall.user_id AND v.valid_until <= at
                          AND v.status = 'active'),
           coalesce(p.ann, 0),
           -- Of many memories the newest change no word's rarity.
           coalesce(p.ann, 0) = 0 AND EXISTS (
               SELECT FROM trace AS t
               WHERE t.user_id = _recall.user_id
                 AND t.memory_id > coalesce(p.counted_up_to, 0)),
           m.turns AND EXISTS (SELECT FROM trace AS t
                               WHERE t.user_id = _recall.user_id AND t.model = m.model_id
                                 AND t.active AND t.wide)
    INTO vector_share, threshold, candidate_limit, line_limit, mmr_lambda, mmr_lines, duplicate_at,
         event_types, event_limit, event_relevance, event_after,
         name_boost, features, when_feature,
         time_boost, time_before, time_after, time_after_day,
         turns, near, beyond, answer, session_weight,
         plain_kinds, kind_weights, kind_rates, kind_headings, heading_costs,
         in_model, dimensions, log_recalls, fast, counted, counted_up_to,
         profile_text, profile_cost, except_ids, number, newer, some_wide
    FROM mode AS m
    LEFT JOIN profile AS p ON p.user_id = _recall.user_id
    WHERE m.name = _recall.mode;
    IF NOT FOUND OR budget NOT BETWEEN 1 AND 100000 OR NOT (isfinite(at) AND at_epoch >= 0)
       OR vector_dims(query) <> dimensions OR l2_norm(query) = 0
    THEN
        PERFORM _check_recall(mode, budget, query, dimensions, at);
    END IF;

    IF query_text <> '' THEN
        IF as_of <> 'infinity' THEN
            counted := 0;
            counted_up_to := 0;
        END IF;
        IF when_feature <> '' AND _asks_when(query_text) THEN
            features := features || when_feature;
        END IF;
        IF newer OR counted_up_to = 0 THEN
            question := _question_counting(user_id, in_model, query_text, counted, counted_up_to,
                                           as_of, name_boost, features);
        ELSE
            question := _question(user_id, query_text, counted, name_boost, features);
        END IF;
        IF time_boost <> 0 THEN
            times := _time_windows(query_text, at);
            IF times IS NOT NULL THEN
                times := _asked_times(times, time_before, time_after, time_after_day);
            END IF;
        END IF;
    END IF;
    IF question IS NULL THEN
        vector_share := 1;
    END IF;
    timed := times IS NOT NULL AND (query IS NULL OR question IS NOT NULL);
    hybrid_time_boost := time_boost * CASE WHEN query IS NULL THEN 1 ELSE 1 - vector_share END;

    IF as_of <> 'infinity' THEN
        SELECT f.* INTO profile_text, profile_cost, except_ids
        FROM _profile_as_of(user_id, mode, budget, as_of) AS f;
    END IF;
    -- All are compared without a question; in the past, since the nearest may all be newer; and for
    -- a role with row-level security, which may not look up words before the policy has seen the
    -- row: it would read the whole table.
    IF number > 0 AND (query IS NULL AND question IS NULL OR as_of <> 'infinity'
                       OR question IS NOT NULL AND row_security_active('trace'))
    THEN
        number := 0;
    END IF;
    IF NOT fast OR turns AND number > 0 THEN
        SELECT m.* INTO settings FROM mode AS m WHERE m.name = _recall.mode;
        IF settings.keyword_weight > 0 THEN
            keywords := _asked_keywords(user_id, query_text);
        END IF;
        IF number > 0 THEN
            SELECT p.ids, p.edges INTO pool, edges
            FROM _pool(user_id, number, settings, in_model, query, question, keywords,
                       candidate_limit, at) AS p;
            except_ids := except_ids || edges;
        END IF;
    END IF;
    -- A conversation: every memory is scored where it lies in the index, in the order of its turns.
    -- Rows out of the index cost a sort, so they are looked for only where there are some.
    IF fast AND turns AND NOT some_wide AND number = 0 THEN
        SELECT array_agg(s.id), array_agg(s.place), array_agg(s.score)
        INTO all_ids, places, own_scores
        FROM (SELECT t.memory_id AS id, _place(t.session, t.position, t.asks) AS place,
                     coalesce(_kind_factor(plain_kinds, t.kind, kind_weights, kind_rates, at_epoch,
                                         t.created_at)
                            * (_relevance(t.embedding, query, vector_share, t.terms, question,
                                          CASE WHEN by_importance THEN t.importance END)
                               + CASE WHEN timed AND t.created_at <@ times
                                      THEN CASE WHEN t.embedding IS NULL THEN time_boost
                                                ELSE hybrid_time_boost END
                                      ELSE 0 END), 0)::real AS score
              FROM trace AS t
              WHERE t.user_id = _recall.user_id AND t.model = in_model AND t.active AND NOT t.wide
              ORDER BY t.session, t.position, t.memory_id) AS s;
    ELSIF fast AND turns THEN
        SELECT array_agg(s.id), array_agg(s.place), array_agg(s.score)
        INTO all_ids, places, own_scores
        FROM (SELECT t.memory_id AS id, _place(t.session, t.position, t.asks) AS place,
                     coalesce(_kind_factor(plain_kinds, t.kind, kind_weights, kind_rates, at_epoch,
                                         t.created_at)
                            * (_relevance(t.embedding, query, vector_share, t.terms, question,
                                          CASE WHEN by_importance THEN t.importance END)
                               + CASE WHEN timed AND t.created_at <@ times
                                      THEN CASE WHEN t.embedding IS NULL THEN time_boost
                                                ELSE hybrid_time_boost END
                                      ELSE 0 END), 0)::real AS score
              FROM (SELECT n.* FROM trace AS n
                    WHERE number = 0 AND n.user_id = _recall.user_id AND n.model = in_model
                      AND n.active AND NOT n.wide
                    UNION ALL
                    SELECT w.* FROM trace AS w
                    WHERE number = 0 AND w.user_id = _recall.user_id AND w.model = in_model
                      AND w.active AND w.wide
                    UNION ALL
                    SELECT f.* FROM trace AS f
                    WHERE number > 0 AND f.user_id = _recall.user_id
                      AND f.memory_id = ANY (pool) AND f.model = in_model AND f.active) AS t
              ORDER BY t.session, t.position, t.memory_id) AS s;
    END IF;
    LOOP
        IF NOT fast THEN
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost))
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines, smallest
            FROM _candidates(user_id, settings, in_model, query, question, by_importance, as_of,
                             keywords, except_ids, candidate_limit, NULL,
                             CASE WHEN timed THEN times END, pool) AS c;
        ELSIF turns THEN
            -- The best with their neighbours' share; what leaked over the end of a session is out.
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines, smallest,
                 derived
            FROM (
                SELECT f.id, t.kind, f.score, t.cost, t.brief_cost, t.terms, t.term_count, t.line,
                       t.derived
                FROM (
                    SELECT g.id, g.score
                    FROM (
                        SELECT e.id, e.score
                            + CASE WHEN e.session = 0 THEN 0
                                   ELSE session_weight * max(e.score) OVER (PARTITION BY e.session)
                              END AS score
                        FROM (
                            SELECT all_ids[p.place] AS id, places[p.place] / 4 AS session,
                                   own_scores[p.place] + _neighbours(
                                       places[p.place], places[p.place - 1], places[p.place + 1],
                                       places[p.place - 2], places[p.place + 2],
                                       own_scores[p.place - 1], own_scores[p.place + 1],
                                       own_scores[p.place - 2], own_scores[p.place + 2],
                                       near, beyond, answer) AS score
                            FROM (
                                SELECT u.place
                                FROM (SELECT unnest(_smooth(own_scores, near, beyond)) AS score,
                                             generate_subscripts(own_scores, 1) AS place) AS u
                                ORDER BY u.score DESC, u.place DESC
                                LIMIT candidate_limit + candidate_limit / 2
                            ) AS p
                            OFFSET 0
                        ) AS e
                    ) AS g
                    -- What may not become a line lends to those beside it all the same.
                    WHERE g.id <> ALL (except_ids)
                    ORDER BY g.score DESC
                    FETCH FIRST (candidate_limit) ROWS WITH TIES
                ) AS f
                CROSS JOIN LATERAL (
                    SELECT t.* FROM trace AS t
                    WHERE t.user_id = _recall.user_id AND t.memory_id = f.id AND t.model = in_model
                    OFFSET 0
                ) AS t
                WHERE f.score > threshold
                ORDER BY f.score DESC, t.created_at DESC, f.id
                LIMIT candidate_limit
            ) AS c;
        ELSIF number > 0 THEN
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines, smallest,
                 derived
            FROM (
                SELECT DISTINCT ON (u.score, u.created_at, u.id) u.*
                FROM (
                    SELECT t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                           t.term_count, t.line, t.derived,
                           _kind_factor(plain_kinds, t.kind, kind_weights, kind_rates, at_epoch,
                                        t.created_at)
                           * _relevance(t.embedding, query, vector_share, t.terms, question, NULL)
                               AS score
                    FROM _near_rows(_recall.user_id, query, question, candidate_limit) AS t
                    UNION ALL
                    (SELECT -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms,
                            e.term_count, e.line, false,
                            _kind_factor(plain_kinds, 3::smallint, kind_weights, kind_rates,
                                         at_epoch, e.created_at) * event_relevance
                     FROM event AS e
                     WHERE e.user_id = _recall.user_id AND e.type = ANY (event_types)
                       AND e.created_at > event_after AND e.created_at <= at
                     ORDER BY e.created_at DESC
                     LIMIT event_limit)
                ) AS u
                WHERE u.score > threshold AND u.id <> ALL (except_ids)
                ORDER BY u.score DESC, u.created_at DESC, u.id
                LIMIT candidate_limit
            ) AS c;
        ELSE
            -- Every memory of the user is scored where it lies in the index; the best leave it.
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines, smallest,
                 derived
            FROM (
                SELECT u.* FROM (
                    (SELECT t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                            t.term_count, t.line, t.derived,
                            _kind_factor(plain_kinds, t.kind, kind_weights, kind_rates, at_epoch,
                                         t.created_at)
                            * _relevance(t.embedding, query, vector_share, t.terms, question,
                                         CASE WHEN by_importance THEN t.importance END) AS score
                     FROM trace AS t
                     WHERE t.user_id = _recall.user_id AND t.model = in_model
                       AND t.active AND NOT t.wide
                     ORDER BY score DESC NULLS LAST, t.created_at DESC, t.memory_id
                     LIMIT candidate_limit + cardinality(except_ids))
                    UNION ALL
                    SELECT t.memory_id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                           t.term_count, t.line, t.derived,
                           _kind_factor(plain_kinds, t.kind, kind_weights, kind_rates, at_epoch,
                                        t.created_at)
                           * _relevance(t.embedding, query, vector_share, t.terms, question,
                                        CASE WHEN by_importance THEN t.importance END)
                    FROM trace AS t
                    WHERE t.user_id = _recall.user_id AND t.model = in_model AND t.active AND t.wide
                    UNION ALL
                    (SELECT -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms,
                            e.term_count, e.line, false,
                            _kind_factor(plain_kinds, 3::smallint, kind_weights, kind_rates,
                                         at_epoch, e.created_at) * event_relevance
                     FROM event AS e
                     WHERE e.user_id = _recall.user_id AND e.type = ANY (event_types)
                       AND e.created_at > event_after AND e.created_at <= at
                     ORDER BY e.created_at DESC
                     LIMIT event_limit)
                ) AS u
                WHERE u.score > threshold AND u.id <> ALL (except_ids)
                ORDER BY u.score DESC, u.created_at DESC, u.id
                LIMIT candidate_limit
            ) AS c;
        END IF;

        IF derived THEN
            SELECT p.* INTO makers, sources FROM _provenance(user_id, ids) AS p;
        END IF;
        selection := _select(scores, kinds, costs, brief_costs, term_sets, term_counts,
                             heading_costs, smallest, mmr_lambda, mmr_lines, duplicate_at,
                             line_limit, budget - profile_cost, makers, sources);
        EXIT WHEN _enough(cardinality(ids), candidate_limit, cardinality(selection.chosen),
                          line_limit, selection.spent, budget - profile_cost);
        candidate_limit := least(4 * candidate_limit, 1000);
    END LOOP;

    -- Lines stand under the heading of their kind, the kinds in the order of their best line.
    slots := array_fill(0, ARRAY[cardinality(kind_headings)]);
    memory_ids := '{}';
    FOREACH place IN ARRAY selection.chosen LOOP
        IF place > 0 THEN
            line := lines[place];
        ELSE
            place := -place;
            SELECT t.brief INTO STRICT line FROM trace AS t
            WHERE t.user_id = _recall.user_id AND t.memory_id = ids[place] AND t.model = in_model;
        END IF;
        slot := slots[kinds[place]];
        IF slot = 0 THEN
            slot := cardinality(groups) + 1;
            slots[kinds[place]] := slot;
            groups[slot] := kind_headings[kinds[place]] || E'\n';
        END IF;
        groups[slot] := groups[slot] || '- ' || line || E'\n';
        IF ids[place] > 0 THEN
            memory_ids := memory_ids || ids[place];
        END IF;
    END LOOP;
    block := profile_text || array_to_string(groups, '');
    tokens := _whole_tokens(profile_cost + selection.spent);
    IF block = '' THEN
        block := '(no relevant memory)';
        tokens := estimate_tokens(block);
        IF tokens > budget THEN
            block := '';
            tokens := 0;
        END IF;
    END IF;
    candidates := coalesce(cardinality(ids), 0);

    -- Not on a standby, and not for a role that may only read.
    IF log_recalls AND current_setting('transaction_read_only') = 'off'
       AND has_table_privilege('retrieval', 'INSERT')
    THEN
        INSERT INTO retrieval AS r (
            user_id, created_at, as_of, mode, query, ids, kinds, score, weights, chosen,
            token_used, token_budget, elapsed_ms)
        VALUES (
            _recall.user_id, started, nullif(as_of, 'infinity'), _recall.mode,
            left(query_text, 200), coalesce(ids, '{}'), coalesce(kinds, '{}'),
            coalesce(scores, '{}'), kind_weights, selection.chosen, tokens, budget,
            1000 * date_part('epoch', clock_timestamp() - started))
        RETURNING r.retrieval_id INTO retrieval_id;
    END IF;
END $$;
