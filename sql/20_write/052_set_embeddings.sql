-- Gives many memories of a user their vectors, from whoever made them: a backfill. The vector of a
-- text that was changed while the model worked on it is left out: the memory still waits for the
-- vector of its new text.
CREATE OR REPLACE FUNCTION set_embeddings(
    memory_ids bigint[], embeddings halfvec[], user_id text DEFAULT NULL,
    text_hashes bigint[] DEFAULT NULL, model text DEFAULT NULL)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    filled embedding_model;
    ids bigint[];
    vectors halfvec[];
    hashes bigint[];
BEGIN
    IF cardinality(embeddings) IS DISTINCT FROM cardinality(memory_ids)
       OR cardinality(text_hashes) <> cardinality(memory_ids) THEN
        RAISE EXCEPTION '% memory_ids with % embeddings and % text_hashes',
                coalesce(cardinality(memory_ids), 0), coalesce(cardinality(embeddings), 0),
                coalesce(cardinality(text_hashes)::text, 'no')
            USING ERRCODE = 'ME008',
                  HINT = 'Pass as many of each, NULL for a memory whose vector is not to be set.';
    END IF;
    filled := CASE WHEN model IS NULL
                   THEN _admitting_model((
                       SELECT v.embedding FROM unnest(embeddings) AS v (embedding)
                       WHERE v.embedding IS NOT NULL LIMIT 1))
                   ELSE _known_model(model) END;
    SELECT array_agg(g.memory_id), array_agg(_check_vector(g.embedding, filled.dimensions)),
           array_agg(g.text_hash)
    INTO ids, vectors, hashes
    FROM unnest(memory_ids, embeddings, text_hashes) AS g (memory_id, embedding, text_hash)
    WHERE g.embedding IS NOT NULL;
    RETURN CASE WHEN ids IS NULL THEN 0
                ELSE _store_vectors(owner, filled.model_id, ids, vectors, false, hashes) END;
END $$;

COMMENT ON FUNCTION set_embeddings(bigint[], halfvec[], text, bigint[], text) IS
    'Sets the vectors of memories that have none and returns how many it set; those of others, '
    'and of memories this user does not have, are left out. embeddings: one a memory_id, NULL: '
    'not this one. text_hashes: as memories_without_vector() gave them; if the text has changed '
    'since, or a transaction is just changing the memory, nothing is set. model: the name of the '
    'one that made them; NULL: the one in use. Errors: ME003 dimensions, ME004 zero vector, ME006 '
    'user, ME008 arrays of different lengths, ME009 no such model. Source: D0 2.4.';
