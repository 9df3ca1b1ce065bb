-- The logs of recalls and tools of a user, if there are any: a standby has nothing of unlogged
-- tables and does not even plan a statement that names one. For readers that are useful without
-- them.
CREATE OR REPLACE FUNCTION _recalls_here(user_id text) RETURNS SETOF retrieval
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT pg_is_in_recovery() THEN
        RETURN QUERY SELECT r.* FROM retrieval AS r WHERE r.user_id = _recalls_here.user_id;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _tool_calls_here(user_id text) RETURNS SETOF tool_call
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT pg_is_in_recovery() THEN
        RETURN QUERY SELECT c.* FROM tool_call AS c WHERE c.user_id = _tool_calls_here.user_id;
    END IF;
END $$;
