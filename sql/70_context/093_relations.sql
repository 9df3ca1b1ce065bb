-- What was recorded about how a memory relates to others, in both directions.
-- One step only: what lies beyond the other memory is the same question about that one, so a cycle
-- of relations is no trap.
CREATE OR REPLACE FUNCTION relations(memory_id bigint, user_id text DEFAULT NULL)
    RETURNS TABLE (
        related_id bigint, direction text, type text, strength float8, kind text, content text,
        status text, created_at timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    PERFORM _check_memory(owner, relations.memory_id);
    RETURN QUERY
    SELECT b.other_id, b.direction, b.type, b.strength, m.kind, _line(m.content, 200), m.status,
           b.created_at
    FROM (
        (SELECT r.to_id AS other_id, 'to' AS direction, r.type, r.strength, r.created_at
         FROM relation AS r
         WHERE r.user_id = owner AND r.from_id = relations.memory_id
         ORDER BY r.to_id, r.type OFFSET 0)
        UNION ALL
        (SELECT r.from_id, 'from', r.type, r.strength, r.created_at
         FROM relation AS r
         WHERE r.user_id = owner AND r.to_id = relations.memory_id
         ORDER BY r.strength DESC, r.from_id OFFSET 0)
    ) AS b
    CROSS JOIN LATERAL (
        SELECT m.* FROM memory AS m
        WHERE m.user_id = owner AND m.memory_id = b.other_id OFFSET 0) AS m
    ORDER BY b.strength DESC, b.other_id, b.type COLLATE "C", b.direction COLLATE "C";
END $$;

COMMENT ON FUNCTION relations(bigint, text) IS
    'The relations of a memory, strongest first: related_id; direction, "to" where this memory '
    'supports, refines, ... the other, "from" where the other does; type; strength (0 to 1); of '
    'the other its kind, the first 200 characters of its content and its status, whatever that is; '
    'created_at. related() finds what has no relation, too. Errors: ME006 user, ME012 no such '
    'memory of this user.';
