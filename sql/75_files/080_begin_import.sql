-- The first line of a file to import: whether the file can be read here at all, what its ids
-- become, and room for them. Nothing is written before these checks.

-- The document of a first line.
CREATE OR REPLACE FUNCTION _read_header(line text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    header jsonb;
BEGIN
    BEGIN
        header := line::jsonb -> 'pgmemoir';
    EXCEPTION WHEN data_exception OR statement_too_complex THEN
        header := NULL;
    END;
    IF coalesce(jsonb_typeof(header), '') <> 'object' THEN
        RAISE EXCEPTION 'line 1: this is not an export of pgmemoir'
            USING ERRCODE = 'ME017',
                  HINT = 'Its first line is that of export_user(): {"pgmemoir": {"version": 1, ...';
    ELSIF header -> 'version' IS DISTINCT FROM '1' THEN
        RAISE EXCEPTION 'line 1: version % is unknown, this database reads version 1',
                coalesce(left((header -> 'version')::text, 40), 'NULL')
            USING ERRCODE = 'ME017',
                  HINT = 'Import it with the pgmemoir that wrote it, or a newer one.';
    ELSIF coalesce(jsonb_typeof(header -> 'counts'), '') <> 'object'
          OR coalesce(header ->> 'highest_id', '') !~ '^[0-9]{1,16}$'
          OR header ? 'model' AND NOT header -> 'model' @@
                 '($.name.type() == "string" || $.name == null) && $.dimensions >= 1 && '
                 '$.dimensions <= 4000 && $.dimensions % 1 == 0'
    THEN
        RAISE EXCEPTION 'line 1: counts, highest_id or model are not those of an export'
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
    RETURN header;
END $$;

-- Ids stay the same only if the user has nothing else; counted or cached values and jobs do not
-- count.
CREATE OR REPLACE FUNCTION _check_empty(user_id text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    owned regclass;
    filled boolean;
BEGIN
    FOR owned IN
        SELECT t FROM _user_tables() AS t
        WHERE t <> ALL ('{profile,import,job,term,uncompared,source_error}'::regclass[])
        ORDER BY t <> 'memory'::regclass
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %s AS t WHERE t.user_id = $1)', owned)
        INTO filled USING user_id;
        IF filled THEN
            RAISE EXCEPTION 'user "%" has rows in table % already', user_id, owned
                USING ERRCODE = 'ME017',
                      HINT = format('Import into a user who has nothing: another user_id, or this '
                                    'one after SELECT * FROM memoir.purge_user(%L);', user_id);
        END IF;
    END LOOP;
END $$;

-- Advances the sequences behind the ids of a file and returns what is added to these ids. A
-- sequence is never set back: others are taking numbers, so it leaps over at least 10,000 or not at
-- all. Ids up to 2^53 are accepted, so that no file can use up a sequence.
CREATE OR REPLACE FUNCTION _make_room(highest_id bigint, new_ids boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    newest CONSTANT bigint[] := ARRAY(SELECT nextval(s) FROM unnest(_id_sequences()) AS s);
    shift CONSTANT bigint := CASE WHEN new_ids THEN (SELECT max(n) FROM unnest(newest) AS n)
                                  ELSE 0 END;
BEGIN
    IF highest_id + shift > 9007199254740992 THEN
        RAISE EXCEPTION 'line 1: id % is too high, ids go up to 9007199254740992', highest_id
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
    PERFORM setval(s.sequence, greatest(highest_id + shift, s.newest + 10000))
    FROM unnest(_id_sequences(), newest) AS s (sequence, newest)
    WHERE s.newest <= highest_id + shift;
    RETURN shift;
END $$;

-- Whether the vectors of a file fit this database; the first file names its model.
CREATE OR REPLACE FUNCTION _admit_vectors(of_file jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    current CONSTANT embedding_model := _known_model(NULL);
    name CONSTANT text := of_file ->> 'name';
    dimensions CONSTANT int := of_file ->> 'dimensions';
BEGIN
    IF current.name <> name OR current.dimensions <> dimensions THEN
        RAISE EXCEPTION 'line 1: its vectors are by model "%" with % dimensions, those here by "%" '
                        'with %', coalesce(name, 'unnamed'), dimensions,
                coalesce(current.name, 'unnamed'), current.dimensions
            USING ERRCODE = 'ME009',
                  HINT = 'With vectors => false they are left out, and a worker or memoir backfill '
                         'makes those of this model.';
    ELSIF name IS NOT NULL THEN
        PERFORM use_model(name, dimensions);
    ELSE
        UPDATE embedding_model AS m SET dimensions = (of_file ->> 'dimensions')::int
        WHERE m.active AND m.dimensions IS NULL;
    END IF;
END $$;

-- Counted and cached values of a user without memories are removed; the file brings the settings.
CREATE OR REPLACE FUNCTION _begin_import(
    user_id text, first_line text, new_ids boolean, vectors boolean) RETURNS import
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    header CONSTANT jsonb := _read_header(first_line);
    highest_id CONSTANT bigint := header ->> 'highest_id';
    begun import;
BEGIN
    PERFORM _check_empty(user_id);
    vectors := vectors AND header ? 'model';
    IF vectors THEN
        PERFORM _admit_vectors(header -> 'model');
    END IF;
    DELETE FROM term AS t WHERE t.user_id = user_id;
    DELETE FROM uncompared AS u WHERE u.user_id = user_id;
    UPDATE profile AS p
    SET counted = 0, counted_up_to = 0, expansions = -1, narrow_for = -1, some_expire = true,
        overview = NULL
    WHERE p.user_id = user_id;
    INSERT INTO import AS i (user_id, file_hash, vectors, counts, highest_id, shift, line)
    VALUES (user_id, sha256(convert_to(rtrim(first_line, E'\r\n'), 'UTF8')), vectors,
            header -> 'counts', highest_id, _make_room(highest_id, new_ids), 1)
    RETURNING i.* INTO begun;
    RETURN begun;
END $$;
