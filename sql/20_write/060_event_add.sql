-- Appends an event: what happened, recalled by its time and type, never by vector (D0 1.5).
-- The line is what D0 prints: the type and the first 200 characters of the payload.

-- The events that memoir itself writes as its log: nobody's words.
CREATE OR REPLACE FUNCTION _is_log(type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN type IN ('memory_retrieval', 'memory_deleted');

-- What recall shows of an event.
CREATE OR REPLACE FUNCTION _event_line(type text, payload jsonb) RETURNS text
    LANGUAGE sql STABLE
    RETURN _line(format('[%s] %s', type, left(payload::text, 200)), 320);

-- source, source_key: the row of an attached table that the event follows, or NULL.
CREATE OR REPLACE FUNCTION _add_event(
    user_id text, type text, payload jsonb, happened_at timestamptz, source text, source_key text)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    told CONSTANT jsonb := _redact_json(payload);
    text_line CONSTANT text := _event_line(type, told);
    term_list CONSTANT int[] := _terms(text_line);
    new_id bigint;
BEGIN
    IF coalesce(btrim(type), '') = '' OR length(type) > 100 OR coalesce(payload, 'null') = 'null'
    THEN
        RAISE EXCEPTION 'an event needs a type of 1 to 100 characters and a payload'
            USING ERRCODE = 'ME010',
                  HINT = 'SELECT memoir.event_add(''task_failed'', ''{"task": "deploy"}'');';
    END IF;
    PERFORM _check_time(happened_at, 'created_at');
    INSERT INTO event AS e (user_id, type, payload, created_at, line, cost, terms, term_count,
                            source, source_key)
    VALUES (user_id, type, told, happened_at, text_line,
            _cost_of_line(text_line), _term_set(term_list, '{}'),
            cardinality(term_list), source, source_key)
    RETURNING e.event_id INTO new_id;
    RETURN new_id;
END $$;

CREATE OR REPLACE FUNCTION event_add(
    type text, payload jsonb, user_id text DEFAULT NULL, created_at timestamptz DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    IF _writing_refused(owner, NULL) IS NULL THEN
        RETURN _add_event(
            owner, type, _json_given(payload), coalesce(created_at, now()), NULL, NULL);
    END IF;
    RETURN NULL;
END $$;

COMMENT ON FUNCTION event_add(text, jsonb, text, timestamptz) IS
    'Appends an event and returns its id, NULL while memory is off. type: 1 to 100 characters; '
    'task_failed, task_completed, alert, layer2_health and escalation are recalled, and what you '
    'add to mode.event_types; others are stored only. payload: JSON but not null, redacted as by '
    'redact(). created_at: when it happened, 1970 to a day from now; NULL: now. Errors: ME006 '
    'user, ME010 type or payload, ME011 time. Source: D0 1.5.';
