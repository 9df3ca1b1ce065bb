-- Why jobs failed: those that will be tried again, and the dead.
-- The text is what the worker or finish() reported, without secrets and of limited length.
CREATE OR REPLACE VIEW job_errors WITH (security_invoker = true) AS
SELECT j.user_id, j.job_id, j.kind, j.status, j.attempts, j.error,
       nullif(j.run_at, 'infinity') AS next_attempt, j.created_at, j.payload
FROM job AS j
WHERE j.error IS NOT NULL AND j.status <> 'done';

COMMENT ON VIEW job_errors IS
    'Jobs whose last attempt failed, with the reason; next_attempt is NULL for a dead one, which '
    'retry_dead() revives.';
