-- One entry point for every tool: a name and JSON arguments, as a model gives them, in any
-- language. Names and types in the statement come from the catalogue; the caller's values are only
-- parameters. An error of the tool is an error of the call, with its own code.

-- A value in the form its argument takes, if the model's form can mean nothing else: "5" for 5,
-- "True", a string for an array of one, an array as text, a number for a text, a choice in other
-- letters. NULL for "" if that is no value: models write it for what they leave out.
CREATE OR REPLACE FUNCTION _tool_value(
    value jsonb, type text, json_type text, required boolean, choices jsonb)
    RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    given CONSTANT text := jsonb_typeof(value);
    said CONSTANT text := btrim(value #>> '{}', E' \t\r\n');
BEGIN
    RETURN CASE
        WHEN given = 'number' AND json_type = 'string' THEN to_jsonb(said)
        WHEN given = 'number' AND json_type = 'integer' AND said::numeric = trunc(said::numeric)
            THEN to_jsonb(trunc(said::numeric))
        WHEN given = 'array' AND json_type = 'array' THEN (
            SELECT coalesce(jsonb_agg(CASE WHEN jsonb_typeof(e) = 'number'
                                           THEN to_jsonb(e #>> '{}') ELSE e END), '[]')
            FROM jsonb_array_elements(value) AS e)
        WHEN given IS DISTINCT FROM 'string' THEN value
        WHEN said = '' AND NOT required AND (json_type <> 'string' OR choices IS NOT NULL
                                             OR type LIKE 'timestamp%')
            THEN NULL
        WHEN json_type IN ('integer', 'number') AND said ~ '^-?[0-9]{1,15}(\.[0-9]{1,15})?$'
            THEN _tool_value(to_jsonb(said::numeric), type, json_type, required, choices)
        WHEN json_type = 'boolean' AND _lower(said) IN ('true', 'false') THEN _lower(said)::jsonb
        WHEN json_type IN ('array', 'object') AND length(said) <= 1000
             AND pg_input_is_valid(said, 'jsonb') AND jsonb_typeof(said::jsonb) = json_type
            THEN said::jsonb
        -- Several in one string are left to the model, because a keyword may contain a comma.
        WHEN json_type = 'array' AND said !~ '[][{},;，、；\n]' THEN jsonb_build_array(said)
        WHEN json_type = 'string' AND choices ? _lower(said) THEN to_jsonb(_lower(said))
        ELSE value END;
END $$;

CREATE OR REPLACE FUNCTION _is_tool_value(said text, type text) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN pg_input_is_valid(said, type) AND (type NOT LIKE 'timestamp%' OR _is_clear_time(said));

CREATE OR REPLACE FUNCTION _check_tool_arguments(called tool, code name, arguments jsonb)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
DECLARE
    tool CONSTANT text := called.name;
    text_form CONSTANT text := CASE WHEN jsonb_typeof(arguments) = 'string'
                                    THEN arguments #>> '{}' END;
    wrong record;
    given jsonb;
BEGIN
    -- As in function calling: JSON in a text, empty for none.
    IF pg_input_is_valid(text_form, 'jsonb') THEN
        arguments := text_form;
    END IF;
    IF text_form ~ '^\s*$' OR arguments = 'null' THEN
        arguments := '{}';
    END IF;
    IF jsonb_typeof(arguments) <> 'object' THEN
        RAISE EXCEPTION 'arguments of % must be a JSON object, not %',
                tool, jsonb_typeof(arguments)
            USING ERRCODE = 'ME008', HINT = 'Pass ''{}'' for none.';
    END IF;
    -- Models say null for what they leave out.
    SELECT coalesce(jsonb_object_agg(e.name, e.value) FILTER (WHERE e.value <> 'null'), '{}')
    INTO given
    FROM (SELECT e.name, CASE WHEN a.name IS NULL THEN e.value ELSE _tool_value(
                     e.value, a.type, a.json_type, a.required,
                     CASE WHEN a.name = called.kind_argument THEN '[]'
                          ELSE called.arguments -> a.name -> 'enum' END) END AS value
          FROM jsonb_each(arguments) AS e (name, value)
          LEFT JOIN _tool_arguments(code) AS a ON a.name = e.name) AS e;

    SELECT e.name, e.value, a.type, a.json_type, a.name IS NOT NULL AS known,
           CASE WHEN a.json_type = 'integer' THEN 'an integer'
                WHEN a.json_type = 'array' THEN 'an array of strings'
                WHEN a.json_type = 'object' THEN 'an object'
                WHEN a.type LIKE 'timestamp%' THEN 'a time such as 2026-03-01T09:30:00Z'
                ELSE 'a ' || a.json_type END AS wanted
    INTO wrong
    FROM jsonb_each(given) AS e (name, value)
    LEFT JOIN _tool_arguments(code) AS a ON a.name = e.name
    WHERE a.name IS NULL
       OR NOT CASE a.json_type
              WHEN 'object' THEN jsonb_typeof(e.value) = 'object'
              WHEN 'array' THEN jsonb_typeof(e.value) = 'array'
                  AND NOT jsonb_path_exists(e.value, 'strict $[*] ? (@.type() <> "string")')
              WHEN 'integer' THEN jsonb_typeof(e.value) = 'number'
                  AND pg_input_is_valid(e.value #>> '{}', a.type)
              ELSE jsonb_typeof(e.value) = a.json_type
                  AND _is_tool_value(e.value #>> '{}', a.type)
              END
    ORDER BY e.name
    LIMIT 1;
    IF FOUND AND NOT wrong.known THEN
        RAISE EXCEPTION 'tool % has no argument "%"', tool, wrong.name
            USING ERRCODE = 'ME008',
                  DETAIL = (SELECT 'Arguments: ' || coalesce(
                                       string_agg(a.name, ', ' ORDER BY a.place), 'none')
                            FROM _tool_arguments(code) AS a),
                  HINT = 'Call it again as memoir.tool_schemas() describes it.';
    ELSIF FOUND THEN
        RAISE EXCEPTION 'argument "%" of % must be %, not %',
                wrong.name, tool, wrong.wanted, left(wrong.value::text, 60)
            USING ERRCODE = 'ME008',
                  HINT = 'Call it again as memoir.tool_schemas() describes it.';
    END IF;

    SELECT a.* INTO wrong
    FROM _tool_arguments(code) AS a
    WHERE a.required AND NOT given ? a.name
    ORDER BY a.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'argument "%" of % is missing', wrong.name, tool
            USING ERRCODE = 'ME008',
                  HINT = 'Call it again as memoir.tool_schemas() describes it.';
    END IF;
    RETURN given;
END $$;

CREATE OR REPLACE FUNCTION call_tool(
    name text, arguments jsonb DEFAULT '{}', user_id text DEFAULT NULL,
    query_vec halfvec DEFAULT NULL, session_id text DEFAULT NULL)
    RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    started CONSTANT timestamptz := clock_timestamp();
    owner CONSTANT text := _resolve_user(user_id);
    called tool;
    code pg_proc;
    given jsonb;
    passed text;
    answer jsonb;
    refusal CONSTANT text := _writing_refused(owner, call_tool.session_id);
BEGIN
    SELECT t.* INTO called FROM tool AS t WHERE t.name = call_tool.name AND t.offered;
    SELECT p.* INTO code
    FROM pg_proc AS p
    WHERE p.proname = coalesce(called.calls, called.name)
      AND p.pronamespace = current_schema()::regnamespace;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown tool "%"', left(name, 100)
            USING ERRCODE = 'ME012',
                  DETAIL = (SELECT 'Tools: ' || coalesce(
                                       string_agg(s.value #>> '{function,name}', ', '), 'none')
                            FROM jsonb_array_elements(tool_schemas()) AS s),
                  HINT = 'Call one of these.';
    END IF;
    given := _check_tool_arguments(called, code.proname, coalesce(arguments, '{}'));
    IF refusal IS NOT NULL THEN
        RETURN jsonb_build_object('results', '[]'::jsonb, 'reason', refusal);
    END IF;

    SELECT string_agg(format(
               CASE WHEN a.json_type = 'array'
                    THEN '%1$I => ARRAY(SELECT jsonb_array_elements_text($1 -> %1$L))'
                    ELSE '%1$I => ($1 ->> %1$L)::%2$s' END, a.name, a.type), ', ')
    INTO passed
    FROM _tool_arguments(code.proname) AS a
    WHERE given ? a.name;
    SELECT concat_ws(', ', passed, string_agg(format(
               CASE WHEN a.name = 'user_id' THEN '%I => $2' ELSE '%I => $3' END, a.name), ', '))
    INTO passed
    FROM unnest(code.proargnames[:code.pronargs], code.proargtypes::oid[]) AS a (name, type)
    WHERE a.name = 'user_id' OR a.type = 'halfvec'::regtype;
    EXECUTE format(
        CASE WHEN code.proretset
             THEN 'SELECT jsonb_build_object(''results'', coalesce(jsonb_agg(r), ''[]''))'
             ELSE 'SELECT to_jsonb(r)' END || ' FROM %s(%s) AS r', code.oid::regproc, passed)
    INTO answer USING given, owner, query_vec;

    -- Not on a standby, and not for a role that may only read.
    IF current_setting('transaction_read_only') = 'off'
       AND has_table_privilege('tool_call', 'INSERT')
    THEN
        INSERT INTO tool_call AS c (
            user_id, created_at, tool, arguments, memory_ids, total_found, elapsed_ms)
        VALUES (
            owner, started, called.name,
            (SELECT coalesce(jsonb_object_agg(
                        e.name,
                        CASE WHEN jsonb_typeof(e.value) = 'string'
                             THEN to_jsonb(_redact_head(e.value #>> '{}'))
                             WHEN length(r.value::text) > 200
                             THEN to_jsonb(left(r.value::text, 200)) ELSE r.value END), '{}')
             FROM jsonb_each(given) AS e (name, value), LATERAL (
                 SELECT CASE WHEN jsonb_typeof(e.value) <> 'string'
                             THEN _redact_json(e.value) END AS value OFFSET 0) AS r),
            ARRAY(SELECT (k.value #>> '{}')::bigint
                  FROM jsonb_path_query(jsonb_build_array(answer) || coalesce(
                           answer -> 'results', '[]'), 'lax $[*].key') AS k (value)
                  WHERE k.value #>> '{}' ~ '^[0-9]{1,18}$'),
            (answer ->> 'total_found')::int,
            1000 * date_part('epoch', clock_timestamp() - started));
    END IF;
    RETURN answer;
END $$;

COMMENT ON FUNCTION call_tool(text, jsonb, text, halfvec, text) IS
    'Calls a tool as a model asks for it and returns its answer as a JSON object. name: a tool of '
    'tool_schemas(). arguments: a JSON object that satisfies its schema, or such an object as '
    'text; null is the same as left out, and what can mean nothing else is taken for it: "5" for '
    '5, a string for an array of one, "Keyword" for "keyword". user_id: whose memory. query_vec: '
    'vector of the query or the content, or NULL. session_id: the conversation; in a temporary '
    'one, and with memory off, the answer is empty and says why. A successful call is logged (view '
    'tool_calls). Errors: ME012 unknown tool, ME008 an argument is unknown, missing or of the '
    'wrong type, ME006 user, and those of the tool, such as those of memory_write() and those of '
    'search_memories(). Source: D2 3.4.1.';
