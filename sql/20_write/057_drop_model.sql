-- Drops a model that is not in use, with its vectors: a batch per call, so that nothing waits for
-- it. The first call excludes it from all later writes, the last one deletes its name.
CREATE OR REPLACE FUNCTION _delete_traces(model smallint, n int) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET enable_seqscan = off
AS $$
DECLARE
    number int;
BEGIN
    DELETE FROM trace AS t
    USING (SELECT f.user_id, f.memory_id FROM trace AS f
           WHERE f.model = _delete_traces.model
           ORDER BY f.user_id, f.memory_id LIMIT n) AS d
    WHERE t.user_id = d.user_id AND t.memory_id = d.memory_id AND t.model = _delete_traces.model;
    GET DIAGNOSTICS number = ROW_COUNT;
    RETURN number;
END $$;

CREATE OR REPLACE FUNCTION drop_model(name text, n int DEFAULT 5000) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '500ms' SET jit = off
AS $$
DECLARE
    dropped CONSTANT embedding_model := _known_model(coalesce(name, ''));
    number int;
BEGIN
    PERFORM _check_number(n, 'n', 100000);
    UPDATE embedding_model AS m SET dropping = true
    WHERE m.model_id = dropped.model_id AND NOT m.active;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'model "%" is in use', name
            USING ERRCODE = 'ME014',
                  HINT = 'SELECT memoir.switch_model(''another''); first.';
    END IF;
    number := _delete_traces(dropped.model_id, n);
    IF number = 0 THEN
        -- A transaction that began before the first call may still write for this model.
        LOCK TABLE memory IN SHARE MODE;
        number := _delete_traces(dropped.model_id, n);
    END IF;
    IF number = 0 THEN
        UPDATE gold AS g SET query_vec = NULL, model = NULL WHERE g.model = dropped.model_id;
        DELETE FROM embedding_model AS m WHERE m.model_id = dropped.model_id;
    END IF;
    RETURN number;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'memories are being changed in a long transaction'
        USING ERRCODE = 'ME014', HINT = 'Nothing was changed: try again.';
END $$;

COMMENT ON FUNCTION drop_model(text, int) IS
    'Deletes the vectors of a model that is not in use, of up to n (1 to 100000) memories a call, '
    'and returns how many; call it until it returns 0, each time in a transaction of its own: '
    'then the model is gone. Memories stay. Errors: ME008 n, ME009 no such model, ME014 it is in '
    'use, or memories are being changed.';
