-- The three-way merge: where the files, the files as they were at the last sync (the base) and the
-- database differ, and which side follows the other. The unchanged side follows; if both changed,
-- and differently, neither does. An item that is not in the base cannot be recognised as deleted,
-- so without a base nothing is deleted. Nor does a file follow a database that has lost a memory or
-- its newest text, because an older backup was restored: the file may be the only place where that
-- still is.

-- Whether a memory once had this text: then the file is the older side.
CREATE OR REPLACE FUNCTION _said_before(
    user_id text, memory_id bigint, kind text, said text, stored_kind text, stored text)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM revision AS r
        WHERE r.user_id = _said_before.user_id AND r.memory_id = _said_before.memory_id
          AND r.old_values ?| '{content,kind}'
        HAVING (_same_text(said, stored)
                OR bool_or(_same_text(said, r.old_values ->> 'content')))
           AND (coalesce(kind, stored_kind) = stored_kind
                OR bool_or(kind = r.old_values ->> 'kind')));
END $$;

-- Which side follows. Each side is its text and the kind it stands under, NULL if the item is
-- missing there; has_base: there was a sync before.
CREATE OR REPLACE FUNCTION _who_follows(
    in_file boolean, in_base boolean, in_database boolean, file_as_base boolean,
    database_as_base boolean, file_is_old boolean, has_base boolean, status text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN in_base AND file_as_base THEN 'file'
        WHEN in_base AND database_as_base THEN 'database'
        WHEN in_base THEN 'neither'
        WHEN NOT in_file THEN 'file'
        -- Back after it was deleted.
        WHEN has_base AND NOT in_database AND status IN ('forgotten', 'archived') THEN 'database'
        WHEN file_is_old THEN 'file'
        ELSE 'neither' END;

CREATE OR REPLACE FUNCTION _markdown_reason(
    action text, changed text, file text, has_mark boolean, status text, is_lost boolean)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN is_lost AND status IS NULL
        THEN 'gone from the database: an older backup, or a purge of its user or of long ago'
        WHEN is_lost THEN 'the database does not know the text of the last sync: an older backup'
        ELSE CASE concat_ws(' ', action, changed)
        WHEN 'ADD file' THEN 'new in the database'
        WHEN 'UPDATE file' THEN 'changed in the database'
        WHEN 'FORGET file' THEN coalesce(status, 'purged') || ' in the database'
        WHEN 'NOOP file' THEN 'the same memory is stored already'
        WHEN 'ADD database' THEN CASE
            WHEN status IS NOT NULL
            THEN 'edited in ' || file || '.md, ' || status || ' in the database'
            WHEN has_mark THEN 'its mark is none of this user, or stands twice'
            ELSE 'new in ' || file || '.md' END
        WHEN 'UPDATE database' THEN 'edited in ' || file || '.md'
        WHEN 'FORGET database' THEN 'deleted from ' || file || '.md'
        WHEN 'RESTORE database' THEN 'back in ' || file || '.md'
        ELSE 'changed in ' || file || '.md and in the database' END END;

-- Every difference, in the order of the files. names: the files of this sync. The kind of a change
-- is the one that the database gets (NULL: it keeps its own) or that the file gets.
CREATE OR REPLACE FUNCTION _markdown_plan(
    user_id text, names text[], parts markdown_part[], bases markdown_part[], with_base text[],
    strategy text) RETURNS markdown_change[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    plan markdown_change[];
BEGIN
    WITH stored AS MATERIALIZED (
        SELECT m.*
        FROM _markdown_stored(_markdown_plan.user_id, _marked_ids(parts || bases)) AS m
    ), in_file AS MATERIALIZED (
        SELECT p.* FROM unnest(parts) AS p WHERE p.said IS NOT NULL
    ), in_base AS MATERIALIZED (
        SELECT DISTINCT ON (i.memory_id) i.memory_id, b.file, b.kind, b.said
        FROM unnest(bases) AS b
        CROSS JOIN LATERAL (SELECT _marked_id(b.mark) AS memory_id) AS i
        LEFT JOIN stored AS s ON s.memory_id = i.memory_id
        WHERE b.said IS NOT NULL AND i.memory_id IS NOT NULL
          AND (s.mark = b.mark) IS NOT FALSE
        ORDER BY i.memory_id, b.place
    ), side AS (
        SELECT memory_id, coalesce(f.file, b.file, d.home) AS file, f.place, f.line,
               f.place IS NOT NULL AS in_file, b.memory_id IS NOT NULL AS in_base,
               coalesce(d.shown, false) AS in_database,
               f.kind, d.kind AS stored_kind, b.kind AS base_kind, f.mark,
               d.mark AS stored_mark, r.said, d.content, b.said AS base_said, d.created_at,
               d.status, coalesce(f.file, b.file, d.home) = ANY (with_base) AS has_base,
               -- Under a heading that names no kind it keeps its kind.
               f.place IS NOT NULL AND d.shown AND (f.kind = d.kind) IS NOT FALSE
                   AND r.said = d.content AS is_same
        FROM in_file AS f
        FULL JOIN in_base AS b USING (memory_id)
        FULL JOIN stored AS d USING (memory_id)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN _same_text(f.said, d.content) THEN d.content
                        ELSE _redact(f.said) END AS said OFFSET 0) AS k
        -- Blanks at line ends differ beside a secret, too.
        CROSS JOIN LATERAL (
            SELECT CASE WHEN _same_text(k.said, d.content) THEN d.content
                        ELSE k.said END AS said OFFSET 0) AS r
        WHERE f.place IS NOT NULL OR b.memory_id IS NOT NULL
           OR d.shown AND d.home = ANY (names)
    ), purged AS MATERIALIZED (
        SELECT _said_id(e.payload -> 'memory_id') AS memory_id
        FROM event AS e
        WHERE e.user_id = _markdown_plan.user_id AND e.type = 'memory_deleted'
          AND EXISTS (SELECT FROM side AS s
                      WHERE s.memory_id IS NOT NULL AND s.in_file AND s.status IS NULL)
    ), differing AS (
        SELECT s.*, l.is_lost, CASE
            WHEN s.memory_id IS NULL THEN 'database'
            WHEN s.is_same THEN 'file'
            WHEN l.is_lost THEN 'neither'
            ELSE _who_follows(
                s.in_file, s.in_base, s.in_database,
                s.in_file AND (s.kind = s.base_kind) IS NOT FALSE
                    AND _same_text(s.said, s.base_said),
                s.in_database AND (s.stored_kind = s.base_kind) IS NOT FALSE
                    AND _same_text(s.content, s.base_said),
                NOT s.in_base AND s.in_file AND _said_before(
                    _markdown_plan.user_id, s.memory_id, s.kind, s.said, s.stored_kind, s.content),
                s.has_base, s.status) END AS follows
        FROM side AS s
        CROSS JOIN LATERAL (
            SELECT s.memory_id IS NOT NULL AND s.in_file AND CASE
                WHEN s.status IS NULL
                THEN s.memory_id NOT IN (SELECT p.memory_id FROM purged AS p
                                         WHERE p.memory_id IS NOT NULL)
                ELSE s.in_base AND NOT _said_before(
                    _markdown_plan.user_id, s.memory_id, NULL, s.base_said, s.stored_kind,
                    s.content)
                END AS is_lost OFFSET 0) AS l
        WHERE (s.in_file OR s.in_database)
          AND (s.is_same IS NOT TRUE OR s.mark IS DISTINCT FROM s.stored_mark)
    ), decided AS (
        SELECT d.*,
               CASE WHEN d.follows <> 'neither' THEN d.follows
                    WHEN strategy = 'ours' THEN 'database'
                    WHEN strategy = 'theirs' THEN 'file' END AS changed
        FROM differing AS d
    )
    SELECT array_agg(ROW(
               d.file, d.place, d.line, a.action, d.changed,
               CASE WHEN a.action <> 'ADD' OR d.changed = 'file' THEN d.memory_id END,
               CASE WHEN d.changed = 'file' THEN d.stored_kind
                    WHEN a.action = 'ADD' THEN coalesce(d.kind, _file_kind(d.file))
                    WHEN d.kind <> d.stored_kind THEN d.kind END,
               d.said, CASE WHEN d.in_database THEN d.content END,
               _markdown_reason(a.action, d.changed, d.file, d.mark IS NOT NULL, d.status,
                                d.is_lost)
           )::markdown_change ORDER BY d.file, d.place, d.created_at, d.memory_id)
    INTO plan
    FROM decided AS d
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN d.is_same THEN 'NOOP'
            WHEN d.changed IS NULL THEN 'CONFLICT'
            WHEN NOT d.in_file THEN CASE d.changed WHEN 'file' THEN 'ADD' ELSE 'FORGET' END
            WHEN d.in_database THEN 'UPDATE'
            WHEN d.changed = 'file' THEN 'FORGET'
            WHEN d.status IN ('forgotten', 'archived') THEN 'RESTORE'
            ELSE 'ADD' END AS action) AS a;
    RETURN coalesce(plan, '{}');
END $$;
