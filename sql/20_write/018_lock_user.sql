-- What every change of stored memories begins with: the user's profile row, locked until the end of
-- the transaction. Two changes of one user never wait for each other crosswise, and what one
-- decides by is what the other left. A row, not a key: it works on a cluster, too.
-- A write that only adds memories does not take it. Who takes it does so before all he writes:
-- with it he may wait for those who only add, and they must not wait for him. A user whose first
-- memory is not committed yet has no row to lock: then it is waited for that transaction.
-- A transaction that sees what was there when it began would not see what the other left: it writes
-- the row, which ends the next such one with 40001 where a lock would not.
CREATE OR REPLACE FUNCTION _lock_user(user_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM FROM profile AS p WHERE p.user_id = _lock_user.user_id FOR NO KEY UPDATE;
    ELSE
        UPDATE profile AS p SET updated_at = p.updated_at WHERE p.user_id = _lock_user.user_id;
    END IF;
    IF NOT FOUND THEN
        INSERT INTO profile AS p (user_id) VALUES (_lock_user.user_id)
        ON CONFLICT ON CONSTRAINT profile_pkey DO NOTHING;
        PERFORM FROM profile AS p WHERE p.user_id = _lock_user.user_id FOR NO KEY UPDATE;
    END IF;
END $$;

-- The profile of a user with his first memory; true, so that it can be a condition. Where another
-- transaction is just making it, which may be one of the application's, this one does not wait for
-- that to end.
CREATE OR REPLACE FUNCTION _make_profile(user_id text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF pg_try_advisory_xact_lock(hashtextextended('memoir profile ' || user_id, 0)) THEN
        INSERT INTO profile (user_id) VALUES (_make_profile.user_id) ON CONFLICT DO NOTHING;
    END IF;
    RETURN true;
END $$;

-- The lock, if nobody has it: for those who must not wait. The row is there already.
CREATE OR REPLACE FUNCTION _try_lock_user(user_id text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM FROM profile AS p WHERE p.user_id = _try_lock_user.user_id
    FOR NO KEY UPDATE SKIP LOCKED;
    RETURN FOUND;
END $$;

-- A number for all changes of one decision, and one for all decisions of one run.
CREATE OR REPLACE FUNCTION _next_change() RETURNS bigint
    LANGUAGE sql VOLATILE
    RETURN nextval('change_id_seq');

CREATE OR REPLACE FUNCTION _next_run() RETURNS bigint
    LANGUAGE sql VOLATILE
    RETURN nextval('run_id_seq');
