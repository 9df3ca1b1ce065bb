-- Puts a job into the queue, in the caller's transaction: the job exists if its cause does. Nobody
-- waits here: with a unique index on dedup_key a second writer would wait for the first one's
-- commit, so equal keys are looked for now, and claim() makes them one.
CREATE OR REPLACE FUNCTION _check_job_kind(kind text) RETURNS job_kind
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_kind job_kind;
BEGIN
    SELECT k.* INTO found_kind FROM job_kind AS k WHERE k.name = _check_job_kind.kind;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown kind of job "%"', kind
            USING ERRCODE = 'ME002',
                  DETAIL = (SELECT 'Kinds: ' || string_agg(k.name, ', ' ORDER BY k.name)
                            FROM job_kind AS k),
                  HINT = 'SELECT name, description FROM memoir.job_kind lists them; '
                         'insert a row to add one.';
    END IF;
    RETURN found_kind;
END $$;

CREATE OR REPLACE FUNCTION enqueue(
    kind text, payload jsonb DEFAULT '{}', user_id text DEFAULT NULL, dedup_key text DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, priority int DEFAULT 0)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    of_kind CONSTANT job_kind := _check_job_kind(kind);
    asked CONSTANT jsonb := _json_given(payload);
    session CONSTANT jsonb := asked -> 'session_id';
    -- The name of a session stays: its messages are found by it.
    given CONSTANT jsonb := coalesce(
        CASE WHEN session IS NULL THEN _redact_json(asked)
             ELSE _redact_json(asked) || jsonb_build_object('session_id', session) END, '{}');
    key CONSTANT text := dedup_key;
    id bigint;
BEGIN
    IF length(key) NOT BETWEEN 1 AND 500 THEN
        RAISE EXCEPTION 'dedup_key has % characters, not 1 to 500', length(key)
            USING ERRCODE = 'ME008', HINT = 'Pass the name of what the job is about, or NULL.';
    ELSIF run_at NOT BETWEEN '1970-01-01 00:00:00+00' AND now() + interval '100 years' THEN
        RAISE EXCEPTION 'a job cannot wait until %', run_at
            USING ERRCODE = 'ME011',
                  HINT = 'Pass a time between 1970 and a hundred years from now, or NULL for now.';
    END IF;
    PERFORM _check_json(given, of_kind.payload_schema, 'the payload');
    IF key IS NOT NULL THEN
        -- In the order of job_id the primary key would be read, with all jobs that are done.
        SELECT min(j.job_id) INTO id
        FROM (SELECT j.job_id FROM job AS j
              WHERE j.user_id = owner AND j.kind = of_kind.name AND j.dedup_key = key
                AND j.status = 'waiting' OFFSET 0) AS j;
        IF id IS NOT NULL THEN
            RETURN id;
        END IF;
    END IF;
    INSERT INTO job AS j (user_id, kind, payload, dedup_key, run_at, priority)
    VALUES (owner, of_kind.name, given, key, coalesce(run_at, now()),
            coalesce(priority, 0))
    RETURNING j.job_id INTO id;
    IF (SELECT s.value = 'true' FROM setting AS s WHERE s.name = 'job_notify') THEN
        PERFORM pg_notify('memoir_jobs', of_kind.name);
    END IF;
    RETURN id;
END $$;

COMMENT ON FUNCTION enqueue(text, jsonb, text, text, timestamptz, int) IS
    'Enqueues a job in the caller''s transaction and returns its job_id; where a job of the same '
    'user, kind and dedup_key (1 to 500 characters) is waiting, nothing happens and its job_id is '
    'returned. kind: a row of job_kind. payload: a JSON object that fits the payload_schema of the '
    'kind; secrets in it are redacted. run_at: not before then (1970 to a hundred years from '
    'now), NULL: now. priority: higher first among the jobs of a user. '
    'Sends NOTIFY memoir_jobs with the kind (setting job_notify), as a hint: a worker has to poll. '
    'Errors: ME002 kind, ME006 user, ME008 dedup_key, ME011 run_at, ME015 payload, 42501 an agent '
    'and kind embed (claim() makes those jobs).';
