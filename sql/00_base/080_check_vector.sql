-- Whether a vector fits the model that filled this database.
-- The first vector decides the number of dimensions; after that another number is an error, never
-- a silent zero.
CREATE OR REPLACE FUNCTION _check_vector(embedding halfvec, dimensions int) RETURNS halfvec
    LANGUAGE plpgsql IMMUTABLE
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
    IF NOT l2_norm(embedding) > 0 THEN
        RAISE EXCEPTION 'the vector is zero'
            USING ERRCODE = 'ME004',
                  HINT = 'A zero vector has no direction. Pass NULL to work by words alone.';
    END IF;
    RETURN embedding;
END $$;
