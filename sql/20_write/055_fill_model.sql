-- Makes the traces of a model for memories that existed before it was added: all that recall will
-- read except the vectors, which the embedder brings, by memories_without_vector() and
-- set_embeddings(). One user per call, whose lock keeps the memories unchanged meanwhile; rows of
-- sources, which take no such lock, are locked themselves.
CREATE OR REPLACE FUNCTION fill_model(
    name text, n int DEFAULT 1000, after_user text DEFAULT NULL, after_id bigint DEFAULT NULL,
    user_id text DEFAULT NULL)
    RETURNS TABLE (owner text, last_id bigint, made int)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan
    SET enable_seqscan = off
    SET enable_sort = off
    SET enable_hashjoin = off
    SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    whose CONSTANT text := user_id;
    filled CONSTANT embedding_model := _lasting_model(name);
    ids bigint[];
BEGIN
    PERFORM _check_number(n, 'n', 10000);
    PERFORM _resolve_user(whose) WHERE whose IS NOT NULL;
    SELECT m.user_id INTO owner
    FROM memory AS m
    WHERE (m.user_id, m.memory_id) > (coalesce(after_user, ''), coalesce(after_id, 0))
      AND (whose IS NULL OR m.user_id = whose)
      AND NOT EXISTS (SELECT FROM trace AS t
                      WHERE t.user_id = m.user_id AND t.memory_id = m.memory_id
                        AND t.model = filled.model_id OFFSET 0)
    ORDER BY m.user_id, m.memory_id LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM _lock_user(owner);
    ids := ARRAY(
        SELECT m.memory_id
        FROM memory AS m
        WHERE m.user_id = owner
          AND m.memory_id > CASE WHEN owner = after_user THEN after_id ELSE 0 END
          AND NOT EXISTS (SELECT FROM trace AS t
                          WHERE t.user_id = owner AND t.memory_id = m.memory_id
                            AND t.model = filled.model_id OFFSET 0)
        ORDER BY m.memory_id LIMIT n);
    PERFORM FROM memory AS m
    WHERE m.user_id = owner AND m.memory_id = ANY (ids) AND m.source IS NOT NULL
    FOR SHARE;
    -- A transaction that does not see what was changed before it had the lock ends here (40001).
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM FROM trace AS t WHERE t.user_id = owner AND t.memory_id = ANY (ids) FOR SHARE;
    END IF;
    WITH added AS (
        INSERT INTO trace (user_id, memory_id, model, kind, created_at, importance, session,
                           position, asks, derived, details, cost, brief_cost, term_count,
                           terms, line, brief, active, wide)
        SELECT t.user_id, t.memory_id, filled.model_id, t.kind, t.created_at, t.importance,
               t.session, t.position, t.asks, t.derived, t.details, t.cost, t.brief_cost,
               t.term_count, t.terms, t.line, t.brief, t.active,
               _is_wide(NULL, t.term_count, t.line, t.user_id)
        FROM unnest(ids) AS i (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM trace AS t
            WHERE t.user_id = owner AND t.memory_id = i.id
            ORDER BY t.user_id, t.memory_id, t.model LIMIT 1) AS t
        ON CONFLICT DO NOTHING
        RETURNING memory_id
    )
    SELECT max(a.memory_id), count(*) INTO last_id, made FROM added AS a;
    RETURN NEXT;
END $$;

COMMENT ON FUNCTION fill_model(text, int, text, bigint, text) IS
    'Makes up to n (1 to 10000) traces of a model that was added, for memories of one user that '
    'have none for it, and returns that owner, the last memory_id and how many it made; no row: '
    'every memory has one. Call it again with after_user and after_id from that row, each in a '
    'transaction of its own. user_id: only for memories of this user. The vectors come from '
    'memoir model fill. Errors: ME006 user, ME008 n, ME009 no such model, ME014 it is being '
    'dropped.';
