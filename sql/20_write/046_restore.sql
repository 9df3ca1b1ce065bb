-- Brings a forgotten or archived memory back to what it was before.
-- If another memory fills its slot by now, it stays away: two truths at once would be none.
CREATE OR REPLACE FUNCTION restore(
    INOUT memory_id bigint, reason text DEFAULT NULL, user_id text DEFAULT NULL,
    dry_run boolean DEFAULT false, author text DEFAULT 'user',
    OUT line text, OUT old_status text, OUT new_status text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    stored memory;
    before jsonb;
BEGIN
    IF dry_run IS NOT TRUE THEN
        PERFORM _lock_user(owner);
    END IF;
    stored := _check_status(owner, memory_id, '{forgotten,archived}', 'restored');
    -- A memory that was archived, forgotten and restored is archived again, and can be restored
    -- from there.
    SELECT r.old_values INTO before
    FROM revision AS r
    WHERE r.user_id = owner AND r.memory_id BETWEEN memory_id AND memory_id
      AND r.old_values ->> 'status' NOT IN ('forgotten', stored.status)
    ORDER BY r.memory_id DESC, r.revision_id DESC LIMIT 1;
    -- Columns that kept their value are not among the old ones.
    before := (SELECT jsonb_object_agg(o.key, o.value)
               FROM jsonb_each(before) AS o WHERE o.key IN ('status', 'retired_at'));
    before := coalesce(before, '{"status": "active", "retired_at": null}');
    line := _line(stored.content, 200);
    old_status := stored.status;
    new_status := before ->> 'status';
    stored := jsonb_populate_record(stored, before);
    PERFORM _check_free(owner, ARRAY[stored]);
    IF dry_run IS NOT TRUE THEN
        PERFORM _revise(owner, ARRAY[memory_id], ARRAY[before], 'RESTORE', author, reason, NULL,
                        NULL);
    END IF;
END $$;

COMMENT ON FUNCTION restore(bigint, text, text, boolean, text) IS
    'Brings back a forgotten or archived memory, as it was before: active, or part of the history '
    'of its subject. Returns its first 200 characters and its status before and after. reason, '
    'author (up to 200 characters): kept in the revision. dry_run: only says what would happen. '
    'Errors: ME006 user, ME008 author, ME012 no such memory of this user, ME014 it is neither '
    'forgotten nor archived, or another memory says the same or fills its subject. Source: D4 6.3.';
