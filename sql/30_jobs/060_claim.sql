-- Hands jobs of one user to a worker for the time of a lease: if the worker is killed, they go to
-- the next one. Only rows of one user are locked, and those another worker has are skipped.
CREATE OR REPLACE FUNCTION _check_claim(n int, worker text, lease interval) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_number(n, 'n', 1000);
    IF worker IS NULL OR btrim(worker) = '' OR length(worker) > 200 THEN
        RAISE EXCEPTION 'a worker needs a name of 1 to 200 characters, not "%"', left(worker, 40)
            USING ERRCODE = 'ME008',
                  HINT = 'Pass a name no other worker has, such as host, process and a number.';
    END IF;
    IF lease IS NULL OR lease < interval '1 second' OR lease > interval '1 day' THEN
        RAISE EXCEPTION 'a lease takes 1 second to 1 day, not %', lease
            USING ERRCODE = 'ME008', HINT = 'Leave it out for 5 minutes.';
    END IF;
END $$;

-- Takes up to n existing jobs. A job is dead once its workers were lost as often as a job may fail.
-- No plan reads jobs that are done, whatever the statistics say: where most users have one job, it
-- may be that of the primary key for all jobs of a user. So they are looked for in the order of
-- job_open, without a sort, and changed one by one.
CREATE OR REPLACE FUNCTION _take_jobs(
    user_id text, n int, worker text, kinds text[], at timestamptz, until timestamptz)
    RETURNS SETOF job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT int := _config('job_attempts');
    next record;
    taken job;
BEGIN
    -- Jobs of kind embed have an index of their own. Without this check, all jobs that wait for a
    -- chat model would be read.
    IF kinds = '{embed}' AND NOT EXISTS (
        SELECT FROM job AS j
        WHERE j.user_id = _take_jobs.user_id AND j.kind = 'embed' AND j.status <> 'done'
    ) THEN
        RETURN;
    END IF;
    FOR next IN
        SELECT j.job_id, j.attempts >= most AS spent
        FROM job AS j
        WHERE j.user_id = _take_jobs.user_id AND j.status <> 'done' AND j.run_at <= at
          AND (kinds IS NULL OR j.kind = ANY (kinds))
        ORDER BY j.priority DESC, j.run_at, j.job_id
        LIMIT n
        FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        UPDATE job AS j
        SET status = CASE WHEN next.spent THEN 'dead' ELSE 'running' END,
            run_at = CASE WHEN next.spent THEN 'infinity' ELSE until END,
            worker = CASE WHEN next.spent THEN NULL ELSE _take_jobs.worker END,
            error = CASE WHEN next.spent THEN 'its worker did not come back' ELSE j.error END,
            attempts = j.attempts + (NOT next.spent)::int
        WHERE j.user_id = _take_jobs.user_id AND j.job_id = next.job_id
        RETURNING j.* INTO taken;
        IF NOT next.spent THEN
            RETURN NEXT taken;
        END IF;
    END LOOP;
END $$;

-- Of jobs with the same dedup_key the first is worked on, and the others are done with it. Those
-- that another worker has just taken stay with that worker.
CREATE OR REPLACE FUNCTION _absorb_duplicates(user_id text, taken job[]) RETURNS job[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    first_ids CONSTANT bigint[] := ARRAY(
        SELECT min(t.job_id) FROM unnest(taken) AS t
        WHERE t.dedup_key IS NOT NULL GROUP BY t.kind, t.dedup_key);
    doubles bigint[];
BEGIN
    IF first_ids = '{}' THEN
        RETURN taken;
    END IF;
    doubles := ARRAY(
        SELECT t.job_id FROM unnest(taken) AS t
        WHERE t.dedup_key IS NOT NULL AND t.job_id <> ALL (first_ids)
    ) || ARRAY(
        SELECT j.job_id
        FROM unnest(taken) AS t
        JOIN job AS j ON j.kind = t.kind AND j.dedup_key = t.dedup_key
        WHERE j.user_id = _absorb_duplicates.user_id AND j.status = 'waiting'
          AND t.job_id = ANY (first_ids)
        FOR NO KEY UPDATE OF j SKIP LOCKED);
    PERFORM _jobs_done(user_id, doubles);
    RETURN ARRAY(SELECT t FROM unnest(taken) AS t WHERE t.job_id <> ALL (doubles));
END $$;

-- A reflection is shown what is stored. So it waits while another session of the user is reflected
-- on, and while its own is extracted: both at once would store everything twice, in other words or
-- as another kind. When the other job is over, it goes on at once (_reflect_now), and at the latest
-- when the lease ends. This is no attempt. A claim that is not committed is not seen: one claims at
-- a time. next: what was claimed with it and comes after it.
CREATE OR REPLACE FUNCTION _waits_for_another(claimed job, next bigint[], at timestamptz)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET enable_sort = off
AS $$
DECLARE
    until timestamptz;
    extracted boolean;
BEGIN
    IF claimed.kind <> 'reflect' THEN
        RETURN false;
    END IF;
    SELECT max(o.run_at), bool_or(o.kind = 'extract') INTO until, extracted
    FROM (SELECT o.run_at, o.kind
          FROM job AS o
          WHERE o.user_id = claimed.user_id AND o.status = 'running' AND o.run_at > at
            AND (o.kind = 'reflect' AND o.job_id <> claimed.job_id AND o.job_id <> ALL (next)
                 OR o.kind = 'extract'
                    AND o.payload ->> 'session_id' = claimed.payload ->> 'session_id')
          ORDER BY o.priority DESC, o.run_at) AS o;
    IF until IS NULL THEN
        IF pg_try_advisory_xact_lock(
            hashtextextended('memoir._waits_for_another ' || claimed.user_id, 0))
        THEN
            RETURN false;
        END IF;
        until := at + interval '1 second';
    END IF;
    PERFORM _fail_job(claimed, CASE WHEN extracted THEN 'its session is being extracted'
                                    ELSE 'another session is being reflected on' END,
                      at, until - at);
    IF extracted THEN
        PERFORM _reflect_now(claimed);
    END IF;
    RETURN true;
END $$;

-- A job with what its worker needs: a prompt for the chat model, or texts. A job for which they
-- cannot be made has failed. NULL: nothing to do. The payload is checked again, because an agent
-- can write it into the table: 200,000 ids would keep the worker from everybody else for 20 s, and
-- twice as many more than twice as long.
CREATE OR REPLACE FUNCTION _prepare_job(
    claimed job, next bigint[], needs text, at timestamptz) RETURNS claimed_job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    result claimed_job;
BEGIN
    PERFORM _check_json(claimed.payload, k.payload_schema, 'the payload')
    FROM job_kind AS k WHERE k.name = claimed.kind;
    IF needs = 'embedding' THEN
        RETURN _claimed_texts(claimed);
    END IF;
    IF _waits_for_another(claimed, next, at) THEN
        RETURN NULL;
    END IF;
    result := _job_prompt(claimed);
    IF result IS NULL AND claimed.kind = 'archive'
       AND _writing_refused(claimed.user_id, NULL) IS NOT NULL
    THEN
        -- If it were done, its events would be deleted unread.
        PERFORM _fail_job(claimed, _writing_refused(claimed.user_id, NULL), at, interval '1 day');
    ELSIF result IS NULL THEN
        PERFORM _jobs_done(claimed.user_id, ARRAY[claimed.job_id]);
        PERFORM _reflect_now(claimed);
    END IF;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    IF _is_of_server(SQLSTATE) THEN
        RAISE;
    END IF;
    PERFORM _fail_job(claimed, SQLERRM, at);
    IF claimed.kind = 'reflect' THEN
        PERFORM _reflect_now(claimed);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION claim(
    user_id text, n int, worker text, kinds text[] DEFAULT NULL,
    lease interval DEFAULT '5 minutes', at timestamptz DEFAULT NULL)
    RETURNS SETOF claimed_job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    moment CONSTANT timestamptz := coalesce(_check_moment(at), now());
    until timestamptz;
    needs CONSTANT jsonb := (SELECT jsonb_object_agg(k.name, k.needs) FROM job_kind AS k);
    taken job[];
    next bigint[];
    each job;
    result claimed_job;
    room int := n;
BEGIN
    PERFORM _check_claim(n, worker, lease);
    PERFORM _check_job_kind(k) FROM unnest(kinds) AS k WHERE NOT needs ? k;
    until := moment + lease;
    taken := _absorb_duplicates(owner, ARRAY(
        SELECT t FROM _take_jobs(owner, n, worker, kinds, moment, until) AS t));
    next := ARRAY(SELECT t.job_id FROM unnest(taken) AS t);
    FOREACH each IN ARRAY taken LOOP
        next := array_remove(next, each.job_id);
        result := CASE needs ->> each.kind
                      WHEN 'nothing' THEN _claimed_job(each)
                      ELSE _prepare_job(each, next, needs ->> each.kind, moment) END;
        IF result.job_id IS NOT NULL THEN
            room := room - 1;
            RETURN NEXT result;
        END IF;
    END LOOP;
    IF kinds IS NULL OR 'embed' = ANY (kinds) THEN
        RETURN QUERY SELECT t.* FROM _next_embed_jobs(owner, room, worker, until) AS t;
    END IF;
END $$;

COMMENT ON FUNCTION claim(text, int, text, text[], interval, timestamptz) IS
    'Takes up to n (1 to 1000) jobs of a user for a worker and returns them as rows of type '
    'claimed_job, higher priority first, then those that wait longest: the messages and the JSON '
    'schema of the answer where a chat model is needed, the texts where vectors are (one embed '
    'job holds up to setting embed_batch memories). worker: a name no other worker has. kinds: '
    'only these, NULL: all. lease (1 second to 1 day): when it ends before finish(), fail() or '
    'extend_lease(), the job can be claimed again; that too is a failed attempt. at: as of then, '
    'NULL: now. Commit before the work begins. Jobs that another worker is just claiming are '
    'skipped. Errors: ME002 kinds, ME006 user, ME008 n, worker or lease, ME011 at.';
