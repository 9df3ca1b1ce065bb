-- One recall of one user, from question to block: the settings; the question's words and times;
-- what cannot become a line; candidates, by the one of five statements that is enough; selection,
-- again with more candidates while lines are short; the block; the log row.
-- STRICT, user first, no NULLs, every statement filtered by user_id: a cluster can run it whole on
-- the node of the user's rows. No vector is '[65504]', no text and no session are '', and as_of
-- 'infinity' is live: everything active, with ages as of now. One statement per step, because each
-- costs 10-20 µs on top of its rows. For a user with indexes of their own (ann > 0), only the
-- memories that these find are compared (_near_rows).
-- Literals have the type of what they are compared with: for float8 <= int the parser loads and
-- tries all operators called <=, which made the first call on a connection 6 % slower.
-- random_page_cost: if one user fills the table in order, the planner would rather read and sort
-- the table than read the covering index (1.4 times as slow at 11,000 memories).
-- extra_float_digits: weights of words become a vector by way of their text.
CREATE OR REPLACE FUNCTION _recall(
    user_id text, query_vec halfvec, mode text, budget int, query_text text, as_of timestamptz,
    session_id text, OUT block text, OUT memory_ids bigint[], OUT tokens int, OUT candidates int,
    OUT retrieval_id bigint)
    LANGUAGE plpgsql STRICT
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5 SET jit = off
    SET extra_float_digits = 1
AS $$
#variable_conflict use_column
DECLARE
    started CONSTANT timestamptz := clock_timestamp();
    at CONSTANT timestamptz := CASE WHEN as_of = 'infinity' THEN now() ELSE as_of END;
    at_epoch CONSTANT float8 := date_part('epoch', at);
    query halfvec := nullif(query_vec, '[65504]');
    setup record;
    features text;
    word text;
    asked_term int;
    asked int[];
    names int[];
    known int[];
    known_words int;
    idfs float8[];
    unknown_idf float8;
    idf_sum float8;
    question sparsevec;
    vector_share float8;
    by_importance boolean;
    -- Whether memories are newer than the word statistics; NULL: nobody had to look.
    uncounted boolean;
    times tstzmultirange;
    around tstzmultirange;
    hybrid_time_boost float8;
    by_day boolean;
    keywords text[];
    pool bigint[];
    edges bigint[];
    expired bigint[];
    ids bigint[];
    kinds smallint[];
    line_groups smallint[];
    scores float8[];
    costs float8[];
    brief_costs float8[];
    term_sets sparsevec[];
    term_counts int[];
    lines text[];
    smallest_cost float8;
    any_derived boolean;
    -- Of a conversation: every memory in the order of the turns.
    all_ids bigint[];
    places bigint[];
    own_scores real[];
    derived_places int[];
    source_places int[];
    selection record;
    -- The block: candidates as they are printed, the text of each group, and the groups in order.
    printed int[];
    groups text[];
    in_order smallint[];
    line_group smallint;
    place int;
    line text;
BEGIN
    -- The settings of the mode, and what the statistics say about the user. By || '{}' a value that
    -- is out of line is read once, not at every word (6 µs a word).
    SELECT m.vector_weight / (m.vector_weight + m.word_weight) AS vector_share, m.threshold,
           _candidate_limit(m.candidate_limit, budget) AS candidate_limit,
           coalesce(m.line_limit + m.extra_lines, 2147483647) AS line_limit,
           m.mmr_lambda, m.mmr_lines, m.duplicate_at,
           m.event_types, m.event_limit, m.event_relevance,
           greatest(at, '1970-01-01 00:00:00+00') - m.event_hours * interval '1 hour'
               AS event_after,
           CASE WHEN query IS NULL THEN m.boost_without_vector * m.name_boost
                ELSE m.name_boost END AS name_boost,
           CASE WHEN query IS NULL THEN m.boost_without_vector * m.time_boost
                ELSE m.time_boost END AS time_boost,
           m.asks_feature, m.when_feature, m.time_before, m.time_after, m.time_after_day,
           m.turns, m.neighbour_weight AS near, m.second_neighbour_weight AS beyond,
           m.answer_weight AS answer, m.session_weight, m.squared,
           m.question_factor, m.cost_power, m.detail_weight,
           m.plain_kinds, m.kind_weights, m.kind_rates, m.kind_headings AS headings,
           m.heading_costs, m.day_headings,
           m.model_id, m.dimensions, m.log_recalls, m.fast AND as_of = 'infinity' AS fast,
           coalesce(p.memory_on, true) AS memory_on,
           coalesce(p.show_references, false) AS show_references,
           coalesce(p.ann, 0) AS ann,
           coalesce(p.counted, 0) AS counted, coalesce(p.counted_up_to, 0) AS counted_up_to,
           p.ann = 0 AND p.narrow_for = coalesce(m.dimensions, 0) AS none_wide,
           p.ann = 0 AND NOT p.some_expire AS none_expires,
           (as_of = 'infinity' AND m.fast AND p.ann = 0 AND NOT p.some_expire
            AND (p.snippet_cost <= budget::float8 OR NOT m.profile)) IS TRUE AS usual,
           CASE WHEN m.profile AND p.snippet_cost > 0::float8 THEN p.snippet ELSE '' END
               AS profile_text,
           CASE WHEN m.profile AND p.snippet_cost > 0::float8 THEN p.snippet_cost
                ELSE 0::float8 END AS profile_cost,
           CASE WHEN m.profile AND p.snippet_cost > 0::float8 THEN p.snippet_ids ELSE '{}' END
               AS except_ids,
           CASE WHEN as_of = 'infinity' AND p.counted_up_to > 0 AND p.expansions = m.expansions
                     AND (p.ann > 0 OR NOT EXISTS (SELECT FROM trace AS t
                                                   WHERE t.user_id = _recall.user_id
                                                     AND t.memory_id > p.counted_up_to))
                THEN p.expanding || '{}' END AS expanding
    INTO setup
    FROM mode AS m
    LEFT JOIN profile AS p ON p.user_id = _recall.user_id
    WHERE m.name = _recall.mode;
    IF NOT FOUND OR budget NOT BETWEEN 1 AND 100000 OR (at_epoch >= 0::float8) IS NOT TRUE
       OR vector_dims(query) <> setup.dimensions OR l2_norm(query) = 0::float8
    THEN
        PERFORM _check_recall(mode, budget, query, setup.dimensions, at);
    END IF;
    -- In an IF of its own: as part of one condition, the SELECT would be planned and set up for
    -- recalls without a session, too.
    IF session_id <> '' THEN
        setup.memory_on := setup.memory_on AND NOT EXISTS (
            SELECT FROM session AS s
            WHERE s.user_id = _recall.user_id AND s.session_id = _recall.session_id
              AND s.temporary);
    END IF;
    IF NOT setup.memory_on THEN
        memory_ids := '{}';
        candidates := 0;
        SELECT e.block, e.tokens INTO block, tokens FROM _empty_block(budget) AS e;
        RETURN;
    END IF;

    -- Expressions that few recalls need stand behind a condition: even one that does nothing costs
    -- 1.3 µs in every transaction, and 30 µs at the first call on a connection.
    vector_share := setup.vector_share;
    by_day := setup.day_headings = 'always';
    IF query_text <> '' THEN
        features := setup.asks_feature;
        IF (setup.when_feature <> '' OR setup.day_headings = 'asked') AND _asks_when(query_text)
        THEN
            features := features || setup.when_feature;
            by_day := setup.day_headings <> 'never';
        END IF;
        -- Each word weighs its idf, and the weights sum to 1 (as _weigh makes them). This is done
        -- step by step, since as one expression it took twice as long. Synonyms whose words the
        -- user has, more than 96 words, and newer memories are left to _question.
        IF setup.expanding IS NOT NULL AND length(query_text) <= 1000 THEN
            FOREACH word IN ARRAY tokens(query_text) LOOP
                asked_term := _term(word);
                IF setup.expanding[width_bucket(asked_term, setup.expanding)] = asked_term THEN
                    asked := NULL;
                    EXIT;
                END IF;
                asked := asked || asked_term;
                IF setup.name_boost <> 0::float8 THEN
                    names := names || _feature('name ' || word);
                END IF;
            END LOOP;
            IF cardinality(asked) <= 96 THEN
                SELECT array_agg(f.term), array_agg(f.idf), count(f.idf),
                       coalesce(sum(f.idf), 0::float8)
                INTO known, idfs, known_words, idf_sum
                FROM (
                    SELECT n.term,
                           CASE WHEN _is_word(n.term) THEN _idf(setup.counted, n.df) END AS idf
                    FROM term AS n
                    WHERE n.user_id = _recall.user_id AND n.term = ANY (asked || names)
                    OFFSET 0
                ) AS f;
                unknown_idf := _idf(setup.counted, 0);
                idf_sum := idf_sum + (cardinality(asked) - known_words)::float8 * unknown_idf;
                FOR i IN 1..coalesce(cardinality(known), 0) LOOP
                    features := features || ',' || known[i]::text || ':'
                        || coalesce(idfs[i] / idf_sum,
                                    setup.name_boost * _feature_scale()
                                    / (cardinality(known) - known_words)::float8)::text;
                END LOOP;
                -- A memory that is not counted yet may have the other words.
                IF setup.ann > 0 AND cardinality(asked) > known_words THEN
                    features := features || (
                        SELECT string_agg(',' || u || ':' || unknown_idf / idf_sum, '')
                        FROM unnest(asked) AS u WHERE u <> ALL (coalesce(known, '{}')));
                END IF;
                question := ('{' || ltrim(features, ',') || '}/536870912')::sparsevec;
            END IF;
        END IF;
    END IF;
    IF question IS NULL THEN
        uncounted := as_of <> 'infinity' OR setup.counted_up_to = 0
            OR EXISTS (SELECT FROM trace AS t
                       WHERE t.user_id = _recall.user_id AND t.memory_id > setup.counted_up_to);
        IF query_text <> '' THEN
            -- The choice is that of _question_of.
            IF uncounted AND (setup.ann = 0 OR setup.counted_up_to = 0) THEN
                question := _question_counting(
                    user_id, setup.model_id, query_text, setup.counted,
                    CASE WHEN as_of = 'infinity' THEN setup.counted_up_to ELSE 0 END, as_of,
                    setup.name_boost, features);
            ELSE
                question := _question(user_id, query_text, setup.counted, setup.name_boost,
                                      features);
            END IF;
        END IF;
        IF question IS NULL THEN
            vector_share := 1;
            by_importance := query IS NULL;
        END IF;
    END IF;
    IF query_text <> '' AND (setup.time_boost <> 0::float8 OR setup.day_headings = 'asked') THEN
        times := _time_windows(query_text, at);
        IF times IS NOT NULL THEN
            by_day := setup.day_headings <> 'never';
            IF setup.time_boost <> 0::float8 AND (query IS NULL OR question IS NOT NULL) THEN
                around := _asked_times(times, setup.time_before, setup.time_after,
                                       setup.time_after_day);
                hybrid_time_boost := setup.time_boost * CASE WHEN query IS NULL THEN 1
                                                         ELSE 1 - vector_share END;
            ELSE
                times := NULL;
            END IF;
        END IF;
    END IF;
    -- What the usual recall does not need: a profile that does not fit or is of the past, memories
    -- that have expired, keywords, and what to compare for a user with indexes of their own.
    IF uncounted OR NOT setup.usual THEN
        IF as_of <> 'infinity' OR setup.profile_cost > budget::float8 THEN
            SELECT f.* INTO setup.profile_text, setup.profile_cost, setup.except_ids
            FROM _profile_as_of(user_id, mode, budget, as_of) AS f;
        END IF;
        -- A recall of the past looks itself for what was over then (_scored).
        IF as_of = 'infinity' AND (uncounted OR NOT setup.none_expires) THEN
            expired := ARRAY(
                SELECT v.memory_id FROM memory AS v
                WHERE v.user_id = _recall.user_id AND v.valid_until <= at AND v.status = 'active');
            -- The profile was made before one of its goals ended.
            IF setup.except_ids && expired THEN
                SELECT f.* INTO setup.profile_text, setup.profile_cost, setup.except_ids
                FROM _profile_as_of(user_id, mode, budget, as_of) AS f;
            END IF;
            setup.except_ids := setup.except_ids || expired;
        END IF;
        IF setup.ann > 0 AND query IS NULL AND question IS NULL THEN
            setup.fast := false;
        END IF;
        IF NOT setup.fast OR setup.turns AND setup.ann > 0 THEN
            -- No variable of type mode: declaring it takes 2 % of the first call.
            SELECT _asked_keywords(_recall.user_id, query_text, as_of) INTO keywords
            FROM mode AS m WHERE m.name = _recall.mode AND m.keyword_weight > 0;
            IF setup.ann > 0 THEN
                SELECT p.ids, p.edges INTO pool, edges
                FROM mode AS m, _pool(_recall.user_id, m, setup.model_id, query, question, keywords,
                                      setup.candidate_limit, at, by_importance, as_of, times) AS p
                WHERE m.name = _recall.mode;
                setup.except_ids := setup.except_ids || edges;
            END IF;
        END IF;
    END IF;
    -- A conversation: every memory is scored where it is in the index, in the order of its turns.
    -- Rows outside the index cost a sort, so they are looked for only if there are some. Settings
    -- that every row needs are read once, by a SELECT.
    IF setup.turns AND setup.fast THEN
        IF setup.ann = 0 AND (uncounted OR setup.none_wide IS NOT TRUE) THEN
            setup.none_wide := NOT EXISTS (
                SELECT FROM trace AS w
                WHERE w.user_id = _recall.user_id AND w.model = setup.model_id AND w.active
                  AND w.wide);
        END IF;
        IF setup.none_wide THEN
            SELECT array_agg(s.id), array_agg(s.place),
                   array_agg(_lent(s.score, (SELECT setup.squared)))
            INTO all_ids, places, own_scores
            FROM (SELECT t.memory_id AS id, _place(t.session, t.position, t.asks) AS place,
                         coalesce(_kind_factor((SELECT setup.plain_kinds), t.kind,
                                               setup.kind_weights, setup.kind_rates, at_epoch,
                                               t.created_at)
                                * (_relevance(t.embedding, query, vector_share, t.terms, question,
                                              CASE WHEN by_importance THEN t.importance END)
                                   + _timely(t.created_at, times, around,
                                             CASE WHEN t.embedding IS NULL THEN setup.time_boost
                                                  ELSE hybrid_time_boost END)), 0)::real AS score
                  FROM trace AS t
                  WHERE t.user_id = _recall.user_id AND t.model = setup.model_id
                    AND t.active AND NOT t.wide
                  ORDER BY t.session, t.position, t.memory_id) AS s;
        ELSE
            SELECT array_agg(s.id), array_agg(s.place),
                   array_agg(_lent(s.score, (SELECT setup.squared)))
            INTO all_ids, places, own_scores
            FROM (SELECT t.memory_id AS id, _place(t.session, t.position, t.asks) AS place,
                         coalesce(_kind_factor((SELECT setup.plain_kinds), t.kind,
                                               setup.kind_weights, setup.kind_rates, at_epoch,
                                               t.created_at)
                                * (_relevance(t.embedding, query, vector_share, t.terms, question,
                                              CASE WHEN by_importance THEN t.importance END)
                                   + _timely(t.created_at, times, around,
                                             CASE WHEN t.embedding IS NULL THEN setup.time_boost
                                                  ELSE hybrid_time_boost END)), 0)::real AS score
                  FROM (SELECT n.* FROM trace AS n
                        WHERE setup.ann = 0 AND n.user_id = _recall.user_id
                          AND n.model = setup.model_id AND n.active AND NOT n.wide
                        UNION ALL
                        SELECT w.* FROM trace AS w
                        WHERE setup.ann = 0 AND w.user_id = _recall.user_id
                          AND w.model = setup.model_id AND w.active AND w.wide
                        UNION ALL
                        SELECT f.* FROM trace AS f
                        WHERE setup.ann > 0 AND f.user_id = _recall.user_id
                          AND f.memory_id = ANY (pool) AND f.model = setup.model_id
                          AND f.active) AS t
                  ORDER BY t.session, t.position, t.memory_id) AS s;
        END IF;
    END IF;
    LOOP
        IF setup.fast AND NOT setup.turns AND setup.none_wide AND uncounted IS NOT TRUE THEN
            -- Every memory of the user is scored where it is in the index; only the best leave it.
            -- The score is the first column: a sort finds the first at once, and walks to the last.
            -- The arms and the outside have the same order (NULLS LAST), so that they are merged;
            -- otherwise the planner sorts three times.
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines,
                 smallest_cost, any_derived
            FROM (
                SELECT u.* FROM (
                    (SELECT _kind_factor(setup.plain_kinds, t.kind, setup.kind_weights,
                                         setup.kind_rates, at_epoch, t.created_at)
                            * _relevance(t.embedding, query, vector_share, t.terms, question,
                                         CASE WHEN by_importance THEN t.importance END) AS score,
                            t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                            t.term_count, t.line, t.derived
                     FROM trace AS t
                     WHERE t.user_id = _recall.user_id AND t.model = setup.model_id
                       AND t.active AND NOT t.wide
                     ORDER BY score DESC NULLS LAST, t.created_at DESC, t.memory_id
                     LIMIT setup.candidate_limit + cardinality(setup.except_ids))
                    UNION ALL
                    (SELECT _kind_factor(setup.plain_kinds, 3::smallint, setup.kind_weights,
                                         setup.kind_rates, at_epoch, e.created_at)
                            * setup.event_relevance,
                            -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms,
                            e.term_count, e.line, false
                     FROM event AS e
                     WHERE e.user_id = _recall.user_id AND e.type = ANY (setup.event_types)
                       AND e.created_at > setup.event_after AND e.created_at <= at
                     ORDER BY e.created_at DESC, e.event_id DESC
                     LIMIT setup.event_limit)
                ) AS u
                WHERE u.score > setup.threshold AND u.id <> ALL (setup.except_ids)
                ORDER BY u.score DESC NULLS LAST, u.created_at DESC, u.id
                LIMIT setup.candidate_limit
            ) AS c;
        ELSIF setup.turns AND setup.fast THEN
            -- The best with what their neighbours lend them, in the order of what their lines are
            -- worth. _smooth finds them, but also lends across the end of a session; _neighbours
            -- does not. OFFSET 0: _neighbours names a place many times, and each would be looked
            -- up.
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines,
                 smallest_cost, any_derived
            FROM (
                SELECT f.id, t.kind,
                       f.score * _worth(t.cost, t.asks, t.details, setup.question_factor,
                                        setup.cost_power, setup.detail_weight) AS score,
                       t.cost, t.brief_cost, t.terms, t.term_count, t.line, t.derived
                FROM (
                    SELECT g.id, g.score
                    FROM (
                        SELECT e.id, e.score
                            + CASE WHEN e.session = 0 THEN 0
                                   ELSE setup.session_weight
                                        * max(e.score) OVER (PARTITION BY e.session)
                              END AS score
                        FROM (
                            SELECT all_ids[p.place] AS id, p.own / 4 AS session,
                                   own_scores[p.place] + _neighbours(
                                       p.own, p.before, p.after, p.second_before, p.second_after,
                                       own_scores[p.place - 1], own_scores[p.place + 1],
                                       own_scores[p.place - 2], own_scores[p.place + 2],
                                       setup.near, setup.beyond, setup.answer) AS score
                            FROM (
                                SELECT u.place, places[u.place] AS own,
                                       places[u.place - 1] AS before, places[u.place + 1] AS after,
                                       places[u.place - 2] AS second_before,
                                       places[u.place + 2] AS second_after
                                FROM (
                                    SELECT u.place
                                    FROM (SELECT unnest(_smooth(own_scores, setup.near,
                                                                setup.beyond)) AS score,
                                                 generate_subscripts(own_scores, 1) AS place) AS u
                                    ORDER BY u.score DESC, u.place DESC
                                    LIMIT setup.candidate_limit + setup.candidate_limit / 2
                                ) AS u
                                OFFSET 0
                            ) AS p
                            OFFSET 0
                        ) AS e
                    ) AS g
                    -- A memory that may not become a line still lends to its neighbours.
                    WHERE g.id <> ALL (setup.except_ids)
                    ORDER BY g.score DESC
                    FETCH FIRST (setup.candidate_limit) ROWS WITH TIES
                ) AS f
                CROSS JOIN LATERAL (
                    SELECT t.* FROM trace AS t
                    WHERE t.user_id = _recall.user_id AND t.memory_id = f.id
                      AND t.model = setup.model_id
                    OFFSET 0
                ) AS t
                WHERE f.score > setup.threshold
                ORDER BY score DESC, t.created_at DESC, f.id
                LIMIT setup.candidate_limit
            ) AS c;
        ELSIF NOT setup.fast THEN
            -- A score of more parts, or a recall of the past.
            any_derived := true;
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost))
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines,
                 smallest_cost
            FROM mode AS m,
                 _candidates(_recall.user_id, m, setup.model_id, query, question, by_importance,
                             as_of, keywords, setup.except_ids, setup.candidate_limit, NULL,
                             times, pool) AS c
            WHERE m.name = _recall.mode;
        ELSIF setup.ann > 0 THEN
            -- A user with indexes of their own: what these find.
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines,
                 smallest_cost, any_derived
            FROM (
                SELECT DISTINCT ON (u.score, u.created_at, u.id) u.*
                FROM (
                    SELECT _kind_factor(setup.plain_kinds, t.kind, setup.kind_weights,
                                        setup.kind_rates, at_epoch, t.created_at)
                           * t.relevance AS score,
                           t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                           t.term_count, t.line, t.derived
                    FROM _near_rows(_recall.user_id, query, question, vector_share,
                                    setup.candidate_limit) AS t
                    UNION ALL
                    (SELECT _kind_factor(setup.plain_kinds, 3::smallint, setup.kind_weights,
                                         setup.kind_rates, at_epoch, e.created_at)
                            * setup.event_relevance,
                            -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms,
                            e.term_count, e.line, false
                     FROM event AS e
                     WHERE e.user_id = _recall.user_id AND e.type = ANY (setup.event_types)
                       AND e.created_at > setup.event_after AND e.created_at <= at
                     ORDER BY e.created_at DESC, e.event_id DESC
                     LIMIT setup.event_limit)
                ) AS u
                WHERE u.score > setup.threshold AND u.id <> ALL (setup.except_ids)
                ORDER BY u.score DESC, u.created_at DESC, u.id
                LIMIT setup.candidate_limit
            ) AS c;
        ELSE
            -- As in the first case, plus the rows that fit no index entry, read from the table: an
            -- arm that finds nothing takes 12 µs.
            SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
                   array_agg(c.cost), array_agg(c.brief_cost), array_agg(c.terms),
                   array_agg(c.term_count), array_agg(c.line), min(least(c.cost, c.brief_cost)),
                   bool_or(c.derived)
            INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines,
                 smallest_cost, any_derived
            FROM (
                SELECT u.* FROM (
                    (SELECT _kind_factor(setup.plain_kinds, t.kind, setup.kind_weights,
                                         setup.kind_rates, at_epoch, t.created_at)
                            * _relevance(t.embedding, query, vector_share, t.terms, question,
                                         CASE WHEN by_importance THEN t.importance END) AS score,
                            t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                            t.term_count, t.line, t.derived
                     FROM trace AS t
                     WHERE t.user_id = _recall.user_id AND t.model = setup.model_id
                       AND t.active AND NOT t.wide
                     ORDER BY score DESC NULLS LAST, t.created_at DESC, t.memory_id
                     LIMIT setup.candidate_limit + cardinality(setup.except_ids))
                    UNION ALL
                    (SELECT _kind_factor(setup.plain_kinds, t.kind, setup.kind_weights,
                                         setup.kind_rates, at_epoch, t.created_at)
                            * _relevance(t.embedding, query, vector_share, t.terms, question,
                                         CASE WHEN by_importance THEN t.importance END) AS score,
                            t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
                            t.term_count, t.line, t.derived
                     FROM trace AS t
                     WHERE t.user_id = _recall.user_id AND t.model = setup.model_id
                       AND t.active AND t.wide
                     ORDER BY score DESC NULLS LAST, t.created_at DESC, t.memory_id
                     LIMIT setup.candidate_limit + cardinality(setup.except_ids))
                    UNION ALL
                    (SELECT _kind_factor(setup.plain_kinds, 3::smallint, setup.kind_weights,
                                         setup.kind_rates, at_epoch, e.created_at)
                            * setup.event_relevance,
                            -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms,
                            e.term_count, e.line, false
                     FROM event AS e
                     WHERE e.user_id = _recall.user_id AND e.type = ANY (setup.event_types)
                       AND e.created_at > setup.event_after AND e.created_at <= at
                     ORDER BY e.created_at DESC, e.event_id DESC
                     LIMIT setup.event_limit)
                ) AS u
                WHERE u.score > setup.threshold AND u.id <> ALL (setup.except_ids)
                ORDER BY u.score DESC NULLS LAST, u.created_at DESC, u.id
                LIMIT setup.candidate_limit
            ) AS c;
        END IF;

        IF any_derived THEN
            SELECT p.* INTO derived_places, source_places
            FROM _provenance(user_id, ids, kinds, lines, setup.turns) AS p;
        END IF;
        IF setup.show_references THEN
            SELECT array_agg(r.cost + _reference_cost(r.id)),
                   array_agg(r.brief_cost + _reference_cost(r.id)),
                   array_agg(_reference(r.id) || r.line)
            INTO costs, brief_costs, lines
            FROM unnest(ids, costs, brief_costs, lines) AS r (id, cost, brief_cost, line);
        END IF;
        line_groups := kinds;
        IF by_day THEN
            SELECT d.* INTO setup.headings, setup.heading_costs, line_groups
            FROM _line_groups(user_id, setup.model_id, by_day, ids, kinds, setup.headings,
                              setup.heading_costs) AS d;
        END IF;
        selection := _select(scores, line_groups, costs, brief_costs, term_sets, term_counts,
                             setup.heading_costs, smallest_cost, setup.mmr_lambda, setup.mmr_lines,
                             setup.duplicate_at, setup.line_limit,
                             budget::float8 - setup.profile_cost, derived_places,
                             source_places);
        EXIT WHEN _enough(cardinality(ids), setup.candidate_limit, cardinality(selection.chosen),
                          setup.line_limit, selection.spent, budget::float8 - setup.profile_cost);
        setup.candidate_limit := _more_candidates(setup.candidate_limit);
    END LOOP;

    memory_ids := '{}';
    FOREACH place IN ARRAY selection.chosen LOOP
        IF ids[abs(place)] > 0 THEN
            memory_ids := memory_ids || ids[abs(place)];
        END IF;
    END LOOP;
    -- Lines go under the heading of their kind or day, the best first. In modes with turns they are
    -- in the order they were told: by days, which are numbered in order, and within a day by ids.
    printed := selection.chosen;
    IF setup.turns THEN
        SELECT coalesce(array_agg(c.place ORDER BY
                   ids[abs(c.place)] < 0, CASE WHEN by_day THEN line_groups[abs(c.place)] END,
                   ids[abs(c.place)]), '{}')
        INTO printed FROM unnest(printed) AS c (place);
    END IF;
    FOREACH place IN ARRAY printed LOOP
        IF place > 0 THEN
            line := lines[place];
        ELSE
            place := -place;
            IF as_of = 'infinity' THEN
                SELECT t.brief INTO line FROM trace AS t
                WHERE t.user_id = _recall.user_id AND t.memory_id = ids[place]
                  AND t.model = setup.model_id AND t.brief_cost <= brief_costs[place];
            ELSE
                SELECT t.brief INTO line
                FROM _known_then(_recall.user_id, setup.model_id, as_of, ids[place:place]) AS t
                WHERE t.memory_id = ids[place] AND t.brief_cost <= brief_costs[place];
            END IF;
            -- Since the candidates were read it was purged, or got a longer line.
            IF line IS NULL THEN
                memory_ids := array_remove(memory_ids, ids[place]);
                CONTINUE;
            END IF;
            IF setup.show_references THEN
                line := _reference(ids[place]) || line;
            END IF;
        END IF;
        line_group := line_groups[place];
        IF groups[line_group] IS NULL THEN
            in_order := in_order || line_group;
            groups[line_group] := setup.headings[line_group] || E'\n';
        END IF;
        groups[line_group] := groups[line_group] || '- ' || line || E'\n';
    END LOOP;
    block := setup.profile_text;
    FOREACH line_group IN ARRAY coalesce(in_order, '{}') LOOP
        block := block || groups[line_group];
    END LOOP;
    tokens := _whole_tokens(setup.profile_cost + selection.spent);
    IF block = '' THEN
        SELECT e.block, e.tokens INTO block, tokens FROM _empty_block(budget) AS e;
    END IF;
    candidates := coalesce(cardinality(ids), 0);

    -- Not on a standby, and not for a role that may only read.
    IF setup.log_recalls AND current_setting('transaction_read_only') = 'off'
       AND has_table_privilege('retrieval', 'INSERT')
    THEN
        INSERT INTO retrieval AS r (
            user_id, created_at, as_of, mode, query, ids, kinds, score, weights, chosen,
            token_used, token_budget, elapsed_ms)
        VALUES (
            _recall.user_id, started, nullif(as_of, 'infinity'), _recall.mode,
            _redact_head(query_text), coalesce(ids, '{}'), coalesce(kinds, '{}'),
            coalesce(scores, '{}'), setup.kind_weights, selection.chosen, tokens, budget,
            1000::float8 * date_part('epoch', clock_timestamp() - started))
        RETURNING r.retrieval_id INTO retrieval_id;
    END IF;
END $$;
