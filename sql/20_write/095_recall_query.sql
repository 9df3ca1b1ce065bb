-- The question that a message of a conversation asks memory: the message and those just before it
-- (D4 5.3), or "do it the first way" would find nothing. The message stands first, where a model
-- with a short context still reads it. Those before are cut to a line, so that one long answer does
-- not drown it. Output of tools and system messages ask nothing.
CREATE OR REPLACE FUNCTION recall_query(
    session_id text, message text DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    context_limit CONSTANT int := _config('recall_context');
    said text[];
BEGIN
    said := ARRAY(
        SELECT m.content FROM message AS m
        WHERE m.user_id = owner AND m.session_id = recall_query.session_id
          AND m.role IN ('user', 'assistant') AND m.content <> ''
        ORDER BY m.position DESC
        LIMIT context_limit + 1);
    message := _check_text(coalesce(_redact(message), said[1], ''), 'the message');
    -- Whether the message was added to the session first is the caller's choice.
    IF said[1] = message THEN
        said := said[2:];
    END IF;
    RETURN array_to_string(
        message || ARRAY(SELECT _line(c.content, _line_length())
                         FROM unnest(said[:context_limit]) WITH ORDINALITY AS c (content, newness)
                         ORDER BY c.newness DESC),
        E'\n');
END $$;

COMMENT ON FUNCTION recall_query(text, text, text) IS
    'The text to embed and to pass to recall() as query_text for the current message of a '
    'conversation: the message, then the 3 messages of user and assistant before it (setting '
    'recall_context), oldest first, a line each, cut to setting line_length. message: the current '
    'one, whether it was added to the session already or not; NULL: the last one added. What is '
    'secret in it is redacted. Errors: ME006 user, ME007 no message. Source: D4 5.3.';
