-- Imports files of agents, events, gold sets and logs: what was asked and shown, with new ids. As
-- in 082_import_records.sql, one statement per table.

CREATE OR REPLACE FUNCTION _import_file_entries(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO file_entry (user_id, entry_id, memory_id, place, written, digest)
    SELECT reading.user_id, f.entry_id, _new_id(reading, f.memory_id), f.place,
           _redact_written(f.written::json), f.digest
    FROM unnest(bodies) AS b (body), jsonb_to_record(b.body) AS f (
        entry_id text, memory_id bigint, place int, written text, digest uuid);
END $$;

CREATE OR REPLACE FUNCTION _import_file_heads(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO file_head (user_id, name, written, read_at)
    SELECT reading.user_id, f.name, _redact_written(f.written::json),
           _check_time(f.read_at, 'read_at')
    FROM unnest(bodies) AS b (body), jsonb_to_record(b.body) AS f (
        name text, written text, read_at timestamptz);
END $$;

-- An object with a new id under a name; without that name it stays as it is.
CREATE OR REPLACE FUNCTION _with_new_id(shift bigint, object jsonb, name text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    RETURN object || CASE WHEN _said_id(object -> name) IS NULL THEN '{}'
                          ELSE jsonb_build_object(
                              name, (_said_id(object -> name) + shift)::text) END;

-- The ids in the events that memoir itself wrote.
CREATE OR REPLACE FUNCTION _new_payload(shift bigint, type text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF shift = 0 OR NOT _is_log(type) THEN
        RETURN payload;
    END IF;
    payload := _with_new_id(shift, _with_new_id(shift, payload, 'memory_id'), 'retrieval_id');
    IF jsonb_typeof(payload -> 'injected') = 'array' THEN
        payload := payload || jsonb_build_object('injected', (
            SELECT coalesce(jsonb_agg(_with_new_id(
                       shift, _with_new_id(shift, i.line, 'memory_id'), 'event_id')
                       ORDER BY i.place), '[]')
            FROM jsonb_array_elements(payload -> 'injected') WITH ORDINALITY AS i (line, place)));
    END IF;
    IF jsonb_typeof(payload -> 'used') = 'array' THEN
        payload := payload || jsonb_build_object('used', (
            SELECT coalesce(jsonb_agg((_said_id(u.id) + shift)::text ORDER BY u.place), '[]')
            FROM jsonb_array_elements(payload -> 'used') WITH ORDINALITY AS u (id, place)));
    END IF;
    RETURN payload;
END $$;

-- The job that stands for those which summarised the events of the file: they are not summarised
-- again, and are deleted when their time has come.
CREATE OR REPLACE FUNCTION _archived_by(reading import, bodies jsonb[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    made bigint := reading.archive_job;
BEGIN
    IF made IS NULL AND EXISTS (SELECT FROM unnest(bodies) AS b (body)
                                WHERE (b.body ->> 'archived')::boolean)
    THEN
        INSERT INTO job AS j (user_id, kind, payload, status, finished_at)
        VALUES (reading.user_id, 'archive', '{"event_ids": [], "imported": true}', 'done', now())
        RETURNING j.job_id INTO made;
    END IF;
    RETURN made;
END $$;

-- Of a folded recall (_fold_log), recall reads only what it is.
CREATE OR REPLACE FUNCTION _import_events(reading import, bodies jsonb[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    archived_by CONSTANT bigint := _archived_by(reading, bodies);
BEGIN
    INSERT INTO event (user_id, event_id, type, payload, created_at, line, cost, terms, term_count,
                       archive_job, log_entry, log_place, source, source_key)
    SELECT reading.user_id, _new_id(reading, e.event_id), e.type,
           _new_payload(reading.shift, e.type, e.payload), _check_time(e.created_at, 'created_at'),
           l.line, _cost_of_line(l.line), _term_set(t.terms, '{}'),
           cardinality(t.terms), CASE WHEN e.archived THEN archived_by END,
           CASE WHEN e.log_entry IS NOT NULL THEN _redact_written(e.log_entry::json) END,
           e.log_place, e.source, e.source_key
    FROM unnest(bodies) AS b (body),
         LATERAL (
             SELECT r.event_id, r.type, _redact_json(r.payload) AS payload, r.created_at,
                    r.archived, r.log_entry, r.log_place, r.source, r.source_key,
                    r.type = 'memory_retrieval' AND r.payload ? 'retrieval_id' AS folded
             FROM jsonb_to_record(b.body) AS r (
                 event_id bigint, type text, payload jsonb, created_at timestamptz,
                 archived boolean, log_entry text, log_place int, source text,
                 source_key text)
             OFFSET 0) AS e,
         LATERAL (SELECT CASE WHEN e.folded THEN '[memory_retrieval]'
                              ELSE _event_line(e.type, e.payload) END AS line OFFSET 0) AS l,
         LATERAL (SELECT CASE WHEN e.folded THEN '{}' ELSE _terms(l.line) END AS terms
                  OFFSET 0) AS t;
    RETURN archived_by;
END $$;

-- Two questions that are one here have the answers of both.
CREATE OR REPLACE FUNCTION _import_gold(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    in_use CONSTANT embedding_model := _known_model(NULL);
BEGIN
    INSERT INTO gold (user_id, gold_id, gold_set, query, query_hash, query_vec, model, created_at)
    SELECT reading.user_id, _new_id(reading, g.gold_id), g.gold_set, g.query,
           sha256(convert_to(g.query, 'UTF8')),
           CASE WHEN reading.vectors
                THEN _check_vector(g.embedding::halfvec, in_use.dimensions) END,
           CASE WHEN reading.vectors AND g.embedding IS NOT NULL THEN in_use.model_id END,
           _check_time(g.created_at, 'created_at')
    FROM unnest(bodies) AS b (body), LATERAL (
        SELECT r.gold_id, r.gold_set, _redact(r.query) AS query, r.created_at, r.embedding
        FROM jsonb_to_record(b.body) AS r (
            gold_id bigint, gold_set text, query text, created_at timestamptz, embedding text)
        OFFSET 0) AS g
    ON CONFLICT (user_id, gold_set, query_hash) DO NOTHING;
    INSERT INTO gold_relevant (user_id, gold_id, memory_id, grade)
    SELECT reading.user_id, o.gold_id, _new_id(reading, r.memory_id), r.grade
    FROM unnest(bodies) AS b (body),
         jsonb_to_record(b.body) AS g (gold_set text, query text, relevant jsonb)
         JOIN gold AS o ON o.user_id = reading.user_id AND o.gold_set = g.gold_set
                       AND o.query_hash = sha256(convert_to(_redact(g.query), 'UTF8')),
         jsonb_to_recordset(g.relevant) AS r (memory_id bigint, grade float8)
    ON CONFLICT DO NOTHING;
END $$;

-- An expansion has the words of its question in lower case, so that a secret is not known by its
-- capitals: that of a question which the rules change is left out. A worker makes another.
CREATE OR REPLACE FUNCTION _import_expansions(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO query_expansion (user_id, query_hash, query, expansion, uses, created_at)
    SELECT reading.user_id, _query_hash(q.query), q.query, _redact_json(q.expansion), q.uses,
           _check_time(q.created_at, 'created_at')
    FROM unnest(bodies) AS b (body), jsonb_populate_record(NULL::query_expansion, b.body) AS q
    WHERE _redact(q.query) = q.query;
END $$;

-- Whether a recall has values that the log can be read with. A weight is what a mode may give to a
-- kind.
CREATE OR REPLACE FUNCTION _check_retrieval(as_of timestamptz, scores float8[], weights jsonb)
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF EXISTS (SELECT FROM jsonb_each_text(weights) AS w
               WHERE NOT (w.value::float8 = 0 OR w.value::float8 BETWEEN 1e-6 AND 1e6))
       OR EXISTS (SELECT FROM unnest(scores) AS s WHERE NOT s BETWEEN -1e100 AND 1e100)
       OR as_of < '1970-01-01 00:00:00+00'
    THEN
        RAISE EXCEPTION 'weights, scores or as_of are not those of a recall'
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
END $$;

-- Kinds by their numbers here.
CREATE OR REPLACE FUNCTION _import_retrievals(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO retrieval (user_id, retrieval_id, created_at, as_of, mode, query, ids, kinds, score,
                           weights, chosen, token_used, token_budget, elapsed_ms, used_ids, counted)
    SELECT reading.user_id, _new_id(reading, r.retrieval_id),
           _check_time(r.created_at, 'created_at'), nullif(r.as_of, 'infinity'), r.mode,
           _redact(r.query), _new_ids(reading, r.ids),
           ARRAY(SELECT (_check_kind(k.name)).kind_id
                 FROM unnest(r.kinds) WITH ORDINALITY AS k (name, place) ORDER BY k.place),
           r.scores,
           ARRAY(SELECT (r.weights ->> k.name)::float8
                 FROM generate_series(1, (SELECT max(k.kind_id) FROM kind AS k
                                          WHERE r.weights ? k.name)) AS n (kind_id)
                 LEFT JOIN kind AS k ON k.kind_id = n.kind_id ORDER BY n.kind_id),
           r.chosen, r.token_used, r.token_budget, r.elapsed_ms,
           CASE WHEN r.used_ids IS NOT NULL THEN _new_ids(reading, r.used_ids) END, r.counted
    FROM unnest(bodies) AS b (body), jsonb_to_record(b.body) AS r (
        retrieval_id bigint, created_at timestamptz, as_of timestamptz, mode text, query text,
        ids bigint[], kinds text[], scores float8[], weights jsonb, chosen int[], token_used int,
        token_budget int, elapsed_ms float8, used_ids bigint[], counted boolean),
        _check_retrieval(r.as_of, r.scores, r.weights);
END $$;

CREATE OR REPLACE FUNCTION _import_tool_calls(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO tool_call (user_id, tool_call_id, created_at, tool, arguments, memory_ids,
                           total_found, elapsed_ms, counted)
    SELECT reading.user_id, _new_id(reading, c.tool_call_id),
           _check_time(c.created_at, 'created_at'), c.tool,
           _redact_json(c.arguments), _new_ids(reading, c.memory_ids),
           c.total_found, c.elapsed_ms, c.counted
    FROM unnest(bodies) AS b (body), jsonb_populate_record(NULL::tool_call, b.body) AS c;
END $$;
