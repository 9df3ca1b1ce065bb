-- When a conversation is read for what is worth remembering (D4 5.2): after every five messages of
-- the user, at the end of the session, and when somebody asks. Not if the user switched that or all
-- memory off, nor in a temporary session; a caller who asks for it is told why not.
CREATE OR REPLACE FUNCTION _may_extract(user_id text, session_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _writing_refused(user_id, session_id) IS NULL
       AND coalesce((SELECT p.auto_extract FROM profile AS p
                     WHERE p.user_id = _may_extract.user_id), true);
END $$;

-- Called when the user begins a turn, after so many rounds, which are complete. Each window is a
-- job of its own, so that none is left out if the model is slow.
CREATE OR REPLACE FUNCTION _extract_if_due(user_id text, session_id text, turn int, rounds int)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    every CONSTANT int := _config('extract_every');
BEGIN
    IF rounds > 0 AND rounds % nullif(every, 0) = 0 AND _may_extract(user_id, session_id) THEN
        PERFORM enqueue(
            'extract', jsonb_build_object('session_id', session_id, 'until_turn', turn - 1),
            user_id, format('%s until %s', session_id, turn - 1));
    END IF;
END $$;

-- Called when a session ends: one reflection reads the whole of it (D3 4.1).
CREATE OR REPLACE FUNCTION _reflect_at_end(user_id text, session_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF _may_extract(user_id, session_id) THEN
        PERFORM enqueue('reflect', jsonb_build_object('session_id', session_id), user_id,
                        session_id);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION extract_session(session_id text, user_id text DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    refusal CONSTANT text := _writing_refused(owner, session_id);
BEGIN
    IF NOT EXISTS (SELECT FROM message AS m
                   WHERE m.user_id = owner AND m.session_id = extract_session.session_id) THEN
        RAISE EXCEPTION 'user "%" has no messages of session "%"', owner, left(session_id, 200)
            USING ERRCODE = 'ME012',
                  HINT = format('SELECT session_id FROM memoir.sessions(user_id => %L) lists '
                                'them.', owner);
    END IF;
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION 'nothing is remembered of session "%": %', left(session_id, 200), refusal
            USING ERRCODE = 'ME014',
                  HINT = format('memoir.set_settings(''{"memory": true}'', %1$L) or '
                                'memoir.session_start(%2$L, false, %1$L) allows it.', owner,
                                session_id);
    END IF;
    RETURN enqueue('extract', jsonb_build_object('session_id', session_id), owner, session_id);
END $$;

COMMENT ON FUNCTION extract_session(text, text) IS
    'Enqueues the extraction of memories from the last messages of a session (settings '
    'extract_messages, extract_tokens) and returns the job_id: when the user asks for it, or when '
    'the application has summarised the conversation. Errors: ME006 user, ME012 no messages of '
    'such a session, ME014 memory is off or the session temporary. Source: D4 5.2, D1 5.1.';
