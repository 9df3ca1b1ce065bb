-- What the nightly pass finds for a chat model to do (SPEC 3.1, 3.7, 3.8; D1 4.1, D2 8.1), one
-- function per kind of job: the payload of each job. The functions change nothing, and do not find
-- again what is already in a job or was asked before.

-- Old memories that were seldom shown, by kind, the oldest together. An imported memory is as old
-- as its storing; a change, or a question to a model about it, counts like showing it. Memories
-- that fill a slot, end by themselves or are too long to be shown whole are left alone, and so are
-- the profile and the rows of attached tables.
CREATE OR REPLACE FUNCTION _seldom_used(user_id text, at timestamptz)
    RETURNS TABLE (memory_id bigint, kind text, tokens int)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    before CONSTANT timestamptz := at - make_interval(days => _config('compress_days')::int);
    accesses CONSTANT int := _config('compress_accesses');
    most CONSTANT int := _config('compress_most') * _config('nightly_jobs');
    held CONSTANT bigint[] := ARRAY(
        SELECT unnest(_payload_ids(j.payload)) FROM job AS j
        WHERE j.user_id = _seldom_used.user_id AND j.kind = 'compress' AND j.status <> 'done');
BEGIN
    RETURN QUERY
    SELECT m.memory_id, m.kind, estimate_tokens(m.content)
    FROM memory AS m
    JOIN kind AS k ON k.name = m.kind AND k.layer IN ('semantic', 'procedural')
    LEFT JOIN access AS a ON a.user_id = m.user_id AND a.memory_id = m.memory_id
    WHERE m.user_id = _seldom_used.user_id AND m.status = 'active'
      AND m.created_at > '-infinity' AND m.created_at < before AND m.recorded_at < before
      AND (a.last_at >= before OR a.count >= accesses) IS NOT TRUE
      AND m.subject IS NULL AND m.position IS NULL AND m.source IS NULL
      AND m.valid_until IS NULL AND length(m.content) <= 4000
      AND m.memory_id <> ALL (held)
      AND NOT EXISTS (SELECT FROM revision AS r
                      WHERE r.user_id = m.user_id AND r.memory_id = m.memory_id
                        AND r.created_at >= before AND r.action <> 'LOWER')
    ORDER BY m.created_at, m.memory_id
    LIMIT most;
END $$;

-- A user who confirms what a model writes is not asked about a hundred memories at once.
CREATE OR REPLACE FUNCTION _compress_jobs(user_id text, at timestamptz, room int)
    RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT int := _config('compress_most');
    most_tokens CONSTANT int := _config('compress_tokens');
BEGIN
    IF room = 0 OR (SELECT p.confirm FROM profile AS p WHERE p.user_id = _compress_jobs.user_id)
    THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT jsonb_build_object('memory_ids', jsonb_agg(g.memory_id::text ORDER BY g.memory_id))
    FROM (
        SELECT s.memory_id, s.kind,
               greatest((count(*) OVER earlier - 1) / most,
                        (sum(s.tokens) OVER earlier - s.tokens) / most_tokens) AS part
        FROM _seldom_used(user_id, at) WITH ORDINALITY AS s (memory_id, kind, tokens, place)
        WINDOW earlier AS (PARTITION BY s.kind ORDER BY s.place)
    ) AS g
    GROUP BY g.kind, g.part
    HAVING count(*) >= _config('compress_least')
    ORDER BY min(g.memory_id)
    LIMIT room;
END $$;

CREATE OR REPLACE FUNCTION _rolling_summary_jobs(user_id text, room int) RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    since CONSTANT timestamptz := coalesce(
        (SELECT p.summarised_at FROM profile AS p
         WHERE p.user_id = _rolling_summary_jobs.user_id), '-infinity');
BEGIN
    IF room = 0 OR room < _config('nightly_jobs') THEN
        RETURN;  -- one is waiting or dead
    END IF;
    RETURN QUERY
    SELECT '{}'::jsonb
    FROM unnest(_summarised(user_id)) AS i (id), LATERAL (
        SELECT FROM memory AS m
        WHERE m.user_id = _rolling_summary_jobs.user_id AND m.memory_id = i.id
          AND m.recorded_at > since
        OFFSET 0) AS m
    HAVING count(*) >= _config('summary_changes') OR _no_longer_true(user_id, NULL) <> '[]';
END $$;

-- A summary may mention what its user has forgotten: a new one is made at once, not at night,
-- unless one is already being made.
CREATE OR REPLACE FUNCTION _renew_summary(user_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF EXISTS (SELECT FROM profile AS p
               WHERE p.user_id = _renew_summary.user_id AND p.rolling_summary IS NOT NULL)
       AND nullif(_job_room(user_id, 'rolling_summary'), 0) = _config('nightly_jobs')
    THEN
        PERFORM enqueue('rolling_summary', user_id => user_id);
    END IF;
END $$;

-- Only memories younger than a job is kept: one whose job found nothing is not asked about again.
CREATE OR REPLACE FUNCTION _keywords_jobs(user_id text, at timestamptz, room int)
    RETURNS SETOF jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    since CONSTANT timestamptz := at - _days('job_days');
BEGIN
    IF (SELECT s.value <> 'true' FROM setting AS s WHERE s.name = 'keyword_jobs') THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT jsonb_build_object('memory_id', m.memory_id::text)
    FROM memory AS m
    WHERE m.user_id = _keywords_jobs.user_id AND m.status = 'active' AND m.position IS NULL
      AND m.recorded_at > since
      AND NOT EXISTS (SELECT FROM keyword AS k
                      WHERE k.user_id = m.user_id AND k.memory_id = m.memory_id
                        AND k.origin = 'llm')
      AND NOT EXISTS (SELECT FROM job AS j
                      WHERE j.user_id = m.user_id AND j.kind = 'keywords'
                        AND j.payload ->> 'memory_id' = m.memory_id::text)
    ORDER BY m.memory_id DESC
    LIMIT room;
END $$;

-- Pairs to ask about: those of memory_ids that are like another memory, and memories that seem to
-- contradict each other. A relation joins pairs that were asked about already, or about which
-- somebody knows better.
CREATE OR REPLACE FUNCTION _pairs_to_ask(user_id text, memory_ids bigint[], others boolean)
    RETURNS TABLE (older bigint, newer bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT DISTINCT f.older, f.newer
    FROM (
        SELECT d.near_id AS older, d.memory_id AS newer
        FROM embedding_model AS e,
             LATERAL _near_duplicates(_pairs_to_ask.user_id, e.model_id, memory_ids) AS d
        WHERE e.active
        UNION ALL
        SELECT c.memory_ids[n], c.memory_ids[n + 1]
        FROM contradictions(_pairs_to_ask.user_id) AS c,
             generate_series(1, cardinality(c.memory_ids) - 1) AS n
        WHERE others
    ) AS f
    WHERE NOT EXISTS (SELECT FROM relation AS r
                      WHERE r.user_id = _pairs_to_ask.user_id
                        AND (r.from_id, r.to_id) IN ((f.older, f.newer), (f.newer, f.older)))
    ORDER BY f.newer, f.older;
END $$;
