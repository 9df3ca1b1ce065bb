-- The numbers of a user's memory in one answer: D4 5.6 (totals and kinds), the metrics of D1 7 and
-- D2 6. One row per number: psql lists them, jsonb_object_agg(name, value) makes one object, and a
-- number added later breaks no caller. Everything is counted at the call.
CREATE OR REPLACE FUNCTION _rounded(value float8) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_jsonb(trim_scale(round(value::numeric, 3)));

CREATE OR REPLACE FUNCTION _memory_stats(user_id text) RETURNS TABLE (name text, value jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH counted AS MATERIALIZED (
        SELECT m.status, m.kind, count(*) AS number, sum(m.importance) AS importance
        FROM memory AS m WHERE m.user_id = _memory_stats.user_id
        GROUP BY m.status, m.kind
    ), by_status AS (
        SELECT c.status, sum(c.number) AS number FROM counted AS c GROUP BY c.status
    ), active AS (
        SELECT c.* FROM counted AS c WHERE c.status = 'active'
    )
    SELECT 'memories', to_jsonb(coalesce(sum(a.number), 0)) FROM active AS a
    UNION ALL
    SELECT 'by_kind', coalesce(jsonb_object_agg(a.kind, jsonb_build_object(
               'memories', a.number, 'importance', _rounded(a.importance / a.number))), '{}')
    FROM active AS a
    UNION ALL
    SELECT 'importance', _rounded(sum(a.importance) / sum(a.number)) FROM active AS a
    UNION ALL
    SELECT 'by_status', coalesce(jsonb_object_agg(b.status, b.number), '{}') FROM by_status AS b
    UNION ALL
    SELECT 'pending', to_jsonb(coalesce(sum(b.number), 0))
    FROM by_status AS b WHERE b.status = 'pending'
    UNION ALL
    SELECT c.name, _rounded(c.share)
    FROM summary(_memory_stats.user_id) AS s,
         LATERAL (VALUES ('with_embedding', s.with_embedding), ('with_keywords', s.with_keywords))
             AS c (name, share);
END $$;

-- From the logs of recalls and tools. They are unlogged, so a standby has neither.
CREATE OR REPLACE FUNCTION _recall_stats_of(user_id text) RETURNS TABLE (name text, value jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    r _recall_stats;
    calls bigint;
BEGIN
    IF NOT pg_is_in_recovery() THEN
        SELECT s.* INTO r FROM _recall_stats AS s
        WHERE s.user_id = _recall_stats_of.user_id AND s.mode IS NULL;
        r.recalls := coalesce(r.recalls, 0);
        r.recalls_with_feedback := coalesce(r.recalls_with_feedback, 0);
        calls := (SELECT count(*) FROM tool_call AS c WHERE c.user_id = _recall_stats_of.user_id);
    END IF;
    RETURN QUERY
    SELECT f.name, f.value
    FROM (VALUES
        ('recalls', to_jsonb(r.recalls)),
        ('recall_p50_ms', _rounded(r.p50_ms)),
        ('recall_p95_ms', _rounded(r.p95_ms)),
        ('recall_p99_ms', _rounded(r.p99_ms)),
        ('tokens_per_recall', _rounded(r.token_used)),
        ('token_utilisation', _rounded(r.utilisation)),
        ('recalls_with_feedback', to_jsonb(r.recalls_with_feedback)),
        ('hit_rate', _rounded(r.hit_rate)),
        ('used_share', _rounded(r.used_share)),
        ('tool_calls', to_jsonb(calls))) AS f (name, value);
END $$;

CREATE OR REPLACE FUNCTION _job_stats(user_id text) RETURNS TABLE (name text, value jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT f.name, to_jsonb(f.number)
    FROM (SELECT count(*) FILTER (WHERE j.status = 'waiting') AS waiting,
                 count(*) FILTER (WHERE j.status = 'dead') AS dead
          FROM job AS j
          WHERE j.user_id = _job_stats.user_id AND j.status <> 'done') AS c,
         LATERAL (VALUES ('jobs_waiting', c.waiting), ('jobs_dead', c.dead)) AS f (name, number);
    RETURN QUERY
    SELECT 'caches', jsonb_object_agg(s.cache, jsonb_build_object(
               'entries', s.entries, 'hits', s.hits, 'misses', s.misses,
               'hit_rate', _rounded(s.hit_rate)))
    FROM cache_stats(_job_stats.user_id) AS s;
END $$;

CREATE OR REPLACE FUNCTION stats(user_id text DEFAULT NULL)
    RETURNS TABLE (name text, value jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    RETURN QUERY
    SELECT m.name, m.value FROM _memory_stats(owner) AS m
    UNION ALL
    SELECT 'sessions', to_jsonb(count(*)) FROM session AS s WHERE s.user_id = owner
    UNION ALL
    SELECT 'open_sessions', to_jsonb(count(*))
    FROM session AS s WHERE s.user_id = owner AND s.ended_at IS NULL
    UNION ALL
    SELECT 'messages', to_jsonb(count(*)) FROM message AS g WHERE g.user_id = owner
    UNION ALL
    SELECT 'events', to_jsonb(count(*))
    FROM event AS e WHERE e.user_id = owner AND NOT _is_log(e.type)
    UNION ALL
    SELECT 'relations', to_jsonb(count(*)) FROM relation AS r WHERE r.user_id = owner
    UNION ALL
    SELECT 'entities', to_jsonb(count(*)) FROM entity AS e WHERE e.user_id = owner
    UNION ALL
    SELECT r.name, r.value FROM _recall_stats_of(owner) AS r
    UNION ALL
    SELECT 'hot_memories', coalesce(jsonb_agg(h.memory_id::text ORDER BY h.place), '[]')
    FROM hot_memories AS h WHERE h.user_id = owner
    UNION ALL
    SELECT j.name, j.value FROM _job_stats(owner) AS j;
END $$;

COMMENT ON FUNCTION stats(text) IS
    'Numbers of a user''s memory, a row each: name and value (jsonb; NULL where there is nothing '
    'to measure yet). memories (active), by_kind (memories and mean importance), importance '
    '(mean), by_status, pending, with_embedding and with_keywords (shares of the active, 0 to 1), '
    'sessions, open_sessions, messages, events, relations, entities; recalls, recall_p50_ms, '
    'recall_p95_ms, recall_p99_ms, tokens_per_recall, token_utilisation (0 to 1), '
    'recalls_with_feedback, hit_rate and used_share (see view hit_rate; the views tell them by '
    'mode), tool_calls (those from recalls on are NULL on a standby, which has no log of them), '
    'hot_memories (keys of view hot_memories), jobs_waiting and jobs_dead (see '
    'job_errors; memories that wait for a vector are told by with_embedding), caches (of '
    'cache_stats(), by name: entries, hits, misses, hit_rate). Errors: ME006 user. Source: D4 5.6, '
    'D1 7, D2 6.';
