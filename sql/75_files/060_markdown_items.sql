-- The items of the Markdown files in which D3 first kept its memory (MEMORY.md, logs/*.md), read
-- generously, because people edited them. An item is a list item with everything under it, or a
-- paragraph, with the headings above it. Code in fences is part of its item, whatever is in it.

-- The lines of a document, each with its sort; none: nothing that was meant to be remembered
-- (rules, "none yet"). Front matter and comments are left out. The first quantifier of a regular
-- expression makes all of it greedy or not.
CREATE OR REPLACE FUNCTION _markdown_lines(document text)
    RETURNS TABLE (place bigint, sort text, level int, margin int, content text)
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    SELECT c.place,
           CASE WHEN c.fences % 2 = 1 OR c.bare ~ '^(```|~~~)' THEN 'code'
                WHEN c.bare = '' THEN 'blank'
                WHEN c.line ~ '^#{1,6}([ \t]|$)' THEN 'heading'
                WHEN c.bare ~ '^([-*_=])([ \t]*\1){2,}$' THEN 'none'
                WHEN c.item ~* '^[*_]*[(（](暂无|无|空|none|empty|nothing)[^()（）]*[)）][*_]*$' THEN 'none'
                WHEN c.item <> c.line THEN 'item'
                WHEN c.line ~ '^>' THEN 'quote'
                WHEN c.line ~ '^[ \t]' THEN 'more'
                ELSE 'text' END,
           length(substring(c.line FROM '^#*')), length(substring(c.line FROM '^ *')),
           CASE WHEN c.line ~ '^#{1,6}([ \t]|$)' AND c.fences % 2 = 0 THEN btrim(c.line, E'# \t')
                WHEN c.fences % 2 = 0 AND c.item <> c.line THEN c.item
                ELSE regexp_replace(c.line, '^( {1,4}|\t)', '') END
    FROM (
        SELECT l.line, l.place, btrim(l.line, E' \t') AS bare,
               regexp_replace(l.line, '^ ?([-*+]|\d{1,3}[.)])[ \t]+', '') AS item,
               count(*) FILTER (WHERE l.line ~ '^[ \t]*(```|~~~)')
                   OVER (ORDER BY l.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                   AS fences
        FROM string_to_table(
            regexp_replace(regexp_replace(
                regexp_replace(ltrim(_markdown_lines.document, chr(65279)), E'\r\n?', E'\n', 'g'),
                '^---[ \t]*?\n.*?\n---[ \t]*?(?=\n|$)', ''),
                '(^|\n)[ \t]*?<!--.*?-->[ \t]*?(?=\n|$)', '\1', 'g'),
            E'\n') WITH ORDINALITY AS l (line, place)
    ) AS c;
END;

CREATE OR REPLACE FUNCTION _old_items(document text)
    RETURNS TABLE (headings text[], content text)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    line record;
    gap boolean := false;
    list_margin int := 0;
BEGIN
    headings := '{}';
    FOR line IN
        SELECT l.sort, l.level, l.margin, l.content
        FROM (SELECT * FROM _markdown_lines(document)
              UNION ALL SELECT NULL, 'heading', 1, 0, '') AS l
        ORDER BY l.place
    LOOP
        -- A remark about the file stands above its first section.
        IF line.sort = 'quote' THEN
            line.sort := CASE WHEN content IS NULL AND cardinality(headings) < 2 THEN 'none'
                              ELSE 'text' END;
        END IF;
        -- A list may be indented as a whole. What is indented below a text or an item belongs to
        -- it.
        IF line.sort = 'more' AND line.margin < 4 AND line.content ~ '^([-*+]|\d{1,3}[.)])[ \t]'
           AND (content IS NULL OR line.margin < list_margin + 2 AND list_margin > 1)
        THEN
            line.sort := 'item';
            line.content := regexp_replace(line.content, '^([-*+]|\d{1,3}[.)])[ \t]+', '');
        END IF;
        IF line.sort IN ('heading', 'item') OR line.sort = 'text' AND gap THEN
            list_margin := line.margin;
        END IF;
        IF line.sort IN ('heading', 'item', 'none') OR line.sort = 'text' AND gap THEN
            content := btrim(content, E' \t\n');
            IF content <> '' THEN
                RETURN NEXT;
            END IF;
            content := NULL;
        END IF;
        IF line.sort = 'heading' THEN
            headings := headings[1 : line.level - 1]
                        || array_fill(NULL::text, ARRAY[greatest(
                               line.level - 1 - cardinality(headings), 0)])
                        || line.content;
        ELSIF line.sort NOT IN ('none', 'blank') THEN
            content := content || CASE WHEN gap THEN E'\n\n' ELSE E'\n' END || line.content;
            content := coalesce(content, line.content);
        END IF;
        gap := line.sort = 'blank';
    END LOOP;
END $$;

-- The kind that a heading names, in English or Chinese; the longest word that fits decides. whole:
-- the heading says nothing else.
CREATE OR REPLACE FUNCTION _kind_of_heading(heading text, OUT kind text, OUT whole boolean)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    said CONSTANT text := ' ' || _lower(regexp_replace(heading, '[^[:alnum:]]+', ' ', 'g')) || ' ';
BEGIN
    SELECT k.name, btrim(said) = btrim(w.form) INTO kind, whole
    FROM kind AS k, unnest(k.aliases || k.name || _lower(k.heading)) AS a (word), LATERAL (
        SELECT CASE WHEN a.word ~ '[^\u0001-\u007f]' THEN a.word
                    ELSE ' ' || replace(a.word, '_', ' ') || ' ' END AS form) AS w
    WHERE k.category IS NOT NULL AND strpos(said, w.form) > 0
    ORDER BY length(a.word) DESC, k.kind_id
    LIMIT 1;
END $$;

-- The deepest heading above an item that names a kind (otherwise general), and the deepest one if
-- it says anything else as well.
CREATE OR REPLACE FUNCTION _section(headings text[], OUT of_kind kind, OUT remark text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    depth CONSTANT int := cardinality(headings);
    named text;
BEGIN
    FOR level IN REVERSE depth .. 1 LOOP
        named := (_kind_of_heading(headings[level])).kind;
        EXIT WHEN named IS NOT NULL;
    END LOOP;
    of_kind := _check_kind(coalesce(named, 'general'));
    IF depth > 1 AND (_kind_of_heading(headings[depth])).whole IS NOT TRUE THEN
        remark := nullif(headings[depth], '');
    END IF;
END $$;

-- A date before a text: [2026-02-21 10:30], (2026-02-21), 2026-02-21: or 2026年2月21日：. If it is not
-- a date, or is part of the sentence, it stays in the text.
CREATE OR REPLACE FUNCTION _dated(INOUT content text, OUT day date, OUT clock text)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    stamp CONSTANT text := '(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?'
                           '(?:[T ]+([01]?\d|2[0-3])[:：]([0-5]\d)(?:[:：]([0-5]\d))?)?';
    parts text[] := coalesce(
        regexp_match(content, '^[*_]{0,2}[[(（【]' || stamp || '[])）】][*_]{0,2}[ \t:：]*(.+)$'),
        regexp_match(content, '^[*_]{0,2}' || stamp || '[*_]{0,2}(?:[ \t]*[:：]|[ \t]+[-–—])'
                              '[ \t]*(.+)$'));
    said text;
BEGIN
    said := concat_ws('-', parts[1], lpad(parts[2], 2, '0'), lpad(parts[3], 2, '0'));
    IF parts IS NOT NULL AND pg_input_is_valid(said, 'date') THEN
        day := said;
        clock := lpad(parts[4], 2, '0') || ':' || parts[5] || ':' || coalesce(parts[6], '00');
        content := parts[7];
    END IF;
END $$;
