-- Undoes 0012_jobs.sql.
DELETE FROM prompt WHERE kind = 'caution' OR kind IN (SELECT name FROM job_kind);
DELETE FROM job WHERE kind IN (
    'embed', 'keywords', 'extract', 'reflect', 'consolidate', 'compress', 'archive',
    'rolling_summary', 'expand');
ALTER TABLE job_kind DROP CONSTRAINT a_kind_of_your_own_needs_nothing;
DELETE FROM job_kind WHERE name IN (
    'embed', 'keywords', 'extract', 'reflect', 'consolidate', 'compress', 'archive',
    'rolling_summary', 'expand');
DROP TABLE query_expansion;
ALTER TABLE profile DROP summarised_at;
DROP TABLE uncompared;
DROP INDEX memory_text;
DROP INDEX trace_without_vector;
DELETE FROM setting WHERE name IN (
    'job_notify', 'job_attempts', 'job_backoff_seconds', 'job_backoff_factor',
    'job_backoff_limit_seconds', 'embed_batch', 'embed_split_after', 'reflect_tokens',
    'similar_memories', 'summary_memories', 'summary_length', 'answer_limit',
    'nightly_jobs', 'compress_days',
    'compress_accesses', 'compress_least', 'compress_most', 'compress_tokens', 'summary_changes',
    'keyword_jobs', 'keyword_weight_least');
DROP TYPE claimed_job;
