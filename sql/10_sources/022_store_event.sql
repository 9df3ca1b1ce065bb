-- The event of a row of an attached table of events: it comes, changes and goes with that row, and
-- is found by source and source_key. What memoir itself wrote into that table is not read back.

CREATE OR REPLACE FUNCTION _source_event(name text, r source_row, adding boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    known record;
BEGIN
    PERFORM _check_row(r.user_id, r.source_key, r.status);
    -- Events older than that are deleted every night.
    IF _is_log(r.type) OR r.created_at < now() - _days('delete_days')
       OR (SELECT NOT p.memory_on FROM profile AS p WHERE p.user_id = r.user_id) THEN
        RETURN false;
    END IF;
    IF NOT EXISTS (SELECT FROM profile AS p WHERE p.user_id = r.user_id) THEN
        PERFORM _make_profile(r.user_id);
    END IF;
    SELECT e.event_id, e.type, e.payload, e.created_at INTO known
    FROM event AS e
    WHERE e.user_id = r.user_id AND e.source = _source_event.name AND e.source_key = r.source_key;
    IF FOUND THEN
        r.created_at := coalesce(r.created_at, known.created_at);
        IF (r.type, _redact_json(r.payload), r.created_at)
           IS NOT DISTINCT FROM (known.type, known.payload, known.created_at) THEN
            RETURN false;
        END IF;
        PERFORM _source_event_gone(name, r.user_id, r.source_key);
    ELSIF NOT adding THEN
        RETURN false;
    END IF;
    PERFORM _add_event(r.user_id, r.type, r.payload, coalesce(r.created_at, now()), name,
                       r.source_key);
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION _source_event_gone(name text, user_id text, source_key text)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM event AS e
    WHERE e.user_id = _source_event_gone.user_id AND e.source = _source_event_gone.name
      AND e.source_key = _source_event_gone.source_key;
    RETURN FOUND;
END $$;
