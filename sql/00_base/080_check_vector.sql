-- Whether a vector fits the model that filled this database. The first vector decides the number of
-- dimensions; after that a different number is an error, never a silent zero.
CREATE OR REPLACE FUNCTION _refuse_vector(embedding halfvec, dimensions int) RETURNS halfvec
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF vector_dims(embedding) <> dimensions THEN
        RAISE EXCEPTION 'the vector has % dimensions, this database holds %',
                vector_dims(embedding), dimensions
            USING ERRCODE = 'ME003',
                  HINT = 'Embed with the model that filled it: '
                         'SELECT name, dimensions FROM memoir.embedding_model WHERE active.';
    END IF;
    RAISE EXCEPTION 'the vector is zero'
        USING ERRCODE = 'ME004',
              HINT = 'A zero vector has no direction. Pass NULL to use words alone.';
END $$;

CREATE OR REPLACE FUNCTION _check_vector(embedding halfvec, dimensions int) RETURNS halfvec
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN vector_dims(embedding) <> dimensions OR NOT l2_norm(embedding) > 0
                THEN _refuse_vector(embedding, dimensions) ELSE embedding END;

-- Checks that there is one vector for each thing. what: the word for these things.
CREATE OR REPLACE FUNCTION _check_vectors(embeddings halfvec[], number int, what text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF cardinality(embeddings) <> number OR array_ndims(embeddings) > 1 THEN
        RAISE EXCEPTION '% embeddings for % %', cardinality(embeddings), number, what
            USING ERRCODE = 'ME008', HINT = 'Pass one vector for each, NULL where there is none.';
    END IF;
END $$;
