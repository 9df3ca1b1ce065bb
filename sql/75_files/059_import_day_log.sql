-- Takes logs/YYYY-MM-DD.json into the events of its day. The past is only ever added to: an entry
-- that is already there, from the file or as an event that is printed the same way, is the same
-- event; two equal ones in the file are two events.

CREATE OR REPLACE FUNCTION _check_log(document json, zone text) RETURNS date
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    said CONSTANT text := document ->> 'date';
    fault text;
BEGIN
    PERFORM _check_json(_check_document(document, 'log'), _day_log_schema(), 'log');
    fault := CASE
        WHEN _key_twice(document) IS NOT NULL THEN _key_twice(document)
        WHEN said !~ '^\d{4}-\d\d-\d\d$' OR NOT pg_input_is_valid(said, 'date')
            THEN format('.date "%s" is not a day such as 2026-02-21', said)
        WHEN said < '1970-01-01' OR said::date > (now() AT TIME ZONE zone)::date
            THEN format('.date %s is before 1970 or has not come yet', said)
        ELSE (
            SELECT format('.entries[%s]', e.place - 1) || f.fault
            FROM json_array_elements(document -> 'entries') WITH ORDINALITY AS e (entry, place),
                 LATERAL (SELECT CASE
                     WHEN _key_twice(e.entry) IS NOT NULL THEN _key_twice(e.entry)
                     WHEN _log_time(said::date, e.entry ->> 'time', zone) IS NULL THEN
                         format('.time "%s" is not a time of that day such as 14:30:00',
                                left(e.entry ->> 'time', 40))
                     WHEN e.entry ->> 'type' !~ '[^[:space:]]' THEN '.type is empty'
                     WHEN NOT _is_visible(e.entry ->> 'content') THEN '.content is empty'
                     WHEN _is_log(e.entry ->> 'type') THEN
                         format('.type "%s" is one of pgmemoir''s own', e.entry ->> 'type')
                     END AS fault) AS f
            WHERE f.fault IS NOT NULL
            ORDER BY e.place LIMIT 1)
    END;
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'log%', fault
            USING ERRCODE = 'ME015', HINT = 'Nothing of it was stored. Correct the file.';
    END IF;
    RETURN said::date;
END $$;

-- Each entry of the file with its event; of equal ones, the first with the first.
CREATE OR REPLACE FUNCTION _match_log(user_id text, day date, entries json[], zone text)
    RETURNS TABLE (place int, entry json, event_id bigint, created_at timestamptz,
                   from_file boolean, log_place int)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH said AS MATERIALIZED (
        SELECT (e.place - 1)::int AS place, e.entry, e.entry::jsonb AS key,
               row_number() OVER (PARTITION BY e.entry::jsonb ORDER BY e.place) AS number
        FROM unnest(entries) WITH ORDINALITY AS e (entry, place)
    ), stored AS MATERIALIZED (
        SELECT s.*, s.entry::jsonb AS key,
               row_number() OVER (PARTITION BY s.entry::jsonb ORDER BY s.place) AS number
        FROM _day_entries(user_id, day, zone) AS s
    )
    SELECT s.place, s.entry, d.event_id, d.created_at, d.from_file, d.log_place
    FROM said AS s FULL JOIN stored AS d USING (key, number);
END $$;

-- Events of a log that says it is archived are not queued for a summary again: it was made, and
-- what mattered was remembered. The job that would have done it is marked as done.
CREATE OR REPLACE FUNCTION _mark_archived(user_id text, event_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    done_id bigint;
BEGIN
    IF event_ids <> '{}' THEN
        INSERT INTO job AS j (user_id, kind, payload, status, finished_at)
        VALUES (_mark_archived.user_id, 'archive',
                jsonb_build_object('event_ids', event_ids::text[]), 'done', now())
        RETURNING j.job_id INTO done_id;
        UPDATE event AS e SET archive_job = done_id
        WHERE e.user_id = _mark_archived.user_id AND e.event_id = ANY (event_ids);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION import_day_log(
    document json, user_id text DEFAULT NULL, dry_run boolean DEFAULT false,
    delete_missing boolean DEFAULT false, zone text DEFAULT 'UTC')
    RETURNS TABLE (place int, action text, event_id bigint, reason text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_zone CONSTANT text := _check_zone(zone);
    day CONSTANT date := _check_log(document, in_zone);
    refused CONSTANT text := _writing_refused(owner, NULL);
    entries CONSTANT json[] := ARRAY(
        SELECT _redact_written(e.entry)
        FROM json_array_elements(document -> 'entries') WITH ORDINALITY AS e (entry, place)
        ORDER BY e.place);
    logged record;
BEGIN
    IF dry_run IS NOT TRUE AND refused IS NULL THEN
        PERFORM _lock_user(owner);
    END IF;
    FOR logged IN
        SELECT m.* FROM _match_log(owner, day, entries, in_zone) AS m
        ORDER BY m.place, m.log_place, m.event_id
    LOOP
        place := logged.place;
        event_id := logged.event_id;
        CONTINUE WHEN place IS NULL AND (delete_missing AND logged.from_file) IS NOT TRUE;
        action := CASE WHEN place IS NULL THEN 'DELETE' WHEN event_id IS NULL THEN 'ADD'
                       ELSE 'NOOP' END;
        reason := CASE action WHEN 'DELETE' THEN 'no longer in the file' WHEN 'ADD' THEN 'new'
                              ELSE 'it is there already' END;
        IF refused IS NOT NULL THEN
            action := 'NOOP';
            reason := refused;
        ELSIF dry_run IS NOT TRUE THEN
            event_id := _log_event(owner, day, in_zone, logged.place, logged.entry,
                                   logged.event_id, logged.created_at);
        END IF;
        RETURN NEXT;
    END LOOP;
    IF refused IS NULL AND dry_run IS NOT TRUE THEN
        PERFORM _keep_head(owner, _day_log_name(day),
                           _redact_written(_json_with(document, 'entries', '[]')), false);
        IF (document ->> 'archived')::boolean THEN
            PERFORM _mark_archived(owner, ARRAY(
                SELECT e.event_id FROM _day_entries(owner, day, in_zone) AS e
                WHERE e.from_file AND e.archive_job IS NULL ORDER BY e.event_id));
        END IF;
    END IF;
END $$;

-- Makes an event of an entry, or records on the event it matches (event_id) how the file has it;
-- place NULL: it is no longer in the file.
CREATE OR REPLACE FUNCTION _log_event(
    user_id text, day date, zone text, place int, entry json, event_id bigint,
    created_at timestamptz) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    payload jsonb := entry;
BEGIN
    IF place IS NULL THEN
        DELETE FROM event AS e
        WHERE e.user_id = user_id AND e.event_id = event_id AND e.created_at = created_at;
        RETURN event_id;
    END IF;
    IF event_id IS NULL THEN
        created_at := _log_time(day, entry ->> 'time', zone);
        payload := payload - '{time,type}'::text[] || coalesce((
            SELECT jsonb_build_object('category', k.name) FROM kind AS k
            WHERE entry ->> 'category' IN (k.name, k.category)
              AND _lower(entry ->> 'category') = ANY (k.aliases || k.name) LIMIT 1), '{}');
        event_id := event_add(entry ->> 'type', payload, user_id, created_at);
    END IF;
    UPDATE event AS e SET log_entry = entry, log_place = place
    WHERE e.user_id = user_id AND e.event_id = event_id AND e.created_at = created_at
      AND (e.log_entry::text, e.log_place) IS DISTINCT FROM (entry::text, place);
    RETURN event_id;
END $$;

COMMENT ON FUNCTION import_day_log(json, text, boolean, boolean, text) IS
    'Takes the log of a day, logs/YYYY-MM-DD.json of D3, into events, all of it or nothing. '
    'Returns a row an entry in its order: place (from 0), action, event_id, reason. ADD; NOOP, '
    'where an event says it already; with delete_missing also DELETE, without a place: entries '
    'that came from the file and are no longer in it. An entry becomes an event of its type at its '
    'time, with the other fields as payload; events of an archived log count as archived. Unknown '
    'fields are kept and printed again. Redacted; while memory is off all is NOOP. dry_run: '
    'changes nothing, tells the same. zone: where the day is; default UTC. Errors: ME006 user, '
    'ME008 zone, ME015 the document, with the path of what does not fit, ME017 too large. Source: '
    'D3 2.2.';
