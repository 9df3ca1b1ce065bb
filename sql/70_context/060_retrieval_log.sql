-- The retrieval log: every recall with the payload D0 3.2 asks for.
-- The newest part is table retrieval; what maintain has folded stands among the events of type memory_retrieval.
CREATE OR REPLACE VIEW retrieval_log WITH (security_invoker = true) AS
SELECT r.user_id, r.retrieval_id, r.created_at,
       jsonb_build_object(
           'query', r.query,
           'mode', r.mode,
           'candidates_count', cardinality(r.ids),
           'injected_count', cardinality(r.chosen),
           'injected_sources', (
               SELECT coalesce(jsonb_agg(k.name ORDER BY c.number), '[]')
               FROM unnest(r.chosen) WITH ORDINALITY AS c (place, number)
               JOIN kind AS k ON k.kind_id = r.kinds[abs(c.place)]),
           'injected', (
               SELECT coalesce(jsonb_agg(jsonb_build_object(
                          CASE WHEN r.ids[p.place] > 0 THEN 'memory_id' ELSE 'event_id' END, abs(r.ids[p.place])::text,
                          'relevance', r.relevance[p.place],
                          'decay', CASE WHEN r.relevance[p.place] * r.weights[r.kinds[p.place]] <> 0
                                        THEN r.score[p.place] / r.relevance[p.place] / r.weights[r.kinds[p.place]] END,
                          'weight', r.weights[r.kinds[p.place]],
                          'score', r.score[p.place]) ORDER BY p.number), '[]')
               FROM (SELECT abs(c.place) AS place, c.number
                     FROM unnest(r.chosen) WITH ORDINALITY AS c (place, number)) AS p),
           'used', to_jsonb(r.used_ids::text[]),
           'token_used', r.token_used,
           'token_budget', r.token_budget,
           'elapsed_ms', r.elapsed_ms) AS payload
FROM retrieval AS r
UNION ALL
SELECT e.user_id, (e.payload ->> 'retrieval_id')::bigint, e.created_at, e.payload - 'retrieval_id'
FROM event AS e
WHERE e.type = 'memory_retrieval';

COMMENT ON VIEW retrieval_log IS
    'Every recall: payload has query (first 200 characters), mode, candidates_count, injected_count, '
    'injected_sources (kinds), injected (ids with the parts of their score), used, token_used, token_budget and '
    'elapsed_ms. Source: D0 3.2.';
