-- States that a memory mentions someone or something; memories that share an entity are linked. The
-- name is compared without regard to case and spacing, and by its type: Java the island, Java the
-- language.
CREATE OR REPLACE FUNCTION _entity_name(entity text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_text(entity, 'the name of the entity');
    entity := _line(_redact(entity), 1000);
    IF length(entity) > 200 THEN
        RAISE EXCEPTION 'the name of the entity has % characters, the limit is 200', length(entity)
            USING ERRCODE = 'ME007', HINT = 'Pass a name: memoir.mention(1, ''Postgres'').';
    END IF;
    RETURN entity;
END $$;

-- A memory is found by the names of its entities: they are features of its trace. A dump has traces
-- as they are. The application may be changing the row of a source, and takes no lock of the user:
-- so the memory is locked, or its trace would have the old text.
CREATE OR REPLACE FUNCTION _mention_changed() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    changed CONSTANT mention := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    PERFORM FROM memory AS m
    WHERE m.user_id = changed.user_id AND m.memory_id = changed.memory_id FOR NO KEY UPDATE;
    PERFORM _reproject(changed.user_id, ARRAY[changed.memory_id]);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER mention_changed AFTER INSERT OR DELETE ON mention
    FOR EACH ROW WHEN (NOT _restoring()) EXECUTE FUNCTION _mention_changed();

CREATE OR REPLACE FUNCTION mention(
    memory_id bigint, entity text, type text DEFAULT 'thing', user_id text DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    given_name CONSTANT text := _entity_name(entity);
    of_type CONSTANT text := _lower(_entity_name(coalesce(type, 'thing')));
    mentioned bigint;
BEGIN
    PERFORM _lock_user(owner);
    PERFORM _keep_memory(owner, mention.memory_id);
    INSERT INTO entity AS e (user_id, name, type)
    VALUES (owner, given_name, of_type)
    ON CONFLICT (user_id, name_key, type) WHERE name_key IS NOT NULL DO NOTHING
    RETURNING e.entity_id INTO mentioned;
    IF mentioned IS NULL THEN
        SELECT e.entity_id INTO STRICT mentioned
        FROM entity AS e
        WHERE e.user_id = owner AND e.type = of_type
          AND e.name_key BETWEEN _lower(given_name) AND _lower(given_name)
        ORDER BY e.name_key;
    END IF;
    INSERT INTO mention (user_id, entity_id, memory_id)
    VALUES (owner, mentioned, mention.memory_id)
    ON CONFLICT DO NOTHING;
    RETURN mentioned;
END $$;

COMMENT ON FUNCTION mention(bigint, text, text, text) IS
    'Says that a memory mentions an entity (a person, product, place, ...), which is created if '
    'it is new, and returns its entity_id. entity: a name of 1 to 200 characters, compared '
    'without regard to case; type: a word of your choice. A second time nothing happens. Errors: '
    'ME006 user, ME007 name or type, ME012 no such memory of this user.';
