-- A text as one line of a block: control characters and line breaks become spaces, the length is
-- bounded. A memory cannot open a heading or a new line inside the prompt. Most texts are such a
-- line already, or a title with one below it: to see that and join them takes 2 µs, to make a line
-- of any other text 12. What is looked for to see it are two spaces, and any character that is not
-- known to be none: not of the ranges where most scripts, signs and emoji lie.
-- Named are the separators of lines and paragraphs, which are no spaces in a database of locale C,
-- and what a model reads and nobody sees, or sees elsewhere: tags (U+E0000) and signs of direction.
CREATE OR REPLACE FUNCTION _folded_line(content text, max_length int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT CASE WHEN length(flat) > max_length THEN left(flat, max_length - 1) || '…' ELSE flat END
    FROM btrim(regexp_replace(
        replace(left(btrim(content, E' \t\r\n'), 2 * max_length), E'\n', ' '),
        ' *(?:[^\S ]|[[:cntrl:]\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f])'
        '[[:space:][:cntrl:]\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]*|  +',
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

-- What the line of a turn says: who spoke, which "I was there" needs, unless the text begins with
-- it. Who told a fact says nothing in its line.
CREATE OR REPLACE FUNCTION _said(content text, speaker text, turn int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN speaker IS NULL OR turn IS NULL
                     OR _lower(left(content, length(speaker))) = _lower(speaker)
                        AND substr(content, length(speaker) + 1) ~ '^ *[:：]'
                THEN content ELSE speaker || ': ' || content END;

-- A text that may be missing, as it is stored: without the blanks around it; NULL: nothing is left.
CREATE OR REPLACE FUNCTION _trimmed(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN nullif(btrim(content, E' \t\r\n'), '');
