-- What the traces of memories know of their sources (relation derived_from): that they have some,
-- and their place. A memory made from turns of one session stands next to the first of them and
-- gains from the same neighbours (DECISIONS 16). A turn keeps its own place.
CREATE OR REPLACE FUNCTION _mark_derived(user_id text, memory_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(SELECT DISTINCT i FROM unnest(memory_ids) AS i ORDER BY i);
    part bigint[];
BEGIN
    FOR low IN 1 .. cardinality(ids) BY 25 LOOP
        part := ids[low : low + 24];
        PERFORM FROM trace AS t
        WHERE t.user_id = _mark_derived.user_id AND t.memory_id = ANY (part)
          AND t.memory_id BETWEEN part[1] AND part[cardinality(part)]
        ORDER BY t.memory_id FOR NO KEY UPDATE;
        UPDATE trace AS t
        SET derived = s.derived, session = s.session, position = s.position
        FROM (
            SELECT m.memory_id, o.derived,
                   coalesce((SELECT n.number FROM session AS n
                             WHERE n.user_id = _mark_derived.user_id
                               AND n.session_id = coalesce(m.session_id, o.session_id)), 0)
                       AS session,
                   coalesce(CASE WHEN m.session_id IS NOT NULL AND m.position IS NOT NULL
                                 THEN m.position
                                 WHEN o.session_id = coalesce(m.session_id, o.session_id)
                                 THEN o.position
                            END, -1) AS position
            FROM memory AS m
            CROSS JOIN LATERAL (
                SELECT count(*) > 0 AS derived, min(s.position) AS position,
                       CASE WHEN min(s.session_id) = max(s.session_id)
                            THEN min(s.session_id) END AS session_id
                FROM (SELECT r.to_id FROM relation AS r
                      WHERE r.user_id = _mark_derived.user_id AND r.from_id = m.memory_id
                        AND r.type = 'derived_from'
                      ORDER BY r.to_id OFFSET 0) AS r
                CROSS JOIN LATERAL (
                    SELECT o.session_id, o.position FROM memory AS o
                    WHERE o.user_id = _mark_derived.user_id AND o.memory_id = r.to_id OFFSET 0) AS s
            ) AS o
            WHERE m.user_id = _mark_derived.user_id AND m.memory_id = ANY (part)
              AND m.memory_id BETWEEN part[1] AND part[cardinality(part)]
        ) AS s
        WHERE t.user_id = _mark_derived.user_id AND t.memory_id = s.memory_id
          AND t.memory_id = ANY (part) AND t.memory_id BETWEEN part[1] AND part[cardinality(part)]
          AND (t.derived, t.session, t.position) <> (s.derived, s.session, s.position);
    END LOOP;
END $$;

-- The change that gave a memory its text; NULL: it has the text it was added with.
CREATE OR REPLACE FUNCTION _change_of_text(user_id text, memory_id bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT r.change_id
        FROM revision AS r
        WHERE r.user_id = _change_of_text.user_id
          AND r.memory_id BETWEEN _change_of_text.memory_id AND _change_of_text.memory_id
          AND r.old_values ? 'content' AND r.action <> 'UNDO'
          AND NOT EXISTS (
              SELECT FROM revision AS u
              WHERE u.user_id = _change_of_text.user_id
                AND u.memory_id BETWEEN _change_of_text.memory_id AND _change_of_text.memory_id
                AND u.undoes = r.change_id)
        ORDER BY r.memory_id DESC, r.revision_id DESC LIMIT 1);
END $$;

-- Records that memories were made from others; the arrays run in parallel. change_ids: the changes
-- that gave them the texts that were made.
CREATE OR REPLACE FUNCTION _derive(
    user_id text, from_ids bigint[], to_ids bigint[], change_ids bigint[])
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _link(user_id, from_ids, to_ids, 'derived_from', 1, change_ids);
    PERFORM _mark_derived(user_id, from_ids);
END $$;
