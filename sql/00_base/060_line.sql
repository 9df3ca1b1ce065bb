-- A text as one line of a block: control characters and line breaks become spaces, the length is
-- bounded. A memory cannot open a heading or a new line inside the prompt.
CREATE OR REPLACE FUNCTION _line(content text, max_length int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT CASE WHEN length(flat) > max_length THEN left(flat, max_length - 1) || '…' ELSE flat END
    FROM btrim(regexp_replace(
        left(btrim(content, E' \t\r\n'), 2 * max_length),
        '[[:space:][:cntrl:]]+', ' ', 'g')) AS flat;
END;
