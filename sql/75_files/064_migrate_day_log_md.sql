-- The day log that D3 first kept, logs/YYYY-MM-DD.md, becomes entries of its JSON (D3 10). An entry
-- without a time has that of the one above it, or of its heading. An entry is added to the array in
-- place only if the expression has no query in it: otherwise all before it are copied.
CREATE OR REPLACE FUNCTION _convert_day_log_md(document text) RETURNS json[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    clock_form CONSTANT text := '([01]?\d|2[0-3])[:：]([0-5]\d)(?:[:：]([0-5]\d))?';
    item record;
    parts text[];
    clock text := '00:00:00';
    section text;
    tagged text[];
    named text;
    category text;
    entries json[] := '{}';
BEGIN
    FOR item IN SELECT i.headings, i.content FROM _old_items(document) AS i LOOP
        IF item.headings[cardinality(item.headings)] IS DISTINCT FROM section THEN
            section := item.headings[cardinality(item.headings)];
            parts := regexp_match(section, clock_form);
            clock := coalesce(lpad(parts[1], 2, '0') || ':' || parts[2] || ':'
                              || coalesce(parts[3], '00'), clock);
        END IF;
        parts := regexp_match(item.content, '^[*_]{0,2}[[(（【]?' || clock_form
                                            || '[])）】]?[*_]{0,2}(?:[ \t]*[-–—:：])?[ \t]*(.+)$');
        IF parts IS NOT NULL THEN
            clock := lpad(parts[1], 2, '0') || ':' || parts[2] || ':' || coalesce(parts[3], '00');
            item.content := parts[4];
        END IF;
        tagged := regexp_match(item.content, '^\[auto\][ \t]*\[([^][]{1,40})\][ \t]*(.+)$');
        named := (_kind_of_heading(tagged[1])).kind;
        IF named IS NULL THEN
            tagged := regexp_match(item.content, '^\[(auto)\][ \t]*(.+)$');
        END IF;
        category := (SELECT k.category FROM kind AS k WHERE k.name = named);
        entries := entries || format(
            '{"time": "%s", "type": "%s", "content": %s%s}', clock,
            CASE WHEN tagged IS NULL THEN 'event' ELSE 'auto_extract' END,
            to_json(coalesce(tagged[2], item.content)),
            ', "category": ' || to_json(category)::text)::json;
    END LOOP;
    RETURN entries;
END $$;

-- They are appended to the log, except for those that it already holds.
CREATE OR REPLACE FUNCTION migrate_day_log_md(
    day date, document text, user_id text DEFAULT NULL, dry_run boolean DEFAULT false,
    zone text DEFAULT 'UTC')
    RETURNS TABLE (place int, action text, event_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    -- The planner, too, calls a function that it finds in FROM.
    converted CONSTANT json[] := _convert_day_log_md(document);
    file json := coalesce(export_day_log(day, owner, zone)::json, json_build_object(
        'date', day, 'entries', '[]'::json, 'summary', NULL, 'archived', false));
BEGIN
    file := _json_with(file, 'entries', to_json(ARRAY(
        SELECT coalesce(k.entry, f.entry)
        FROM (SELECT e.entry, e.place, e.entry::jsonb AS key,
                     row_number() OVER (PARTITION BY e.entry::jsonb ORDER BY e.place) AS number
              FROM json_array_elements(file -> 'entries') WITH ORDINALITY AS e (entry, place)) AS k
        FULL JOIN (SELECT c.entry, c.place, c.entry::jsonb AS key,
                          row_number() OVER (PARTITION BY c.entry::jsonb ORDER BY c.place) AS number
                   FROM unnest(converted) WITH ORDINALITY AS c (entry, place)) AS f
            USING (key, number)
        ORDER BY k.place, f.place)));
    RETURN QUERY SELECT i.* FROM import_day_log(file, owner, dry_run, zone => zone) AS i;
END $$;

COMMENT ON FUNCTION migrate_day_log_md(date, text, text, boolean, text) IS
    'Takes a log of D3''s first version, logs/YYYY-MM-DD.md, into the events of that day, and '
    'returns the rows of import_day_log(). A list item or a paragraph is an entry; [14:30] or '
    '14:30 before a text is its time, [auto] [preferences] behind that makes it an auto_extract of '
    'that category. What the log has already is left alone. dry_run: changes nothing, tells the '
    'same. zone: where the day is. Errors: those of import_day_log(), ME011 day. Source: D3 10.';
