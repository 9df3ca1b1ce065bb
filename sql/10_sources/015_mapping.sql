-- The mapping of a source, checked and completed before anything is made: every column exists and
-- has a type that fits. In a table only the key, created_at, content (type and payload of events)
-- and the user are found by name: its status or priority need not be that of a memory. A query or
-- view names its columns for memoir.

-- The columns of a relation with their types. A trigger cannot see virtual generated columns.
CREATE OR REPLACE FUNCTION _columns_of(relation oid) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN (SELECT jsonb_object_agg(a.attname, a.atttypid::text)
            FROM pg_attribute AS a
            WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attgenerated <> 'v');

CREATE OR REPLACE FUNCTION _refuse_mapping(message text, advice text, told text DEFAULT '')
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    -- A query may have no columns that could be told.
    IF coalesce(told, '') = '' THEN
        RAISE EXCEPTION '%', message USING ERRCODE = 'ME016', HINT = advice;
    END IF;
    RAISE EXCEPTION '%', message USING ERRCODE = 'ME016', DETAIL = told, HINT = advice;
END $$;

-- The columns that a mapping names, with what each is. user_id names a user, time_zone a zone.
CREATE OR REPLACE FUNCTION _mapped_columns(mapping jsonb) RETURNS TABLE (output text, name text)
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT m.key, n.name #>> '{}'
    FROM jsonb_each(mapping) AS m, jsonb_path_query(m.value, 'lax $[*]') AS n (name)
    WHERE m.key NOT IN ('user_id', 'time_zone');
END;

CREATE OR REPLACE FUNCTION _columns_told(columns jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'Columns: ' || (SELECT string_agg(c, ', ' ORDER BY c)
                           FROM jsonb_object_keys(columns) AS c);

-- Every column that a mapping names is there, with a type that fits.
CREATE OR REPLACE FUNCTION _check_columns(what text, columns jsonb, mapping jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    output text;
    wanted text;
    name text;
BEGIN
    FOR output, name, wanted IN
        SELECT m.output, m.name, CASE
                   WHEN m.output IN ('created_at', 'valid_until', 'changed_at') THEN 'time'
                   WHEN m.output = 'importance' THEN 'number' ELSE 'text' END
        FROM _mapped_columns(mapping) AS m
    LOOP
        IF EXISTS (SELECT FROM pg_attribute AS a
                   WHERE a.attrelid = to_regclass(what) AND a.attname = name
                     AND a.attgenerated = 'v') THEN
            PERFORM _refuse_mapping(
                format('column "%s" of %s is virtual, which no trigger sees', name, what),
                'Attach a view of the table, or make the column STORED.');
        ELSIF NOT coalesce(columns ? name, false) THEN
            PERFORM _refuse_mapping(
                format('%s has no column "%s" for %s', what, name, output),
                'Names are as PostgreSQL stores them, without quotes.', _columns_told(columns));
        ELSIF _column_as(wanted, name, (columns ->> name)::oid, 'UTC') IS NULL THEN
            PERFORM _refuse_mapping(
                format('column "%s" of %s is %s, %s wants a %s', name, what,
                       format_type((columns ->> name)::oid, NULL), output, wanted),
                CASE WHEN what = 'the query' THEN
                    format('Convert it in the query, as in %I::%s.', name,
                           CASE wanted WHEN 'time' THEN 'timestamptz' ELSE 'float8' END)
                ELSE 'Attach a query instead, which can convert it.' END);
        END IF;
    END LOOP;
END $$;

-- given: what the caller said, column names by output. by_name: a query or view.
CREATE OR REPLACE FUNCTION _checked_mapping(
    what text, columns jsonb, given jsonb, of_kind kind, key_columns text[], by_name boolean)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    mapping jsonb := jsonb_strip_nulls(given);
    is_event CONSTANT boolean := of_kind.name = 'event';
    output text;
    missing text;
BEGIN
    IF NOT mapping ? 'source_id' AND key_columns <> '{}' THEN
        mapping := mapping || jsonb_build_object('source_id', key_columns);
    END IF;
    FOR output IN
        SELECT o FROM unnest(ARRAY['created_at', 'content', 'type', 'payload'] || CASE
            WHEN by_name THEN ARRAY['source_id', 'changed_at', 'summary', 'importance', 'data',
                                    'subject', 'status', 'valid_until'] ELSE '{}' END) AS o
        WHERE columns ? o AND NOT mapping ? o AND is_event >= (o IN ('type', 'payload'))
    LOOP
        mapping := mapping || jsonb_build_object(output, CASE
            WHEN output IN ('source_id', 'content', 'data', 'payload')
            THEN jsonb_build_array(output) ELSE to_jsonb(output) END);
    END LOOP;
    IF columns ? 'user_id' AND NOT mapping ? 'user_column'
       AND (by_name OR NOT mapping ? 'user_id') THEN
        mapping := mapping || '{"user_column": "user_id"}';
    END IF;

    missing := CASE
        WHEN NOT mapping ?| '{user_id,user_column}' THEN 'user_id'
        WHEN NOT mapping ? 'source_id' THEN 'source_id'
        WHEN is_event AND NOT mapping ? 'type' THEN 'type'
        WHEN is_event AND NOT mapping ? 'payload' THEN 'payload'
        WHEN NOT is_event AND NOT mapping ? 'content' THEN 'content' END;
    IF missing IS NOT NULL THEN
        PERFORM _refuse_mapping(
            format('%s: which column is %s?', what, missing),
            CASE missing
                WHEN 'user_id' THEN 'Pass it as user_column, or a user_id if all rows are one '
                                    'user''s.'
                WHEN 'source_id' THEN 'There is no primary key: pass as source_id the columns that '
                                      'tell its rows apart.'
                WHEN 'content' THEN 'Pass one or more as content, such as title and description.'
                ELSE format('Pass it as %s.', missing) END, _columns_told(columns));
    END IF;

    PERFORM _check_columns(what, columns, mapping);
    RETURN mapping || jsonb_build_object('time_zone', current_setting('TimeZone'));
END $$;
