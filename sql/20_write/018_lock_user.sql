-- Every change of stored memories begins with this: the user's profile row is locked until the end
-- of the transaction. Two changes of one user cannot deadlock, and each decides by what the other
-- left. A row, not an advisory key: it also works on a cluster. A write that only adds memories
-- does not take it. Others take it before all their writes: while they hold it they may wait for
-- those who only add, who must not wait for them. A user whose first memory is not committed yet
-- has no row to lock: then it waits for that transaction. At REPEATABLE READ a transaction does not
-- see what the other left. There the row is written, not locked, so that the second of the two ends
-- with 40001.
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

-- The same for upkeep, which goes by a list of users. False: the user was purged since then, or has
-- neither memories nor events, and no row is made.
CREATE OR REPLACE FUNCTION _lock_listed_user(user_id text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM FROM profile AS p WHERE p.user_id = _lock_listed_user.user_id FOR NO KEY UPDATE;
    IF FOUND
       OR EXISTS (SELECT FROM memory AS m WHERE m.user_id = _lock_listed_user.user_id)
       OR EXISTS (SELECT FROM event AS e WHERE e.user_id = _lock_listed_user.user_id)
    THEN
        PERFORM _lock_user(user_id);
        RETURN true;
    END IF;
    RETURN false;
END $$;

-- The profile of a user with a first memory; true, so that it can be a condition. If another
-- transaction is making it, which may be one of the application's, this does not wait for its end:
-- that transaction has a lock for the user. Thousands of them would fill the server's table of
-- locks, so after 1000 users a transaction locks one of 256 groups of users instead. The group's
-- other new users then get their profile with their next memory, or from maintain().
CREATE OR REPLACE FUNCTION _make_profile(user_id text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    made CONSTANT int := coalesce(nullif(current_setting('memoir.new_profiles', true), ''), '0');
    of_user CONSTANT bigint := hashtextextended('memoir profile ' || user_id, 0);
    of_group CONSTANT bigint := hashtextextended('memoir profiles ' || (of_user & 255), 0);
BEGIN
    IF NOT EXISTS (SELECT FROM profile AS p WHERE p.user_id = _make_profile.user_id)
       AND (CASE WHEN made < 1000 THEN pg_try_advisory_xact_lock_shared(of_group)
                                       AND pg_try_advisory_xact_lock(of_user)
                 ELSE pg_try_advisory_xact_lock(of_group) END)
    THEN
        INSERT INTO profile (user_id) VALUES (_make_profile.user_id) ON CONFLICT DO NOTHING;
        PERFORM set_config('memoir.new_profiles', (made + 1)::text, true);
    END IF;
    RETURN true;
END $$;

-- The lock, if it is free: for callers that must not wait. The row already exists.
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
