-- How much of memory has keywords: D2 6.1 wants more than 95 %. A memory without keywords has no
-- word that could be one.
CREATE OR REPLACE VIEW keyword_coverage WITH (security_invoker = true) AS
SELECT m.user_id, count(*) AS memories, count(k.user_id) AS with_keywords,
       count(k.user_id)::float8 / count(*) AS share
FROM memory AS m
LEFT JOIN LATERAL (
    SELECT k.user_id FROM keyword AS k
    WHERE k.user_id = m.user_id AND k.memory_id = m.memory_id LIMIT 1
) AS k ON true
WHERE m.status = 'active'
GROUP BY m.user_id;

COMMENT ON VIEW keyword_coverage IS
    'For each user the number of active memories, how many of them have keywords, and their share '
    '0 to 1 (goal: above 0.95). Source: D2 6.1.';
