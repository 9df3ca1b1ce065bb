-- The memories recalled most often, 20 a user (D1 6.2, where Redis keeps them for an hour; here a
-- count that maintain keeps is read as it is).
CREATE OR REPLACE VIEW hot_memories WITH (security_invoker = true) AS
SELECT h.user_id, h.place, h.memory_id, h.kind, h.content, h.access_count, h.last_access
FROM (
    SELECT m.user_id, m.memory_id, m.kind, m.content, a.count AS access_count,
           a.last_at AS last_access,
           row_number() OVER (PARTITION BY m.user_id
                              ORDER BY a.count DESC, a.last_at DESC, a.memory_id) AS place
    FROM access AS a
    JOIN memory AS m ON m.user_id = a.user_id AND m.memory_id = a.memory_id
    WHERE m.status = 'active' AND a.count > 0
) AS h
WHERE h.place <= 20;

COMMENT ON VIEW hot_memories IS
    'The 20 active memories of each user that were recalled most often: place (1 is the most), '
    'access_count and last_access, as maintain last folded them from the retrieval log. Source: D1 '
    '6.2.';
