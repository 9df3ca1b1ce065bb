-- One memory in full: a search result or a block shows only its beginning (D2 3.1.3).
-- A key is text, because ids exceed 2^53 and JSON readers lose the last digits there. A model may
-- write it as a block with references shows it, [12], or as #12. A model reads the answer, so of
-- the relations of a hub it has the strongest.
CREATE OR REPLACE FUNCTION _check_key(key text, user_id text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    digits CONSTANT text := substring(key FROM '^ *[[#]?([0-9]{1,19})]? *$');
    id CONSTANT bigint := CASE WHEN pg_input_is_valid(digits, 'bigint') THEN digits::bigint END;
BEGIN
    IF NOT EXISTS (SELECT FROM memory AS m
                   WHERE m.user_id = _check_key.user_id AND m.memory_id = id) THEN
        RAISE EXCEPTION 'no memory with key "%"', left(key, 40)
            USING ERRCODE = 'ME012',
                  HINT = 'Keys are whole numbers; searches and lists of memories return them.';
    END IF;
    RETURN id;
END $$;

CREATE OR REPLACE FUNCTION get_memory_detail(
    INOUT key text, user_id text DEFAULT NULL,
    OUT kind text, OUT content text, OUT summary text, OUT data jsonb, OUT subject text,
    OUT importance float8, OUT confidence float8, OUT keywords text[], OUT relations jsonb,
    OUT relation_count int, OUT entities jsonb, OUT session_id text, OUT turn int,
    OUT speaker text, OUT origin text, OUT status text, OUT created_at timestamptz,
    OUT updated_at timestamptz, OUT valid_from timestamptz, OUT valid_until timestamptz,
    OUT access_count int, OUT last_access timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    id CONSTANT bigint := _check_key(key, owner);
BEGIN
    SELECT m.memory_id::text, m.kind, m.content, m.summary, m.data, m.subject, m.importance,
           m.confidence, m.session_id, m.position, m.speaker, m.origin, m.status, m.created_at,
           m.updated_at, m.valid_from, m.valid_until, coalesce(a.count, 0), a.last_at
    INTO key, kind, content, summary, data, subject, importance,
         confidence, session_id, turn, speaker, origin, status, created_at,
         updated_at, valid_from, valid_until, access_count, last_access
    FROM memory AS m
    LEFT JOIN access AS a ON a.user_id = owner AND a.memory_id = m.memory_id
    WHERE m.user_id = owner AND m.memory_id = id;
    keywords := ARRAY(SELECT k.keyword FROM keyword AS k
                      WHERE k.user_id = owner AND k.memory_id = id
                      ORDER BY k.weight DESC, k.keyword);
    SELECT coalesce(jsonb_agg(
               jsonb_build_object('key', r.other::text, 'type', r.type, 'direction', r.direction,
                                  'strength', r.strength)
               ORDER BY r.strength DESC, r.other, r.type COLLATE "C",
                        r.direction COLLATE "C"), '[]'),
           coalesce(max(r.number), 0)
    INTO relations, relation_count
    FROM (SELECT a.*, count(*) OVER () AS number
          FROM (SELECT o.to_id AS other, o.type, o.strength, 'to' AS direction
                FROM relation AS o WHERE o.user_id = owner AND o.from_id = id
                UNION ALL
                SELECT i.from_id, i.type, i.strength, 'from'
                FROM relation AS i WHERE i.user_id = owner AND i.to_id = id) AS a
          ORDER BY a.strength DESC, a.other, a.type COLLATE "C", a.direction COLLATE "C"
          LIMIT 20) AS r;
    SELECT coalesce(jsonb_agg(jsonb_build_object('name', e.name, 'type', e.type)
                              ORDER BY e.name_key COLLATE "C", e.type COLLATE "C"), '[]')
    INTO entities
    FROM mention AS n
    CROSS JOIN LATERAL (
        SELECT e.* FROM entity AS e
        WHERE e.user_id = owner AND e.entity_id BETWEEN n.entity_id AND n.entity_id
        ORDER BY e.entity_id OFFSET 0) AS e
    WHERE n.user_id = owner AND n.memory_id = id;
END $$;

COMMENT ON FUNCTION get_memory_detail(text, text) IS
    'Gives one memory whole. Use it when the preview of a search result is not enough. key: the '
    'key of a search result. user_id: whose memory. Returns one row: content, summary, data, '
    'subject, importance and confidence (0 to 1), keywords (heaviest first), relations (the 20 '
    'strongest: key of the other memory, type, direction from or to it, strength) and how many '
    'there are, entities, session and turn, speaker, origin, status, times, and how often and when '
    'last it was recalled. Errors: ME006 user, ME012 no memory with this key. Source: D2 3.1.3, D0 '
    'memory API (detail).';
