-- Writes the recall projection (trace) of memories: everything recall would otherwise work out at
-- question time. An index entry may hold 2,704 bytes; a row that would not fit is marked wide and
-- read from the table instead.
CREATE OR REPLACE FUNCTION _is_wide(embedding halfvec, term_count int, line text, user_id text)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(2 * vector_dims(embedding), 0) + 8 * (term_count + 18)
           + octet_length(line) + octet_length(user_id) > 2520;

-- As many words as fit one page beside the vector.
CREATE OR REPLACE FUNCTION _term_limit(model smallint) RETURNS int
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN least(512, greatest(16, (7600 - 2 * coalesce(
        (SELECT e.dimensions FROM embedding_model AS e WHERE e.model_id = _term_limit.model),
        1536)) / 8));
END $$;

-- The memories are new: they have no relations and mention nothing. A name of one is that of its
-- speaker or its subject.
CREATE OR REPLACE FUNCTION _project(user_id text, model smallint, made new_memory[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    term_limit CONSTANT int := _term_limit(model);
    line_length int;
    brief_length int;
BEGIN
    SELECT max(s.value::int) FILTER (WHERE s.name = 'line_length'),
           max(s.value::int) FILTER (WHERE s.name = 'brief_length')
    INTO line_length, brief_length
    FROM setting AS s WHERE s.name IN ('line_length', 'brief_length');

    INSERT INTO trace (user_id, memory_id, model, kind, created_at, importance,
                       session, position, asks, cost, brief_cost, term_count, terms,
                       embedding, line, brief, wide)
    SELECT _project.user_id, n.memory_id, _project.model, n.kind_id, n.created_at, n.importance,
           CASE WHEN n.session_id IS NULL THEN 0
                ELSE (SELECT s.number FROM session AS s
                      WHERE s.user_id = _project.user_id AND s.session_id = n.session_id) END,
           CASE WHEN n.session_id IS NULL THEN -1 ELSE coalesce(n.position, -1) END,
           w.asks, _token_cost(b.line_bullet), _token_cost(b.brief_bullet), w.term_count, w.terms,
           n.embedding, b.line, b.brief,
           _is_wide(n.embedding, w.term_count, b.line, _project.user_id)
    FROM unnest(made) AS n,
         LATERAL _word_vector(
             n.content, concat_ws(' ', n.speaker, n.subject), term_limit) AS w,
         LATERAL (SELECT _line(n.content, line_length) AS line OFFSET 0) AS l,
         LATERAL (SELECT l.line, '- ' || l.line || E'\n' AS line_bullet,
                         s.brief, '- ' || s.brief || E'\n' AS brief_bullet
                  FROM (SELECT coalesce(
                            nullif(_line(n.summary, line_length), ''),
                            CASE WHEN length(l.line) > 2 * brief_length
                                 THEN _line(n.content, brief_length) END) AS brief
                        OFFSET 0) AS s
                  OFFSET 0) AS b;
END $$;

-- Gives traces their vectors, in the order of their ids; only those without one unless overwrite.
CREATE OR REPLACE FUNCTION _store_vectors(
    user_id text, model smallint, memory_ids bigint[], embeddings halfvec[], overwrite boolean)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    number int;
BEGIN
    UPDATE trace AS t
    SET embedding = v.embedding,
        wide = _is_wide(v.embedding, t.term_count, t.line, t.user_id)
    FROM (
        SELECT DISTINCT ON (g.memory_id) g.memory_id, g.embedding
        FROM unnest(memory_ids, embeddings) WITH ORDINALITY AS g (memory_id, embedding, place)
        WHERE g.embedding IS NOT NULL
        ORDER BY g.memory_id, g.place
    ) AS v
    WHERE t.user_id = _store_vectors.user_id AND t.memory_id = v.memory_id
      AND t.model = _store_vectors.model AND (overwrite OR t.embedding IS NULL);
    GET DIAGNOSTICS number = ROW_COUNT;
    RETURN number;
END $$;
