-- A text as one line of a block: control characters and line breaks become spaces, the length is
-- bounded. A memory cannot open a heading or a new line inside the prompt. Most texts are such a
-- line already, or a title above one: 2 µs tell and join them; to make one of another takes 12.
-- One expression tells and makes: of those a connection keeps 32. It names the separators of lines
-- and paragraphs, which are no spaces in a database of locale C.
CREATE OR REPLACE FUNCTION _folded(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
    RETURN btrim(regexp_replace(content, '[[:space:][:cntrl:]\u2028\u2029]+', ' ', 'g'));

-- What is too long, without its middle: so many characters of the end stay (tail). A function of
-- its own, for the few that need it: every call of the next one would set it up.
CREATE OR REPLACE FUNCTION _both_ends(flat text, content text, max_length int, tail int)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT left(flat, max_length - 1 - tail) || '…' || right(f.ending, tail)
    FROM _folded(right(btrim(content, E' \t\r\n'), 2 * tail)) AS f (ending);
END;

CREATE OR REPLACE FUNCTION _folded_line(content text, max_length int, tail int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT CASE WHEN length(flat) > max_length THEN _both_ends(flat, content, max_length, tail)
                ELSE flat END
    FROM _folded(left(btrim(content, E' \t\r\n'), 2 * max_length)) AS flat;
END;

CREATE OR REPLACE FUNCTION _cut_line(content text, max_length int, tail int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN length(content) <= max_length
                     AND strpos(replace(content, E'\n', ' '), '  ') = 0
                     AND replace(replace(content, E'\n', ''), ' ', '')
                         !~ '[[:space:][:cntrl:]\u2028\u2029]+'
                THEN btrim(replace(content, E'\n', ' '))
                ELSE _folded_line(content, max_length, tail) END;

CREATE OR REPLACE FUNCTION _line(content text, max_length int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _cut_line(content, max_length, 0);

-- The line of a memory keeps the end of a long text, too: a traceback tells there what went wrong.
CREATE OR REPLACE FUNCTION _memory_line(content text, max_length int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _cut_line(content, max_length, max_length / 4);

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
