-- Reads some lines of a file after its first, all or none: each record goes where it belongs, and
-- the last line is checked against what was read. An error names the line, which is looked for only
-- if there is an error.
CREATE OR REPLACE FUNCTION _read_line(line text, OUT record text, OUT body jsonb)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    said jsonb;
BEGIN
    IF octet_length(line) > 33554432 THEN
        RAISE EXCEPTION 'it has % bytes, a line has 33554432 at most', octet_length(line)
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
    said := line::jsonb;
    IF jsonb_typeof(said) = 'object' THEN
        SELECT min(e.key), (array_agg(e.value))[1] INTO record, body
        FROM jsonb_each(said) AS e HAVING count(*) = 1;
    END IF;
    IF coalesce(jsonb_typeof(body), '') <> 'object' THEN
        RAISE EXCEPTION 'it is not a record like {"memory": {...}}'
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
END $$;

-- Checks that a record is known, is allowed here, and has exactly its fields.
CREATE OR REPLACE FUNCTION _check_record(reading import, known record, body jsonb, name text)
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    problem text;
BEGIN
    problem := CASE
        WHEN known.record IS NULL THEN format('there is no record "%s"', left(name, 40))
        WHEN known.place < reading.place THEN format('a record "%s" stands above', known.record)
        WHEN body - known.fields <> '{}'
        THEN format('a record "%s" has no field "%s"', known.record,
                    (SELECT left(min(k), 40) FROM jsonb_object_keys(body - known.fields) AS k))
        WHEN NOT body ?& known.needed
        THEN format('the record "%s" lacks %s', known.record,
                    (SELECT string_agg(n, ', ') FROM unnest(known.needed) AS n WHERE NOT body ? n))
    END;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _check_end(reading import, body jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    problem text;
BEGIN
    problem := CASE
        WHEN reading.found - 'alike' <> reading.counts
        THEN (SELECT format('line 1 promises %s records "%s", there are %s', coalesce(c.value, '0'),
                            coalesce(c.key, f.key), coalesce(f.value, '0'))
              FROM jsonb_each_text(reading.counts) AS c
              FULL JOIN jsonb_each_text(reading.found - 'alike') AS f USING (key)
              WHERE c.value IS DISTINCT FROM f.value ORDER BY key LIMIT 1)
        WHEN body -> 'lines' IS DISTINCT FROM to_jsonb(reading.line + 1)
        THEN format('it says that it is line %s', coalesce(left(body ->> 'lines', 40), 'NULL'))
        WHEN body ->> 'sha256' IS DISTINCT FROM encode(reading.checksum, 'hex')
        THEN 'the checksum is another: a line above was changed'
    END;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION '%', problem
            USING ERRCODE = 'ME017',
                  HINT = 'The file was cut or changed on its way: export the user again.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _counted(found jsonb, record text, more bigint) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN more = 0 THEN found ELSE found || jsonb_build_object(
               record, coalesce((found ->> record)::bigint, 0) + more) END;

CREATE OR REPLACE FUNCTION _import_part(reading import, record text, bodies jsonb[]) RETURNS import
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    alike int := 0;
BEGIN
    CASE record
        WHEN 'user' THEN PERFORM _import_user(reading, bodies);
        WHEN 'session' THEN PERFORM _import_sessions(reading, bodies);
        WHEN 'message' THEN PERFORM _import_messages(reading, bodies);
        WHEN 'entity' THEN PERFORM _import_entities(reading, bodies);
        WHEN 'memory' THEN
            alike := _import_memories(reading, _keep_from_source(reading.user_id, bodies));
        WHEN 'relation' THEN PERFORM _import_relations(reading, bodies);
        WHEN 'revision' THEN PERFORM _import_revisions(reading, bodies);
        WHEN 'file_entry' THEN PERFORM _import_file_entries(reading, bodies);
        WHEN 'file_head' THEN PERFORM _import_file_heads(reading, bodies);
        WHEN 'event' THEN
            reading.archive_job := _import_events(
                reading, _keep_from_source(reading.user_id, bodies));
        WHEN 'gold' THEN PERFORM _import_gold(reading, bodies);
        WHEN 'expansion' THEN PERFORM _import_expansions(reading, bodies);
        WHEN 'retrieval' THEN PERFORM _import_retrievals(reading, bodies);
        WHEN 'tool_call' THEN PERFORM _import_tool_calls(reading, bodies);
    END CASE;
    reading.found := _counted(_counted(reading.found, record, cardinality(bodies)), 'alike', alike);
    RETURN reading;
END $$;

CREATE OR REPLACE FUNCTION _import_lines(reading import, lines text[]) RETURNS import
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    said record;
    known record;
    part text;
    bodies jsonb[] := '{}';
    line text;
BEGIN
    FOREACH line IN ARRAY lines LOOP
        IF reading.ended_at IS NOT NULL THEN
            RAISE EXCEPTION 'there are lines after the end'
                USING ERRCODE = 'ME017', HINT = 'Export the user again.';
        END IF;
        said := _read_line(line);
        IF part IS DISTINCT FROM said.record THEN
            IF bodies <> '{}' THEN
                reading := _import_part(reading, part, bodies);
                bodies := '{}';
            END IF;
            part := said.record;
            SELECT r.* INTO known FROM _records() AS r WHERE r.record = part;
        END IF;
        IF part = 'end' THEN
            PERFORM _check_end(reading, said.body);
            reading.found := _counted(reading.found, 'alike', _part_slots(reading.user_id));
            PERFORM _refresh_profile(reading.user_id);  -- of all memories, which are there now
            reading.ended_at := now();
        ELSE
            PERFORM _check_record(reading, known, said.body, part);
            reading.place := known.place;
            reading.checksum := _next_checksum(reading.checksum, rtrim(line, E'\r\n'));
            bodies := bodies || said.body;
        END IF;
        reading.line := reading.line + 1;
    END LOOP;
    IF bodies <> '{}' THEN
        reading := _import_part(reading, part, bodies);
    END IF;
    RETURN reading;
END $$;

-- Reads one line after the other, and says which one cannot be read. PostgreSQL's message is told
-- in the words of the file.
CREATE OR REPLACE FUNCTION _blame_line(reading import, lines text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    code text;
    message text;
    advice text;
    line text;
BEGIN
    FOREACH line IN ARRAY lines LOOP
        BEGIN
            reading := _import_lines(reading, ARRAY[line]);
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
                advice = PG_EXCEPTION_HINT;
            IF left(code, 2) NOT IN ('ME', '22', '23', '54') THEN
                RAISE;
            END IF;
            RAISE EXCEPTION 'line %: %', reading.line + 1,
                    CASE code WHEN '23503' THEN 'it names what is not above it in the file'
                              WHEN '23505' THEN 'it is in the file already'
                              ELSE message END
                USING ERRCODE = CASE WHEN code LIKE 'ME%' THEN code ELSE 'ME017' END,
                      DETAIL = CASE WHEN code IN ('23503', '23505') THEN message
                                    ELSE 'It begins with ' || _redact_head(line) END,
                      HINT = coalesce(nullif(advice, ''),
                                      'Nothing of the file is stored. Export the user again.');
        END;
    END LOOP;
END $$;
