-- A memory as an item of a Markdown list, and back: reading returns byte for byte what was written.
-- Its mark says which memory it is. It is a list because people write lists when they take notes
-- (D1 4.2). A text of several lines is indented under its bullet, where any Markdown fits, and the
-- mark is a comment at the end of the first line, which no rendered page shows.

-- The digits behind the id tell whether the mark belongs to this memory, user and database: a
-- foreign or mistyped mark is recognised by them (all but one in a million).
CREATE OR REPLACE FUNCTION _mark(user_id text, memory_id bigint, created_at timestamptz)
    RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN memory_id || '.'
           || left(md5(concat_ws(' ', user_id, memory_id, _microseconds(created_at)::bigint)), 5);

CREATE OR REPLACE FUNCTION _marked_id(mark text) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN pg_input_is_valid(split_part(mark, '.', 1), 'bigint')
                THEN split_part(mark, '.', 1)::bigint END;

-- The whole comment. Text in a memory that looks like one has one more backslash in the file.
CREATE OR REPLACE FUNCTION _mark_comment(mark text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '<!-- m:' || mark || ' -->';

CREATE OR REPLACE FUNCTION _find_mark(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN strpos(said, '<!--') = 0 THEN NULL
                -- As it was written, at the end: a short expression is faster.
                WHEN strpos(said, '<!--') = strpos(said, '<!-- m:')
                     AND split_part(said, '<!-- m:', 2) ~ '^[^ >\n]* -->$'
                THEN '<!-- m:' || split_part(said, '<!-- m:', 2)
                ELSE substring(said FROM '<!-- *m:[^ >\n]* *-->') END;

CREATE OR REPLACE FUNCTION _mark_in(comment text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN split_part(split_part(substr(comment, strpos(comment, 'm:') + 2), ' ', 1), '>', 1);

CREATE OR REPLACE FUNCTION _escape_marks(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN strpos(said, '<!--') = 0 THEN said
                ELSE regexp_replace(said, '<!--( *)(\\*)m:', '<!--\1\\\2m:', 'g') END;

CREATE OR REPLACE FUNCTION _unescape_marks(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN strpos(said, '<!--') = 0 THEN said
                ELSE regexp_replace(said, '<!--( *)\\(\\*)m:', '<!--\1\2m:', 'g') END;

-- After these first lines a comment would break what they begin (code, a table), or blanks would be
-- lost: then the mark stands above them.
CREATE OR REPLACE FUNCTION _mark_stands_above(said text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN said ~ '^([ \t\r\n\v\f]|```|~~~|\|)' OR strpos(said, E'\r') > 0;

-- The text of a list item with its mark: every further line is indented, empty lines stay empty.
CREATE OR REPLACE FUNCTION _indented(said text, width int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN strpos(said, E'\n') = 0 THEN said
                ELSE regexp_replace(replace(said, E'\n', E'\n' || repeat(' ', width)),
                                    E'\n' || repeat(' ', width) || '(?=\n)', E'\n', 'g') END;

-- The bullet of an item, with the blanks around it; a tab becomes one.
CREATE OR REPLACE FUNCTION _bullet_of(raw text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN substring(raw FROM '^ {0,3}[-*+]')
           || coalesce(substring(raw FROM '^ {0,3}[-*+]( {2,4})[^ ]'), ' ');

-- bullet: that of the list it stands in. A sign or a margin of its own would begin another list, or
-- take in the items below. Most texts are one plain line, which becomes part of the statement.
CREATE OR REPLACE FUNCTION _long_markdown_item(mark text, content text, bullet text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT bullet || _indented(
        CASE WHEN _mark_stands_above(e.said) THEN e.comment || E'\n' || e.said
             WHEN strpos(e.said, E'\n') = 0 THEN e.said || ' ' || e.comment
             ELSE overlay(e.said PLACING ' ' || e.comment FROM strpos(e.said, E'\n') FOR 0) END,
        length(bullet))
    FROM (SELECT _escape_marks(content) AS said, _mark_comment(mark) AS comment OFFSET 0) AS e;
END;

CREATE OR REPLACE FUNCTION _markdown_item(mark text, content text, bullet text DEFAULT '- ')
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN strpos(content, E'\n') = 0 AND strpos(content, '<!--') = 0
                     AND NOT _mark_stands_above(content)
                THEN bullet || content || ' ' || _mark_comment(mark)
                ELSE _long_markdown_item(mark, content, bullet) END;

-- The text of an item without its mark, and without other marks it got when two items were joined.
-- A text without a mark was typed by hand: blanks around it mean nothing, nor do line ends that
-- differ within a file.
CREATE OR REPLACE FUNCTION _long_item_said(inside text, comment text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT _unescape_marks(
               regexp_replace(p.before, '[ \n]$', '')
               || regexp_replace(CASE WHEN p.before = '' THEN regexp_replace(p.behind, '^\n', '')
                                      ELSE p.behind END,
                                 ' ?<!-- *m:[^ >\n]* *-->', '', 'g'))
    FROM (SELECT left(inside, strpos(inside, comment) - 1) AS before,
                 substr(inside, strpos(inside, comment) + length(comment)) AS behind OFFSET 0) AS p;
END;

CREATE OR REPLACE FUNCTION _item_said(inside text, comment text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN comment IS NULL
                THEN btrim(replace(_unescape_marks(inside), E'\r\n', E'\n'), E' \t\r\n')
                -- The mark ends it, and is the first comment.
                WHEN strpos(inside, '<!--') = length(inside) - length(comment) + 1
                     AND right(inside, length(comment) + 1) = ' ' || comment
                THEN left(inside, -length(comment) - 1)
                ELSE _long_item_said(inside, comment) END;

-- An item as it was typed, with this mark instead of its own or none.
CREATE OR REPLACE FUNCTION _with_mark(raw text, said text, mark text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN _find_mark(raw) IS NOT NULL
            THEN overlay(raw PLACING f.comment FROM strpos(raw, _find_mark(raw))
                         FOR length(_find_mark(raw)))
        -- A bullet with nothing after it is such a line already.
        WHEN _mark_stands_above(said) AND f.first ~ '[-*+][ \t]+[^ \t\r]'
            THEN overlay(raw PLACING f.comment || E'\n' || repeat(' ', f.width)
                         FROM f.width + 1 FOR 0)
        ELSE regexp_replace(f.first, '[ \t\r]+$', '') || ' ' || f.comment
             || substr(raw, length(f.first) + 1) END
    FROM (SELECT _mark_comment(mark) AS comment, split_part(raw, E'\n', 1) AS first,
                 length(substring(raw FROM '^ {0,3}[-*+](?:\t| {1,4}(?=[^ ])| )?')) AS width
          OFFSET 0) AS f;
END;

-- Whether two texts are the same to a person: editors change line ends and blanks at line ends.
CREATE OR REPLACE FUNCTION _even_text(said text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN btrim(regexp_replace(said, '[ \t\r]+(?=\n)', '', 'g'), E' \t\r\n');

CREATE OR REPLACE FUNCTION _same_text(one text, other text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN one = other THEN true ELSE _even_text(one) = _even_text(other) END;
