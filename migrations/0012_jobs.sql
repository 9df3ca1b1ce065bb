-- What jobs there are, the numbers of the queue, and how memories without a vector are found: they
-- are the queue of the embedding model, so that a write makes no job row.

CREATE TYPE claimed_job AS (
    job_id bigint,
    user_id text,
    kind text,
    payload jsonb,
    attempts int,
    messages jsonb,
    answer_schema jsonb,
    texts text[]
);
COMMENT ON TYPE claimed_job IS
    'A job as claim() hands it out. messages: what to send to the chat model, [{"role": ..., '
    '"content": ...}], and answer_schema: the JSON schema its answer must fit (both NULL for a job '
    'that needs none). texts: what to embed, for finish() to take as many vectors in that order '
    '(NULL but for embed). attempts: which attempt this is, from 1.';

INSERT INTO setting VALUES
    ('job_notify', 'true', 'NOTIFY memoir_jobs with the kind when a job is enqueued.'),
    ('job_attempts', '8', 'A job that failed so often is dead until retry_dead().'),
    ('job_backoff_seconds', '10', 'How long a job waits after its first failed attempt.'),
    ('job_backoff_factor', '4',
     'Each further wait is so many times longer; half of a wait is drawn by lot.'),
    ('job_backoff_limit_seconds', '21600',
     'The longest wait: with these four, eight attempts take a night (5 to 10 hours).'),
    ('job_days', '7', 'Done jobs are deleted by maintain() after so many days.'),
    ('embed_batch', '50', 'How many memories an embed job holds at most.'),
    ('embed_split_after', '2',
     'An embed job that failed so often is split into jobs of one memory each: one text that '
     'breaks the model does not keep the others.');

-- Memories without a vector. Those that come with one leave no entry.
CREATE INDEX trace_without_vector ON trace (user_id, model, memory_id)
    WHERE active AND embedding IS NULL;

INSERT INTO job_kind (name, needs, payload_schema, description) VALUES
    ('embed', 'embedding',
     '{"type": "object", "required": ["memory_ids"], "properties": {
         "memory_ids": {"type": "array", "minItems": 1, "items": {"type": "string"}}}}',
     'Vectors for memories without one. claim() makes these jobs itself.');
