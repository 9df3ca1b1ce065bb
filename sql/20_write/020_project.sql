-- Writes the recall projection (trace) of memories: everything that recall would otherwise compute
-- for each question. An index entry may hold 2,704 bytes; a row that would not fit is marked wide
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

-- The progress of a goal, without the sign that some write behind it.
CREATE OR REPLACE FUNCTION _percent(data jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN rtrim(_line(data ->> 'progress', 20), ' %');

-- The line of a goal says where it stands: one that has ended is recalled, too.
CREATE OR REPLACE FUNCTION _goal_line(said text, data jsonb) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _line(said, _line_length())
        || CASE WHEN jsonb_typeof(data -> 'status') = 'string'
                     AND _line(data ->> 'status', 40) <> ''
                THEN format(' (%s%s)', _line(data ->> 'status', 40),
                            ', ' || nullif(_percent(data), '') || '%')
                ELSE '' END;
END $$;

CREATE OR REPLACE FUNCTION _line_of(said text, is_goal boolean, data jsonb) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN is_goal THEN _goal_line(said, data) ELSE _line(said, _line_length()) END;

-- The shorter line, used when the line does not fit: the summary, or the beginning of a long text,
-- with where a goal stands (_goal_line) behind it; and its cost. They are called, not inlined: few
-- memories need them, and setting the expressions up would be a twentieth of every statement that
-- stores a memory.
CREATE OR REPLACE FUNCTION _brief(content text, summary text, line text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN coalesce(nullif(_line(summary, _line_length()), ''),
                    CASE WHEN length(line) > 2 * _brief_length()
                         THEN _line(content, _brief_length()) END)
        || CASE WHEN right(line, 1) = ')'
                THEN substr(line, length(_line(content, _line_length())) + 1) ELSE '' END;
END $$;

CREATE OR REPLACE FUNCTION _brief_cost(brief text) RETURNS float8
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _cost_of_line(brief);
END $$;

-- The names by which a memory is found: its speaker, its subject, and what it mentions.
CREATE OR REPLACE FUNCTION _names(speaker text, subject text, mentioned text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN concat_ws(' ', speaker, subject, mentioned);

-- The memories are new: they have no relations and mention nothing. model: the row of
-- embedding_model whose vectors they come with. In another model, its successor or predecessor,
-- they have none.
CREATE OR REPLACE FUNCTION _project(user_id text, model embedding_model, made new_memory[])
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO trace (user_id, memory_id, model, kind, created_at, importance,
                       session, position, asks, details, cost, brief_cost, term_count, terms,
                       embedding, line, brief, active, wide)
    SELECT _project.user_id, n.memory_id, e.model_id, n.kind_id, n.created_at, n.importance,
           CASE WHEN n.session_id IS NULL THEN 0
                ELSE (SELECT s.number FROM session AS s
                      WHERE s.user_id = _project.user_id AND s.session_id = n.session_id) END,
           CASE WHEN n.session_id IS NULL THEN -1 ELSE coalesce(n.position, -1) END,
           n.asks, n.details, _cost_of_line(n.line),
           CASE WHEN n.brief IS NOT NULL THEN _brief_cost(n.brief) END,
           n.term_count, n.terms, v.embedding, n.line, n.brief, n.status = 'active',
           _is_wide(v.embedding, n.term_count, n.line, _project.user_id)
    FROM (
        SELECT l.memory_id, l.kind_id, l.created_at, l.importance, l.session_id, l.position,
               l.embedding, l.status, l.line, w.asks, w.details, w.term_count,
               w.terms,
               CASE WHEN l.summary IS NOT NULL OR length(l.line) > 2 * _brief_length()
                    THEN _brief(l.said, l.summary, l.line) END AS brief
        FROM (SELECT s.memory_id, s.kind_id, s.created_at, s.importance, s.session_id, s.position,
                     s.embedding, s.status, s.content, s.summary, s.said,
                     _line_of(s.said, s.kind_id = 4::smallint, s.data) AS line,
                     _names(s.speaker, s.subject, NULL) AS names,
                     _searched_text(s.content, s.subject) AS searched_text
              FROM (SELECT m.memory_id, m.kind_id, m.created_at, m.importance, m.session_id,
                           m.position, m.embedding, m.status, m.content, m.summary, m.subject,
                           m.speaker, m.data,
                           _with_speaker(m.content, m.speaker, m.position) AS said
                    FROM unnest(made) AS m OFFSET 0) AS s
              OFFSET 0) AS l,
             _word_vector(l.content, l.searched_text, l.names) AS w
        OFFSET 0
    ) AS n
    CROSS JOIN embedding_model AS e
    CROSS JOIN LATERAL (SELECT CASE WHEN e.model_id = model.model_id THEN n.embedding
                               END AS embedding) AS v
    WHERE NOT e.dropping;
END $$;

-- Gives traces their vectors, in the order of their ids; only those without one unless overwrite.
-- text_hashes: of the texts they were made from (_text_hash). If a text has changed, which is known
-- once the traces are locked, its vector is dropped. This waits for nobody: a trace that an open
-- transaction is changing is left for the next time; otherwise a worker would stand still, or end
-- in a deadlock, next to any slow application. Memories that fill no slot and are no turns are
-- noted in table uncompared, to be compared by their new vectors.
CREATE OR REPLACE FUNCTION _store_vectors(
    user_id text, model smallint, memory_ids bigint[], embeddings halfvec[], overwrite boolean,
    text_hashes bigint[] DEFAULT NULL)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    lowest CONSTANT bigint := (SELECT min(i) FROM unnest(memory_ids) AS i);
    highest CONSTANT bigint := (SELECT max(i) FROM unnest(memory_ids) AS i);
    locked bigint[];
    stored bigint[];
BEGIN
    IF text_hashes IS NULL THEN
        locked := ARRAY(
            SELECT t.memory_id FROM trace AS t
            WHERE t.user_id = _store_vectors.user_id AND t.memory_id = ANY (memory_ids)
              AND t.memory_id BETWEEN lowest AND highest
              AND t.model = _store_vectors.model
            ORDER BY t.memory_id FOR NO KEY UPDATE);
    ELSE
        locked := ARRAY(
            SELECT t.memory_id FROM trace AS t
            WHERE t.user_id = _store_vectors.user_id AND t.memory_id = ANY (memory_ids)
              AND t.memory_id BETWEEN lowest AND highest
              AND t.model = _store_vectors.model
            ORDER BY t.memory_id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    WITH changed AS (
        UPDATE trace AS t
        SET embedding = v.embedding,
            wide = _is_wide(v.embedding, t.term_count, t.line, t.user_id)
        FROM (
            SELECT DISTINCT ON (g.memory_id) g.memory_id, g.embedding
            FROM unnest(memory_ids, embeddings, text_hashes) WITH ORDINALITY
                 AS g (memory_id, embedding, text_hash, place)
            WHERE g.embedding IS NOT NULL AND g.memory_id = ANY (locked)
              AND (g.text_hash IS NULL
                   OR g.text_hash = (SELECT _text_hash(m.user_id, m.content) FROM memory AS m
                                     WHERE m.user_id = _store_vectors.user_id
                                       AND m.memory_id = g.memory_id))
            ORDER BY g.memory_id, g.place
        ) AS v
        WHERE t.user_id = _store_vectors.user_id AND t.memory_id = v.memory_id
          AND t.memory_id = ANY (locked)
          AND t.memory_id BETWEEN locked[1] AND locked[cardinality(locked)]
          AND t.model = _store_vectors.model AND (overwrite OR t.embedding IS NULL)
        RETURNING t.memory_id
    )
    SELECT array_agg(c.memory_id ORDER BY c.memory_id) INTO stored FROM changed AS c;
    INSERT INTO uncompared (user_id, memory_id)
    SELECT _store_vectors.user_id, s.id
    FROM unnest(stored) AS s (id), LATERAL (
        SELECT FROM memory AS m
        WHERE m.user_id = _store_vectors.user_id AND m.memory_id BETWEEN s.id AND s.id
          AND m.status = 'active'
          AND m.subject IS NULL AND m.position IS NULL AND m.source IS NULL
        ORDER BY m.memory_id OFFSET 0) AS m
    WHERE _consolidates()
      AND (SELECT e.active FROM embedding_model AS e
           WHERE e.model_id = _store_vectors.model)
    ORDER BY s.id
    ON CONFLICT DO NOTHING;
    RETURN coalesce(cardinality(stored), 0);
END $$;
