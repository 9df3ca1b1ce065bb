-- Upkeep: the numbers of forgetting (D4 6.1, 3.3) and of the retention of logs (D3 4.6), and the
-- indexes by which maintain finds what is due. All are partial: lasting memories and fresh events
-- have no entry in them.

INSERT INTO setting VALUES
    ('forget_rate', '0.01',
     'relevance = exp(-forget_rate x days) x (1 + ln(1 + accesses)) x importance (D4 6.1).'),
    ('forget_below', '0.1', 'A memory less relevant than this is forgotten (D4 6.1).'),
    ('fade_below', '0.3',
     'A memory less relevant than this is fading: maintain() lowers its importance (D4 6.1).'),
    ('active_above', '0.7', 'A memory more relevant than this is active (D4 6.1).'),
    ('working_days', '30',
     'Days without access after which a working memory is forgotten (D4 3.3).'),
    ('temporary_days', '7',
     'Days without access after which a temporary memory is forgotten (D4 3.3).'),
    ('lower_by', '0.9', 'The importance of a fading memory is multiplied by this, once a day.'),
    ('lower_to', '0.2',
     'The importance of a fading memory is not lowered below this. From here to forget_below are '
     '69 days, more than either lifetime: what was lowered is not forgotten any sooner.'),
    ('replay_days', '7',
     'Recalls younger than this stay in table retrieval, where replay() can choose again; older '
     'ones become events. More than the 72 hours of events that mode debug reads.'),
    ('archive_days', '30', 'Events older than this are queued for a summary (D3 4.6).'),
    ('archive_events', '100', 'So many events at most go into one archive job.'),
    ('delete_days', '60',
     'Events older than this are deleted, those of users once they are archived (D3 4.6).'),
    ('job_days', '7', 'Jobs that were done so long ago are deleted.'),
    ('maintain_batch', '500',
     'So many rows memoir.maintain_all() and the command look at in one transaction.'),
    ('statements_compared', '2000',
     'Among so many of the newest statements of a user contradictions by wording are looked for.');

CREATE INDEX memory_ageing ON memory (user_id, memory_id)
    WHERE status = 'active' AND lifetime <> 'core';
CREATE INDEX relation_contradicts ON relation (user_id, from_id, to_id)
    WHERE type = 'contradicts';

ALTER TABLE event ADD archive_job bigint;
CREATE INDEX event_archive ON event (user_id, archive_job) WHERE archive_job IS NOT NULL;
-- As text: an application may have events of this type with ids that are not numbers, or of any
-- length. 20 characters are one more than ours have.
CREATE INDEX event_retrieval ON event (user_id, left(payload ->> 'retrieval_id', 20))
    WHERE type = 'memory_retrieval';
COMMENT ON COLUMN event.archive_job IS
    'The job that summarises it; an event of a user is deleted only when that job is done.';

CREATE TYPE upkeep_run AS (
    at timestamptz,
    run_id bigint,
    dry_run boolean,
    most int,
    build_up_to bigint
);
COMMENT ON TYPE upkeep_run IS
    'What the steps of one run of maintain have in common: its clock and number (NULL: nothing is '
    'changed), whether it only tells, how many rows a step looks at in one transaction (NULL: all) '
    'and up to how many memories a step builds an index.';
