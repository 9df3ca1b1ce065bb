-- What reads or writes the logs of recalls and tools does not work on a standby: they are unlogged.
-- The error is the one that every write raises there, not that an unlogged relation cannot be
-- accessed.
CREATE OR REPLACE FUNCTION _check_primary(what text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'cannot execute %() during recovery', what
            USING ERRCODE = 'read_only_sql_transaction', HINT = 'Call it on the primary.';
    END IF;
END $$;
