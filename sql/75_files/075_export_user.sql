-- Everything a user has, as lines of JSON: to move the user to another database, or to answer a
-- user who asks what is stored. One statement, so that all of it is of one moment.

-- How many records of each sort the file has, and the highest of their ids.
CREATE OR REPLACE FUNCTION _record_counts(user_id text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN (
        SELECT jsonb_object_agg(c.record, c.number)
        FROM (
            SELECT 'user' AS record, 1 AS number
            UNION ALL SELECT 'session', count(*) FROM session AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'message', count(*) FROM message AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'entity', count(*) FROM entity AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'memory', count(*) FROM memory AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'relation', count(*) FROM relation AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'revision', count(*) FROM revision AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'file_entry', count(*)
                      FROM file_entry AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'file_head', count(*) FROM file_head AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'event', count(*) FROM event AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'gold', count(*) FROM gold AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'expansion', count(*)
                      FROM query_expansion AS t WHERE t.user_id = user_id
            UNION ALL SELECT 'retrieval', count(*) FROM _recalls_here(user_id) AS t
            UNION ALL SELECT 'tool_call', count(*) FROM _tool_calls_here(user_id) AS t
        ) AS c
        WHERE c.number > 0);
END $$;

CREATE OR REPLACE FUNCTION _highest_id(user_id text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN greatest(
        0,
        (SELECT max(t.memory_id) FROM memory AS t WHERE t.user_id = user_id),
        (SELECT greatest(max(t.revision_id), max(t.change_id), max(t.run_id))
         FROM revision AS t WHERE t.user_id = user_id),
        (SELECT max(t.change_id) FROM relation AS t WHERE t.user_id = user_id),
        (SELECT max(t.entity_id) FROM entity AS t WHERE t.user_id = user_id),
        (SELECT max(t.event_id) FROM event AS t WHERE t.user_id = user_id),
        (SELECT max(t.gold_id) FROM gold AS t WHERE t.user_id = user_id),
        (SELECT max(t.retrieval_id) FROM _recalls_here(user_id) AS t),
        (SELECT max(t.tool_call_id) FROM _tool_calls_here(user_id) AS t));
END $$;

-- The checksum covers all lines but the first, each with the sum before it: two exports of the same
-- rows differ only in their first line, and a cut or changed file is detected.
CREATE OR REPLACE FUNCTION _next_checksum(checksum bytea, line text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(checksum || convert_to(line, 'UTF8'));

CREATE OR REPLACE FUNCTION export_user(
    user_id text DEFAULT NULL, vectors boolean DEFAULT false, at timestamptz DEFAULT NULL)
    RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET timezone = 'UTC' SET extra_float_digits = 1 SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    of_model record;
    line text;
    number bigint := 1;
    checksum bytea := '';
BEGIN
    SELECT m.model_id, m.name, m.dimensions INTO of_model
    FROM embedding_model AS m
    WHERE m.active AND m.dimensions IS NOT NULL AND export_user.vectors;
    RETURN NEXT jsonb_build_object('pgmemoir', jsonb_build_object(
        'version', 1, 'user_id', owner, 'exported_at', coalesce(at, now()),
        'highest_id', _highest_id(owner)::text, 'counts', _record_counts(owner))
        || CASE WHEN of_model.dimensions IS NULL THEN '{}'
                ELSE jsonb_build_object('model', jsonb_build_object(
                    'name', of_model.name, 'dimensions', of_model.dimensions)) END)::text;
    FOR line IN
        SELECT c FROM _export_conversations(owner) AS c
        UNION ALL SELECT m FROM _export_memories(owner, of_model.model_id) AS m
        UNION ALL SELECT f FROM _export_files(owner) AS f
        UNION ALL SELECT l FROM _export_logs(owner, of_model.model_id) AS l
    LOOP
        number := number + 1;
        checksum := _next_checksum(checksum, line);
        RETURN NEXT line;
    END LOOP;
    RETURN NEXT jsonb_build_object('end', jsonb_build_object(
        'lines', number + 1, 'sha256', encode(checksum, 'hex')))::text;
END $$;

COMMENT ON FUNCTION export_user(text, boolean, timestamptz) IS
    'Everything a user has, as lines of JSON in UTF-8: settings, sessions with their messages, '
    'entities, memories of every status with keywords, validity and provenance, relations, '
    'revisions, events, gold sets, and the logs of recalls and tool calls, of which a standby has '
    'none. What is made from these (traces, statistics) and jobs that wait are left out. The '
    'first line says what follows, the last has its checksum. vectors: with the vectors of the '
    'model in use, so that an import needs no embedding. at: the time to write into the first '
    'line; NULL: now. import_user() reads it; the same rows always make the same lines, except '
    'for that time. Nothing of another user is in it, and what redact() would remove was never '
    'stored. Errors: ME006 user. Source: SPEC 10.';
