-- Undoes 0011_upkeep.sql.
DROP TYPE upkeep_run;
DROP INDEX event_retrieval;
DROP INDEX event_archive;
ALTER TABLE event DROP archive_job;
DROP INDEX relation_contradicts;
DROP INDEX memory_ageing;
DELETE FROM setting WHERE name IN (
    'forget_rate', 'forget_below', 'fade_below', 'active_above', 'working_days', 'temporary_days',
    'lower_by', 'lower_to', 'replay_days', 'archive_days', 'archive_events', 'delete_days',
    'job_days', 'maintain_batch', 'statements_compared');
