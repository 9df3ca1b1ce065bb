-- Names the embedding model of this database, once; another follows it by add_model() and
-- switch_model(). Vectors of two models cannot be compared; a client with a different model is told
-- so before it writes or asks.
CREATE OR REPLACE FUNCTION _check_model(name text, dimensions int, asked text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(btrim(name), '') = '' OR length(name) > 200
       OR dimensions IS NULL OR dimensions NOT BETWEEN 1 AND 4000 THEN
        RAISE EXCEPTION 'a model needs a name of 1 to 200 characters and 1 to 4000 dimensions, '
                        'not "%" with %', left(name, 201), dimensions
            USING ERRCODE = 'ME008',
                  HINT = format('SELECT memoir.%s(''text-embedding-3-small'', 1536);', asked);
    END IF;
END $$;

-- Agents and workers may not name the model: a wrong name would stop everybody's recall.
CREATE OR REPLACE FUNCTION _check_may_name(name text, dimensions int) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT has_column_privilege('embedding_model', 'dimensions', 'UPDATE') THEN
        RAISE EXCEPTION 'this database has no embedding model yet, and role "%" may not name it',
                current_user
            USING ERRCODE = 'ME009',
                  HINT = format('Once, the owner or a memoir_admin: '
                                'SELECT memoir.use_model(%s, %s);',
                                coalesce(quote_literal(name), 'name'), dimensions);
    END IF;
END $$;

-- A model by its name; NULL: the one in use.
CREATE OR REPLACE FUNCTION _known_model(name text) RETURNS embedding_model
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_model embedding_model;
BEGIN
    SELECT m.* INTO found_model FROM embedding_model AS m
    WHERE CASE WHEN _known_model.name IS NULL THEN m.active ELSE m.name = _known_model.name END;
    IF NOT FOUND AND name IS NULL THEN
        RAISE EXCEPTION 'no embedding model is active'
            USING ERRCODE = 'ME009',
                  HINT = 'SELECT advice FROM memoir.health() WHERE name = ''settings'' says what '
                         'brings it back.';
    ELSIF NOT FOUND THEN
        RAISE EXCEPTION 'there is no model "%"', name
            USING ERRCODE = 'ME009',
                  HINT = 'SELECT * FROM memoir.models() lists them; '
                         'memoir.add_model(name, dimensions) adds one.';
    END IF;
    RETURN found_model;
END $$;

-- A model by its name, unless drop_model() has started on it.
CREATE OR REPLACE FUNCTION _lasting_model(name text) RETURNS embedding_model
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_model CONSTANT embedding_model := _known_model(name);
BEGIN
    IF found_model.dropping THEN
        RAISE EXCEPTION 'model "%" is being dropped', name
            USING ERRCODE = 'ME014',
                  HINT = format('SELECT memoir.drop_model(%L); until it returns 0, then it can be '
                                'added again.', name);
    END IF;
    RETURN found_model;
END $$;

CREATE OR REPLACE FUNCTION use_model(name text, dimensions int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    current CONSTANT embedding_model := _known_model(NULL);
    known int;
BEGIN
    IF current.name = use_model.name AND current.dimensions = use_model.dimensions THEN
        RETURN;
    END IF;
    PERFORM _check_model(name, dimensions, 'use_model');
    IF coalesce(current.name, use_model.name) <> use_model.name
       OR coalesce(current.dimensions, use_model.dimensions) <> use_model.dimensions THEN
        known := (SELECT m.dimensions FROM embedding_model AS m
                  WHERE m.name = use_model.name AND NOT m.dropping);
        RAISE EXCEPTION
                'this database was filled by model "%" with % dimensions, not by "%" with %',
                coalesce(current.name, 'unnamed'), current.dimensions, name, dimensions
            USING ERRCODE = 'ME009',
                  HINT = CASE
                      WHEN known = dimensions
                      THEN format('Use that model, or change to this one: memoir model fill, '
                                  'then SELECT memoir.switch_model(%L);', name)
                      WHEN known <> dimensions
                      THEN format('Ask it for %s dimensions, or change to this one by another '
                                  'name (MEMOIR_EMBED_NAME): SELECT memoir.add_model(%L, %s); '
                                  'then memoir model fill.',
                                  known, name || '-' || dimensions, dimensions)
                      ELSE format('Use that model, or change to this one: SELECT '
                                  'memoir.add_model(%L, %s); then memoir model fill.',
                                  name, dimensions) END;
    END IF;
    -- A client that only reads, on a replica or as memoir_reader, stores no vector: it need not
    -- name the model.
    IF current_setting('transaction_read_only')::boolean
       OR NOT has_table_privilege('memory', 'INSERT') THEN
        RETURN;
    END IF;
    PERFORM _check_may_name(name, dimensions);
    UPDATE embedding_model AS m
    SET name = use_model.name, dimensions = use_model.dimensions
    WHERE m.model_id = current.model_id
      AND (m.name, m.dimensions) IS NOT DISTINCT FROM (current.name, current.dimensions);
    IF NOT FOUND THEN  -- another client named it at this moment
        PERFORM use_model(name, dimensions);
    END IF;
END $$;

COMMENT ON FUNCTION use_model(text, int) IS
    'Names the embedding model of this database: name and dimensions (1 to 4000). The first call '
    'or the first vector decides; a later call with another model raises ME009: add_model() and '
    'switch_model() change to it. In a read-only transaction, and by a role that may not store '
    'memories, it only checks whether another is named. Call it when a client starts. Errors: '
    'ME008 name (1 to 200 characters) or dimensions, ME009 another model, or a first call by a '
    'role that stores memories and is neither the owner nor a memoir_admin.';

-- The active model, once the vector is found to fit it; the first vector decides the dimensions.
CREATE OR REPLACE FUNCTION _admitting_model(embedding halfvec) RETURNS embedding_model
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    current embedding_model;
BEGIN
    SELECT m.* INTO current FROM embedding_model AS m WHERE m.active;
    IF NOT FOUND THEN
        PERFORM _known_model(NULL);  -- raises
    END IF;
    IF embedding IS NOT NULL AND current.dimensions IS NULL THEN
        PERFORM _check_vector(embedding, vector_dims(embedding));
        PERFORM _check_may_name(current.name, vector_dims(embedding));
        -- Two first vectors at once: the row lock lets one decide, and the other is checked against
        -- it.
        SELECT m.* INTO STRICT current FROM embedding_model AS m WHERE m.active FOR UPDATE;
        UPDATE embedding_model AS m SET dimensions = vector_dims(embedding)
        WHERE m.model_id = current.model_id AND m.dimensions IS NULL
        RETURNING m.* INTO current;
        IF NOT FOUND THEN
            SELECT m.* INTO STRICT current FROM embedding_model AS m WHERE m.active;
        END IF;
    END IF;
    embedding := _check_vector(embedding, current.dimensions);
    RETURN current;
END $$;
