-- How much a backfill has to do and what it will cost, before anything is sent.
-- Tokens are estimated by the formula of recall, which errs upwards.
CREATE OR REPLACE FUNCTION vector_backlog(
    user_id text DEFAULT NULL, characters int DEFAULT 4000, model text DEFAULT NULL)
    RETURNS TABLE (users bigint, memories bigint, tokens bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    whose CONSTANT text := user_id;
    wanted CONSTANT smallint := (_known_model(model)).model_id;
BEGIN
    PERFORM _resolve_user(whose) WHERE whose IS NOT NULL;
    RETURN QUERY
    SELECT count(DISTINCT m.user_id), count(*),
           coalesce(sum(estimate_tokens(left(m.content, characters))), 0)::bigint
    FROM (
        SELECT m.user_id, m.content
        FROM trace AS t
        JOIN memory AS m ON m.user_id = t.user_id AND m.memory_id = t.memory_id
        WHERE t.model = wanted AND t.active AND t.embedding IS NULL
          AND (whose IS NULL OR t.user_id = whose)
        UNION ALL
        -- A model that was just added has no traces of them yet.
        SELECT m.user_id, m.content
        FROM memory AS m
        WHERE m.status = 'active' AND (whose IS NULL OR m.user_id = whose)
          AND NOT EXISTS (SELECT FROM trace AS t
                          WHERE t.user_id = m.user_id AND t.memory_id = m.memory_id
                            AND t.model = wanted)
    ) AS m;
END $$;

COMMENT ON FUNCTION vector_backlog(text, int, text) IS
    'What is still without a vector: of how many users, how many active memories, and about how '
    'many tokens. user_id: only of this user; NULL: of everybody the caller may see. characters: '
    'how many of each text are embedded (default 4000). model: without a vector of this one; NULL: '
    'of the model in use. Errors: ME006 user, ME009 no such model. Source: D0 2.4.';
