-- What becomes of a claimed job: handed out, done, or failed. A failed job waits, longer each time,
-- or is dead. Half of every wait is random, so that jobs that failed together do not return
-- together.
CREATE OR REPLACE FUNCTION _backoff(attempts int) RETURNS interval
    LANGUAGE plpgsql VOLATILE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN make_interval(secs =>
        least(_config('job_backoff_seconds')
              * _config('job_backoff_factor') ^ least(greatest(attempts, 1) - 1, 30),
              _config('job_backoff_limit_seconds')) * (0.5 + random() / 2));
END $$;

-- The error of an attempt, as it is kept: without secrets, and short enough to read.
CREATE OR REPLACE FUNCTION _kept_error(error text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN left(coalesce(_trimmed(_redact(left(error, 5000))), 'no reason given'), 500);
END $$;

-- The job row is locked. A pause that the model asked for is not the job's fault: the attempt does
-- not count.
CREATE OR REPLACE FUNCTION _fail_job(
    failed job, error text, at timestamptz, pause interval DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
DECLARE
    counted CONSTANT int := failed.attempts - (pause IS NOT NULL)::int;
    outcome CONSTANT text :=
        CASE WHEN counted >= _config('job_attempts') THEN 'dead' ELSE 'waiting' END;
    -- Drawn before the statement: a cluster accepts no volatile function in an assignment.
    wait CONSTANT interval := coalesce(pause, _backoff(counted));
BEGIN
    UPDATE job AS j
    SET status = outcome, attempts = counted, worker = NULL,
        error = _kept_error(_fail_job.error),
        run_at = CASE outcome WHEN 'dead' THEN 'infinity' ELSE at + wait END
    WHERE j.user_id = failed.user_id AND j.job_id = failed.job_id;
    RETURN outcome;
END $$;

-- The job rows are locked. The hashes of what a model was shown are no longer needed, and are
-- removed: a short text can be guessed from its hash, and purge() leaves jobs that are done as they
-- are. One by one, see _take_jobs().
CREATE OR REPLACE FUNCTION _jobs_done(user_id text, job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    each bigint;
BEGIN
    FOREACH each IN ARRAY job_ids LOOP
        UPDATE job AS j
        SET status = 'done', error = NULL, finished_at = now(),
            payload = CASE WHEN j.payload ?| '{shown,replaces}'
                           THEN j.payload - '{shown,replaces}'::text[] ELSE j.payload END
        WHERE j.user_id = _jobs_done.user_id AND j.job_id = each;
    END LOOP;
END $$;

-- A job as its worker gets it.
CREATE OR REPLACE FUNCTION _claimed_job(claimed job, texts text[] DEFAULT NULL) RETURNS claimed_job
    LANGUAGE sql IMMUTABLE
    RETURN ROW(claimed.job_id, claimed.user_id, claimed.kind, claimed.payload, claimed.attempts,
               NULL, NULL, texts)::claimed_job;
