-- Questions people ask of the retrieval log (D0 3.2, D1 7, D2 6), one view each.
-- All read retrieval_log, so they see the newest recalls and the folded ones alike.
CREATE OR REPLACE VIEW kinds_injected WITH (security_invoker = true) AS
SELECT l.user_id, l.payload ->> 'mode' AS mode, source.kind, count(*) AS lines,
       count(DISTINCT l.retrieval_id) AS recalls
FROM retrieval_log AS l, jsonb_array_elements_text(l.payload -> 'injected_sources') AS source (kind)
GROUP BY l.user_id, l.payload ->> 'mode', source.kind;
COMMENT ON VIEW kinds_injected IS 'How many lines of each kind went into blocks, by user and mode.';

CREATE OR REPLACE VIEW kinds_unused WITH (security_invoker = true) AS
SELECT owned.user_id, owned.kind, owned.memories
FROM (SELECT m.user_id, m.kind, count(*) AS memories
      FROM memory AS m WHERE m.status = 'active' GROUP BY m.user_id, m.kind) AS owned
WHERE NOT EXISTS (
    SELECT FROM kinds_injected AS i WHERE i.user_id = owned.user_id AND i.kind = owned.kind);
COMMENT ON VIEW kinds_unused IS 'Kinds a user has memories of that never went into a block.';

CREATE OR REPLACE VIEW token_utilisation WITH (security_invoker = true) AS
SELECT l.user_id, l.payload ->> 'mode' AS mode, count(*) AS recalls,
       avg((l.payload ->> 'token_used')::float8) AS token_used,
       avg((l.payload ->> 'token_budget')::float8) AS token_budget,
       sum((l.payload ->> 'token_used')::float8) / sum((l.payload ->> 'token_budget')::float8)
           AS utilisation
FROM retrieval_log AS l
GROUP BY l.user_id, l.payload ->> 'mode';
COMMENT ON VIEW token_utilisation IS
    'How much of the token budget blocks use, by user and mode; utilisation from 0 to 1.';

CREATE OR REPLACE VIEW hit_rate WITH (security_invoker = true) AS
SELECT l.user_id, l.payload ->> 'mode' AS mode, count(*) AS recalls_with_feedback,
       avg((jsonb_array_length(l.payload -> 'used') > 0)::int)::float8 AS hit_rate,
       sum(jsonb_array_length(l.payload -> 'used'))::float8
           / nullif(sum((l.payload ->> 'injected_count')::int), 0) AS used_share
FROM retrieval_log AS l
WHERE jsonb_typeof(l.payload -> 'used') = 'array'
GROUP BY l.user_id, l.payload ->> 'mode';
COMMENT ON VIEW hit_rate IS
    'Of the recalls with feedback (mark_used): the share of which at least one memory was used, '
    'and the share of lines used.';

CREATE OR REPLACE VIEW recall_latency WITH (security_invoker = true) AS
SELECT l.user_id, l.payload ->> 'mode' AS mode, count(*) AS recalls,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY (l.payload ->> 'elapsed_ms')::float8) AS p50_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY (l.payload ->> 'elapsed_ms')::float8) AS p95_ms,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY (l.payload ->> 'elapsed_ms')::float8) AS p99_ms
FROM retrieval_log AS l
GROUP BY l.user_id, l.payload ->> 'mode';
COMMENT ON VIEW recall_latency IS 'Milliseconds inside the recall function, by user and mode.';
