-- A candidate that the user does not want. Forgotten, not deleted: history() tells why, restore()
-- brings it back, purge() deletes it.
CREATE OR REPLACE FUNCTION reject(
    memory_id bigint, reason text DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    PERFORM _lock_user(owner);
    PERFORM _check_status(owner, memory_id, '{pending}', 'rejected');
    PERFORM _retire(owner, ARRAY[memory_id], 'forgotten', 'REJECT', 'user', reason, now(), NULL);
END $$;

COMMENT ON FUNCTION reject(bigint, text, text) IS
    'Rejects a pending memory: it is forgotten. reason: why, for its history. Errors: ME006 user, '
    'ME012 no such memory of this user, ME014 it is not pending. Source: D4 4.4.';
