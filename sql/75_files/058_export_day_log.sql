-- The log of a day as logs/YYYY-MM-DD.json of D3. It only reads. The summary is the one of the
-- file, or otherwise what the archive job made of the events of the day.
CREATE OR REPLACE FUNCTION _archive_summary(user_id text, job_ids bigint[]) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT string_agg(m.content, E'\n' ORDER BY m.memory_id)
        FROM job AS j
        JOIN revision AS r ON r.user_id = j.user_id AND r.action = 'ADD'
                          AND r.run_id = (j.payload ->> 'run_id')::bigint
        JOIN memory AS m ON m.user_id = r.user_id AND m.memory_id = r.memory_id
                        AND m.status = 'active' AND m.data ->> 'summary_of' = 'events'
        WHERE j.user_id = _archive_summary.user_id AND j.job_id = ANY (job_ids)
          AND j.status = 'done');
END $$;

CREATE OR REPLACE FUNCTION _is_archived(user_id text, job_ids bigint[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT coalesce(bool_and((j.status = 'done') IS TRUE), false)
        FROM unnest(job_ids) AS i (id)
        LEFT JOIN job AS j ON j.user_id = _is_archived.user_id AND j.job_id = i.id);
END $$;

CREATE OR REPLACE FUNCTION export_day_log(
    day date, user_id text DEFAULT NULL, zone text DEFAULT 'UTC') RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_zone CONSTANT text := _check_zone(zone);
    written CONSTANT json := (SELECT h.written FROM file_head AS h
                              WHERE h.user_id = owner AND h.name = _day_log_name(day));
    entries text;
    jobs bigint[];
    summary text;
    archived boolean;
BEGIN
    IF day NOT BETWEEN '1970-01-01' AND '9999-12-31' THEN
        RAISE EXCEPTION 'day % is out of range', day
            USING ERRCODE = 'ME011', HINT = 'Pass a day from 1970 on; log_days() lists them.';
    END IF;
    SELECT string_agg(E'\n    ' || _json_value(e.entry, '    '), ',' ORDER BY e.place),
           array_agg(DISTINCT e.archive_job)
    INTO entries, jobs
    FROM _day_entries(owner, day, in_zone) AS e;
    IF entries IS NULL AND written IS NULL THEN
        RETURN NULL;
    END IF;
    summary := coalesce(written ->> 'summary', _archive_summary(owner, jobs));
    archived := coalesce((written ->> 'archived')::boolean, false) OR _is_archived(owner, jobs);
    RETURN (
        SELECT E'{\n' || string_agg('  ' || to_json(f.key) || ': ' || CASE f.key
            WHEN 'entries' THEN '[' || coalesce(entries || E'\n  ]', ']')
            WHEN 'summary' THEN coalesce(to_json(summary)::text, 'null')
            WHEN 'archived' THEN archived::text
            ELSE _json_value(f.value, '  ') END, E',\n' ORDER BY f.place) || E'\n}'
        FROM json_each(coalesce(written, json_build_object(
            'date', day, 'entries', '[]'::json, 'summary', NULL, 'archived', false)))
             WITH ORDINALITY AS f (key, value, place));
END $$;

COMMENT ON FUNCTION export_day_log(date, text, text) IS
    'The log of a day as logs/YYYY-MM-DD.json of D3: text, two spaces a level; NULL where nothing '
    'happened. Entries that came from such a file are printed as they were written there, in their '
    'order; other events follow by time. An event whose payload has no content has the payload as '
    'content. summary and archived: as in the file, or what the archive job of the events did. '
    'zone: where the day is; default UTC. Changes nothing. Errors: ME006 user, ME008 zone, ME011 '
    'day. Source: D3 2.2.';
