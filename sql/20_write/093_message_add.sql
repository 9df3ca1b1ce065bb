-- Adds a turn to the working memory of a session. The row of the session gives the places:
-- concurrent writers wait for each other, so that places have no gap and none is given twice. A
-- message to an ended session opens it again: people come back to a conversation, and refusing the
-- message would lose it.
CREATE OR REPLACE FUNCTION _check_role(role text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(role NOT IN ('user', 'assistant', 'system', 'tool'), true) THEN
        RAISE EXCEPTION 'unknown role "%"', left(coalesce(role, 'NULL'), 40)
            USING ERRCODE = 'ME008', DETAIL = 'Roles: user, assistant, system, tool',
                  HINT = 'Pass the name of the speaker as speaker => ''Ada''.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _next_place(
    user_id text, session_id text, role text, at timestamptz, OUT turn int, OUT questions int)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    LOOP
        UPDATE session AS s
        SET next_position = s.next_position + 1, ended_at = NULL,
            questions = s.questions + (role = 'user')::int
        WHERE s.user_id = user_id AND s.session_id = session_id
        RETURNING s.next_position - 1, s.questions INTO turn, questions;
        IF FOUND THEN
            RETURN;
        END IF;
        PERFORM session_start(session_id, user_id => user_id, at => at);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION message_add(
    session_id text, role text, content text, speaker text DEFAULT NULL,
    user_id text DEFAULT NULL, created_at timestamptz DEFAULT NULL, data jsonb DEFAULT NULL)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    said_at CONSTANT timestamptz := coalesce(_check_time(created_at, 'created_at'), now());
    said CONSTANT text := coalesce(_redact(content), '');
    place record;
BEGIN
    session_id := _check_session(coalesce(session_id, ''));
    data := _json_given(data);
    PERFORM _check_role(role), _check_data(data);
    -- Most messages have none, and setting the rules up takes 30 µs.
    IF speaker IS NOT NULL THEN
        speaker := _check_speaker(_redact(speaker));
    END IF;
    IF said <> '' OR data IS NULL THEN
        PERFORM _check_text(said, 'the message');
    END IF;
    place := _next_place(owner, session_id, role, said_at);
    INSERT INTO message (user_id, session_id, position, role, speaker, content, tokens, data,
                         private, created_at)
    VALUES (owner, message_add.session_id, place.turn, message_add.role, message_add.speaker, said,
            estimate_tokens(said), coalesce(_redact_json(message_add.data), '{}'),
            _writing_refused(owner, NULL) IS NOT NULL, said_at);
    IF role = 'user' THEN
        PERFORM _extract_if_due(owner, session_id, place.turn, place.questions - 1);
    END IF;
    RETURN place.turn;
END $$;

COMMENT ON FUNCTION message_add(text, text, text, text, text, timestamptz, jsonb) IS
    'Adds a message to the end of a session, which is opened if it is new or ended, and returns '
    'its turn, from 0. It is working memory: session_window() gives the newest ones, recall() '
    'finds memories, not messages. role: user, assistant, system or tool. content: its text; may '
    'be empty where data tells. speaker: a name, up to 200 characters. created_at: when it was '
    'said, 1970 to a day from now; NULL: now. data: an object that tells what else a turn was: '
    'tool, arguments, success, error. What is secret in content, speaker and data is redacted '
    'first. After every extract_every (setting) messages of the user in a session, when the next '
    'one comes, a job is enqueued that draws memories from them; never from what was said while '
    'memory was off. Errors: ME006 user, ME007 text, ME008 session_id, role, speaker or data, '
    'ME011 time. Source: D4 5.2, 8.1.';
