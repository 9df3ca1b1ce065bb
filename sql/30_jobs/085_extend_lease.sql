-- Extends the lease of a job that takes longer than that.
-- A worker that answers slowly learns in time that it has lost the job.
CREATE OR REPLACE FUNCTION extend_lease(
    job_id bigint, worker text, lease interval DEFAULT '5 minutes', user_id text DEFAULT NULL,
    at timestamptz DEFAULT NULL)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    kept job;
BEGIN
    PERFORM _check_claim(1, worker, lease);
    kept := _lock_job(owner, job_id);
    IF _worker_refused(kept, worker) IS NOT NULL THEN
        RETURN false;
    END IF;
    UPDATE job AS j SET run_at = coalesce(_check_moment(at), now()) + lease
    WHERE j.user_id = owner AND j.job_id = extend_lease.job_id;
    RETURN true;
END $$;

COMMENT ON FUNCTION extend_lease(bigint, text, interval, text, timestamptz) IS
    'Extends the lease of a claimed job. lease: how long from now, 1 second to 1 day. Returns '
    'whether the worker still has the job; false: drop the work. at: as of then, NULL: now. '
    'Errors: ME006 user, ME008 worker or lease, ME011 at, ME012 no such job of this user.';
