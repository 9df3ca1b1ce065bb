-- Questions people ask of the retrieval log (D0 3.2, D1 7, D2 6), one view each.
-- All of them see the newest recalls and the folded ones alike, and build no payload, which would
-- take a hundred times as long: through _recall_figures, or from both tables.
CREATE OR REPLACE VIEW kinds_injected WITH (security_invoker = true) AS
SELECT l.user_id, l.mode, l.kind, sum(l.lines)::bigint AS lines,
       count(DISTINCT l.retrieval_id) AS recalls
FROM (SELECT r.user_id, r.mode, r.retrieval_id, k.name AS kind, c.lines
      FROM retrieval AS r
      CROSS JOIN LATERAL (
          SELECT whole.kinds[abs(c.place)] AS kind_id, count(*) AS lines
          FROM (SELECT r.kinds || '{}' AS kinds OFFSET 0) AS whole, unnest(r.chosen) AS c (place)
          GROUP BY 1) AS c
      JOIN kind AS k USING (kind_id)
      UNION ALL
      SELECT e.user_id, e.payload ->> 'mode', _said_id(e.payload -> 'retrieval_id'),
             s.name #>> '{}', 1
      FROM event AS e, jsonb_path_query(e.payload, '$.injected_sources[*]') AS s (name)
      WHERE e.type = 'memory_retrieval' AND _is_recall(e.payload)) AS l
GROUP BY l.user_id, l.mode, l.kind;
COMMENT ON VIEW kinds_injected IS 'How many lines of each kind went into blocks, by user and mode.';

CREATE OR REPLACE VIEW kinds_unused WITH (security_invoker = true) AS
SELECT owned.user_id, owned.kind, owned.memories
FROM (SELECT m.user_id, m.kind, count(*) AS memories
      FROM memory AS m WHERE m.status = 'active' GROUP BY m.user_id, m.kind) AS owned
WHERE NOT EXISTS (
    SELECT FROM kinds_injected AS i WHERE i.user_id = owned.user_id AND i.kind = owned.kind);
COMMENT ON VIEW kinds_unused IS 'Kinds a user has memories of that never went into a block.';

CREATE OR REPLACE VIEW _recall_figures WITH (security_invoker = true) AS
SELECT r.user_id, r.mode, cardinality(r.chosen) AS injected, cardinality(r.used_ids) AS used,
       r.token_used, r.token_budget, r.elapsed_ms
FROM retrieval AS r
UNION ALL
SELECT e.user_id, e.payload ->> 'mode', (e.payload ->> 'injected_count')::float8::int,
       CASE WHEN jsonb_typeof(e.payload -> 'used') = 'array'
            THEN jsonb_array_length(e.payload -> 'used') END,
       (e.payload ->> 'token_used')::float8::int, (e.payload ->> 'token_budget')::float8::int,
       (e.payload ->> 'elapsed_ms')::float8
FROM event AS e
WHERE e.type = 'memory_retrieval' AND _is_recall(e.payload);

-- By user and mode, and with mode NULL for all modes together. What is not asked for is not
-- computed.
CREATE OR REPLACE VIEW _recall_stats WITH (security_invoker = true) AS
SELECT f.user_id, part.mode, count(*) AS recalls, avg(f.token_used::float8) AS token_used,
       avg(f.token_budget::float8) AS token_budget,
       sum(f.token_used::float8) / sum(f.token_budget::float8) AS utilisation,
       count(f.used) AS recalls_with_feedback,
       avg((f.used > 0)::int)::float8 AS hit_rate,
       sum(f.used)::float8 / nullif(sum(f.injected) FILTER (WHERE f.used IS NOT NULL), 0)
           AS used_share,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY f.elapsed_ms) AS p50_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY f.elapsed_ms) AS p95_ms,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY f.elapsed_ms) AS p99_ms
FROM _recall_figures AS f, LATERAL (VALUES (f.mode), (NULL)) AS part (mode)
GROUP BY f.user_id, part.mode;

CREATE OR REPLACE VIEW token_utilisation WITH (security_invoker = true) AS
SELECT s.user_id, s.mode, s.recalls, s.token_used, s.token_budget, s.utilisation
FROM _recall_stats AS s
WHERE s.mode IS NOT NULL;
COMMENT ON VIEW token_utilisation IS
    'How much of the token budget blocks use, by user and mode; utilisation from 0 to 1.';

CREATE OR REPLACE VIEW hit_rate WITH (security_invoker = true) AS
SELECT s.user_id, s.mode, s.recalls_with_feedback, s.hit_rate, s.used_share
FROM _recall_stats AS s
WHERE s.mode IS NOT NULL AND s.recalls_with_feedback > 0;
COMMENT ON VIEW hit_rate IS
    'Of the recalls with feedback (mark_used): the share of which at least one memory was used, '
    'and the share of lines used.';

CREATE OR REPLACE VIEW recall_latency WITH (security_invoker = true) AS
SELECT s.user_id, s.mode, s.recalls, s.p50_ms, s.p95_ms, s.p99_ms
FROM _recall_stats AS s
WHERE s.mode IS NOT NULL;
COMMENT ON VIEW recall_latency IS 'Milliseconds inside the recall function, by user and mode.';
