-- Undoes 0012_jobs.sql.
DELETE FROM job_kind WHERE name IN ('embed');
DROP INDEX trace_without_vector;
DELETE FROM setting WHERE name IN (
    'job_notify', 'job_attempts', 'job_backoff_seconds', 'job_backoff_factor',
    'job_backoff_limit_seconds', 'job_days', 'embed_batch', 'embed_split_after');
DROP TYPE claimed_job;
