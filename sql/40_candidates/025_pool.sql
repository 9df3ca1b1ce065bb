-- The memories that the slower paths score (_scored) for a user with indexes of their own: those
-- near the question, the newest, those with its keywords or a link to the best, and, if turns lend
-- to each other, the turns around the best. Without a question, the leading ones: the best by
-- importance, as a fast mode scores them, and the newest.
-- as_of, since, until, of_kinds: only memories that were known then and pass the filters. If that
-- leaves few near the question, the leading ones fill up. carried: all must have one of these
-- keywords; the newest 500 of each.
-- edges: turns that are there only because others need their neighbours; they do not become lines.
CREATE OR REPLACE FUNCTION _pool(
    user_id text, settings mode, model smallint, query halfvec, question sparsevec,
    keywords text[], candidate_limit int, at timestamptz, by_importance boolean,
    as_of timestamptz DEFAULT 'infinity', times tstzmultirange DEFAULT NULL,
    since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity',
    of_kinds smallint[] DEFAULT NULL, carried text[] DEFAULT '{}',
    OUT ids bigint[], OUT edges bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    vector_share CONSTANT float8 := CASE WHEN question IS NULL THEN 1
        ELSE settings.vector_weight / (settings.vector_weight + settings.word_weight) END;
    -- If more than likeness decides, the best are farther away: of 10,000 memories, mode balanced
    -- has .97 of its 20 best among 60 neighbours, .91 among 40.
    near_limit CONSTANT int := candidate_limit * CASE WHEN settings.fast THEN 2 ELSE 3 END / 2;
    known_until CONSTANT timestamptz := least(as_of, until);
    turn_limit CONSTANT int := candidate_limit * CASE WHEN query IS NULL THEN 4 ELSE 2 END;
    filtered CONSTANT boolean := since > '-infinity' OR known_until < 'infinity'
        OR of_kinds IS NOT NULL;
    best bigint[] := '{}';
    scores float8[];
    -- Session and position of the first of ids; those of the others are read when they are needed.
    sessions bigint[] := '{}';
    positions int[] := '{}';
BEGIN
    edges := '{}';
    IF query IS NOT NULL OR question IS NOT NULL THEN
        -- Without a vector, thousands may have the words of a question.
        SELECT coalesce((array_agg(f.memory_id))[:1000], '{}'), array_agg(f.score),
               coalesce((array_agg(f.session))[:1000], '{}'),
               coalesce((array_agg(f.position))[:1000], '{}')
        INTO best, scores, sessions, positions
        FROM (
            SELECT DISTINCT ON (r.score, r.memory_id) r.*
            FROM (SELECT t.memory_id, t.session, t.position, coalesce(t.relevance, 0) AS score
                  FROM (
                      SELECT n.* FROM _near_rows(_pool.user_id, query, question, vector_share,
                                                 near_limit, since, known_until, of_kinds) AS n
                      UNION ALL
                      -- For modes in which old memories count little, or some kinds have lines of
                      -- their own, and for questions that name a time.
                      SELECT n.*
                      FROM _near_rows(_pool.user_id, query, question, vector_share, near_limit,
                                      greatest(since, at - 3 / nullif(settings.recency_rate, 0)
                                                           * interval '1 day'),
                                      known_until, of_kinds) AS n
                      WHERE settings.recency_power > 0 AND settings.recency_rate > 0
                      UNION ALL
                      SELECT n.*
                      FROM _near_rows(_pool.user_id, query, question, vector_share, near_limit,
                                      since, known_until, ARRAY(SELECT k.kind_id FROM kind AS k
                                                         WHERE k.layer = 'procedural')) AS n
                      WHERE settings.extra_lines > 0
                      UNION ALL
                      SELECT n.*
                      FROM unnest(_asked_times(times, settings.time_before, settings.time_after,
                                               settings.time_after_day)) AS w,
                           _near_rows(_pool.user_id, query, question, vector_share,
                                      near_limit, greatest(since, lower(w)),
                                      least(known_until, upper(w)), of_kinds) AS n
                  ) AS t) AS r
            ORDER BY r.score DESC NULLS LAST, r.memory_id DESC
        ) AS f;
        ids := best;
        IF NOT filtered THEN
            SELECT ids || array_agg(t.memory_id), sessions || array_agg(t.session),
                   positions || array_agg(t.position)
            INTO ids, sessions, positions
            FROM (SELECT t.memory_id, t.session, t.position FROM trace AS t
                  WHERE t.user_id = _pool.user_id AND t.model = _pool.model AND t.active
                  ORDER BY t.user_id DESC, t.memory_id DESC LIMIT candidate_limit) AS t;
        ELSIF cardinality(ids) < 2 * candidate_limit THEN
            ids := ids || ARRAY(SELECT _leading_rows(
                _pool.user_id, 5 * candidate_limit, since, known_until, of_kinds));
        END IF;
        IF query IS NULL AND times IS NOT NULL THEN
            -- What was said at the time counts without any of the words, too.
            ids := ids || ARRAY(
                SELECT l.id
                FROM unnest(times) AS w,
                     _leading_rows(_pool.user_id, 2 * candidate_limit, greatest(since, lower(w)),
                                   least(known_until, upper(w)), of_kinds) AS l (id));
        END IF;
    ELSIF by_importance AND carried = '{}' THEN
        ids := ARRAY(
            SELECT _leading_rows(_pool.user_id, greatest(2 * candidate_limit, 100), since,
                                 known_until, of_kinds, settings.plain_kinds,
                                 settings.kind_weights, settings.kind_rates,
                                 date_part('epoch', at))
            UNION
            SELECT _leading_rows(_pool.user_id, candidate_limit, since, known_until, of_kinds));
    END IF;
    IF carried <> '{}' THEN
        ids := ids || ARRAY(
            SELECT k.memory_id
            FROM unnest(carried) AS w (word), LATERAL (
                SELECT k.memory_id FROM keyword AS k
                WHERE k.user_id = _pool.user_id AND k.keyword = w.word
                  AND (NOT filtered OR EXISTS (
                      SELECT FROM trace AS t
                      WHERE t.user_id = _pool.user_id AND t.memory_id = k.memory_id
                        AND t.model = _pool.model AND t.active
                        AND t.created_at BETWEEN since AND known_until
                        AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))))
                ORDER BY k.keyword DESC, k.memory_id DESC LIMIT 500) AS k);
    ELSIF cardinality(keywords) > 0 THEN
        ids := ids || ARRAY(
            SELECT k.memory_id FROM _keyword_match(_pool.user_id, keywords, 200) AS k
            ORDER BY k.score DESC, k.memory_id DESC LIMIT 200);
    END IF;
    IF settings.graph_weight > 0 THEN
        ids := ids || ARRAY(
            SELECT l.memory_id FROM _linked(_pool.user_id, best[:5], scores[:5]) AS l);
    END IF;
    IF settings.turns THEN
        -- A turn scores right only with those around it.
        -- Two on either side of a candidate may become lines, two more lend to those, and turns
        -- without their neighbours are left out. Candidates whose neighbours meet are one stretch
        -- of their session, which is read once.
        WITH candidate AS MATERIALIZED (
            SELECT c.memory_id, c.session, c.position
            FROM unnest(ids[:cardinality(sessions)], sessions, positions)
                     WITH ORDINALITY AS c (memory_id, session, "position", place)
            WHERE c.place <= turn_limit OR c.place > cardinality(best)
               OR c.session = 0 OR c.position < 0
            UNION ALL
            SELECT t.memory_id, t.session, t.position
            FROM unnest(ids[cardinality(sessions) + 1:]) AS c (id)
            JOIN trace AS t ON t.user_id = _pool.user_id AND t.memory_id = c.id
                           AND t.model = _pool.model AND t.active
        ), stretch AS (
            SELECT c.session, array_agg(c.position) AS positions,
                   min(c.position) - 4 AS first, max(c.position) + 4 AS last
            FROM (
                SELECT c.session, c.position,
                       count(*) FILTER (WHERE c.distance > 8) OVER turns AS gaps
                FROM (SELECT c.session, c.position,
                             c.position - lag(c.position) OVER turns AS distance
                      FROM candidate AS c
                      WHERE c.session > 0 AND c.position >= 0
                      WINDOW turns AS (PARTITION BY c.session ORDER BY c.position)) AS c
                WINDOW turns AS (PARTITION BY c.session ORDER BY c.position)
            ) AS c
            GROUP BY c.session, c.gaps
        )
        SELECT array_agg(r.memory_id), coalesce(array_agg(r.memory_id) FILTER (WHERE r.edge), '{}')
        INTO ids, edges
        FROM (
            SELECT n.memory_id,
                   NOT s.positions && ARRAY[n.position - 2, n.position - 1, n.position,
                                            n.position + 1, n.position + 2] AS edge
            FROM stretch AS s, LATERAL (
                SELECT t.memory_id, t.position FROM trace AS t
                WHERE t.user_id = _pool.user_id AND t.model = _pool.model AND t.active
                  AND NOT t.wide AND t.session = s.session
                  AND t.position BETWEEN s.first AND s.last
                UNION ALL
                SELECT t.memory_id, t.position FROM trace AS t
                WHERE t.user_id = _pool.user_id AND t.model = _pool.model AND t.active
                  AND t.wide AND t.session = s.session
                  AND t.position BETWEEN s.first AND s.last
            ) AS n
            UNION ALL
            SELECT c.memory_id, false FROM candidate AS c WHERE c.session = 0 OR c.position < 0
        ) AS r;
    END IF;
    ids := ARRAY(SELECT DISTINCT unnest(ids) ORDER BY 1);
END $$;
