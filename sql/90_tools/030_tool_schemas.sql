-- Tools describe themselves: OpenAI's JSON for function calling, made from the catalogue, so that
-- signature, manual (\df+) and schema cannot differ. Arguments that are not a model's business,
-- user_id and vectors, are left out.
CREATE OR REPLACE FUNCTION _tool_arguments(code name)
    RETURNS TABLE (place int, name text, type text, json_type text, required boolean,
                   initial jsonb)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT t.place::int, t.name, t.type, t.json_type,
           t.place <= t.pronargs - t.pronargdefaults,
           CASE
               WHEN t.initial IS NULL OR t.initial LIKE 'NULL%' THEN NULL
               WHEN t.json_type = 'string' THEN to_jsonb(replace(t.literal, '''''', ''''))
               WHEN t.json_type IN ('integer', 'number', 'boolean') THEN t.literal::jsonb
           END
    FROM (
        SELECT a.place, a.name, format_type(a.type, NULL) AS type, p.pronargs, p.pronargdefaults,
               CASE WHEN a.type = ANY ('{int2,int4,int8}'::regtype[]) THEN 'integer'
                    WHEN a.type = ANY ('{float4,float8,numeric}'::regtype[]) THEN 'number'
                    WHEN a.type = 'bool'::regtype THEN 'boolean'
                    WHEN a.type = ANY ('{json,jsonb}'::regtype[]) THEN 'object'
                    WHEN a.type = 'text[]'::regtype THEN 'array'
                    ELSE 'string' END AS json_type,
               d.initial, regexp_replace(d.initial, '^''(.*)''::[^'']*$', '\1') AS literal
        FROM pg_proc AS p,
             unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[])
                 WITH ORDINALITY AS a (name, type, place),
             pg_get_function_arg_default(p.oid, a.place::int) AS d (initial)
        WHERE p.proname = _tool_arguments.code AND p.pronamespace = current_schema()::regnamespace
          AND a.name <> 'user_id'
          AND a.type <> ALL ('{vector,halfvec,sparsevec}'::regtype[])
    ) AS t
    ORDER BY t.place;
END $$;

-- The language of an argument such as zh-CN, among those that have a system prompt.
CREATE OR REPLACE FUNCTION _check_language(language text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    short CONSTANT text := _lower(substring(language FROM '^[[:alpha:]]+'));
BEGIN
    IF NOT EXISTS (SELECT FROM prompt AS p
                   WHERE p.kind = 'system_prompt' AND p.language = short AND p.active) THEN
        RAISE EXCEPTION 'no tools in language "%"', language
            USING ERRCODE = 'ME008',
                  DETAIL = (SELECT 'Languages: ' || string_agg(DISTINCT p.language, ', ')
                            FROM prompt AS p WHERE p.kind = 'system_prompt' AND p.active),
                  HINT = 'Use one of them. To add a language, insert it into memoir.prompt.';
    END IF;
    RETURN short;
END $$;

CREATE OR REPLACE FUNCTION tool_schemas(language text DEFAULT 'en') RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    spoken CONSTANT text := _check_language(tool_schemas.language);
    kinds CONSTANT jsonb := (SELECT jsonb_agg(k.name ORDER BY k.kind_id)
                             FROM kind AS k WHERE k.layer <> 'episodic');
    -- In a comment "name: ..." describes an argument; the rest describes the function.
    ending CONSTANT text := '\s(?:Returns |Errors: |Source: )|$)';
BEGIN
    RETURN (
        SELECT coalesce(jsonb_agg(
            jsonb_build_object('type', 'function', 'function', jsonb_build_object(
                'name', t.name,
                'description', coalesce(
                    t.texts -> spoken ->> 'description',
                    concat_ws(' ',
                        (regexp_match(t.comment, '^(.*?)(?=' || t.names || ending))[1],
                        (regexp_match(t.comment,
                                      '\s(Returns .*?)(?=\s(?:Errors: |Source: )|$)'))[1])),
                'parameters', jsonb_build_object(
                    'type', 'object',
                    'properties', t.properties,
                    'required', t.required,
                    'additionalProperties', false)))
            ORDER BY t.place, t.name COLLATE "C"), '[]')
        FROM (
            SELECT o.*, s.properties, s.required
            FROM (
                SELECT g.*, p.proname AS code,
                       coalesce(
                           obj_description(p.oid, 'pg_proc'),
                           (SELECT obj_description(n.oid, 'pg_proc') FROM pg_proc AS n
                            WHERE n.proname = g.name
                              AND n.pronamespace = current_schema()::regnamespace)) AS comment,
                       '\s(?:' || array_to_string(p.proargnames[:p.pronargs], '|') || '): |'
                           AS names
                FROM tool AS g
                JOIN pg_proc AS p ON p.proname = coalesce(g.calls, g.name)
                                 AND p.pronamespace = current_schema()::regnamespace
                WHERE g.offered
            ) AS o, LATERAL (
                SELECT coalesce(jsonb_object_agg(
                           a.name,
                           jsonb_strip_nulls(jsonb_build_object(
                               'type', a.json_type,
                               'format', CASE WHEN a.type LIKE 'timestamp%' THEN 'date-time' END,
                               'items', CASE WHEN a.json_type = 'array' THEN
                                   jsonb_build_object(
                                       'type', 'string',
                                       'enum', CASE WHEN a.name = o.kind_argument THEN kinds END)
                               END,
                               'enum', CASE WHEN a.name = o.kind_argument
                                             AND a.json_type = 'string' THEN kinds END,
                               'description', coalesce(
                                   o.texts -> spoken -> 'arguments' ->> a.name,
                                   a.said),
                               'default', a.initial))
                           || coalesce(o.arguments -> a.name, '{}')), '{}') AS properties,
                       coalesce(jsonb_agg(a.name ORDER BY a.place) FILTER (WHERE a.required), '[]')
                           AS required
                FROM (
                    SELECT i.*, (regexp_match(o.comment, '\s' || i.name || ': (.*?)(?=' || o.names
                                                         || ending))[1] AS said
                    FROM _tool_arguments(o.code) AS i
                ) AS a
            ) AS s
        ) AS t);
END $$;

COMMENT ON FUNCTION tool_schemas(text) IS
    'The tools of table tool as a JSON array in OpenAI''s form for function calling: type, '
    'function.name, description, and parameters as JSON Schema. language: en or zh (a region as in '
    'zh-CN is ignored). Arguments and types are those of the functions, the words are from their '
    'comments. A tool whose function is missing is left out. Errors: ME008 language. Source: D2 '
    '3.1.3.';
