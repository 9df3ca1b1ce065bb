-- Switches to another model: one statement, and once it commits recall reads the vectors of that
-- model. The traces of both are kept in step until one is dropped, so one can switch back the same
-- way. It waits for current writers, and new ones wait for it: no memory may lack its trace.

-- How many memories recall would lose, and how many it would find only by words that it now finds
-- by their vectors. A memory has one trace per model or none, and no trace is without a memory.
CREATE OR REPLACE FUNCTION _without_trace(model smallint) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN (SELECT count(*) FROM memory AS m)
           - (SELECT count(*) FROM trace AS t WHERE t.model = _without_trace.model);

CREATE OR REPLACE FUNCTION _without_its_vector(model smallint) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN (
        SELECT count(*)
        FROM trace AS t
        JOIN embedding_model AS e ON e.active
        JOIN trace AS o ON o.user_id = t.user_id AND o.memory_id = t.memory_id
                       AND o.model = e.model_id
        WHERE t.model = _without_its_vector.model AND t.active AND t.embedding IS NULL
          AND o.embedding IS NOT NULL);

CREATE OR REPLACE FUNCTION _check_filled(wanted embedding_model, force boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    traceless CONSTANT bigint := _without_trace(wanted.model_id);
    bare CONSTANT bigint := CASE WHEN force THEN 0 ELSE _without_its_vector(wanted.model_id) END;
BEGIN
    IF traceless + bare > 0 THEN
        RAISE EXCEPTION 'model "%" is not filled: it has no vector for % of the memories',
                wanted.name, traceless + bare
            USING ERRCODE = 'ME014',
                  HINT = CASE WHEN traceless > 0
                              THEN format('memoir model fill, or without vectors, until no row '
                                          'comes back: SELECT * FROM memoir.fill_model(%L);',
                                          wanted.name)
                              ELSE format('memoir model fill, or SELECT memoir.switch_model(%L, '
                                          'force => true); they are recalled by words until a '
                                          'worker gives them their vectors.', wanted.name) END;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION switch_model(name text, force boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '500ms' SET jit = off
AS $$
DECLARE
    wanted embedding_model;
BEGIN
    PERFORM FROM embedding_model AS m ORDER BY m.model_id FOR NO KEY UPDATE;
    wanted := _lasting_model(coalesce(name, ''));
    IF wanted.active THEN
        RETURN;
    END IF;
    PERFORM _check_filled(wanted, force);
    -- Those that the switch changes (_forget_own_indexes): users come before tables, as in a write.
    PERFORM FROM profile AS p WHERE p.ann > 0 ORDER BY p.user_id FOR NO KEY UPDATE;
    LOCK TABLE memory IN SHARE MODE;
    PERFORM _check_filled(wanted, force);
    UPDATE embedding_model AS m SET active = false WHERE m.active;
    UPDATE embedding_model AS m SET active = true WHERE m.model_id = wanted.model_id;
    -- What the old model could not embed the new one may.
    DELETE FROM job AS j WHERE j.kind = 'embed' AND j.status IN ('waiting', 'dead');
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'memories are being changed in a long transaction'
        USING ERRCODE = 'ME014', HINT = 'Nothing was changed: try again.';
END $$;

COMMENT ON FUNCTION switch_model(text, boolean) IS
    'Puts a model that add_model() added into use: recall and new vectors use it from now on. '
    'force: even if memories with a vector of the model in use lack one of this; they are '
    'recalled by words until a worker or a backfill computes it. Users with indexes of their own '
    'get them for this model at the next maintain(). Clients of the old model are refused '
    '(ME009); switching back works the same way until drop_model(). Errors: ME009 no such model, '
    'ME014 memories are missing, it is being dropped, or memories are being changed.';
