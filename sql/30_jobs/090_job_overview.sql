-- How the queue stands, by kind of job; memories without a vector that no job holds yet count as
-- waiting jobs of kind embed.
CREATE OR REPLACE VIEW job_overview WITH (security_invoker = true) AS
SELECT k.name AS kind, k.needs,
       count(q.status) FILTER (WHERE q.status = 'waiting') AS waiting,
       count(q.status) FILTER (WHERE q.status = 'running') AS running,
       count(q.status) FILTER (WHERE q.status = 'dead') AS dead,
       min(q.since) FILTER (WHERE q.status = 'waiting') AS oldest
FROM job_kind AS k
LEFT JOIN (
    SELECT j.kind, j.status, j.created_at AS since
    FROM job AS j WHERE j.status <> 'done'
    UNION ALL
    SELECT 'embed', 'waiting', m.updated_at
    FROM trace AS t
    JOIN embedding_model AS e ON e.model_id = t.model AND e.active
    JOIN memory AS m ON m.user_id = t.user_id AND m.memory_id = t.memory_id
    WHERE t.active AND t.embedding IS NULL
      AND NOT EXISTS (
          SELECT FROM job AS j
          WHERE j.user_id = t.user_id AND j.kind = 'embed' AND j.status <> 'done'
            AND j.payload -> 'memory_ids' ? t.memory_id::text)
) AS q ON q.kind = k.name
GROUP BY k.name;

COMMENT ON VIEW job_overview IS
    'How many jobs of each kind are waiting, running (a lease that has ended counts until the job '
    'is claimed again) and dead, and since when the oldest waits. Of kind embed, memories without '
    'a vector are waiting, and a job counts once for all its memories.';
