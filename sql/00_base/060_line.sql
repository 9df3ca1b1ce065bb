-- A text as one line of a block: control characters and line breaks become spaces, and the length
-- is limited. A memory cannot open a heading or a new line inside the prompt. Most texts are
-- already such a line, or a title with one below it, which is quick to tell: the check looks for
-- two spaces, and for any character outside the ranges where most scripts, signs and emoji lie.
-- Spaces and control characters are named, because classes follow the locale: in a database of
-- locale C the spaces of Unicode are none. With them go characters that a model reads and nobody
-- sees, or sees elsewhere: tags (U+E0000) and signs of direction.
CREATE OR REPLACE FUNCTION _folded_line(content text, max_length int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT CASE WHEN length(flat) > max_length THEN left(flat, max_length - 1) || '…' ELSE flat END
    FROM btrim(regexp_replace(
        replace(left(btrim(content, E' \t\r\n'), 2 * max_length), E'\n', ' '),
        ' *[\u0001-\u001f\u007f-\u009f\u1680\u2000-\u2006\u2008-\u200a\u2028-\u202e\u205f'
        '\u2066-\u2069\u3000\U000e0000-\U000e007f]'
        '[\u0001-\u0020\u007f-\u009f\u1680\u2000-\u2006\u2008-\u200a\u2028-\u202e\u205f'
        '\u2066-\u2069\u3000\U000e0000-\U000e007f]*|  +',
        ' ', 'g')) AS flat;
END;

CREATE OR REPLACE FUNCTION _line(content text, max_length int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(content) <= max_length
                     AND replace(content, E'\n', ' ')
                         !~ '[^ -~\u00c0-\u05ff\u0620-\u06dc\u0900-\u10ff\u1e00-\u1fff\u2010-\u2026'
                            '\u20a0-\u2bff\u3001-\u9fff\uac00-\ud7a3\ufe0f\uff01-\uff5e'
                            '\U0001f300-\U0001faff]|  |^ | $'
                THEN replace(content, E'\n', ' ') ELSE _folded_line(content, max_length) END;

-- The line of a turn: who spoke, which "I was there" needs, unless the text begins with it. Who
-- told a fact is not part of its line.
CREATE OR REPLACE FUNCTION _with_speaker(content text, speaker text, turn int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN speaker IS NULL OR turn IS NULL
                     OR _lower(left(content, length(speaker))) = _lower(speaker)
                        AND substr(content, length(speaker) + 1) ~ '^ *[:：]'
                THEN content ELSE speaker || ': ' || content END;

-- An optional text as it is stored: without the blanks around it; NULL: nothing is left.
CREATE OR REPLACE FUNCTION _trimmed(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN nullif(btrim(content, E' \t\r\n'), '');
