-- Takes back what mention() stated. The entity stays: other memories may name it again, and it
-- links nothing by itself.
CREATE OR REPLACE FUNCTION unmention(
    memory_id bigint, entity text, type text DEFAULT 'thing', user_id text DEFAULT NULL)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    key CONSTANT text := _lower(_entity_name(entity));
    of_type CONSTANT text := _lower(_entity_name(coalesce(type, 'thing')));
BEGIN
    PERFORM _lock_user(owner);
    DELETE FROM mention AS m
    USING entity AS e
    WHERE e.user_id = owner AND e.name_key = key AND e.type = of_type
      AND m.user_id = owner AND m.entity_id = e.entity_id AND m.memory_id = unmention.memory_id;
    RETURN FOUND;
END $$;

COMMENT ON FUNCTION unmention(bigint, text, text, text) IS
    'Removes the mention of an entity in a memory. Returns whether there was one. Errors: ME006 '
    'user, ME007 name or type.';
