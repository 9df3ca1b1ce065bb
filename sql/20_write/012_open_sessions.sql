-- Gives sessions their numbers with their first memory. Sessions lie in the index in the order they
-- began, so that it grows at its end (DECISIONS 21). A session begins when the first thing in it
-- was said: an imported conversation of last year begins then. A second writer of a new session
-- waits for the first. Returns the temporary ones among them: nothing is remembered from those.
CREATE OR REPLACE FUNCTION _open_sessions(user_id text, session_ids text[], said_at timestamptz[])
    RETURNS text[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    opened record;
BEGIN
    IF session_ids = '{}' THEN
        RETURN '{}';
    END IF;
    -- Nearly every turn is of a session that is open.
    SELECT array_agg(s.session_id) AS ids,
           coalesce(array_agg(s.session_id) FILTER (WHERE s.temporary), '{}') AS temporary
    INTO opened
    FROM session AS s
    WHERE s.user_id = _open_sessions.user_id AND s.session_id = ANY (session_ids);
    IF session_ids <@ opened.ids THEN
        RETURN opened.temporary;
    END IF;
    INSERT INTO session (user_id, session_id, number, started_at)
    SELECT _open_sessions.user_id, n.session_id, n.number, n.started_at
    FROM (
        SELECT f.session_id, f.started_at, nextval('session_number_seq') AS number
        FROM (
            SELECT g.session_id, min(g.at) AS started_at, min(g.place) AS place
            FROM unnest(session_ids, said_at) WITH ORDINALITY AS g (session_id, at, place)
            WHERE g.session_id IS NOT NULL
              AND g.session_id <> ALL (coalesce(opened.ids, '{}'))
            GROUP BY g.session_id
            ORDER BY place
        ) AS f
    ) AS n
    ORDER BY n.session_id COLLATE "C"
    ON CONFLICT ON CONSTRAINT session_pkey DO NOTHING;
    RETURN ARRAY(SELECT s.session_id FROM session AS s
                 WHERE s.user_id = _open_sessions.user_id AND s.session_id = ANY (session_ids)
                   AND s.temporary);
END $$;
