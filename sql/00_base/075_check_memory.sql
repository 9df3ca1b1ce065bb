-- Checks that a memory exists and is this user's, whatever its status: for every call that names
-- one. Another user's memory is reported as missing, so ids tell nothing.
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
                  HINT = 'Pass a memory_id that remember() or recall() returned, and the user '
                         'whose memory it is.';
    END IF;
END $$;

-- The same for a memory that something will refer to: locked, it stays until this transaction ends.
-- The user's lock keeps purge() away, but not an application that deletes a row of its own and with
-- it the memory (attach_source, on_delete => 'purge').
CREATE OR REPLACE FUNCTION _keep_memory(user_id text, memory_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    PERFORM FROM memory AS m
    WHERE m.user_id = _keep_memory.user_id AND m.memory_id = _keep_memory.memory_id
    FOR KEY SHARE;
    IF NOT FOUND THEN
        PERFORM _check_memory(user_id, memory_id);
    END IF;
END $$;
