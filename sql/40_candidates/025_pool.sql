-- The memories of a user with indexes of his own that the slower roads score (_scored): those near
-- the question, the newest, those with its keywords or a link to the best, and where turns lend to
-- each other the turns around the best. NULL for everybody else: all memories.
-- edges: turns that are there only because others need their neighbours; they become no lines.
CREATE OR REPLACE FUNCTION _pool(
    user_id text, number int, settings mode, model smallint, query halfvec, question sparsevec,
    keywords text[], candidate_limit int, at timestamptz, OUT ids bigint[], OUT edges bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    vector_share CONSTANT float8 := CASE WHEN question IS NULL THEN 1
        ELSE settings.vector_weight / (settings.vector_weight + settings.word_weight) END;
    best bigint[];
    scores float8[];
    sessions bigint[];
    positions int[];
    found bigint[];
BEGIN
    edges := '{}';
    IF number = 0 OR query IS NULL AND question IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(f.memory_id), array_agg(f.score), array_agg(f.session), array_agg(f.position)
    INTO best, scores, sessions, positions
    FROM (
        SELECT DISTINCT ON (r.score, r.memory_id) r.*
        FROM (SELECT t.memory_id, t.session, t.position,
                     _relevance(t.embedding, query, vector_share, t.terms, question, 0) AS score
              FROM (
                  SELECT n.*
                  FROM _near_rows(_pool.user_id, query, question, candidate_limit) AS n
                  UNION ALL
                  -- Where old memories count little, and where kinds have lines of their own.
                  SELECT n.*
                  FROM _near_rows(
                      _pool.user_id, query, question, candidate_limit,
                      at - 3 / nullif(settings.recency_rate, 0) * interval '1 day') AS n
                  WHERE settings.recency_power > 0 AND settings.recency_rate > 0
                  UNION ALL
                  SELECT n.*
                  FROM _near_rows(
                      _pool.user_id, query, question, candidate_limit, '-infinity',
                      ARRAY(SELECT k.kind_id FROM kind AS k WHERE k.layer = 'procedural')) AS n
                  WHERE settings.extra_lines > 0
              ) AS t) AS r
        ORDER BY r.score DESC NULLS LAST, r.memory_id
    ) AS f;
    ids := coalesce(best, '{}') || ARRAY(
        SELECT t.memory_id FROM trace AS t
        WHERE t.user_id = _pool.user_id AND t.model = _pool.model AND t.active
        ORDER BY t.user_id DESC, t.memory_id DESC LIMIT candidate_limit);
    IF cardinality(keywords) > 0 THEN
        ids := ids || ARRAY(
            SELECT k.memory_id FROM _keyword_match(_pool.user_id, keywords) AS k
            ORDER BY k.score DESC, k.memory_id DESC LIMIT 1000);
    END IF;
    IF settings.graph_weight > 0 THEN
        ids := ids || ARRAY(
            SELECT l.memory_id FROM _linked(_pool.user_id, best[:5], scores[:5]) AS l);
    END IF;
    found := ids;
    IF settings.turns THEN
        -- Two turns on either side of a candidate may become lines; two more lend to those.
        SELECT ids || array_agg(n.memory_id),
               array_agg(n.memory_id) FILTER (WHERE n.distance > 2)
        INTO ids, edges
        FROM (
            SELECT a.memory_id, min(abs(a.position - c.position)) AS distance
            FROM unnest(sessions[:candidate_limit], positions[:candidate_limit])
                     AS c (session, "position"),
                 LATERAL (
                     SELECT t.memory_id, t.position FROM trace AS t
                     WHERE t.user_id = _pool.user_id AND t.model = _pool.model AND t.active
                       AND NOT t.wide AND t.session = c.session
                       AND t.position BETWEEN c.position - 4 AND c.position + 4
                     UNION ALL
                     SELECT t.memory_id, t.position FROM trace AS t
                     WHERE t.user_id = _pool.user_id AND t.model = _pool.model AND t.active
                       AND t.wide AND t.session = c.session
                       AND t.position BETWEEN c.position - 4 AND c.position + 4
                 ) AS a
            WHERE c.session > 0 AND c.position >= 0
            GROUP BY a.memory_id
        ) AS n;
        edges := ARRAY(SELECT unnest(edges) EXCEPT SELECT unnest(found));
    END IF;
    ids := ARRAY(SELECT DISTINCT unnest(ids));
END $$;
