-- Detaches a source: its table is again as it was. The caller says what becomes of the memories.
-- They go while the triggers still follow the table. Dropping the triggers, which makes writers
-- wait, comes last and takes a moment.
-- A writer of the table may hold memories of it that this waits for, and wait for others of it: no
-- wait lasts until PostgreSQL looks for a deadlock.
CREATE OR REPLACE FUNCTION _leave_all(name text, memories text, is_event boolean, reason text)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT coalesce(sum(_leave_memories(u, name, memories, is_event, reason)), 0)
            FROM _source_users(name) AS u);
END $$;

CREATE OR REPLACE FUNCTION _leave_table(s source, memories text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '500ms'
AS $$
DECLARE
    followed CONSTANT regclass := _followed_table(s.source_id);
    is_event CONSTANT boolean := s.kind = 'event';
    reason CONSTANT text := s.name || ' was detached';
    number bigint;
    made name;
BEGIN
    -- What tries rows again locks them here before it locks their memories.
    PERFORM FROM source_error AS e WHERE e.source = s.name ORDER BY e.user_id, e.error_id
    FOR UPDATE;
    number := _leave_all(s.name, memories, is_event, reason);
    IF followed IS NOT NULL THEN
        FOR made IN
            SELECT t.tgname FROM pg_trigger AS t
            WHERE t.tgrelid = followed AND t.tgname ~ format('^memoir_source_%s(_|$)', s.source_id)
        LOOP
            EXECUTE format('DROP TRIGGER %I ON %s', made, followed);
        END LOOP;
    END IF;
    IF memories <> 'keep' THEN
        number := number + _leave_all(s.name, memories, is_event, reason);
    END IF;
    RETURN number;
END $$;

CREATE OR REPLACE FUNCTION detach_source(name text, memories text DEFAULT 'keep') RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    s CONSTANT source := _known_source(name, true);
    made regprocedure;
    number bigint;
BEGIN
    IF memories IS NULL OR memories NOT IN ('keep', 'forget', 'purge') THEN
        PERFORM _refuse_mapping(
            format('memories must be keep, forget or purge, not "%s"', memories),
            'keep: they stay. forget: they can be restored. purge: they are deleted.');
    END IF;
    PERFORM _check_attacher(_followed_table(s.source_id));
    BEGIN
        number := _leave_table(s, memories);
    EXCEPTION WHEN lock_not_available THEN
        RAISE EXCEPTION '% is busy: it could not be detached within half a second',
                coalesce(_followed_table(s.source_id)::text, s.relation)
            USING ERRCODE = 'ME014',
                  HINT = 'Nothing was changed. Try again when no long transaction uses it.';
    END;
    FOR made IN
        SELECT p.oid FROM pg_proc AS p
        WHERE p.pronamespace = current_schema()::regnamespace
          AND p.proname ~ format('^_source_%s_(write|read|log)$', s.source_id)
    LOOP
        EXECUTE format('DROP FUNCTION %s', made);
    END LOOP;
    DELETE FROM source_error AS e WHERE e.source = name;
    DELETE FROM source AS o WHERE o.name = name;
    RETURN number;
END $$;

COMMENT ON FUNCTION detach_source(text, text) IS
    'Ends the attachment of a source and returns how many memories or events it had. Its table is '
    'as it was before: triggers are dropped, nothing else was made there. memories: keep (they '
    'stay as they are; attached again under the same name, rows find theirs), forget (restore() '
    'brings them back; events are deleted) or purge (deleted for good). Works even if the table '
    'is gone. Errors: ME014 the table is busy, nothing was changed, ME016 source or argument, '
    '42501 not the owner of memoir and of the table.';
