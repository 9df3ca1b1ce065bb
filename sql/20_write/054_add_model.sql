-- Adds an embedding model beside the one in use, to switch to it. From now on every new memory also
-- has a trace for it, still without a vector; fill_model() makes those of existing memories. Recall
-- reads only the model in use, so its answers do not change.
CREATE OR REPLACE FUNCTION add_model(name text, dimensions int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    current CONSTANT embedding_model := _known_model(NULL);
    known embedding_model;
BEGIN
    PERFORM _check_model(name, dimensions, 'add_model');
    IF current.name IS NULL OR current.dimensions IS NULL THEN
        RAISE EXCEPTION 'the model in use has no name yet'
            USING ERRCODE = 'ME014',
                  HINT = format('Name it: SELECT memoir.use_model(%L, %s);',
                                CASE WHEN current.dimensions IS NULL THEN name ELSE 'its name' END,
                                coalesce(current.dimensions, dimensions));
    END IF;
    INSERT INTO embedding_model (name, dimensions) VALUES (add_model.name, add_model.dimensions)
    ON CONFLICT DO NOTHING;
    known := _lasting_model(name);
    IF known.dimensions <> add_model.dimensions THEN
        RAISE EXCEPTION 'model "%" has % dimensions, not %', name, known.dimensions, dimensions
            USING ERRCODE = 'ME009',
                  HINT = 'SELECT * FROM memoir.models() lists them. Vectors of another length '
                         'need a model with another name (MEMOIR_EMBED_NAME).';
    END IF;
END $$;

COMMENT ON FUNCTION add_model(text, int) IS
    'Adds an embedding model (a name of its own, 1 to 4000 dimensions) next to the one in use. '
    'Recall uses that one until switch_model(); fill_model() and a backfill prepare it. Adding it '
    'again changes nothing. Errors: ME008 name or dimensions, ME009 it is there with other '
    'dimensions, ME014 the model in use has no name, or this one is being dropped.';
