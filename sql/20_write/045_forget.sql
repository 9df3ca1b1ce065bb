-- Takes a memory out of recall without losing it (D4 6.3): soft deletion, undone by restore().
-- One that is gone for good is purge()d.
CREATE OR REPLACE FUNCTION forget(
    INOUT memory_id bigint, reason text DEFAULT NULL, user_id text DEFAULT NULL,
    dry_run boolean DEFAULT false, author text DEFAULT 'user',
    OUT line text, OUT old_status text, OUT new_status text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    stored memory;
BEGIN
    IF dry_run IS NOT TRUE THEN
        PERFORM _lock_user(owner);
    END IF;
    stored := _check_status(owner, memory_id, '{active,pending,superseded,archived}', 'forgotten');
    line := _line(stored.content, 200);
    old_status := stored.status;
    new_status := 'forgotten';
    IF dry_run IS NOT TRUE THEN
        PERFORM _retire(owner, ARRAY[memory_id], 'forgotten', 'FORGET', author, reason, now(),
                        NULL);
        PERFORM _renew_summary(owner);
    END IF;
END $$;

COMMENT ON FUNCTION forget(bigint, text, text, boolean, text) IS
    'Forgets a memory: it takes no part in recall, not even as_of, but stays stored and listed; '
    'restore() brings it back. A job rewrites the rolling summary. Returns its first 200 '
    'characters and its status before and after. reason, author (up to 200 characters): kept in '
    'the revision. dry_run: only says what would happen. Errors: ME006 user, ME008 author, ME012 '
    'no such memory of this user, ME014 it is forgotten already. Source: D4 6.3.';
