-- That a memory is there and this user's, whatever its status: for every call that names one.
-- A memory of another user is said to be missing like any other: ids tell nothing. No plan may read
-- the table: one made while it was small would, for as long as the connection lasts.
CREATE OR REPLACE FUNCTION _check_memory(user_id text, memory_id bigint) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM memory AS m
                   WHERE m.user_id = _check_memory.user_id
                     AND m.memory_id = _check_memory.memory_id)
    THEN
        RAISE EXCEPTION 'user "%" has no memory %', user_id, coalesce(memory_id::text, 'NULL')
            USING ERRCODE = 'ME012',
                  HINT = 'Pass a memory_id that remember() or recall() returned, and user_id '
                         '=> ''alice'' where it is not the default user''s.';
    END IF;
END $$;
