-- The files after a sync: every line and every memory stays in its place, and new ones go to the
-- end of their section. And their base, which says what database and file agree on. A conflict
-- stays in the file as it is, and in the base as it was, so that the next sync finds it again.

-- Which user and database a base belongs to; another one cannot use it.
CREATE OR REPLACE FUNCTION _base_head(user_id text) RETURNS text
    LANGUAGE sql STABLE
    RETURN '<!-- base ' || md5(concat_ws(' ', (SELECT s.value FROM setting AS s
                                               WHERE s.name = 'installation'), user_id)) || ' -->';

-- The content of a file that holds nothing yet.
CREATE OR REPLACE FUNCTION _empty_markdown(file text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '# ' || initcap(file) || E'\n\n'
           '<!-- A bullet is a memory; the comment behind it says which. A new one needs none. -->'
           || E'\n';

-- Sections of memories: all of a new file, or those an old one lacks.
CREATE OR REPLACE FUNCTION _markdown_sections(headings text[], items text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(string_agg(E'\n## ' || s.heading || E'\n\n' || s.items || E'\n', ''
                               ORDER BY s.first), '')
    FROM (
        SELECT i.heading, string_agg(i.item, E'\n' ORDER BY i.number) AS items,
               min(i.number) AS first
        FROM unnest(headings, items) WITH ORDINALITY AS i (heading, item, number)
        GROUP BY i.heading
    ) AS s;
END;

-- Where in a file new memories of a kind go: after the last one of the first section of that kind,
-- or after its heading. A text there that is set in would become part of an item above it, also
-- behind empty lines: then they go below all text.
CREATE OR REPLACE FUNCTION _section_ends(
    parts markdown_part[], OUT kind text, OUT place int, OUT is_empty boolean)
    RETURNS SETOF record
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    WITH part AS (
        SELECT p.*, count(*) FILTER (WHERE p.heading) OVER (ORDER BY p.place) AS section
        FROM unnest(parts) AS p
    ), opener AS (
        SELECT DISTINCT ON (p.kind) p.kind, p.section, p.place
        FROM part AS p WHERE p.opens ORDER BY p.kind, p.place
    ), section AS (
        SELECT o.kind, o.place AS opened, max(p.place) FILTER (WHERE p.said IS NOT NULL) AS item,
               min(p.place) FILTER (WHERE p.said IS NULL AND p.raw !~ '^[ \t\r]*$') AS first,
               max(p.place) FILTER (WHERE p.said IS NULL AND p.raw !~ '^[ \t\r]*$') AS last
        FROM opener AS o
        LEFT JOIN part AS p ON p.section = o.section AND p.place > o.place
        GROUP BY o.kind, o.place
    )
    SELECT s.kind, coalesce(s.item, CASE WHEN p.raw ~ '^[ \t]' THEN s.last END, s.opened),
           s.item IS NULL
    FROM section AS s LEFT JOIN part AS p ON p.place = s.first;
END;

-- Memories as they stand in files, in the order of a new file.
CREATE OR REPLACE FUNCTION _markdown_items(
    user_id text, memory_ids bigint[], OUT number bigint, OUT memory_id bigint, OUT kind text,
    OUT heading text, OUT home text, OUT mark text, OUT content text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    names CONSTANT jsonb := _heading_kinds();
BEGIN
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY k.kind_id, m.created_at, m.memory_id), m.memory_id,
           names ->> _lower(k.heading), k.heading, k.file,
           _mark(m.user_id, m.memory_id, m.created_at), m.content
    FROM memory AS m
    JOIN kind AS k ON k.name = m.kind
    WHERE m.user_id = _markdown_items.user_id AND m.memory_id = ANY (memory_ids);
END $$;

-- The lines of a file with its additions, and the sections it lacks at its end.
CREATE OR REPLACE FUNCTION _joined_lines(
    kept markdown_part[], kinds text[], headings text[], marks text[], contents text[])
    RETURNS text
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH item AS (
        SELECT i.kind, i.heading, i.number, e.place, e.is_empty,
               _markdown_item(i.mark, i.content, coalesce(_bullet_of(p.raw), '- ')) AS item
        FROM unnest(kinds, headings, marks, contents) WITH ORDINALITY
                 AS i (kind, heading, mark, content, number)
        LEFT JOIN _section_ends(kept) AS e ON e.kind = i.kind
        LEFT JOIN unnest(kept) AS p ON p.place = e.place AND NOT e.is_empty
    ), line AS (
        SELECT p.place, 0 AS behind, p.raw AS said FROM unnest(kept) AS p
        UNION ALL
        -- A text right below an item would be part of it.
        SELECT i.place, 1, CASE WHEN i.is_empty THEN E'\n' ELSE '' END
                           || string_agg(i.item, E'\n' ORDER BY i.number)
                           || CASE WHEN i.is_empty AND EXISTS (
                                       SELECT FROM unnest(kept) AS p
                                       WHERE p.place = i.place + 1 AND p.raw !~ '^[ \t\r]*$')
                                   THEN E'\n' ELSE '' END
        FROM item AS i WHERE i.place IS NOT NULL
        GROUP BY i.place, i.is_empty
    ), section AS (
        SELECT _markdown_sections(array_agg(i.heading ORDER BY i.number),
                                  array_agg(i.item ORDER BY i.number)) AS said
        FROM item AS i WHERE i.place IS NULL
    )
    SELECT CASE WHEN s.said = '' THEN w.said ELSE rtrim(w.said, E' \t\n') || E'\n' || s.said END
    FROM (SELECT string_agg(l.said, E'\n' ORDER BY l.place, l.behind) AS said
          FROM line AS l) AS w
    CROSS JOIN section AS s;
END;

-- The parts of a file that stay in it, as they will be written. What moves to another section
-- leaves its place.
CREATE OR REPLACE FUNCTION _kept_parts(
    user_id text, parts markdown_part[], plan markdown_change[]) RETURNS markdown_part[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    kept markdown_part[];
BEGIN
    WITH part AS MATERIALIZED (
        SELECT p.*, c.action, c.changed, coalesce(
                   CASE WHEN c.changed IS NOT NULL THEN c.memory_id END, p.memory_id) AS stored_id
        FROM unnest(parts) AS p
        LEFT JOIN unnest(plan) AS c ON c.file = p.file AND c.place = p.place
        WHERE (c.changed = 'file'
               AND (c.action = 'FORGET' OR c.action = 'UPDATE' AND p.kind <> c.kind)) IS NOT TRUE
    ), item AS MATERIALIZED (
        -- What is not in the plan has the text and the mark of the database.
        SELECT i.*
        FROM _markdown_items(_kept_parts.user_id, ARRAY(
                 SELECT p.stored_id FROM part AS p
                 WHERE p.action IS NOT NULL AND p.stored_id IS NOT NULL)) AS i
    )
    SELECT array_agg(ROW(
               p.file, p.place, p.line, p.kind, p.heading, p.opens, p.mark, p.said,
               CASE WHEN p.changed = 'file' AND p.action = 'UPDATE'
                    THEN _markdown_item(i.mark, i.content, _bullet_of(p.raw))
                    WHEN i.mark <> coalesce(p.mark, '') THEN _with_mark(p.raw, p.said, i.mark)
                    ELSE p.raw END,
               p.stored_id)::markdown_part ORDER BY p.place)
    INTO kept
    FROM part AS p LEFT JOIN item AS i ON i.memory_id = p.stored_id;
    RETURN coalesce(kept, '{}');
END $$;

-- The base of a file that has these memories now; for conflicts, what the base had before.
CREATE OR REPLACE FUNCTION _markdown_base(
    user_id text, memory_ids bigint[], conflicts markdown_part[]) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN _base_head(user_id) || E'\n' || (
        SELECT _markdown_sections(array_agg(i.heading ORDER BY i.rank, i.number),
                                  array_agg(i.item ORDER BY i.rank, i.number))
        FROM (
            SELECT 0 AS rank, m.number, m.heading, _markdown_item(m.mark, m.content) AS item
            FROM _markdown_items(_markdown_base.user_id, memory_ids) AS m
            UNION ALL
            SELECT 1, _marked_id(c.mark), coalesce(k.heading, ''), _markdown_item(c.mark, c.said)
            FROM unnest(conflicts) AS c LEFT JOIN kind AS k ON k.name = c.kind
        ) AS i);
END $$;

-- One file. bases belong to this file alone, parts and plan to all files. What moves to another
-- section goes to the file of its kind; what stays where it is, in whichever file, is in no other.
CREATE OR REPLACE FUNCTION _written_markdown(
    user_id text, file text, parts markdown_part[], bases markdown_part[],
    plan markdown_change[], OUT content text, OUT base text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    kept CONSTANT markdown_part[] := _kept_parts(
        user_id, ARRAY(SELECT p FROM unnest(parts) AS p WHERE p.file = _written_markdown.file),
        plan);
    unsettled CONSTANT bigint[] := ARRAY(
        SELECT c.memory_id FROM unnest(plan) AS c WHERE c.action = 'CONFLICT');
    come bigint[];
BEGIN
    SELECT _joined_lines(kept, array_agg(i.kind ORDER BY i.number),
                         array_agg(i.heading ORDER BY i.number),
                         array_agg(i.mark ORDER BY i.number),
                         array_agg(i.content ORDER BY i.number)),
           array_agg(i.memory_id)
    INTO content, come
    FROM _markdown_items(_written_markdown.user_id, ARRAY(
             SELECT c.memory_id FROM unnest(plan) AS c
             WHERE c.changed = 'file' AND c.action IN ('ADD', 'UPDATE'))) AS i
    JOIN unnest(plan) AS c ON c.memory_id = i.memory_id AND c.changed = 'file'
                          AND c.action IN ('ADD', 'UPDATE')
    LEFT JOIN unnest(parts) AS p ON p.file = c.file AND p.place = c.place
    WHERE NOT EXISTS (SELECT FROM unnest(kept) AS k WHERE k.memory_id = i.memory_id)
      AND CASE WHEN c.place IS NULL THEN c.file WHEN p.kind <> c.kind THEN i.home END
          = _written_markdown.file;
    base := _markdown_base(
        user_id,
        ARRAY(SELECT p.memory_id FROM unnest(kept) AS p
              WHERE p.memory_id IS NOT NULL AND p.memory_id <> ALL (unsettled)) || come,
        ARRAY(SELECT b FROM unnest(bases) AS b WHERE _marked_id(b.mark) = ANY (unsettled)));
END $$;
