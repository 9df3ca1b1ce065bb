-- Memories one step from the best hits: by a relation, in either direction, or by an entity that
-- both mention. An entity of n memories links with 0.5 / ln(1 + n): with two memories about as
-- strongly as a relation of default strength, with fifty a quarter of that, and above setting
-- link_hub_limit (a hub, which says nothing) not at all. The work is bounded: 20 links per seed,
-- read in index order.
CREATE OR REPLACE FUNCTION _linked(user_id text, seeds bigint[], strengths float8[])
    RETURNS TABLE (memory_id bigint, strength float8, from_id bigint, via text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    hub_limit CONSTANT int := (SELECT value::int FROM setting WHERE name = 'link_hub_limit');
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (l.memory_id) l.memory_id, s.strength * l.strength, s.id,
           concat_ws(' ', l.via, CASE WHEN l.by_relation THEN s.id END)
    FROM unnest(seeds, strengths) AS s (id, strength)
    CROSS JOIN LATERAL (
        (SELECT r.from_id AS memory_id, r.strength,
                CASE r.type WHEN 'derived_from' THEN 'derived from'
                            WHEN 'related' THEN 'related to'
                            ELSE r.type END AS via,
                true AS by_relation
         FROM relation AS r
         WHERE r.user_id = _linked.user_id AND r.to_id = s.id
           AND EXISTS (SELECT FROM trace AS t
                       WHERE t.user_id = _linked.user_id AND t.memory_id = r.from_id AND t.active)
         ORDER BY r.strength DESC, r.from_id
         LIMIT 20)
        UNION ALL
        (SELECT r.to_id, r.strength,
                CASE r.type WHEN 'supports' THEN 'supported by'
                            WHEN 'contradicts' THEN 'contradicted by'
                            WHEN 'refines' THEN 'refined by'
                            WHEN 'supersedes' THEN 'superseded by'
                            WHEN 'derived_from' THEN 'source of'
                            ELSE 'related to' END,
                true
         FROM relation AS r
         WHERE r.user_id = _linked.user_id AND r.from_id = s.id
           AND EXISTS (SELECT FROM trace AS t
                       WHERE t.user_id = _linked.user_id AND t.memory_id = r.to_id AND t.active)
         ORDER BY r.strength DESC, r.to_id
         LIMIT 20)
        UNION ALL
        (SELECT m.memory_id, 0.5::float8 / ln(1 + e.mentions::float8), 'entity ' || e.name, false
         FROM (
             SELECT o.entity_id, n.name,
                    (SELECT count(*)
                     FROM (SELECT FROM mention AS c
                           WHERE c.user_id = _linked.user_id AND c.entity_id = o.entity_id
                           LIMIT hub_limit + 1) AS c) AS mentions
             FROM (SELECT m.entity_id FROM mention AS m
                   WHERE m.user_id = _linked.user_id AND m.memory_id = s.id
                   ORDER BY m.entity_id
                   LIMIT 50) AS o
             JOIN entity AS n ON n.user_id = _linked.user_id AND n.entity_id = o.entity_id
             ORDER BY mentions, o.entity_id
             OFFSET 0
         ) AS e
         CROSS JOIN LATERAL (
             SELECT m.memory_id FROM mention AS m
             WHERE m.user_id = _linked.user_id AND m.entity_id = e.entity_id
               AND m.memory_id <> s.id
               AND EXISTS (SELECT FROM trace AS t
                           WHERE t.user_id = _linked.user_id AND t.memory_id = m.memory_id
                             AND t.active)
             ORDER BY m.memory_id DESC
             LIMIT 20
         ) AS m
         WHERE e.mentions BETWEEN 2 AND hub_limit
         ORDER BY e.mentions, e.entity_id, m.memory_id DESC
         LIMIT 20)
        ORDER BY 2 DESC, 1 DESC
        LIMIT 20
    ) AS l
    WHERE s.strength * l.strength > 0
    ORDER BY l.memory_id, s.strength * l.strength DESC, s.id, l.via;
END $$;
