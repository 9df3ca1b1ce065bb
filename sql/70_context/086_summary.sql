-- What a user's memory contains, in one row: D0's memory API (summary), and the share of memories
-- that can be found by vector and by keyword (D2 6.1 wants 95 % of them to have keywords). Counting
-- a million memories takes 5 s, so for a user with indexes of their own it returns what
-- refresh_statistics counted last. Without nested loops: everything is read, and a plan made for
-- few memories would go through the keywords once for each.
CREATE OR REPLACE FUNCTION _summary(
    owner text,
    OUT memories bigint, OUT by_kind jsonb, OUT by_status jsonb, OUT events bigint,
    OUT oldest timestamptz, OUT newest timestamptz, OUT top_keywords jsonb, OUT top_entities jsonb,
    OUT with_embedding float8, OUT with_keywords float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_nestloop = off
AS $$
#variable_conflict use_column
BEGIN
    SELECT count(*), min(m.created_at), max(m.created_at),
           count(t.memory_id)::float8 / nullif(count(*), 0),
           count(k.memory_id)::float8 / nullif(count(*), 0)
    INTO memories, oldest, newest, with_embedding, with_keywords
    FROM memory AS m
    LEFT JOIN (SELECT t.memory_id FROM trace AS t
               JOIN embedding_model AS e ON e.active AND e.model_id = t.model
               WHERE t.user_id = owner AND t.active AND t.embedding IS NOT NULL) AS t
           ON t.memory_id = m.memory_id
    LEFT JOIN (SELECT DISTINCT k.memory_id FROM keyword AS k WHERE k.user_id = owner) AS k
           ON k.memory_id = m.memory_id
    WHERE m.user_id = owner AND m.status = 'active';
    SELECT coalesce(jsonb_object_agg(g.kind, g.number), '{}') INTO by_kind
    FROM (SELECT m.kind, count(*) AS number FROM memory AS m
          WHERE m.user_id = owner AND m.status = 'active' GROUP BY m.kind) AS g;
    SELECT coalesce(jsonb_object_agg(g.status, g.number), '{}') INTO by_status
    FROM (SELECT m.status, count(*) AS number FROM memory AS m
          WHERE m.user_id = owner GROUP BY m.status) AS g;
    SELECT count(*) INTO events FROM event AS e
    WHERE e.user_id = owner AND NOT _is_log(e.type);
    SELECT coalesce(jsonb_agg(jsonb_build_object('keyword', g.keyword, 'memories', g.number)
                              ORDER BY g.number DESC, g.weight DESC, g.keyword), '[]')
    INTO top_keywords
    FROM (SELECT k.keyword, count(*) AS number, sum(k.weight) AS weight
          FROM keyword AS k
          JOIN memory AS m ON m.user_id = owner AND m.memory_id = k.memory_id
                          AND m.status = 'active'
          WHERE k.user_id = owner
          GROUP BY k.keyword
          ORDER BY count(*) DESC, sum(k.weight) DESC, k.keyword
          LIMIT 10) AS g;
    SELECT coalesce(jsonb_agg(jsonb_build_object('name', g.name, 'type', g.type,
                                                 'memories', g.number)
                              ORDER BY g.number DESC, g.name COLLATE "C", g.type COLLATE "C"), '[]')
    INTO top_entities
    FROM (SELECT e.name, e.type, count(*) AS number
          FROM mention AS n
          JOIN entity AS e ON e.user_id = owner AND e.entity_id = n.entity_id
          JOIN memory AS m ON m.user_id = owner AND m.memory_id = n.memory_id
                          AND m.status = 'active'
          WHERE n.user_id = owner
          GROUP BY e.entity_id, e.name, e.type
          ORDER BY count(*) DESC, e.name COLLATE "C", e.type COLLATE "C"
          LIMIT 10) AS g;
END $$;

CREATE OR REPLACE FUNCTION summary(
    user_id text DEFAULT NULL,
    OUT memories bigint, OUT by_kind jsonb, OUT by_status jsonb, OUT events bigint,
    OUT oldest timestamptz, OUT newest timestamptz, OUT top_keywords jsonb, OUT top_entities jsonb,
    OUT with_embedding float8, OUT with_keywords float8, OUT rolling_summary text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET extra_float_digits = 1 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    counted jsonb;
BEGIN
    SELECT p.rolling_summary, CASE WHEN p.ann > 0 THEN p.overview END
    INTO rolling_summary, counted
    FROM profile AS p WHERE p.user_id = owner;
    SELECT s.* INTO memories, by_kind, by_status, events, oldest, newest, top_keywords,
                    top_entities, with_embedding, with_keywords
    FROM jsonb_to_record(coalesce(counted, (SELECT to_jsonb(c) FROM _summary(owner) AS c))) AS s (
        memories bigint, by_kind jsonb, by_status jsonb, events bigint, oldest timestamptz,
        newest timestamptz, top_keywords jsonb, top_entities jsonb, with_embedding float8,
        with_keywords float8);
END $$;

COMMENT ON FUNCTION summary(text) IS
    'Says what is in memory. Use it to learn what can be searched for. user_id: whose memory. '
    'Returns one row: number of active memories, their kinds, all memories by status, number of '
    'events, oldest and newest memory, the ten keywords and the ten entities that most memories '
    'have, the share of active memories with a vector and with keywords (0 to 1, NULL without '
    'memories), and the rolling summary. Of a user with many memories (from about 4,700 on) as it '
    'was when maintain() last counted them. Errors: ME006 user. Source: D0 memory API (summary), '
    'D2 6.1.';
