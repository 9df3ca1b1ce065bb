-- Imports everything of a user from an export, all or nothing: in one call, or for a large file in
-- many calls of one transaction. What was read so far is in table import, and a trigger at the end
-- refuses a transaction that would commit before the last line.
CREATE OR REPLACE FUNCTION _import_ended() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    line bigint;
BEGIN
    SELECT i.line INTO line FROM import AS i
    WHERE i.user_id = NEW.user_id AND i.file_hash = NEW.file_hash AND i.ended_at IS NULL;
    IF FOUND THEN
        RAISE EXCEPTION 'the file stops at line %, before its end', line
            USING ERRCODE = 'ME017',
                  HINT = 'Pass all of its lines in one transaction. If these were all, it was cut '
                         'off. Nothing of it is stored.';
    END IF;
    RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS import_ended ON import;
CREATE CONSTRAINT TRIGGER import_ended AFTER INSERT ON import
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION _import_ended();

CREATE OR REPLACE FUNCTION import_user(
    lines text[], user_id text DEFAULT NULL, new_ids boolean DEFAULT false,
    vectors boolean DEFAULT true, OUT state text, OUT line bigint, OUT records jsonb)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET timezone = 'UTC' SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    begun import;
    reading import;
BEGIN
    IF coalesce(array_ndims(lines), 0) <> 1 OR array_position(lines, NULL) IS NOT NULL THEN
        RAISE EXCEPTION 'lines is not a list, is empty, or one of them is NULL'
            USING ERRCODE = 'ME008',
                  HINT = 'SELECT * FROM memoir.import_user('
                         'ARRAY(SELECT memoir.export_user(''ada'')), ''ada2'');';
    END IF;
    PERFORM _lock_user(owner);
    SELECT i.* INTO begun FROM import AS i WHERE i.user_id = owner AND i.ended_at IS NULL;
    IF NOT FOUND THEN
        SELECT i.* INTO begun FROM import AS i
        WHERE i.user_id = owner
          AND i.file_hash = sha256(convert_to(rtrim(lines[1], E'\r\n'), 'UTF8'));
        IF FOUND THEN
            state := 'known';
            line := begun.line;
            records := begun.found;
            RETURN;
        END IF;
        begun := _begin_import(owner, lines[1], coalesce(new_ids, false), coalesce(vectors, true));
        lines := lines[2:];
    END IF;
    BEGIN
        reading := _import_lines(begun, lines);
    EXCEPTION WHEN OTHERS THEN
        PERFORM _blame_line(begun, lines);
        RAISE;
    END;
    UPDATE import AS i
    SET line = reading.line, checksum = reading.checksum, place = reading.place,
        found = reading.found, archive_job = reading.archive_job, ended_at = reading.ended_at
    WHERE i.user_id = owner AND i.file_hash = reading.file_hash;
    state := CASE WHEN reading.ended_at IS NULL THEN 'reading' ELSE 'imported' END;
    line := reading.line;
    records := reading.found;
END $$;

COMMENT ON FUNCTION import_user(text[], text, boolean, boolean) IS
    'Imports everything of a user from the lines of export_user(), all or nothing. lines: all of '
    'them, or for a large file about 1,000 a call, in order and in one transaction, which cannot '
    'commit before the last. user_id: the user who gets it and must have nothing yet but '
    'settings, which those of the file replace. Ids stay as they are, and sequences go on behind '
    'them; new_ids: every id is raised by one number instead, so that none was given in this '
    'database before. vectors: false leaves those of the file out, and the memories wait for an '
    'embedder, as they do when the file has none. Returns state (reading, imported, or known: the '
    'same file was imported before, nothing is changed), line (read so far) and records (how many '
    'of each). Text is redacted by the rules of this database. Of memories that have the same '
    'text by these one is recalled, which supersedes the others, and in a slot that is filled a '
    'memory loses its subject; alike in records counts both. Traces are computed again; nobody is '
    'notified. Call refresh_statistics() after many memories. Errors, with the line they are '
    'about: ME002 kind, ME003 and ME004 vector, ME006 user, ME007 text, ME008 value, ME009 the '
    'vectors are by another model, ME011 time, ME017 no such export, a version that is unknown, '
    'cut or changed, an id twice or unknown, or the user has something already.';
