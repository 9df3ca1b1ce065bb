-- All messages of a session, page by page: to show it, or to reflect on the whole of it. A message
-- never changes its place, so the place of the last one read is where to go on.
CREATE OR REPLACE FUNCTION messages(
    session_id text, page_size int DEFAULT 100, after_turn int DEFAULT NULL,
    user_id text DEFAULT NULL)
    RETURNS TABLE (
        turn int, role text, speaker text, content text, data jsonb, tokens int,
        created_at timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    row_limit CONSTANT int := _check_number(coalesce(page_size, 100), 'page_size', 1000);
BEGIN
    RETURN QUERY
    SELECT m.position, m.role, m.speaker, m.content, m.data, m.tokens, m.created_at
    FROM message AS m
    WHERE m.user_id = owner AND m.session_id = messages.session_id
      AND m.position > coalesce(after_turn, -1)
    ORDER BY m.position
    LIMIT row_limit;
END $$;

COMMENT ON FUNCTION messages(text, int, int, text) IS
    'The messages of a session, oldest first: turn, role, speaker, content, data, tokens, '
    'created_at. page_size: 1 to 1000, default 100. after_turn: the place of the last message of '
    'the page before, NULL: from the beginning. Errors: ME006 user, ME008 page_size.';
