-- How often an agent uses memory on its own (D2 6.2), compared with the blocks it is given anyway.
-- One row per user and tool.
CREATE OR REPLACE VIEW tool_calls WITH (security_invoker = true) AS
SELECT c.user_id, c.tool, c.calls, c.days, c.calls_per_day, c.found_nothing, c.p50_ms, c.p95_ms,
       c.first_at, c.last_at,
       c.calls::float8 / nullif((SELECT count(*) FROM retrieval AS r
                                 WHERE r.user_id = c.user_id AND r.created_at >= c.first_at), 0)
           AS calls_per_recall
FROM (
    SELECT l.user_id, l.tool, count(*) AS calls, count(DISTINCT l.created_at::date) AS days,
           count(*)::float8 / count(DISTINCT l.created_at::date) AS calls_per_day,
           count(*) FILTER (WHERE l.total_found = 0) AS found_nothing,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY l.elapsed_ms) AS p50_ms,
           percentile_cont(0.95) WITHIN GROUP (ORDER BY l.elapsed_ms) AS p95_ms,
           min(l.created_at) AS first_at, max(l.created_at) AS last_at
    FROM tool_call AS l
    GROUP BY l.user_id, l.tool
) AS c;
COMMENT ON VIEW tool_calls IS
    'How often an agent calls each tool: calls, days with calls, calls a day, searches that found '
    'nothing, milliseconds, and calls a recall since the first call (NULL without a recall). '
    'Source: D2 6.2.';
