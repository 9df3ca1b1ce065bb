-- Slots: the memories of one kind and subject follow each other in time, and one of them is active
-- (D4 5.8). Each new one ends the one before it and ends itself where the next begins, so that a
-- fact that arrives late finds its place. End times are exclusive; if two begin at the same moment,
-- the later one begins a microsecond later. The caller holds _lock_user.

-- The place of a memory in its slot. after_id: the one that follows, so that this is already
-- history; retired_at: since when that was known.
CREATE OR REPLACE FUNCTION _slot(
    user_id text, kind text, subject text, created_at timestamptz,
    INOUT valid_from timestamptz, INOUT valid_until timestamptz, OUT status text,
    OUT retired_at timestamptz, OUT before_id bigint, OUT after_id bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    neighbour record;
BEGIN
    status := 'active';
    LOOP
        SELECT m.memory_id, m.valid_from INTO neighbour
        FROM memory AS m
        WHERE m.user_id = _slot.user_id AND m.kind = _slot.kind AND m.subject = _slot.subject
          AND m.position IS NULL AND m.source IS NULL AND m.status IN ('active', 'superseded')
          AND m.valid_from <= _slot.valid_from
        ORDER BY m.valid_from DESC LIMIT 1;
        before_id := neighbour.memory_id;
        EXIT WHEN neighbour.valid_from IS DISTINCT FROM valid_from;
        -- After those of this moment, in one step: a batch may have a thousand of them.
        valid_from := (
            SELECT r.valid_from + interval '1 microsecond'
            FROM (SELECT m.valid_from, lead(m.valid_from) OVER (ORDER BY m.valid_from) AS next
                  FROM memory AS m
                  WHERE m.user_id = _slot.user_id AND m.kind = _slot.kind
                    AND m.subject = _slot.subject AND m.position IS NULL AND m.source IS NULL
                    AND m.status IN ('active', 'superseded')
                    AND m.valid_from >= _slot.valid_from) AS r
            WHERE r.next IS DISTINCT FROM r.valid_from + interval '1 microsecond'
            ORDER BY r.valid_from LIMIT 1);
    END LOOP;
    SELECT m.memory_id, m.valid_from, m.created_at INTO neighbour
    FROM memory AS m
    WHERE m.user_id = _slot.user_id AND m.kind = _slot.kind AND m.subject = _slot.subject
      AND m.position IS NULL AND m.source IS NULL AND m.status IN ('active', 'superseded')
      AND m.valid_from > _slot.valid_from
    ORDER BY m.valid_from LIMIT 1;
    IF FOUND THEN
        after_id := neighbour.memory_id;
        -- One further on may have been told before the next one, as when files come in any order.
        retired_at := least(valid_until, (
            SELECT min(greatest(_slot.created_at, m.created_at, m.valid_from)) FROM memory AS m
            WHERE m.user_id = _slot.user_id AND m.kind = _slot.kind AND m.subject = _slot.subject
              AND m.position IS NULL AND m.source IS NULL AND m.status IN ('active', 'superseded')
              AND m.valid_from > _slot.valid_from
              AND m.valid_from <= greatest(_slot.created_at, neighbour.created_at,
                                           neighbour.valid_from)));
        valid_until := least(valid_until, neighbour.valid_from);
        status := 'superseded';
    END IF;
END $$;

-- Until when an active memory with an end of its own was known: until that end, or until it was
-- told of later. Of what was stored after that end nobody can say when it was told.
CREATE OR REPLACE FUNCTION _known_until(ended memory) RETURNS timestamptz
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN ended.recorded_at > ended.valid_until THEN ended.valid_until
                ELSE (SELECT greatest(ended.valid_until, max(told.at))
                      FROM (SELECT r.created_at AS at FROM revision AS r
                            WHERE r.user_id = ended.user_id
                              AND r.memory_id BETWEEN ended.memory_id AND ended.memory_id
                              AND r.old_values -> 'valid_until' = 'null'
                              AND NOT r.old_values ? 'status'
                            ORDER BY r.memory_id OFFSET 0) AS told) END;
END $$;

-- Ends a memory where another begins; that is known from known_at on, and true from ends_at on. A
-- memory that had already made way was known until then, however early its end is put since.
CREATE OR REPLACE FUNCTION _end_at(
    user_id text, memory_id bigint, ends_at timestamptz, known_at timestamptz, author text,
    reason text, run_id bigint, change_id bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    new_values jsonb;
    told_late boolean;
    earlier record;
BEGIN
    SELECT m.created_at > known_at, jsonb_build_object(
        'status', 'superseded', 'valid_until', least(m.valid_until, ends_at),
        'retired_at', least(CASE WHEN m.status <> 'active' THEN m.retired_at
                                 WHEN m.valid_until IS NOT NULL THEN _known_until(m) END,
                            greatest(m.created_at, known_at, ends_at)))
    INTO told_late, new_values
    FROM memory AS m
    WHERE m.user_id = _end_at.user_id AND m.memory_id = _end_at.memory_id
      AND (m.status = 'active' OR m.valid_until > ends_at);
    IF told_late THEN
        -- Until it was told, those before it in its slot had made way for the other, if for any.
        SELECT array_agg(e.memory_id) AS ids,
               array_agg(jsonb_build_object(
                   'retired_at', greatest(e.created_at, known_at, ends_at))) AS ends
        INTO earlier
        FROM memory AS m
        JOIN memory AS e ON e.user_id = m.user_id AND e.kind = m.kind AND e.subject = m.subject
                        AND e.valid_from < m.valid_from
        WHERE m.user_id = _end_at.user_id AND m.memory_id = _end_at.memory_id
          AND e.position IS NULL AND e.source IS NULL AND e.status = 'superseded'
          AND e.retired_at > greatest(e.created_at, known_at, ends_at);
        PERFORM _revise(user_id, earlier.ids, earlier.ends, 'SUPERSEDE', author, reason, run_id,
                        change_id);
    END IF;
    RETURN _revise(user_id, ARRAY[memory_id], ARRAY[new_values], 'SUPERSEDE', author, reason,
                   run_id, change_id) <> '{}';
END $$;
