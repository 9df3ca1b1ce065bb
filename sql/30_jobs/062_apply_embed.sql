-- Stores the vectors that a worker brings, text by text. An error undoes all of it (finish() runs
-- this in a subtransaction) and is the reason why the attempt failed.

-- The errors of an embed answer, in the places of their texts; every text without a vector has one.
CREATE OR REPLACE FUNCTION _embed_errors(answer jsonb, embeddings halfvec[]) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF answer IS NOT NULL THEN
        PERFORM _check_json(answer, '{
            "type": "object", "required": ["errors"], "properties": {
                "errors": {"type": "array", "items": {
                    "type": "object", "required": ["text", "error"], "properties": {
                        "text": {"type": "integer"}, "error": {"type": "string"}}}}}}',
            'the answer');
    END IF;
    RETURN ARRAY(
        SELECT CASE WHEN v.embedding IS NULL
                    THEN coalesce(_trimmed(e.error), 'the model returned no vector') END
        FROM unnest(embeddings) WITH ORDINALITY AS v (embedding, place)
        LEFT JOIN LATERAL (
            SELECT max(r.error) AS error
            FROM jsonb_to_recordset(answer -> 'errors') AS r (text int, error text)
            WHERE r.text = v.place) AS e ON true
        ORDER BY v.place);
END $$;

-- A vector counts for the memories whose text is still the one it was made from. A memory whose
-- text has changed meanwhile waits for the vector of the new text.
CREATE OR REPLACE FUNCTION _apply_embed(finished job, answer jsonb, embeddings halfvec[])
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    model CONSTANT smallint := finished.payload -> 'model';
    texts CONSTANT bigint := (SELECT max(h.place) FROM _texts_held(finished) AS h);
    first_vector CONSTANT halfvec := (
        SELECT v.embedding FROM unnest(embeddings) AS v (embedding)
        WHERE v.embedding IS NOT NULL LIMIT 1);
    errors CONSTANT text[] := _embed_errors(answer, embeddings);
    ids bigint[];
    vectors halfvec[];
    hashes bigint[];
BEGIN
    IF coalesce(cardinality(embeddings), 0) <> texts THEN
        RAISE EXCEPTION '% embeddings for % texts', coalesce(cardinality(embeddings), 0), texts
            USING ERRCODE = 'ME008', HINT = 'Pass one vector per text, NULL for one without.';
    END IF;
    IF first_vector IS NULL AND texts = 1 THEN
        RAISE EXCEPTION '%', errors[1]
            USING ERRCODE = 'ME004', HINT = 'Shorten the memory, or forget it.';
    END IF;
    IF (SELECT e.active AND e.dimensions IS NULL FROM embedding_model AS e
        WHERE e.model_id = model) THEN
        PERFORM _admitting_model(first_vector);
    END IF;
    SELECT array_agg(h.memory_id),
           array_agg(_check_vector(v.embedding, (SELECT e.dimensions FROM embedding_model AS e
                                                 WHERE e.model_id = model))),
           array_agg(h.hash)
    INTO ids, vectors, hashes
    FROM _texts_held(finished) AS h
    JOIN unnest(embeddings) WITH ORDINALITY AS v (embedding, place) ON v.place = h.place
    WHERE v.embedding IS NOT NULL;
    PERFORM _store_vectors(finished.user_id, model, ids, vectors, false, hashes);
    PERFORM _embed_apart(finished, errors, 1);
END $$;
