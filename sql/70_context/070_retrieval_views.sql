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

CREATE OR REPLACE VIEW suggested_weights WITH (security_invoker = true) AS
SELECT f.user_id, f.mode, f.kind, f.lines, f.used, f.weight,
       round((f.weight * (f.used + 1) / (f.lines + 2)
              / nullif((f.all_used + 1)::float8 / (f.all_lines + 2), 0))::numeric, 2)::float8
           AS suggested
FROM (
    SELECT g.*, coalesce(w.weight, 1) AS weight,
           sum(g.lines) OVER (PARTITION BY g.user_id, g.mode) AS all_lines,
           sum(g.used) OVER (PARTITION BY g.user_id, g.mode) AS all_used
    FROM (
        SELECT l.user_id, l.payload ->> 'mode' AS mode,
               l.payload -> 'injected_sources' ->> (i.place - 1)::int AS kind, count(*) AS lines,
               count(*) FILTER (WHERE l.payload -> 'used' ? (i.item ->> 'memory_id')) AS used
        FROM retrieval_log AS l,
             jsonb_array_elements(l.payload -> 'injected') WITH ORDINALITY AS i (item, place)
        WHERE jsonb_typeof(l.payload -> 'used') = 'array' AND i.item ? 'memory_id'
        GROUP BY 1, 2, 3
    ) AS g
    LEFT JOIN mode_weight AS w ON w.mode = g.mode AND w.kind = g.kind
) AS f;
COMMENT ON VIEW suggested_weights IS
    'Mode weights as feedback would have them: the present weight times how often lines of the '
    'kind are used, against all lines of the mode (smoothed by one use in two lines). Only recalls '
    'with mark_used count. Source: D0 3.3.';
