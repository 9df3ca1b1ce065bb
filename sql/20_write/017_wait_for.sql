-- Waits on a replica until it has everything up to a token of written_at(). It is one statement and
-- keeps its snapshot to the end: if the primary removes row versions that the snapshot may see, the
-- replica itself waits for this call, which then times out. So it needs hot_standby_feedback = on;
-- the client calls it with timeout 0 again and again instead (DECISIONS 46).
CREATE OR REPLACE FUNCTION wait_for(lsn pg_lsn, timeout interval DEFAULT '1 s') RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    deadline timestamptz;
BEGIN
    IF lsn IS NULL THEN
        RAISE EXCEPTION 'lsn must be a token of written_at(), not NULL'
            USING ERRCODE = 'ME008',
                  HINT = 'SELECT memoir.written_at(), on the primary, after COMMIT.';
    END IF;
    IF timeout IS NULL OR timeout NOT BETWEEN interval '0' AND interval '1 hour' THEN
        RAISE EXCEPTION 'timeout must be 0 to 1 hour, not %', coalesce(timeout::text, 'NULL')
            USING ERRCODE = 'ME008', HINT = 'Leave it out for 1 second.';
    END IF;
    deadline := clock_timestamp() + timeout;
    LOOP
        -- Checked each time: the replica may become the primary.
        IF NOT pg_is_in_recovery() THEN
            RETURN lsn <= pg_current_wal_insert_lsn();
        END IF;
        IF pg_last_wal_replay_lsn() >= lsn THEN
            RETURN true;
        END IF;
        IF clock_timestamp() >= deadline THEN
            RETURN false;
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END $$;

COMMENT ON FUNCTION wait_for(pg_lsn, interval) IS
    'On a replica: waits until what was committed before lsn, a token of written_at(), can be '
    'read here, and returns true; false: not within timeout (0 to 1 hour), so read on the primary '
    'instead. What the same statement reads does not see it yet: the next one does. The replica '
    'needs hot_standby_feedback = on; without, call it with timeout 0 until it is true, as the '
    'client does. On the primary it does not wait; there false says that the token is of commits '
    'it does not have, which a failover has lost. Errors: ME008 lsn or timeout. Source: DESIGN 7.';
