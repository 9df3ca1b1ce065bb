-- The log of a day as D3 has it (2.2): every event of that day except those of pgmemoir's own log.
-- A day is a day of a time zone; UTC unless another is given.
CREATE OR REPLACE FUNCTION _day_log_schema() RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN '{
        "type": "object", "required": ["date", "entries"], "properties": {
            "date": {"type": "string", "minLength": 10, "maxLength": 10},
            "summary": {"type": ["string", "null"]},
            "archived": {"type": "boolean"},
            "entries": {"type": "array", "items": {
                "type": "object", "required": ["time", "type", "content"], "properties": {
                    "time": {"type": "string"},
                    "type": {"type": "string", "minLength": 1, "maxLength": 100},
                    "content": {"type": "string", "minLength": 1},
                    "category": {"type": ["string", "null"]},
                    "tool": {"type": ["string", "null"]},
                    "error": {"type": ["string", "null"]}}}}}}'::jsonb;

-- A day as D3 writes it, whatever the caller's DateStyle is (as JSON has it), and the file of its
-- log.
CREATE OR REPLACE FUNCTION _day_text(day date) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_json(day) #>> '{}';

CREATE OR REPLACE FUNCTION _day_log_name(day date) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN 'logs/' || _day_text(day) || '.json';

-- When a day begins in a zone.
CREATE OR REPLACE FUNCTION _day_start(day date, zone text) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN day::timestamp AT TIME ZONE zone;

CREATE OR REPLACE FUNCTION _log_time(day date, said text, zone text) RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN said ~ '^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$'
                THEN (day + said::time) AT TIME ZONE zone END;

-- An event as an entry. One that came from a log is printed as it was written there. For any other
-- the payload gives the fields, or stands as text if it has no content.
CREATE OR REPLACE FUNCTION _log_entry(
    type text, payload jsonb, log_entry json, happened_at timestamptz, day date, zone text)
    RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    clock CONSTANT text := to_char(happened_at AT TIME ZONE zone, 'HH24:MI:SS');
    told CONSTANT jsonb := CASE WHEN jsonb_typeof(payload -> 'content') = 'string' THEN payload
                                ELSE jsonb_build_object('content', payload::text) END;
BEGIN
    IF log_entry IS NOT NULL THEN
        RETURN CASE WHEN _log_time(day, log_entry ->> 'time', zone) = happened_at THEN log_entry
                    ELSE _json_with(log_entry, 'time', to_json(clock)) END;
    END IF;
    RETURN (
        SELECT format('{"time": "%s", "type": %s%s}', clock, to_json(type),
                      string_agg(', ' || to_json(f.key) || ': ' || f.value, ''
                                 ORDER BY array_position('{content,category,tool,error}', f.key),
                                          f.place))
        FROM (
            SELECT e.place, e.key, CASE WHEN e.key = 'category' THEN coalesce(
                       (SELECT to_jsonb(k.category) FROM kind AS k
                        WHERE k.name = e.value #>> '{}' AND k.category IS NOT NULL), e.value)
                       ELSE e.value END AS value
            FROM jsonb_each(told) WITH ORDINALITY AS e (key, value, place)
            WHERE e.key NOT IN ('time', 'type')
        ) AS f)::json;
END $$;

-- The entries of a day: those of its file in its order, then the others by time.
CREATE OR REPLACE FUNCTION _day_entries(user_id text, day date, zone text)
    RETURNS TABLE (
        place bigint, event_id bigint, created_at timestamptz, entry json, from_file boolean,
        log_place int, archive_job bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT row_number() OVER (ORDER BY e.log_place, e.created_at, e.event_id), e.event_id,
           e.created_at, _log_entry(e.type, e.payload, e.log_entry, e.created_at, day, zone),
           e.log_entry IS NOT NULL, e.log_place, e.archive_job
    FROM event AS e
    WHERE e.user_id = _day_entries.user_id AND NOT _is_log(e.type)
      AND e.created_at >= _day_start(day, zone) AND e.created_at < _day_start(day + 1, zone);
END $$;
