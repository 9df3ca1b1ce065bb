-- Closes a session; a second call changes nothing. Its reflection is enqueued. The messages of a
-- temporary one are deleted: they were kept only for the window.
CREATE OR REPLACE FUNCTION session_end(
    session_id text, user_id text DEFAULT NULL, at timestamptz DEFAULT NULL,
    OUT action text, OUT ended_at timestamptz, OUT messages int, OUT deleted int)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    found_session session;
BEGIN
    PERFORM _check_time(at, 'at');
    SELECT s.* INTO found_session FROM session AS s
    WHERE s.user_id = owner AND s.session_id = session_end.session_id
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'user "%" has no session "%"', owner, left(session_id, 200)
            USING ERRCODE = 'ME012',
                  HINT = format('SELECT session_id FROM memoir.sessions(user_id => %L) lists '
                                'them.', owner);
    END IF;
    deleted := 0;
    messages := found_session.next_position;
    ended_at := coalesce(found_session.ended_at, at, now());
    action := CASE WHEN found_session.ended_at IS NULL THEN 'END' ELSE 'NOOP' END;
    IF action = 'END' THEN
        UPDATE session AS s SET ended_at = session_end.ended_at
        WHERE s.user_id = owner AND s.session_id = session_end.session_id;
        DELETE FROM message AS m
        WHERE found_session.temporary
          AND m.user_id = owner AND m.session_id = session_end.session_id;
        GET DIAGNOSTICS deleted = ROW_COUNT;
        PERFORM _reflect_at_end(owner, session_id);
    END IF;
END $$;

COMMENT ON FUNCTION session_end(text, text, timestamptz) IS
    'Ends a session and returns what was done: action END, or NOOP where it had ended; ended_at; '
    'messages, how many it has had; deleted, how many of them were deleted, because it is '
    'temporary. at: when it ended, NULL: now. A further message opens it again. A job is enqueued '
    'that reflects on the whole of it (D3 4.1). Errors: ME006 user, ME011 at, ME012 no such '
    'session of this user. Source: D4 4.4, 5.2.';
