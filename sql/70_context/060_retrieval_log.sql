-- The retrieval log: every recall with the payload D0 3.2 asks for.
-- A log row keeps the scores. Their parts are computed here, from the age of the memory at the
-- time, for the modes in which score = relevance x decay x weight (mode.fast); memory_explain has
-- the rest.
-- The newest part is table retrieval (_kept_recalls); what maintain has folded is among the events
-- of type memory_retrieval.
CREATE OR REPLACE VIEW _kept_recalls WITH (security_invoker = true) AS
SELECT r.user_id, r.retrieval_id, r.created_at,
       jsonb_build_object(
           'query', r.query,
           'mode', r.mode,
           'candidates_count', cardinality(r.ids),
           'injected_count', cardinality(r.chosen),
           'injected_sources', (
               SELECT coalesce(jsonb_agg(k.name ORDER BY c.number), '[]')
               FROM unnest(r.chosen) WITH ORDINALITY AS c (place, number)
               JOIN kind AS k ON k.kind_id = whole.kinds[abs(c.place)]),
           'injected', (
               SELECT coalesce(jsonb_agg(
                          jsonb_build_object(
                              CASE WHEN l.id > 0 THEN 'memory_id' ELSE 'event_id' END,
                              abs(l.id)::text,
                              'relevance', l.score / nullif(l.decay * l.weight, 0),
                              'decay', l.decay, 'weight', l.weight, 'score', l.score)
                          ORDER BY l.number), '[]')
               FROM (
                   SELECT c.number, whole.ids[abs(c.place)] AS id,
                          whole.score[abs(c.place)] AS score,
                          r.weights[whole.kinds[abs(c.place)]] AS weight,
                          CASE WHEN coalesce(rules.fast, true) THEN _decay(
                                 _decay_rate(CASE WHEN coalesce(rules.kind_decay, true)
                                                  THEN k.half_life_days END),
                                 date_part('epoch', coalesce(r.as_of, r.created_at))
                                 - date_part('epoch', coalesce(
                                     (SELECT m.created_at FROM memory AS m
                                      WHERE m.user_id = r.user_id
                                        AND m.memory_id = whole.ids[abs(c.place)]),
                                     -- Who writes events by SQL can give two one id.
                                     (SELECT min(e.created_at) FROM event AS e
                                      WHERE e.user_id = r.user_id
                                        AND e.event_id = -whole.ids[abs(c.place)])))) END AS decay
                   FROM unnest(r.chosen) WITH ORDINALITY AS c (place, number)
                   JOIN kind AS k ON k.kind_id = whole.kinds[abs(c.place)]
               ) AS l),
           'used', to_jsonb(r.used_ids::text[]),
           'token_used', r.token_used,
           'token_budget', r.token_budget,
           'elapsed_ms', r.elapsed_ms)
       || CASE WHEN r.as_of IS NULL THEN '{}'
               ELSE jsonb_build_object('as_of', r.as_of) END AS payload
FROM retrieval AS r
LEFT JOIN mode AS rules ON rules.name = r.mode
-- In a large block the arrays are stored out of line: fetch them once, not for every line.
CROSS JOIN LATERAL (SELECT r.ids || '{}' AS ids, r.kinds || '{}' AS kinds, r.score || '{}' AS score
                    OFFSET 0) AS whole;

-- Whether an event of type memory_retrieval is ours: an application may have its own. It looks key
-- by key, because a pattern over all keys took 88 µs per event, and this takes 6.
CREATE OR REPLACE FUNCTION _is_recall(payload jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN jsonb_typeof(payload) = 'object'
           AND NOT payload @? (
               'strict $ ? (@.injected_count.type() != "null" && (@.injected_count.type() '
               '!= "number" || @.injected_count < 0 || @.injected_count > 2147483647) '
               '|| @.token_used.type() != "null" && (@.token_used.type() '
               '!= "number" || @.token_used < 0 || @.token_used > 2147483647) '
               '|| @.token_budget.type() != "null" && (@.token_budget.type() '
               '!= "number" || @.token_budget < 0 || @.token_budget > 2147483647) '
               '|| @.elapsed_ms.type() != "null" && (@.elapsed_ms.type() '
               '!= "number" || @.elapsed_ms < 0 || @.elapsed_ms > 2147483647))')::jsonpath;

-- For callers that read all of them, or several keys of each.
CREATE OR REPLACE VIEW _all_recalls WITH (security_invoker = true) AS
SELECT r.user_id, r.retrieval_id, r.created_at, r.payload
FROM _kept_recalls AS r
UNION ALL
SELECT e.user_id, _said_id(e.payload -> 'retrieval_id'), e.created_at, e.payload - 'retrieval_id'
FROM event AS e
WHERE e.type = 'memory_retrieval' AND _is_recall(e.payload);

-- The payload is in the outermost list, so that the newest ten are sorted out before their payloads
-- are built.
CREATE OR REPLACE VIEW retrieval_log WITH (security_invoker = true) AS
SELECT l.user_id, l.retrieval_id, l.created_at,
       CASE WHEN l.folded IS NULL
            THEN (SELECT r.payload FROM _kept_recalls AS r
                  WHERE r.user_id = l.user_id AND r.retrieval_id = l.retrieval_id)
            ELSE l.folded - 'retrieval_id' END AS payload
FROM (SELECT r.user_id, r.retrieval_id, r.created_at, NULL::jsonb AS folded
      FROM retrieval AS r
      UNION ALL
      SELECT e.user_id, _said_id(e.payload -> 'retrieval_id'), e.created_at, e.payload
      FROM event AS e
      WHERE e.type = 'memory_retrieval' AND _is_recall(e.payload)) AS l;

COMMENT ON VIEW retrieval_log IS
    'Every recall: payload has query (first 200 characters), mode, candidates_count, '
    'injected_count, injected_sources (kinds), injected (ids with the parts of their score), used, '
    'token_used, token_budget and elapsed_ms. Source: D0 3.2.';
