-- A Markdown file as the database sees it: which items are memories, of which kind, with which
-- mark. A heading names a kind by the kind's heading, name or alias. Under a heading of the user's
-- own, the headings above it count; if none names a kind, the file's own kind does.

-- The names that headings may use, in lower case.
CREATE OR REPLACE FUNCTION _heading_kinds() RETURNS jsonb
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT jsonb_object_agg(d.name, d.kind)
    FROM (
        SELECT DISTINCT ON (n.name) n.name, k.name AS kind
        FROM kind AS k
        CROSS JOIN LATERAL (
            SELECT _lower(k.heading), 1 UNION ALL SELECT _lower(k.name), 2
            UNION ALL SELECT _lower(a), 3 FROM unnest(k.aliases) AS a) AS n (name, rank)
        ORDER BY n.name, n.rank, k.kind_id
    ) AS d;
END;

-- The kind of a new memory if no heading names one: memory.md holds notes, learnings.md learnings,
-- as the names say.
CREATE OR REPLACE FUNCTION _file_kind(file text) RETURNS text
    LANGUAGE sql STABLE
    RETURN coalesce(_heading_kinds() ->> file,
                    (SELECT k.name FROM kind AS k WHERE k.file = _file_kind.file
                     ORDER BY k.kind_id LIMIT 1));

-- The deepest heading that names a kind. A title that only names the file's own kind does not
-- count.
CREATE OR REPLACE FUNCTION _path_kind(path text[], names jsonb, title_kind text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT names ->> h.heading
    FROM unnest(path) WITH ORDINALITY AS h (heading, level)
    WHERE names ? h.heading AND NOT (h.level = 1 AND names ->> h.heading = title_kind)
    ORDER BY h.level DESC LIMIT 1;
END;

CREATE OR REPLACE FUNCTION _markdown_parts(file text, content text) RETURNS markdown_part[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
#variable_conflict use_variable
DECLARE
    names CONSTANT jsonb := _heading_kinds();
    title_kind CONSTANT text := _file_kind(file);
    parts markdown_part[];
BEGIN
    WITH block AS MATERIALIZED (
        SELECT b.*, _find_mark(b.inside) AS comment
        FROM _markdown_blocks(file, content) WITH ORDINALITY
                 AS b (line, raw, inside, path, opens, number)
    ), section AS MATERIALIZED (
        SELECT p.path, k.kind, names ->> (array_remove(p.path, ''))[
                   cardinality(array_remove(p.path, ''))] = k.kind AS opens
        FROM (SELECT DISTINCT b.path FROM block AS b) AS p
        CROSS JOIN LATERAL (SELECT _path_kind(p.path, names, title_kind) AS kind) AS k
    )
    SELECT array_agg(ROW(file, b.number, b.line, s.kind, b.opens, b.opens AND s.opens,
                         _mark_in(b.comment), i.said, b.raw, NULL)::markdown_part
                     ORDER BY b.number)
    INTO parts
    FROM block AS b
    JOIN section AS s ON s.path = b.path
    CROSS JOIN LATERAL (SELECT _item_said(b.inside, b.comment) AS said OFFSET 0) AS w
    CROSS JOIN LATERAL (
        SELECT CASE WHEN _is_visible(w.said) THEN w.said END AS said OFFSET 0) AS i
    -- A mark without a text is a memory that somebody has emptied: its bullet is removed.
    WHERE b.comment IS NULL OR i.said IS NOT NULL;
    RETURN coalesce(parts, '{}');
END $$;
