-- What was done to memories, for those who poll instead of listening. It is made of rows that exist
-- anyway, so it costs a write nothing and cannot report what did not happen. A revision has the
-- status before; the status after is in the next revision, or is the current one. A deleted memory
-- leaves an event without content; a deleted user leaves nothing.
CREATE OR REPLACE VIEW outbox WITH (security_invoker = true) AS
SELECT m.recorded_at AS at, m.user_id, 'created' AS event, m.memory_id, m.origin AS author,
       NULL AS reason, 'memory ' || m.memory_id AS event_id
FROM memory AS m
UNION ALL
SELECT r.created_at, r.user_id,
       _event_of(coalesce(later.old_status, m.status), r.old_values ->> 'status'), r.memory_id,
       r.author, r.reason, 'revision ' || r.revision_id
FROM revision AS r
JOIN memory AS m ON m.user_id = r.user_id AND m.memory_id = r.memory_id
LEFT JOIN LATERAL (
    SELECT l.old_values ->> 'status' AS old_status
    FROM revision AS l
    WHERE l.user_id = r.user_id AND l.memory_id = r.memory_id
      AND l.revision_id > r.revision_id AND l.old_values ? 'status'
    ORDER BY l.revision_id
    LIMIT 1
) AS later ON true
WHERE r.old_values <> '{}'
UNION ALL
SELECT e.created_at, e.user_id, 'deleted', _said_id(e.payload -> 'memory_id'),
       NULL, NULL, 'event ' || e.event_id
FROM event AS e
WHERE e.type = 'memory_deleted';

COMMENT ON VIEW outbox IS
    'What was done to memories: at, user_id, event (created, updated, superseded, forgotten, '
    'restored, deleted), memory_id, author, reason, and event_id, which is unique for a user and '
    'never changes. The same goes to channel memoir while setting notify is on. To poll it: '
    'SELECT * FROM memoir.outbox WHERE at > (the greatest at seen) - interval ''5 minutes'' ORDER '
    'BY at, event_id, and skip the event_ids seen. The overlap is needed: a row carries the time '
    'its transaction began and is there when it commits, so take more than your longest '
    'transaction lasts. Rows of a deleted memory are gone but for deleted, which stays as long as '
    'events do; of a deleted user none is left. Source: D4 8.2.';
