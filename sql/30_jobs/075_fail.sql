-- Reports that an attempt failed: the job comes back later, after a longer wait each time, or is
-- dead. It is not the job's fault if the model could answer nobody.
CREATE OR REPLACE FUNCTION fail(
    job_id bigint, error text, user_id text DEFAULT NULL, worker text DEFAULT NULL,
    retry_after interval DEFAULT NULL, at timestamptz DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    failed job;
    outcome text;
BEGIN
    IF retry_after NOT BETWEEN interval '0' AND interval '1 day' THEN
        RAISE EXCEPTION 'retry_after must be 0 to 1 day, not %', retry_after
            USING ERRCODE = 'ME008', HINT = 'Pass how long the model asked to wait, or NULL.';
    END IF;
    failed := _lock_job(owner, job_id);
    outcome := _worker_refused(failed, worker);
    IF outcome IS NULL THEN
        outcome := _fail_job(failed, error, coalesce(_check_moment(at), now()), retry_after);
        IF failed.kind = 'reflect' THEN
            PERFORM _reflect_now(failed);
        END IF;
    END IF;
    RETURN outcome;
END $$;

COMMENT ON FUNCTION fail(bigint, text, text, text, interval, timestamptz) IS
    'Ends an attempt at a claimed job that failed and returns what happened: waiting (it comes '
    'back after a wait that grows by settings job_backoff_...), dead (after setting job_attempts; '
    'retry_dead() revives it), done already, or lost (another worker has it). error: why, kept '
    'without secrets and to 500 characters in job_errors. retry_after (0 to 1 day): how long the '
    'model asked everybody to wait (429), or is thought to be away: then this attempt does not '
    'count. worker: who claimed it; NULL: not compared. at: as of then, NULL: now. Errors: ME006 '
    'user, ME008 retry_after, ME011 at, ME012 no such job of this user.';
