-- The working memory of a session: its newest messages that fit a number and a budget of tokens (D4
-- 5.2: 10 messages, about 4000 tokens). Whole messages, except a single one that is over the budget
-- by itself: without the last message, another question would be answered.
CREATE OR REPLACE FUNCTION _cut_to_tokens(content text, max_tokens int) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    WHILE estimate_tokens(content) > max_tokens LOOP
        content := left(content, greatest(0, least(
            length(content) - 2,
            floor(max_tokens / _token_cost(content) * length(content))::int - 1))) || '…';
    END LOOP;
    RETURN content;
END $$;

CREATE OR REPLACE FUNCTION session_window(
    session_id text, max_messages int DEFAULT NULL, max_tokens int DEFAULT NULL,
    user_id text DEFAULT NULL, until_turn int DEFAULT NULL)
    RETURNS TABLE (
        turn int, role text, speaker text, content text, data jsonb, tokens int,
        created_at timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    message_limit CONSTANT int := _check_number(
        coalesce(max_messages, _config('extract_messages')::int), 'max_messages', 1000);
    token_limit CONSTANT int := _check_number(
        coalesce(max_tokens, _config('extract_tokens')::int), 'max_tokens', 1000000);
BEGIN
    RETURN QUERY
    SELECT w.position, w.role, w.speaker,
           CASE WHEN w.tokens > token_limit THEN _cut_to_tokens(w.content, token_limit)
                ELSE w.content END,
           w.data, least(w.tokens, token_limit), w.created_at
    FROM (
        SELECT m.*, row_number() OVER newer AS number, sum(m.tokens) OVER newer AS total
        FROM (SELECT m.* FROM message AS m
              WHERE m.user_id = owner AND m.session_id = session_window.session_id
                AND m.position <= coalesce(until_turn, 2147483647)
              ORDER BY m.position DESC
              LIMIT message_limit) AS m
        WINDOW newer AS (ORDER BY m.position DESC)
    ) AS w
    WHERE w.number = 1 OR w.total <= token_limit
    ORDER BY w.position;
END $$;

COMMENT ON FUNCTION session_window(text, int, int, text, int) IS
    'The newest messages of a session, oldest first, without gaps: turn, role, speaker, content, '
    'data, tokens, created_at. max_messages: 1 to 1000, NULL: setting extract_messages (10). '
    'max_tokens: 1 to 1000000 estimated tokens of all contents together, NULL: setting '
    'extract_tokens (4000); a last message that alone exceeds it is cut and ends in …. '
    'until_turn: the window ends with this one, NULL: with the newest. No rows for a session '
    'without messages. Errors: ME006 user, ME008 number. Source: D4 5.2, 8.1.';
