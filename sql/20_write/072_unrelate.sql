-- Takes back what relate() stated. Without a type, every relation from the one memory to the other
-- is removed.
CREATE OR REPLACE FUNCTION unrelate(
    from_id bigint, to_id bigint, type text DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    removed boolean;
BEGIN
    PERFORM _check_relation_type(type);
    PERFORM _lock_user(owner);
    DELETE FROM relation AS r
    WHERE r.user_id = owner AND r.from_id = unrelate.from_id AND r.to_id = unrelate.to_id
      AND (unrelate.type IS NULL OR r.type = unrelate.type);
    removed := FOUND;
    IF removed THEN
        PERFORM _mark_derived(owner, ARRAY[from_id]);
    END IF;
    RETURN removed;
END $$;

COMMENT ON FUNCTION unrelate(bigint, bigint, text, text) IS
    'Removes the relation of this type from memory from_id to memory to_id; type NULL: of every '
    'type. Returns whether there was one. Errors: ME006 user, ME008 unknown type.';
