-- Who and what the memories of a user mention, page by page, the most mentioned first.
-- Counted at the call: an entity nobody mentions any more is listed last.
CREATE OR REPLACE FUNCTION entities(
    search text DEFAULT NULL, page_size int DEFAULT 50, after text DEFAULT NULL,
    user_id text DEFAULT NULL)
    RETURNS TABLE (
        name text, type text, mentions bigint, newest timestamptz, entity_id bigint, next text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    row_limit CONSTANT int := _check_number(coalesce(page_size, 50), 'page_size', 1000);
    came CONSTANT record := _read_cursor(after, 'entities');
    patterns CONSTANT text[] := _patterns(coalesce(search, ''));
BEGIN
    RETURN QUERY
    SELECT c.name, c.type, c.mentions, c.newest, c.entity_id,
           _cursor('entities', c.mentions, c.entity_id)
    FROM (
        SELECT e.name, e.type, o.mentions, o.newest, e.entity_id
        FROM entity AS e
        CROSS JOIN LATERAL (
            SELECT count(*) AS mentions, max(m.created_at) AS newest
            FROM mention AS n
            CROSS JOIN LATERAL (
                SELECT m.created_at FROM memory AS m
                WHERE m.user_id = owner AND m.memory_id = n.memory_id AND m.status = 'active'
                OFFSET 0) AS m
            WHERE n.user_id = owner AND n.entity_id = e.entity_id) AS o
        WHERE e.user_id = owner AND e.name ILIKE ALL (patterns)
    ) AS c
    WHERE after IS NULL OR (c.mentions::float8, c.entity_id) < (came.key, came.id)
    ORDER BY c.mentions DESC, c.entity_id DESC
    LIMIT row_limit;
END $$;

COMMENT ON FUNCTION entities(text, int, text, text) IS
    'The entities of a user, those that most active memories mention first: name, type, mentions '
    '(how many memories), newest (when the latest of them was made; NULL without any), entity_id, '
    'next. search: every word of it is part of the name. page_size: 1 to 1000, default 50. after: '
    'next of the last row of the page before, NULL: from the beginning. Errors: ME006 user, ME008 '
    'page_size or after.';
