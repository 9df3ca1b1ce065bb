-- Where a list goes on: which list, the value it is sorted by, and the id that decides between
-- equals (keyset paging). Rows added meanwhile neither repeat nor hide others, as they do with
-- OFFSET. Callers pass it back as a text; nothing in it needs escaping in a URL. It has all digits
-- of the value, whatever extra_float_digits the caller has: with one less, a page repeats rows.
CREATE OR REPLACE FUNCTION _cursor(list text, key float8, id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET extra_float_digits = 1
    RETURN list || '_' || key || '_' || id;

CREATE OR REPLACE FUNCTION _read_cursor(after text, list text, OUT key float8, OUT id bigint)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    part CONSTANT text[] := string_to_array(after, '_');
BEGIN
    IF part[1] = list AND cardinality(part) = 3 AND pg_input_is_valid(part[2], 'float8')
       AND pg_input_is_valid(part[3], 'bigint')
    THEN
        key := part[2];
        id := part[3];
    END IF;
    -- No time is this far away, and a value that is not a number is not below it either.
    IF after IS NOT NULL AND (abs(key) < 1e17) IS NOT TRUE THEN
        RAISE EXCEPTION '"%" is not a place in this list', left(after, 100)
            USING ERRCODE = 'ME008',
                  HINT = 'Pass next of the last row, with the same sort, or NULL to start.';
    END IF;
END $$;

-- Times as microseconds since 1970: whole numbers that float8 holds exactly.
CREATE OR REPLACE FUNCTION _microseconds(at timestamptz) RETURNS float8
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN trunc(1000000 * extract(epoch FROM at))::float8;

CREATE OR REPLACE FUNCTION _time_of(micros float8) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN timestamptz '1970-01-01 00:00:00+00' + micros * interval '1 microsecond';
