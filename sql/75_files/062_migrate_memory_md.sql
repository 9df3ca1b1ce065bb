-- MEMORY.md, in which D3 first kept its memory (D3 10), becomes entries of memory.json. Their ids
-- are those that D3's agent gives: the one in the line, or md5 of date and content. So the same
-- file always gives the same entries, and migrating it twice changes nothing.
CREATE OR REPLACE FUNCTION _convert_memory_md(document text, at timestamptz) RETURNS json[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    item record;
    section record;
    dated record;
    box text;
    id text;
    ids text[] := '{}';
    seen text := ' ';  -- the same as one text: an array is copied each time it is searched
    latest text[] := '{}';
    place int;
    made_at text;
    entries json[] := '{}';
BEGIN
    FOR item IN SELECT i.headings, i.content FROM _old_items(document) AS i LOOP
        section := _section(item.headings);
        box := substring(item.content FROM '^\[([ xX])\][ \t]');
        dated := _dated(regexp_replace(item.content, '^\[[ xX]\][ \t]+', ''));
        id := CASE WHEN dated.day IS NOT NULL
                   THEN substring(dated.content FROM '^\[([0-9a-f]{6,32})\]') END;
        dated.content := btrim(regexp_replace(
            dated.content, CASE WHEN id IS NULL THEN '^$' ELSE '^\[[0-9a-f]+\]' END, ''),
            E' \t\n');
        CONTINUE WHEN dated.content = '';
        IF id IS NULL OR strpos(seen, ' ' || id || ' ') > 0 THEN
            id := left(md5(coalesce(_day_text(dated.day), '') || ':' || dated.content), 8);
        END IF;
        -- The same text again: its id is made of the last one that the text got.
        IF strpos(seen, ' ' || id || ' ') > 0 THEN
            place := array_position(ids, id);
            id := latest[place];
            WHILE strpos(seen, ' ' || id || ' ') > 0 LOOP
                id := left(md5(id), 8);
            END LOOP;
            latest[place] := id;
        END IF;
        ids := ids || id;
        seen := seen || id || ' ';
        latest := latest || id;
        made_at := coalesce(_day_text(dated.day) || 'T' || coalesce(dated.clock, '00:00:00'),
                            _utc_text(at));
        entries := entries || format(
            '{"id": %s, "category": %s, "content": %s, "salience": %s, "created_at": "%s", '
            '"last_accessed": "%s", "access_count": 0, "source": "migration"%s%s}',
            to_json(id), to_json((section.of_kind).category), to_json(dated.content),
            (section.of_kind).importance, made_at, made_at,
            ', "heading": ' || to_json(section.remark)::text,
            ', "done": ' || (box <> ' ')::text)::json;
    END LOOP;
    RETURN entries;
END $$;

-- They are appended to what the file would hold: an entry whose id is already known is an older
-- form of it, and is left alone.
CREATE OR REPLACE FUNCTION migrate_memory_md(
    document text, user_id text DEFAULT NULL, dry_run boolean DEFAULT false,
    zone text DEFAULT 'UTC', at timestamptz DEFAULT NULL)
    RETURNS TABLE (entry_id text, action text, memory_id bigint, reason text, run_id bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    written_at CONSTANT timestamptz := _check_time(coalesce(at, now()), 'at');
    converted CONSTANT json[] := _convert_memory_md(document, written_at);
    file json := export_memory_json(owner, zone);
    known CONSTANT text[] := ARRAY(SELECT e.entry ->> 'id'
                                   FROM json_array_elements(file -> 'memories') AS e (entry));
    fresh CONSTANT json[] := ARRAY(
        SELECT f.entry FROM unnest(converted) WITH ORDINALITY AS f (entry, place)
        WHERE f.entry ->> 'id' <> ALL (known) ORDER BY f.place);
BEGIN
    IF cardinality(fresh) > 0 THEN
        file := _json_with(file, 'memories', to_json(ARRAY(
            SELECT e.entry FROM json_array_elements(file -> 'memories') WITH ORDINALITY
                                AS e (entry, place) ORDER BY e.place) || fresh));
        file := _json_with(file, 'last_updated', to_json(_utc_text(now())));
        RETURN QUERY
        SELECT i.* FROM import_memory_json(file, owner, dry_run, zone => zone) AS i
        WHERE i.entry_id <> ALL (known);
    END IF;
    RETURN QUERY
    SELECT f.entry ->> 'id', 'NOOP', NULL::bigint, 'an entry has this id already', NULL::bigint
    FROM unnest(converted) AS f (entry) WHERE f.entry ->> 'id' = ANY (known);
END $$;

COMMENT ON FUNCTION migrate_memory_md(text, text, boolean, text, timestamptz) IS
    'Takes MEMORY.md of D3''s first version into memory, all of it or nothing, and returns the '
    'rows of import_memory_json() for its entries. A list item or a paragraph is a memory; '
    'headings name its category, in English or Chinese (table kind: name, aliases, heading), and '
    'what one says besides is kept as "heading"; [2026-02-21], [2026-02-21 10:30] or 2026-02-21: '
    'before a text is its time, [a1b2c3d4] behind that its id, [ ] and [x] become "done". Its '
    'importance is that of its kind. What is known by its id already is left alone. dry_run: '
    'changes nothing, tells the same. zone: of its times. at: the time of what has none; default '
    'now. Errors: those of import_memory_json(), ME011 at. Source: D3 10.';
