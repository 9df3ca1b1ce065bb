-- Memories without a vector, a page at a time and across users, for a backfill.
-- The cursor is a place in the index (trace_without_vector): memories that got their vector are not
-- read again, and those that failed lie behind it.
CREATE OR REPLACE FUNCTION memories_without_vector(
    n int DEFAULT 50, after_user text DEFAULT NULL, after_id bigint DEFAULT NULL,
    user_id text DEFAULT NULL, model text DEFAULT NULL)
    RETURNS TABLE (owner text, memory_id bigint, content text, text_hash bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off
    SET enable_sort = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    whose CONSTANT text := user_id;
    wanted CONSTANT smallint := (_known_model(model)).model_id;
BEGIN
    PERFORM _check_number(n, 'n', 1000);
    PERFORM _resolve_user(whose) WHERE whose IS NOT NULL;
    RETURN QUERY
    SELECT m.user_id, m.memory_id, _text_to_embed(m.content), _text_hash(m.user_id, m.content)
    FROM (SELECT t.user_id, t.memory_id
          FROM trace AS t
          WHERE t.active AND t.embedding IS NULL AND t.model = wanted
            AND (t.user_id, t.model, t.memory_id)
                > (coalesce(after_user, ''), wanted, coalesce(after_id, 0))
            AND (whose IS NULL OR t.user_id = whose)
          ORDER BY t.user_id, t.memory_id
          LIMIT n) AS t
    CROSS JOIN LATERAL (SELECT m.user_id, m.memory_id, m.content
                        FROM memory AS m
                        WHERE m.user_id = t.user_id AND m.memory_id = t.memory_id
                        OFFSET 0) AS m;
END $$;

COMMENT ON FUNCTION memories_without_vector(int, text, bigint, text, text) IS
    'The next n (1 to 1000) active memories that have no vector, by owner and memory_id: owner '
    '(their user), memory_id, content (its first million characters), text_hash (of all of it, for '
    'set_embeddings()). after_user, after_id: those behind this one, NULL: from the first. '
    'user_id: only of this user; NULL: of everybody the caller may see. model: no vector of this '
    'one; NULL: of the model in use. Errors: ME006 user, ME008 n, ME009 no such model. '
    'Source: D0 2.4.';
