-- Which item of a file is which memory. A mark counts once: of items with the same mark, the one
-- with the earlier text keeps it, so that a copied bullet becomes a new memory. An item without a
-- mark, or with one of another database, is the memory of its kind with the same text, if there is
-- one: so a lost mark is found again.

-- The memories that appear in files, and those that marks name. Memories from a table of the
-- application are edited there, and memories that have ended are no longer true, so both are left
-- out.
CREATE OR REPLACE FUNCTION _markdown_stored(
    user_id text, marked_ids bigint[], OUT memory_id bigint, OUT kind text, OUT content text,
    OUT status text, OUT created_at timestamptz, OUT mark text, OUT home text, OUT shown boolean)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    names CONSTANT jsonb := _heading_kinds();
BEGIN
    RETURN QUERY
    WITH home AS MATERIALIZED (
        SELECT k.name, names ->> _lower(k.heading) AS kind, k.file FROM kind AS k
    )
    SELECT m.memory_id, k.kind, m.content,
           CASE WHEN m.status = 'active' AND m.valid_until <= now() THEN 'ended' ELSE m.status END,
           m.created_at, _mark(m.user_id, m.memory_id, m.created_at), k.file, s.shown
    FROM memory AS m
    JOIN home AS k ON k.name = m.kind
    CROSS JOIN LATERAL (
        SELECT m.status = 'active' AND m.source IS NULL AND k.file IS NOT NULL
               AND (m.valid_until > now()) IS NOT FALSE AS shown) AS s
    WHERE m.user_id = _markdown_stored.user_id
      AND (s.shown OR m.memory_id = ANY (marked_ids));
END $$;

CREATE OR REPLACE FUNCTION _marked_ids(parts markdown_part[]) RETURNS bigint[]
    LANGUAGE sql STABLE
    RETURN ARRAY(SELECT DISTINCT _marked_id(p.mark)
                 FROM unnest(parts) AS p WHERE p.mark IS NOT NULL);

-- The parts, each with its memory.
CREATE OR REPLACE FUNCTION _claim_parts(
    user_id text, parts markdown_part[], bases markdown_part[]) RETURNS markdown_part[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    claimed markdown_part[];
BEGIN
    WITH item AS MATERIALIZED (
        SELECT p.*, coalesce(p.kind, f.kind) AS of_kind
        FROM unnest(parts) AS p
        JOIN (SELECT n.file, _file_kind(n.file) AS kind
              FROM (SELECT DISTINCT p.file FROM unnest(parts) AS p) AS n) AS f USING (file)
        WHERE p.said IS NOT NULL
    ), stored AS MATERIALIZED (
        SELECT m.* FROM _markdown_stored(_claim_parts.user_id, _marked_ids(parts)) AS m
    ), marked AS MATERIALIZED (
        SELECT DISTINCT ON (c.memory_id) c.file, c.place, c.memory_id
        FROM (
            SELECT i.file, i.place, i.said, s.memory_id, s.content AS before
            FROM item AS i JOIN stored AS s ON s.mark = i.mark
            UNION ALL
            -- Only the base knows of a memory that was deleted for good. If it was stored again, by
            -- somebody after an older backup, the item is that one; not if that one stands here.
            SELECT i.file, i.place, i.said, _marked_id(i.mark), b.said
            FROM item AS i
            -- A base that somebody else wrote may have a mark as often as the file.
            JOIN (SELECT DISTINCT ON (b.mark) b.mark, b.said FROM unnest(bases) AS b
                  ORDER BY b.mark, b.file, b.place) AS b USING (mark)
            WHERE NOT EXISTS (SELECT FROM stored AS s WHERE s.memory_id = _marked_id(i.mark))
              AND NOT EXISTS (SELECT FROM stored AS s
                              WHERE s.shown AND s.kind = i.of_kind
                                AND btrim(s.content, E' \t\r\n') = btrim(i.said, E' \t\r\n')
                                AND NOT EXISTS (SELECT FROM item AS o WHERE o.mark = s.mark))
        ) AS c
        ORDER BY c.memory_id, _same_text(c.said, c.before) DESC, c.file, c.place
    ), told AS MATERIALIZED (
        SELECT i.file, i.place, i.of_kind, k.text_key,
               row_number() OVER (PARTITION BY i.of_kind, k.text_key
                                  ORDER BY i.file, i.place) AS nth
        FROM item AS i
        CROSS JOIN LATERAL (SELECT md5(btrim(i.said, E' \t\r\n')) AS text_key) AS k
        WHERE NOT EXISTS (SELECT FROM marked AS c WHERE c.file = i.file AND c.place = i.place)
    ), free AS (
        SELECT s.memory_id, s.kind, k.text_key,
               row_number() OVER (PARTITION BY s.kind, k.text_key
                                  ORDER BY s.created_at, s.memory_id) AS nth
        FROM stored AS s
        CROSS JOIN LATERAL (SELECT md5(btrim(s.content, E' \t\r\n')) AS text_key) AS k
        WHERE s.shown AND NOT EXISTS (SELECT FROM marked AS c WHERE c.memory_id = s.memory_id)
          AND EXISTS (SELECT FROM told)
    ), claim AS (
        SELECT c.file, c.place, c.memory_id FROM marked AS c
        UNION ALL
        SELECT t.file, t.place, f.memory_id
        FROM told AS t
        JOIN free AS f ON f.kind = t.of_kind AND f.text_key = t.text_key AND f.nth = t.nth
    )
    SELECT array_agg(ROW(p.file, p.place, p.line, p.kind, p.heading, p.opens, p.mark, p.said, p.raw,
                         c.memory_id)::markdown_part ORDER BY p.file, p.place)
    INTO claimed
    FROM unnest(parts) AS p
    LEFT JOIN claim AS c ON c.file = p.file AND c.place = p.place;
    RETURN coalesce(claimed, '{}');
END $$;
