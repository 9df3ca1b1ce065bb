-- How the queue stands, by kind of job; memories without a vector that no job holds yet count as
-- waiting jobs of kind embed. Counted in the index, minus those held: joined, 100,000 take seconds.
CREATE OR REPLACE VIEW job_overview WITH (security_invoker = true) AS
WITH lacking AS (
    SELECT e.model_id,
           (SELECT count(*) FROM trace AS t
            WHERE t.active AND t.embedding IS NULL AND t.model = e.model_id)
           - (SELECT count(*)
              FROM job AS j, unnest(_payload_ids(j.payload)) AS h (memory_id), LATERAL (
                  SELECT FROM trace AS t
                  WHERE t.user_id = j.user_id AND t.memory_id = h.memory_id
                    AND t.model = e.model_id AND t.active AND t.embedding IS NULL
                  OFFSET 0) AS t
              WHERE j.kind = 'embed' AND j.status <> 'done'
                AND coalesce(j.payload -> 'model', to_jsonb(e.model_id)) = to_jsonb(e.model_id))
               AS number
    FROM embedding_model AS e
    WHERE e.active
)
SELECT k.name AS kind, k.needs,
       coalesce(sum(q.number) FILTER (WHERE q.status = 'waiting'), 0)::bigint AS waiting,
       coalesce(sum(q.number) FILTER (WHERE q.status = 'running'), 0)::bigint AS running,
       coalesce(sum(q.number) FILTER (WHERE q.status = 'dead'), 0)::bigint AS dead,
       min(q.since) FILTER (WHERE q.status = 'waiting') AS oldest
FROM job_kind AS k
LEFT JOIN (
    SELECT j.kind, j.status, count(*) AS number, min(j.created_at) AS since
    FROM job AS j
    WHERE j.status <> 'done'
    GROUP BY j.kind, j.status
    UNION ALL
    SELECT 'embed', 'waiting', l.number,
           (SELECT min(u.oldest) FROM _embed_users(l.model_id) AS u)
    FROM lacking AS l
) AS q ON q.kind = k.name
GROUP BY k.name, k.needs;  -- by the key alone, pg_dump --clean needs the schema to be there

COMMENT ON VIEW job_overview IS
    'How many jobs of each kind are waiting, running (a lease that has ended counts until the job '
    'is claimed again) and dead, and since when the oldest waits. Of kind embed, memories without '
    'a vector are waiting, and a job counts once for all its memories.';
