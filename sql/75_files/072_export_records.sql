-- The lines of an export, one function per few records: {"memory": {...}}. Times are UTC and ids
-- text; NULL and empty values are left out, so that a line reads easily and the same rows always
-- make the same line.
CREATE OR REPLACE FUNCTION _record(record text, plain jsonb, documents jsonb DEFAULT '{}')
    RETURNS text
    LANGUAGE sql IMMUTABLE
    -- NULL inside a document of the user stays.
    RETURN jsonb_build_object(record, jsonb_strip_nulls(plain) || documents)::text;

CREATE OR REPLACE FUNCTION _unless_empty(name text, document jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN document IN ('{}', '[]') OR document IS NULL THEN '{}'
                ELSE jsonb_build_object(name, document) END;

CREATE OR REPLACE FUNCTION _export_conversations(user_id text) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT _record('user', jsonb_build_object(
               'rolling_summary', max(p.rolling_summary), 'summarised_at', max(p.summarised_at)),
               _unless_empty('settings', (array_agg(p.settings))[1]))
    FROM profile AS p WHERE p.user_id = user_id;
    RETURN QUERY
    SELECT _record('session', jsonb_build_object(
               'session_id', s.session_id, 'temporary', s.temporary, 'started_at', s.started_at,
               'ended_at', s.ended_at, 'next_position', s.next_position,
               'questions', nullif(s.questions, 0)),
               _unless_empty('data', s.data))
    FROM session AS s WHERE s.user_id = user_id
    ORDER BY s.number;
    RETURN QUERY
    SELECT _record('message', jsonb_build_object(
               'session_id', m.session_id, 'position', m.position, 'role', m.role,
               'speaker', m.speaker, 'content', m.content, 'created_at', m.created_at,
               'private', nullif(m.private, false)),
               _unless_empty('data', m.data))
    FROM message AS m WHERE m.user_id = user_id
    ORDER BY m.session_id COLLATE "C", m.position;
    RETURN QUERY
    SELECT _record('entity', jsonb_build_object(
               'entity_id', e.entity_id::text, 'name', e.name, 'type', e.type,
               'created_at', e.created_at))
    FROM entity AS e WHERE e.user_id = user_id
    ORDER BY e.entity_id;
END $$;

-- What belongs to a memory and has no id of its own stands in its line: keywords, entities, how
-- often it was recalled, its vector by the model in use (model NULL: no vectors).
CREATE OR REPLACE FUNCTION _export_memories(user_id text, model smallint) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT _record('memory', jsonb_build_object(
               'memory_id', m.memory_id::text, 'kind', m.kind, 'content', m.content,
               'summary', m.summary, 'subject', m.subject, 'importance', m.importance,
               'confidence', m.confidence, 'origin', m.origin, 'session_id', m.session_id,
               'position', m.position, 'speaker', m.speaker, 'source', m.source,
               'source_key', m.source_key, 'valid_from', m.valid_from,
               'valid_until', m.valid_until, 'lifetime', m.lifetime, 'status', m.status,
               'retired_at', m.retired_at, 'created_at', m.created_at,
               'recorded_at', m.recorded_at, 'updated_at', m.updated_at)
               || jsonb_build_object('recalled', (
                   SELECT jsonb_build_object('count', a.count, 'last_at', a.last_at)
                   FROM access AS a WHERE a.user_id = user_id AND a.memory_id = m.memory_id))
               || jsonb_build_object('embedding', (
                   SELECT t.embedding::text FROM trace AS t
                   WHERE t.user_id = user_id AND t.memory_id = m.memory_id AND t.model = model)),
               _unless_empty('data', m.data)
               || _unless_empty('keywords', (
                   SELECT jsonb_agg(jsonb_build_object(
                              'keyword', k.keyword, 'weight', k.weight, 'origin', k.origin)
                          ORDER BY k.keyword)
                   FROM keyword AS k WHERE k.user_id = user_id AND k.memory_id = m.memory_id))
               || _unless_empty('entity_ids', (
                   SELECT jsonb_agg(n.entity_id::text ORDER BY n.entity_id)
                   FROM mention AS n WHERE n.user_id = user_id AND n.memory_id = m.memory_id)))
    FROM memory AS m WHERE m.user_id = user_id
    ORDER BY m.memory_id;
    RETURN QUERY
    SELECT _record('relation', jsonb_build_object(
               'from_id', r.from_id::text, 'to_id', r.to_id::text, 'type', r.type,
               'strength', r.strength, 'change_id', r.change_id::text,
               'created_at', r.created_at))
    FROM relation AS r WHERE r.user_id = user_id
    ORDER BY r.from_id, r.to_id, r.type COLLATE "C";
    RETURN QUERY
    SELECT _record('revision', jsonb_build_object(
               'revision_id', r.revision_id::text, 'memory_id', r.memory_id::text,
               'action', r.action, 'author', r.author, 'reason', r.reason,
               'change_id', r.change_id::text, 'run_id', r.run_id::text,
               'undoes', r.undoes::text, 'created_at', r.created_at),
               CASE WHEN r.old_values IS NULL THEN '{}'
                    ELSE jsonb_build_object('old_values',
                             _old_values(r.old_values, coalesce(r.model = model, false))) END)
    FROM revision AS r WHERE r.user_id = user_id
    ORDER BY r.revision_id;
END $$;

-- A vector that stays behind leaves its place: undo() must not keep that of the newer text.
CREATE OR REPLACE FUNCTION _old_values(old_values jsonb, vectors boolean) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN old_values ? 'embedding' AND NOT vectors
                THEN old_values || '{"embedding": null}' ELSE old_values END;

-- The content of memory.json and the day logs: as text, because a JSON document would lose its
-- form.
CREATE OR REPLACE FUNCTION _export_files(user_id text) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT _record('file_entry', jsonb_build_object(
               'entry_id', f.entry_id, 'memory_id', f.memory_id::text, 'place', f.place,
               'written', f.written::text, 'digest', f.digest))
    FROM file_entry AS f WHERE f.user_id = user_id
    ORDER BY f.entry_id COLLATE "C";
    RETURN QUERY
    SELECT _record('file_head', jsonb_build_object(
               'name', f.name, 'written', f.written::text, 'read_at', f.read_at))
    FROM file_head AS f WHERE f.user_id = user_id
    ORDER BY f.name COLLATE "C";
END $$;

-- Events, including those the log of recalls was folded into, and what else is kept of questions.
CREATE OR REPLACE FUNCTION _export_logs(user_id text, model smallint) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT _record('event', jsonb_build_object(
               'event_id', e.event_id::text, 'type', e.type, 'created_at', e.created_at,
               'archived', (SELECT true FROM job AS j
                            WHERE j.user_id = user_id AND j.job_id = e.archive_job
                              AND j.status = 'done'),
               'log_entry', e.log_entry::text, 'log_place', e.log_place, 'source', e.source,
               'source_key', e.source_key),
               jsonb_build_object('payload', e.payload))
    FROM event AS e WHERE e.user_id = user_id
    ORDER BY e.event_id, e.created_at;
    RETURN QUERY
    SELECT _record('gold', jsonb_build_object(
               'gold_id', g.gold_id::text, 'gold_set', g.gold_set, 'query', g.query,
               'created_at', g.created_at,
               'embedding', CASE WHEN g.model = model THEN g.query_vec::text END),
               jsonb_build_object('relevant', (
                   SELECT coalesce(jsonb_agg(jsonb_build_object(
                              'memory_id', r.memory_id::text, 'grade', r.grade)
                          ORDER BY r.memory_id), '[]')
                   FROM gold_relevant AS r
                   WHERE r.user_id = user_id AND r.gold_id = g.gold_id)))
    FROM gold AS g WHERE g.user_id = user_id
    ORDER BY g.gold_id;
    RETURN QUERY
    SELECT _record('expansion', jsonb_build_object(
               'query', q.query, 'uses', q.uses, 'created_at', q.created_at),
               jsonb_build_object('expansion', q.expansion))
    FROM query_expansion AS q WHERE q.user_id = user_id
    ORDER BY q.query_hash;
    RETURN QUERY
    SELECT _record('retrieval', jsonb_build_object(
               'retrieval_id', r.retrieval_id::text, 'created_at', r.created_at,
               'as_of', r.as_of, 'mode', r.mode, 'query', r.query, 'ids', r.ids::text[],
               'kinds', ARRAY(SELECT k.name
                              FROM unnest(r.kinds) WITH ORDINALITY AS i (kind_id, place)
                              JOIN kind AS k USING (kind_id) ORDER BY i.place),
               'scores', r.score,
               'weights', (SELECT coalesce(jsonb_object_agg(k.name, r.weights[k.kind_id]), '{}')
                           FROM kind AS k WHERE r.weights[k.kind_id] IS NOT NULL),
               'chosen', r.chosen, 'token_used', r.token_used, 'token_budget', r.token_budget,
               'elapsed_ms', r.elapsed_ms, 'used_ids', r.used_ids::text[],
               'counted', r.counted))
    FROM _recalls_here(user_id) AS r
    ORDER BY r.retrieval_id;
    RETURN QUERY
    SELECT _record('tool_call', jsonb_build_object(
               'tool_call_id', c.tool_call_id::text, 'created_at', c.created_at, 'tool', c.tool,
               'memory_ids', c.memory_ids::text[], 'total_found', c.total_found,
               'elapsed_ms', c.elapsed_ms, 'counted', c.counted),
               jsonb_build_object('arguments', c.arguments))
    FROM _tool_calls_here(user_id) AS c
    ORDER BY c.tool_call_id;
END $$;
