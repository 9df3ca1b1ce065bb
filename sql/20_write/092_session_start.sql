-- Opens a session, or continues it: a conversation may be made temporary or lasting at any time (D4
-- 4.4). A session begun while memory is off begins as temporary, unless told otherwise. What was
-- said while memory was off is kept only for the window, whatever is set later (private).
CREATE OR REPLACE FUNCTION session_start(
    INOUT session_id text DEFAULT NULL, INOUT temporary boolean DEFAULT NULL,
    user_id text DEFAULT NULL, data jsonb DEFAULT NULL, at timestamptz DEFAULT NULL,
    OUT started_at timestamptz, OUT is_new boolean)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    data := _json_given(data);
    PERFORM _check_session(session_id), _check_data(data), _check_time(at, 'at');
    INSERT INTO session AS s (user_id, session_id, temporary, data, started_at)
    VALUES (owner, coalesce(session_start.session_id, gen_random_uuid()::text),
            coalesce(session_start.temporary, _writing_refused(owner, NULL) IS NOT NULL),
            coalesce(_redact_json(session_start.data), '{}'), coalesce(at, now()))
    ON CONFLICT (user_id, session_id) DO UPDATE
    SET temporary = coalesce(session_start.temporary, s.temporary),
        data = coalesce(_redact_json(session_start.data), s.data), ended_at = NULL
    RETURNING s.session_id, s.temporary, s.started_at, s.xmax = 0
    INTO session_id, temporary, started_at, is_new;
END $$;

COMMENT ON FUNCTION session_start(text, boolean, text, jsonb, timestamptz) IS
    'Opens a session, or continues one, ended or not, and returns session_id, temporary, '
    'started_at and whether it is new. session_id: 1 to 200 characters; NULL: one is made. '
    'temporary: true: recall finds nothing in it, nothing is remembered from it, and its messages '
    'go at its end; false: an ordinary one; NULL: as it was, for a new one false, or true while '
    'memory is off. data: an object of your own; NULL leaves it. at: when it began, NULL: now. '
    'Opening it is not required: message_add() and remember() open what is not there. Errors: '
    'ME006 user, ME008 session_id or data, ME011 at. Source: D4 4.4, 5.2.';
