-- What a trace knows of the sources of its memory (relation derived_from): that there are any, and
-- their place. A memory made from turns of one session stands beside the first of them and gains
-- from the same neighbours: 2.3 points of evidence at 800 tokens of 5 LoCoMo conversations with
-- the facts drawn from them. A turn keeps its own place.
CREATE OR REPLACE FUNCTION _mark_derived(user_id text, memory_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE trace AS t
    SET derived = s.derived, session = s.session, position = s.position
    FROM (
        SELECT count(r.to_id) > 0 AS derived,
               _session_number(m.user_id, CASE
                   WHEN m.session_id IS NOT NULL THEN m.session_id
                   WHEN count(DISTINCT o.session_id) = 1 THEN min(o.session_id) END) AS session,
               coalesce(CASE WHEN m.session_id IS NOT NULL AND m.position IS NOT NULL
                             THEN m.position
                             WHEN min(o.session_id) = coalesce(m.session_id, max(o.session_id))
                                  AND max(o.session_id) = min(o.session_id)
                             THEN min(o.position)
                        END, -1) AS position
        FROM memory AS m
        LEFT JOIN relation AS r ON r.user_id = m.user_id AND r.from_id = m.memory_id
                               AND r.type = 'derived_from'
        LEFT JOIN memory AS o ON o.user_id = m.user_id AND o.memory_id = r.to_id
        WHERE m.user_id = _mark_derived.user_id AND m.memory_id = _mark_derived.memory_id
        GROUP BY m.user_id, m.memory_id
    ) AS s
    WHERE t.user_id = _mark_derived.user_id AND t.memory_id = _mark_derived.memory_id
      AND (t.derived, t.session, t.position) <> (s.derived, s.session, s.position);
END $$;
