-- Gives a stored memory its vector, from whoever made it.
-- Until then the memory is recalled by its words.
CREATE OR REPLACE FUNCTION set_embedding(
    memory_id bigint, embedding halfvec, user_id text DEFAULT NULL)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    IF embedding IS NULL THEN
        RAISE EXCEPTION 'the vector is missing'
            USING ERRCODE = 'ME004', HINT = 'SELECT memoir.set_embedding(12, ''[0.1, ...]'');';
    END IF;
    PERFORM _check_vector(embedding, coalesce(e.dimensions, vector_dims(embedding)))
    FROM embedding_model AS e WHERE e.active;
    IF NOT EXISTS (SELECT FROM memory AS m
                   WHERE m.user_id = owner AND m.memory_id = set_embedding.memory_id)
    THEN
        RETURN false;
    END IF;
    PERFORM _lock_user(owner);
    RETURN _store_vectors(owner, (_admitting_model(embedding)).model_id, ARRAY[memory_id],
                          ARRAY[embedding], true) > 0;
END $$;

COMMENT ON FUNCTION set_embedding(bigint, halfvec, text) IS
    'Sets or replaces the vector of a memory. Returns false when this user has no such memory. '
    'Errors: ME003 dimensions, ME004 zero or missing vector, ME006 user.';
