-- How a row of an attached table becomes a memory: its mapping as one expression, used in the
-- trigger and in the statement that reads the table. Trigger functions have the rights of memoir's
-- owner, so only what PostgreSQL itself brings runs there. A type of the application is printed by
-- its output function (concat) and never cast, because anybody may have written the cast. Functions
-- are named with their schema, because another one may hold a closer match. A column may get such a
-- type later. So columns of all types are printed, and what was printed is cast. To ask for the
-- type first would not do: the planner evaluates an immutable cast wherever it stands.

-- The type beneath any domains.
CREATE OR REPLACE FUNCTION _base_type(type oid) RETURNS oid
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    below oid := type;
BEGIN
    WHILE below <> 0 LOOP
        type := below;
        below := (SELECT t.typbasetype FROM pg_type AS t WHERE t.oid = type);
    END LOOP;
    RETURN type;
END $$;

-- A column of any type, read from what its output function prints.
CREATE OR REPLACE FUNCTION _printed(place text, result text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format('nullif(pg_catalog.concat(%s), '''')::%s', place, result);

-- An expression that is evaluated only while the column has the type it had when it was attached.
CREATE OR REPLACE FUNCTION _while_of_type(place text, type oid, expression text, result text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format('CASE WHEN pg_catalog.pg_typeof(%s)::oid OPERATOR(pg_catalog.=) %s::oid '
                  'THEN %s ELSE %s END', place, type, expression, _printed(place, result));

-- For types that do not hold whatever may be printed. An error here would leave the row without
-- even a key: all rows of its statement, or of its batch, would stay out of memory with it.
CREATE OR REPLACE FUNCTION _if_it_fits(place text, result text, made text, otherwise text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format('CASE WHEN pg_catalog.pg_input_is_valid(pg_catalog.concat(%s), %L) THEN %s '
                  'WHEN %1$s IS NOT NULL THEN %4$s END', place, result, made, otherwise);

-- json may have \u0000, and numbers, that jsonb refuses: such a document is its text.
CREATE OR REPLACE FUNCTION _json_of(place text, result text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _if_it_fits(place, result,
                       format('pg_catalog.to_jsonb(%s)', _printed(place, result)),
                       format('pg_catalog.to_jsonb(%s)', _printed(place, 'text')));

-- A date or time without zone. What is outside the years 1 to 99999 may have no time in a zone, and
-- is before or after everything.
CREATE OR REPLACE FUNCTION _time_of(place text, zone text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format(
        'CASE WHEN pg_catalog.right(%s, 2) = ''BC'' THEN ''-infinity'' '
        'WHEN pg_catalog.length(pg_catalog.split_part(%1$s, ''-'', 1)) > 5 THEN ''infinity'' '
        'ELSE %s AT TIME ZONE %L END',
        format('pg_catalog.concat(%s)', place), _printed(place, 'timestamp'), zone);

-- A column as text, json, time or number; NULL if its type does not fit. A type of PostgreSQL reads
-- what it prints, with the settings of a trigger.
CREATE OR REPLACE FUNCTION _column_as(wanted text, place text, type oid, zone text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    base CONSTANT regtype := _base_type(type);
    scalar CONSTANT text := _printed(place, 'json') || ' OPERATOR(pg_catalog.#>>) ''{}''';
BEGIN
    RETURN CASE
        WHEN wanted IN ('text', 'json') AND base IN ('text', 'varchar', 'name')
        THEN format('CASE WHEN %s IS NOT NULL THEN pg_catalog.concat(%1$s) END', place)
        WHEN wanted IN ('text', 'json') AND base = 'bpchar'::regtype
        THEN format('pg_catalog.rtrim(%s)', _column_as('text', place, 'text'::regtype, zone))
        WHEN wanted = 'text' AND base IN ('json', 'jsonb')
        THEN _while_of_type(place, type, CASE base WHEN 'jsonb'::regtype THEN scalar
                 ELSE _if_it_fits(place, 'jsonb', scalar, _printed(place, 'text')) END, 'text')
        WHEN wanted = 'json' AND base IN ('json', 'json[]')
        THEN _json_of(place, replace(base::text, 'json', 'jsonb'))
        WHEN wanted = 'json' AND base::oid < 16384 THEN _printed(place, format_type(base, -1))
        WHEN wanted IN ('text', 'json') THEN _printed(place, 'text')
        WHEN wanted = 'time' AND base = 'timestamptz'::regtype
        THEN _printed(place, 'timestamptz')
        WHEN wanted = 'time' AND base IN ('timestamp', 'date')
        THEN _while_of_type(place, type, _time_of(place, zone), 'timestamptz')
        WHEN wanted = 'number' AND base = 'numeric'::regtype
        THEN _if_it_fits(place, 'float8', _printed(place, 'float8'), '''infinity''')
        WHEN wanted = 'number' AND base IN ('int2', 'int4', 'int8', 'float4', 'float8')
        THEN _printed(place, 'float8') END;
END $$;

-- A column as an argument of concat_ws, which prints its arguments: a text stays as it is.
CREATE OR REPLACE FUNCTION _text_argument(place text, type oid) RETURNS text
    LANGUAGE sql STABLE
    RETURN CASE WHEN _base_type(type)::regtype IN ('text', 'varchar', 'name') THEN place
                ELSE _column_as('text', place, type, NULL) END;

-- Several columns as one JSON object; a single JSON column is the document itself, and without one
-- there is none.
CREATE OR REPLACE FUNCTION _columns_as_json(
    names jsonb, columns jsonb, row_name text, zone text, whole boolean) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    single CONSTANT text := names ->> 0;
    document CONSTANT text := _column_as(
        'json', format('%s.%I', row_name, single), (columns ->> single)::oid, zone);
    object CONSTANT text := (
        SELECT format('pg_catalog.jsonb_build_object(%s)', string_agg(
                   format('%L, %s', n.name,
                          _column_as('json', format('%s.%I', row_name, n.name),
                                     (columns ->> n.name)::oid, zone)), ', ' ORDER BY n.place))
        FROM jsonb_array_elements_text(names) WITH ORDINALITY AS n (name, place));
BEGIN
    IF jsonb_array_length(names) > 1
       OR _base_type((columns ->> single)::oid)::regtype NOT IN ('json', 'jsonb') THEN
        RETURN object;
    ELSIF whole THEN
        RETURN document;
    END IF;
    RETURN format('CASE coalesce(pg_catalog.jsonb_typeof(%s), ''null'') WHEN ''object'' THEN %1$s '
                  'WHEN ''null'' THEN NULL ELSE %s END', document, object);
END $$;

-- The values of a source_row, or of some of its columns (outputs). columns: the type of each column
-- by its name. row_name: NEW, OLD or an alias. A missing time of change is replaced by the earliest
-- possible time.
CREATE OR REPLACE FUNCTION _row_of(
    columns jsonb, mapping jsonb, row_name text, outputs text[] DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    zone CONSTANT text := mapping ->> 'time_zone';
    key_texts text[];
    place_texts text[];
    parts text[] := '{}';
    part record;
    expression text;
    name text;
BEGIN
    key_texts := ARRAY(
        SELECT format('pg_catalog.concat(%s.%I)', row_name, k.name)
        FROM jsonb_array_elements_text(mapping -> 'source_id') WITH ORDINALITY AS k (name, place)
        ORDER BY k.place);
    -- The type of a key may have no value that prints as nothing.
    place_texts := ARRAY(
        SELECT format('CASE WHEN %s.%I IS NOT NULL THEN %s END', row_name, k.name,
                      key_texts[k.place])
        FROM jsonb_array_elements_text(mapping -> 'source_id') WITH ORDINALITY AS k (name, place)
        ORDER BY k.place);
    FOR part IN
        SELECT * FROM (VALUES
            ('user_column', 'text'), ('source_id', 'key'), ('content', 'texts'),
            ('summary', 'text'), ('importance', 'number'), ('data', 'json'), ('subject', 'text'),
            ('status', 'text'), ('created_at', 'time'), ('valid_until', 'time'), ('type', 'text'),
            ('payload', 'json'), ('place', 'place')) AS p (output, form)
        WHERE outputs IS NULL OR p.output = ANY (outputs)
    LOOP
        name := mapping ->> part.output;
        expression := CASE
            WHEN part.form = 'key' THEN
                CASE WHEN cardinality(key_texts) = 1 THEN key_texts[1]
                     -- A key that lacks one of its columns is no key, as with a single column.
                     ELSE format('CASE WHEN %s THEN pg_catalog.jsonb_build_array(%s)::text '
                                 'ELSE '''' END',
                                 (SELECT string_agg(format('%s.%I IS NOT NULL', row_name, k.name),
                                                    ' AND ')
                                  FROM jsonb_array_elements_text(mapping -> 'source_id')
                                           AS k (name)),
                                 array_to_string(key_texts, ', ')) END
            WHEN part.form = 'place' THEN
                format('pg_catalog.jsonb_build_array(%s)', array_to_string(
                    CASE WHEN mapping ? 'changed_at' THEN ARRAY[
                             format('coalesce(%s, ''-infinity'')', _printed(
                                 format('%s.%I', row_name, mapping ->> 'changed_at'), 'text'))]
                         ELSE '{}' END || place_texts, ', '))
            WHEN part.output = 'user_column' AND name IS NULL THEN
                format('%L::text', mapping ->> 'user_id')
            WHEN name IS NULL THEN 'NULL::' || CASE part.form
                WHEN 'number' THEN 'float8' WHEN 'json' THEN 'jsonb' WHEN 'time' THEN 'timestamptz'
                ELSE 'text' END
            WHEN part.form = 'texts' THEN (
                SELECT format('pg_catalog.concat_ws(E''\n'', %s)',
                              string_agg(t.said, ', ' ORDER BY t.place))
                FROM (SELECT n.place, _text_argument(format('%s.%I', row_name, n.name),
                                                     (columns ->> n.name)::oid) AS said
                      FROM jsonb_array_elements_text(mapping -> part.output)
                           WITH ORDINALITY AS n (name, place)) AS t)
            WHEN part.form = 'json' THEN
                _columns_as_json(mapping -> part.output, columns, row_name, zone,
                                 part.output = 'payload')
            ELSE _column_as(part.form, format('%s.%I', row_name, name), (columns ->> name)::oid,
                            zone) END;
        parts := parts || expression;
    END LOOP;
    RETURN array_to_string(parts, E',\n        ');
END $$;
