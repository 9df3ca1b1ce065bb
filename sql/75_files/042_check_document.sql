-- Checks that every document from a file must pass before anything in it is used, and how times are
-- read. A document is json, because that keeps the order of keys and jsonb does not.
CREATE OR REPLACE FUNCTION _check_document(document json, what text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    most CONSTANT int := _config('file_limit');
    size CONSTANT int := octet_length(document::text);
    read jsonb;
BEGIN
    IF size > most THEN
        RAISE EXCEPTION '% has % bytes, the limit is %', what, size, most
            USING ERRCODE = 'ME017', HINT = 'Split it, or raise setting file_limit.';
    END IF;
    BEGIN
        read := document;
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION '% contains what cannot be stored', what
            USING ERRCODE = 'ME015', DETAIL = SQLERRM,
                  HINT = 'Leave out \u0000, halves of surrogate pairs, infinite numbers.';
    END;
    IF jsonb_path_exists(read, 'strict $.**{40}') THEN
        RAISE EXCEPTION '% is nested more than 40 levels deep', what
            USING ERRCODE = 'ME015', HINT = 'Nothing of it was stored. Make it flatter.';
    END IF;
    RETURN read;
END $$;

-- The fault of an object that has a key twice: a reader would use only one of them.
CREATE OR REPLACE FUNCTION _key_twice(value json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT format(' has the key "%s" twice', left(e.key, 40))
            FROM json_each(value) AS e GROUP BY e.key HAVING count(*) > 1 LIMIT 1);

CREATE OR REPLACE FUNCTION _check_zone(zone text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM now() AT TIME ZONE zone;
    RETURN coalesce(zone, 'UTC');
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE EXCEPTION 'unknown time zone "%"', left(zone, 40)
        USING ERRCODE = 'ME008', HINT = 'Pass a name such as Asia/Shanghai; the default is UTC.';
END $$;

-- A time as files have it, in ISO 8601; without an offset it is in that zone. NULL: it is not a
-- time. The form is checked first, because PostgreSQL would accept "tomorrow" too.
CREATE OR REPLACE FUNCTION _file_time(value text, zone text) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN value !~ ('^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?'
                       '(Z|[+-]\d\d(:?\d\d)?)?)?$')
             OR NOT pg_input_is_valid(value, 'timestamptz') THEN NULL
        WHEN value ~ '[T ].*(Z|[+-]\d\d(:?\d\d)?)$' THEN value::timestamptz
        ELSE value::timestamp AT TIME ZONE zone END;

-- A time as it is written into files.
CREATE OR REPLACE FUNCTION _utc_text(at timestamptz) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');

-- Redacts an object of a file. If there is nothing to redact it stays as it was written; otherwise
-- at least its own keys keep their order, unless one of them is a secret itself.
CREATE OR REPLACE FUNCTION _redact_written(written json) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    given CONSTANT jsonb := written;
    redacted CONSTANT jsonb := _redact_json(given);
    kept text;
BEGIN
    IF jsonb_typeof(given) <> 'object' THEN
        RAISE EXCEPTION 'what a file said is not a JSON object, but %', left(given::text, 40)
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
    IF redacted = given THEN
        RETURN written;
    END IF;
    SELECT '{' || string_agg(to_json(e.key) || ': '
                             || CASE WHEN redacted -> e.key = given -> e.key THEN e.value::text
                                     ELSE (redacted -> e.key)::text END, ', ' ORDER BY e.place)
           || '}'
    INTO kept
    FROM json_each(written) WITH ORDINALITY AS e (key, value, place)
    HAVING bool_and(redacted ? e.key);
    RETURN coalesce(kept::json, redacted::json);
END $$;
