-- Everything that happened to a memory, oldest first, with its text at each time.
-- The row of the memory tells how it began; every change since then has a revision.
CREATE OR REPLACE FUNCTION history(memory_id bigint, user_id text DEFAULT NULL)
    RETURNS TABLE (changed_at timestamptz, action text, author text, reason text, content text,
                   old_values jsonb, other_ids bigint[], undone boolean, change_id bigint,
                   run_id bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    PERFORM _check_memory(owner, history.memory_id);
    RETURN QUERY
    WITH change AS MATERIALIZED (
        SELECT r.revision_id, r.created_at, r.action, r.author, r.reason, r.old_values,
               r.change_id, r.run_id, r.undoes
        FROM revision AS r
        WHERE r.user_id = owner
          AND r.memory_id BETWEEN history.memory_id AND history.memory_id
        ORDER BY r.memory_id, r.revision_id
    ), step AS (
        SELECT c.* FROM change AS c
        UNION ALL
        SELECT 0, m.recorded_at, 'ADD', m.origin, NULL, NULL, 0, NULL, NULL
        FROM memory AS m
        WHERE m.user_id = owner AND m.memory_id = history.memory_id
          AND NOT EXISTS (SELECT FROM change AS c WHERE c.action = 'ADD')
    ), texts AS (
        -- What the text was before each change, and what it is.
        SELECT ARRAY(SELECT c.old_values ->> 'content' FROM change AS c
                     WHERE c.old_values ? 'content' ORDER BY c.revision_id)
               || m.content AS contents
        FROM memory AS m
        WHERE m.user_id = owner AND m.memory_id = history.memory_id
    )
    SELECT s.created_at, s.action, s.author, s.reason,
           t.contents[1 + count(*) FILTER (WHERE s.old_values ? 'content')
                              OVER (ORDER BY s.revision_id)],
           s.old_values - 'embedding',
           ARRAY(SELECT DISTINCT o.memory_id
                 FROM (SELECT r.memory_id FROM revision AS r
                       WHERE r.user_id = owner AND r.change_id BETWEEN s.change_id AND s.change_id
                         AND r.memory_id <> history.memory_id
                       ORDER BY r.change_id OFFSET 0) AS o
                 ORDER BY o.memory_id),
           s.change_id IN (SELECT c.undoes FROM change AS c WHERE c.undoes IS NOT NULL),
           nullif(s.change_id, 0), s.run_id
    FROM step AS s, texts AS t
    ORDER BY s.revision_id;
END $$;

COMMENT ON FUNCTION history(bigint, text) IS
    'What happened to a memory, oldest first: when, action (ADD, UPDATE, SUPERSEDE, FORGET, ...), '
    'author, reason, content (its text from then on), old_values (what the change replaced), '
    'other_ids (memories the same decision changed), undone, change_id and run_id. Errors: ME006 '
    'user, ME012 no such memory of this user.';
