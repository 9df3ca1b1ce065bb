-- Who has jobs that can be claimed now: the first of a worker's two steps, without any lock. One
-- index lookup per user, however many jobs they have (without a sort, see _take_jobs). Jobs of kind
-- embed have an index of their own: a worker without a chat model would read all that wait for one.
CREATE OR REPLACE FUNCTION _job_users(kinds text[], at timestamptz)
    RETURNS TABLE (user_id text, oldest timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_sort = off
    SET enable_incremental_sort = off
AS $$
#variable_conflict use_column
BEGIN
    IF kinds = '{embed}' THEN
        RETURN QUERY
        SELECT DISTINCT ON (j.user_id) j.user_id, j.run_at
        -- In the order of job_open, that index would be read where the table was empty.
        FROM (SELECT o.user_id, o.priority, o.run_at FROM job AS o
              WHERE o.kind = 'embed' AND o.status <> 'done' AND o.run_at <= at OFFSET 0) AS j
        ORDER BY j.user_id, j.priority DESC, j.run_at;
        RETURN;
    END IF;
    RETURN QUERY
    WITH RECURSIVE first AS (
        (SELECT j.user_id, j.run_at
         FROM job AS j
         WHERE j.status <> 'done' AND j.run_at <= at AND (kinds IS NULL OR j.kind = ANY (kinds))
         ORDER BY j.user_id, j.priority DESC, j.run_at LIMIT 1)
        UNION ALL
        SELECT n.user_id, n.run_at
        FROM first AS f, LATERAL (
            SELECT j.user_id, j.run_at
            FROM job AS j
            WHERE j.user_id > f.user_id
              AND j.status <> 'done' AND j.run_at <= at AND (kinds IS NULL OR j.kind = ANY (kinds))
            ORDER BY j.user_id, j.priority DESC, j.run_at LIMIT 1) AS n
    )
    SELECT f.user_id, f.run_at FROM first AS f;
END $$;

-- A payload that an agent enqueued is read in everybody's lookup: if it names no memory, that must
-- not be an error. (_said_id() takes 2 µs per id, this takes 0.2.)
CREATE OR REPLACE FUNCTION _payload_id(said jsonb) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN pg_input_is_valid(said #>> '{}', 'bigint') THEN (said #>> '{}')::bigint END;

CREATE OR REPLACE FUNCTION _payload_ids(payload jsonb) RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ARRAY(SELECT _payload_id(i.id)
                 FROM jsonb_path_query(payload, '$.memory_ids[*]') WITH ORDINALITY AS i (id, place)
                 WHERE _payload_id(i.id) IS NOT NULL
                 ORDER BY i.place);

-- Memories that embed jobs hold: running, waiting, or dead while the text is still the one that
-- failed. NULL: all of them, because a failed batch waits; a model that is down gets only one batch
-- per user to fail. Jobs of a model that is no longer in use hold nothing: its workers may run on
-- for a while, and fail.
CREATE OR REPLACE FUNCTION _held_by_jobs(user_id text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    in_use CONSTANT jsonb := (
        SELECT to_jsonb(e.model_id) FROM embedding_model AS e WHERE e.active);
BEGIN
    IF EXISTS (SELECT FROM job AS j
               WHERE j.user_id = _held_by_jobs.user_id AND j.kind = 'embed'
                 AND j.status = 'waiting' AND coalesce(j.payload -> 'model', in_use) = in_use
                 AND jsonb_path_exists(j.payload, '$.hashes[*] ? (@ != $.hashes[0])')) THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(
        SELECT _payload_id(h.memory_id)
        FROM job AS j,
             ROWS FROM (jsonb_path_query(j.payload, '$.memory_ids[*]'),
                        jsonb_path_query(j.payload, '$.hashes[*]')) AS h (memory_id, hash)
        WHERE j.user_id = _held_by_jobs.user_id AND j.kind = 'embed' AND j.status <> 'done'
          AND coalesce(j.payload -> 'model', in_use) = in_use
          AND _payload_id(h.memory_id) IS NOT NULL
          AND (j.status <> 'dead' OR EXISTS (
                  SELECT FROM memory AS m
                  WHERE m.user_id = j.user_id AND m.memory_id = _payload_id(h.memory_id)
                    AND _text_hash(m.user_id, m.content)::text = h.hash #>> '{}')));
END $$;

-- Users with memories that wait for a vector, and since when the first of them has waited.
CREATE OR REPLACE FUNCTION _embed_users(model smallint)
    RETURNS TABLE (user_id text, oldest timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH RECURSIVE lacking AS (
        (SELECT t.user_id FROM trace AS t
         WHERE t.active AND t.embedding IS NULL AND t.model = _embed_users.model
         ORDER BY t.user_id LIMIT 1)
        UNION ALL
        SELECT n.user_id
        FROM lacking AS s, LATERAL (
            SELECT t.user_id FROM trace AS t
            WHERE t.user_id > s.user_id
              AND t.active AND t.embedding IS NULL AND t.model = _embed_users.model
            ORDER BY t.user_id LIMIT 1) AS n
    )
    SELECT s.user_id, m.updated_at
    FROM lacking AS s
    CROSS JOIN LATERAL (
        SELECT CASE WHEN EXISTS (SELECT FROM job AS j
                                 WHERE j.user_id = s.user_id AND j.kind = 'embed'
                                   AND j.status <> 'done')
                    THEN _held_by_jobs(s.user_id) ELSE '{}' END AS memory_ids OFFSET 0) AS held
    CROSS JOIN LATERAL (
        SELECT t.memory_id FROM trace AS t
        WHERE t.user_id = s.user_id AND t.model = _embed_users.model
          AND t.active AND t.embedding IS NULL AND t.memory_id <> ALL (held.memory_ids)
        ORDER BY t.memory_id LIMIT 1) AS f
    CROSS JOIN LATERAL (
        SELECT m.updated_at FROM memory AS m
        WHERE m.user_id = s.user_id AND m.memory_id = f.memory_id OFFSET 0) AS m;
END $$;

-- How many jobs and memories of a user can be claimed; more than 1,000 of either count as 1,000.
CREATE OR REPLACE FUNCTION _count_waiting(
    user_id text, kinds text[], model smallint, at timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_sort = off
AS $$
DECLARE
    held CONSTANT bigint[] := _held_by_jobs(user_id);
BEGIN
    RETURN (
        SELECT count(*)
        FROM ((SELECT FROM job AS j
               WHERE kinds IS DISTINCT FROM '{embed}'
                 AND j.user_id = _count_waiting.user_id AND j.status <> 'done' AND j.run_at <= at
                 AND (kinds IS NULL OR j.kind = ANY (kinds))
               ORDER BY j.priority DESC, j.run_at)
              UNION ALL
              SELECT FROM job AS j
              WHERE kinds = '{embed}'
                AND j.user_id = _count_waiting.user_id AND j.kind = 'embed'
                AND j.status <> 'done' AND j.run_at <= at
              LIMIT 1000) AS jobs
    ) + (
        SELECT count(*)
        FROM (SELECT FROM trace AS t
              WHERE t.user_id = _count_waiting.user_id AND t.model = _count_waiting.model
                AND t.active AND t.embedding IS NULL AND t.memory_id <> ALL (held)
              LIMIT 1000) AS memories
    );
END $$;

CREATE OR REPLACE FUNCTION ready_users(
    n int DEFAULT 10, kinds text[] DEFAULT NULL, at timestamptz DEFAULT NULL)
    RETURNS TABLE (user_id text, waiting bigint, oldest timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := coalesce(at, now());
    embeds CONSTANT smallint := (
        SELECT e.model_id FROM embedding_model AS e
        WHERE e.active AND (kinds IS NULL OR 'embed' = ANY (kinds)));
BEGIN
    IF n < 1 THEN
        RAISE EXCEPTION 'n must be at least 1, not %', n
            USING ERRCODE = 'ME008', HINT = 'Pass how many users to name at most: 10.';
    END IF;
    PERFORM _check_job_kind(k)
    FROM unnest(kinds) AS k WHERE k NOT IN (SELECT j.name FROM job_kind AS j);
    RETURN QUERY
    SELECT u.user_id, _count_waiting(u.user_id, kinds, embeds, moment), u.oldest
    FROM (
        SELECT s.user_id, min(s.oldest) AS oldest
        FROM (SELECT j.user_id, j.oldest FROM _job_users(kinds, moment) AS j
              UNION ALL
              SELECT e.user_id, e.oldest FROM _embed_users(embeds) AS e) AS s
        GROUP BY s.user_id
        ORDER BY 2, 1
        LIMIT coalesce(n, 10)
    ) AS u
    ORDER BY u.oldest, u.user_id;
END $$;

COMMENT ON FUNCTION ready_users(int, text[], timestamptz) IS
    'Users with jobs that can be claimed now, the longest wait first: user_id, waiting (how many '
    'jobs and memories without a vector; more than 1,000 of either count as 1,000), oldest (since '
    'when the job that claim() would take first waits). n: how many users at most, from 1. kinds: '
    'only jobs of these kinds, NULL: all; memories without a vector count as kind embed. at: as of '
    'then, NULL: now. Takes no lock. Errors: ME002 kinds, ME008 n.';
