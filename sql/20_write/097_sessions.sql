-- The sessions of a user, page by page, the latest first.
-- Messages and memories are counted for the rows of the page alone.
CREATE OR REPLACE FUNCTION sessions(
    is_open boolean DEFAULT NULL, page_size int DEFAULT 50, after text DEFAULT NULL,
    user_id text DEFAULT NULL)
    RETURNS TABLE (
        session_id text, temporary boolean, data jsonb, started_at timestamptz,
        ended_at timestamptz, messages bigint, tokens bigint, last_message timestamptz,
        memories bigint, next text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    row_limit CONSTANT int := _check_number(coalesce(page_size, 50), 'page_size', 1000);
    came CONSTANT record := _read_cursor(after, 'sessions');
BEGIN
    RETURN QUERY
    SELECT s.session_id, s.temporary, s.data, s.started_at, s.ended_at,
           said.messages, said.tokens, said.last_message,
           (SELECT count(*) FROM memory AS m
            WHERE m.user_id = owner AND m.session_id = s.session_id AND m.status = 'active'),
           _cursor('sessions', _microseconds(s.started_at), s.number)
    FROM (
        SELECT o.* FROM session AS o
        WHERE o.user_id = owner
          AND (is_open IS NULL OR (o.ended_at IS NULL) = is_open)
          AND (after IS NULL OR (_microseconds(o.started_at), o.number) < (came.key, came.id))
        ORDER BY o.started_at DESC, o.number DESC
        LIMIT row_limit
    ) AS s
    CROSS JOIN LATERAL (
        SELECT count(*) AS messages, coalesce(sum(g.tokens), 0) AS tokens,
               max(g.created_at) AS last_message
        FROM message AS g WHERE g.user_id = owner AND g.session_id = s.session_id
    ) AS said
    ORDER BY s.started_at DESC, s.number DESC;
END $$;

COMMENT ON FUNCTION sessions(boolean, int, text, text) IS
    'The sessions of a user, the latest begun first: session_id, temporary, data, started_at, '
    'ended_at (NULL: open), messages and their tokens that are stored, time of the last one, '
    'active memories with this session_id, and next. is_open: true or false: only such; NULL: all. '
    'page_size: 1 to 1000, default 50. after: next of the last row of the page before, NULL: from '
    'the beginning. Errors: ME006 user, ME008 page_size or after.';
