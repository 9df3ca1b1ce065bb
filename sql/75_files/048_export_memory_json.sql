-- The memories of a user as memory.json of D3 (2.1), and the rolling summary. It only reads: the
-- same memories always give the same text, on a standby too.

-- What the file holds: what is active and true now, without turns of conversations (kind.category)
-- and without anything that an application has in a table of its own. Entries of the file come in
-- its order, then the others in theirs.
CREATE OR REPLACE FUNCTION _memory_entries(user_id text, at timestamptz, zone text)
    RETURNS TABLE (place int, memory_id bigint, entry json)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH shown AS MATERIALIZED (
        SELECT m.memory_id, m.kind, k.category, m.content, m.importance, m.data, m.origin,
               m.created_at, a.count, a.last_at, f.entry_id, f.place, f.written, f.digest,
               _entry_hash(m.memory_id, m.recorded_at) AS hash
        FROM memory AS m
        JOIN kind AS k ON k.name = m.kind AND k.category IS NOT NULL
        LEFT JOIN access AS a ON a.user_id = m.user_id AND a.memory_id = m.memory_id
        LEFT JOIN file_entry AS f ON f.user_id = m.user_id AND f.memory_id = m.memory_id
        WHERE m.user_id = _memory_entries.user_id AND m.status = 'active' AND m.source IS NULL
          AND (m.valid_until > at) IS NOT FALSE
    ), named AS (
        SELECT s.*, coalesce(s.entry_id, CASE
                   WHEN count(*) OVER (PARTITION BY s.entry_id IS NULL, left(s.hash, 8)) = 1
                        AND NOT EXISTS (SELECT FROM file_entry AS f
                                        WHERE f.user_id = _memory_entries.user_id
                                          AND f.entry_id = left(s.hash, 8))
                   THEN left(s.hash, 8) ELSE s.hash END) AS name
        FROM shown AS s
    )
    SELECT n.place, n.memory_id, CASE
        WHEN n.digest = _entry_digest(n.kind, n.content, n.importance, n.data, n.origin, n.count,
                                      n.last_at) THEN n.written
        WHEN n.written IS NULL THEN e.entry
        ELSE _merge_entry(n.written, e.entry, n.kind, n.data, zone) END
    FROM named AS n, LATERAL (
        SELECT _entry_of(n.name, n.category, n.content, n.importance, n.created_at, n.last_at,
                         n.count, n.origin,
                         CASE WHEN n.category = 'procedural' THEN n.data END) AS entry) AS e;
END $$;

-- When something the file contains last changed; changes that came from the file itself do not
-- count.
CREATE OR REPLACE FUNCTION _told_change(user_id text, read_at timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT max(c.at)
        FROM (
            SELECT max(m.updated_at) AS at FROM memory AS m
            WHERE m.user_id = _told_change.user_id
            UNION ALL
            SELECT max(a.last_at) FROM access AS a WHERE a.user_id = _told_change.user_id
            UNION ALL
            SELECT p.summarised_at FROM profile AS p WHERE p.user_id = _told_change.user_id
        ) AS c
        WHERE (c.at > read_at) IS NOT FALSE);
END $$;

CREATE OR REPLACE FUNCTION export_memory_json(
    user_id text DEFAULT NULL, zone text DEFAULT 'UTC', at timestamptz DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_zone CONSTANT text := _check_zone(zone);
    head file_head;
    written json;
    changed_at timestamptz;
    summary text;
    entries text;
BEGIN
    SELECT h.* INTO head FROM file_head AS h WHERE h.user_id = owner AND h.name = 'memory.json';
    written := coalesce(head.written, '{"version": 2, "last_updated": "1970-01-01T00:00:00Z", '
                                      '"rolling_summary": "", "memories": []}');
    changed_at := _told_change(owner, head.read_at);
    summary := (SELECT p.rolling_summary FROM profile AS p WHERE p.user_id = owner);
    SELECT string_agg(E'\n    ' || _json_value(e.entry, '    '), ','
                      ORDER BY e.place, e.memory_id)
    INTO entries
    FROM _memory_entries(owner, coalesce(at, now()), in_zone) AS e;
    RETURN (
        SELECT E'{\n' || string_agg('  ' || to_json(f.key) || ': ' || CASE f.key
            WHEN 'memories' THEN '[' || coalesce(entries || E'\n  ]', ']')
            WHEN 'rolling_summary' THEN
                CASE WHEN summary IS NOT NULL THEN to_json(summary)::text
                     WHEN json_typeof(f.value) = 'null' THEN 'null' ELSE '""' END
            WHEN 'last_updated' THEN
                CASE WHEN changed_at IS NOT NULL THEN to_json(_utc_text(changed_at))::text
                     ELSE _json_value(f.value, '  ') END
            ELSE _json_value(f.value, '  ') END, E',\n' ORDER BY f.place) || E'\n}'
        FROM (SELECT * FROM json_each(written) WITH ORDINALITY
              UNION ALL
              SELECT 'rolling_summary', 'null', 1000
              WHERE summary IS NOT NULL AND NOT written::jsonb ? 'rolling_summary'
             ) AS f (key, value, place));
END $$;

COMMENT ON FUNCTION export_memory_json(text, text, timestamptz) IS
    'The memories of a user as memory.json, version 2 of D3: text, two spaces a level. Entries '
    'that came from such a file are printed as they were written there, with their ids, in their '
    'order, except for what has changed since; others get an id of 8 (rarely 16) hex characters, '
    'always the same. It has active memories that are true now: not pending, forgotten, '
    'superseded, archived or expired ones, no turns, and none of attached tables. Kinds are put '
    'under the six categories by kind.category; source is the origin, with user_explicit for user '
    'and auto_reflection for model, context the data of a procedural memory. zone: of times '
    'without an offset in the file. at: what is true now; default the clock. Changes nothing. '
    'Errors: ME006 user, ME008 zone. Source: D3 2.1, 13.';
