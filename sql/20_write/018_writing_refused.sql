-- Whether the user allows this to be remembered, and used, at all: not with memory switched off,
-- nor in a temporary session (D4 4.4). Every write and every recall asks: one lookup by primary
-- key, and a second one if there is a session.
CREATE OR REPLACE FUNCTION _writing_refused(user_id text, session_id text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN CASE
        WHEN (SELECT NOT p.memory_on FROM profile AS p WHERE p.user_id = user_id)
        THEN 'memory is off'
        WHEN session_id IS NOT NULL
             AND (SELECT s.temporary FROM session AS s
                  WHERE s.user_id = user_id AND s.session_id = session_id)
        THEN 'the session is temporary'
    END;
END $$;
