-- Writes the recall projection (trace) of one memory: everything recall would otherwise work out
-- at question time. An index entry may hold 2,704 bytes; a row that would not fit is marked wide
-- and read from the table instead.
CREATE OR REPLACE FUNCTION _fills_entry(
    dimensions int, term_count int, line text, user_id text)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 2 * dimensions + 8 * (term_count + 18) + octet_length(line) + octet_length(user_id)
           > 2520;

CREATE OR REPLACE FUNCTION _is_wide(embedding halfvec, term_count int, line text, user_id text)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _fills_entry(coalesce(vector_dims(embedding), 0), term_count, line, user_id);

-- The words of a memory and its features, as many words as fit one page beside the vector. A name
-- of it is that of its speaker, its subject or an entity it mentions.
CREATE OR REPLACE FUNCTION _trace_terms(
    record memory, model smallint, OUT term_count int, OUT terms sparsevec)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    term_limit CONSTANT int := least(512, greatest(16, (7600 - 2 * coalesce(
        (SELECT e.dimensions FROM embedding_model AS e WHERE e.model_id = _trace_terms.model),
        1536)) / 8));
    term_list CONSTANT int[] := (_terms(record.content))[:term_limit];
    names CONSTANT text := concat_ws(' ', record.speaker, record.subject, (
        SELECT string_agg(e.name, ' ' ORDER BY e.entity_id)
        FROM mention AS m
        JOIN entity AS e ON e.user_id = m.user_id AND e.entity_id = m.entity_id
        WHERE m.user_id = record.user_id AND m.memory_id = record.memory_id));
BEGIN
    term_count := cardinality(term_list);
    terms := _term_set(term_list, _features(record.content, names));
END $$;

CREATE OR REPLACE FUNCTION _project(
    user_id text, memory_id bigint, model smallint, embedding halfvec)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    line_length CONSTANT int := (SELECT value::int FROM setting WHERE name = 'line_length');
    brief_length CONSTANT int := (SELECT value::int FROM setting WHERE name = 'brief_length');
    record memory;
    text_line text;
    brief_line text;
    words record;
    is_derived boolean;
BEGIN
    SELECT m.* INTO STRICT record
    FROM memory AS m WHERE m.user_id = _project.user_id AND m.memory_id = _project.memory_id;
    text_line := _line(record.content, line_length);
    brief_line := coalesce(
        nullif(_line(record.summary, line_length), ''),
        CASE WHEN length(text_line) > 2 * brief_length
             THEN _line(record.content, brief_length) END);
    words := _trace_terms(record, _project.model);
    INSERT INTO trace AS t (user_id, memory_id, model, kind, created_at, importance,
                            session, position, asks, derived, cost, brief_cost, term_count, terms,
                            embedding, line, brief, wide)
    SELECT record.user_id, record.memory_id, _project.model, k.kind_id, record.created_at,
           record.importance,
           _session_number(record.user_id, record.session_id),
           CASE WHEN record.session_id IS NULL THEN -1 ELSE coalesce(record.position, -1) END,
           _is_question(record.content),
           EXISTS (SELECT FROM relation AS r
                   WHERE r.user_id = record.user_id AND r.from_id = record.memory_id
                     AND r.type = 'derived_from'),
           _token_cost('- ' || text_line || E'\n'), _token_cost('- ' || brief_line || E'\n'),
           words.term_count, words.terms, _project.embedding,
           text_line, brief_line,
           _is_wide(_project.embedding, words.term_count, text_line, record.user_id)
    FROM kind AS k WHERE k.name = record.kind
    RETURNING t.derived INTO is_derived;
    IF is_derived THEN
        PERFORM _mark_derived(record.user_id, record.memory_id);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _store_vector(
    user_id text, memory_id bigint, model smallint, embedding halfvec, overwrite boolean)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE trace AS t
    SET embedding = _store_vector.embedding,
        wide = _is_wide(_store_vector.embedding, t.term_count, t.line, t.user_id)
    WHERE t.user_id = _store_vector.user_id AND t.memory_id = _store_vector.memory_id
      AND t.model = _store_vector.model AND (overwrite OR t.embedding IS NULL);
    RETURN FOUND;
END $$;
