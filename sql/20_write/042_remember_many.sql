-- Stores many memories at once, all or none: does what remember() does with each in turn, in one
-- statement per table. An error names its memory, which is looked for only if there is an error.
CREATE OR REPLACE FUNCTION _check_batch(memories jsonb, embeddings halfvec[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    known CONSTANT text[] :=
        '{content,kind,subject,importance,data,summary,created_at,session_id,turn,speaker,source,'
        'confidence,keywords,sources,valid_from,valid_until}';
    bad record;
BEGIN
    IF coalesce(jsonb_typeof(memories), 'NULL') <> 'array' THEN
        RAISE EXCEPTION 'memories must be a JSON array, not %',
                coalesce(jsonb_typeof(memories), 'NULL')
            USING ERRCODE = 'ME008',
                  HINT = 'SELECT * FROM memoir.remember_many(''[{"content": "tea is green"}]'');';
    END IF;
    SELECT e.place, jsonb_typeof(e.memory) AS type,
           (SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(
                CASE WHEN jsonb_typeof(e.memory) = 'object' THEN e.memory END - known) AS k) AS keys
    INTO bad
    FROM jsonb_array_elements(memories) WITH ORDINALITY AS e (memory, place)
    WHERE CASE WHEN jsonb_typeof(e.memory) = 'object' THEN e.memory - known <> '{}' ELSE true END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'memory %: %', bad.place,
                coalesce('unknown key ' || bad.keys, 'a memory is an object, not ' || bad.type)
            USING ERRCODE = 'ME008', DETAIL = 'Keys: ' || array_to_string(known, ', '),
                  HINT = 'Pass the vectors as embeddings, and one user_id for all.';
    END IF;
    PERFORM _check_vectors(embeddings, jsonb_array_length(memories), 'memories');
END $$;

-- The memories of a batch, read and checked; dimensions are those of the model or of the first
-- vector. A time such as 03/04/2026, which the session's DateStyle would read as March or as April,
-- is refused.
CREATE OR REPLACE FUNCTION _read_batch(
    user_id text, memories jsonb, embeddings halfvec[], dimensions int) RETURNS new_memory[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET DateStyle = 'ISO, YMD'
AS $$
#variable_conflict use_column
DECLARE
    result new_memory[];
BEGIN
    WITH said AS MATERIALIZED (
        SELECT _redact(r.content) AS content,
               CASE WHEN e.memory ? 'kind' THEN r.kind ELSE 'general' END AS kind,
               _redact(r.subject) AS subject, r.importance,
               _redact_json(_json_given(r.data)) AS data,
               _redact(r.summary) AS summary, e.embedding, r.created_at, r.session_id, r.turn,
               _redact(r.speaker) AS speaker, r.source, r.confidence, r.valid_from, r.valid_until,
               e.place
        FROM ROWS FROM (jsonb_array_elements(memories), unnest(embeddings))
                 WITH ORDINALITY AS e (memory, embedding, place),
             jsonb_to_record(e.memory) AS r (
                 content text, kind text, subject text, importance float8, data jsonb,
                 summary text, created_at timestamptz, session_id text, turn int, speaker text,
                 source text, confidence float8, valid_from timestamptz,
                 valid_until timestamptz)
    ), of_kind AS MATERIALIZED (
        SELECT d.kind AS said, _check_kind(d.kind) AS kind
        FROM (SELECT DISTINCT s.kind FROM said AS s) AS d
    )
    SELECT array_agg(_new_memory(
               o.kind, o.content, o.subject, o.importance, o.data, o.summary,
               _check_vector(o.embedding, _read_batch.dimensions), o.created_at, o.session_id,
               o.turn, o.speaker, o.source, o.confidence, o.valid_from, o.valid_until))
    INTO result
    FROM (
        SELECT k.kind, s.content, s.subject, s.importance, s.data, s.summary, s.embedding,
               s.created_at, s.session_id, s.turn, s.speaker, s.source, s.confidence,
               s.valid_from, s.valid_until
        FROM said AS s JOIN of_kind AS k ON k.said = s.kind
        ORDER BY s.place
    ) AS o;
    PERFORM _check_keywords(r.keywords, 50)
    FROM jsonb_array_elements(memories) AS e (memory),
         jsonb_to_record(e.memory) AS r (keywords text[])
    WHERE e.memory ? 'keywords';
    PERFORM _keep_memory(_read_batch.user_id, s.id)
    FROM jsonb_array_elements(memories) AS e (memory),
         jsonb_to_record(e.memory) AS r (sources bigint[]), unnest(r.sources) AS s (id)
    WHERE e.memory ? 'sources';
    RETURN coalesce(result, '{}');
END $$;

-- Reads one memory after the other, and says which one cannot be stored.
CREATE OR REPLACE FUNCTION _blame_batch(
    user_id text, memories jsonb, embeddings halfvec[], dimensions int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    code text;
    message text;
    explanation text;
    advice text;
BEGIN
    FOR place IN 1 .. jsonb_array_length(memories) LOOP
        BEGIN
            PERFORM _read_batch(
                user_id, jsonb_build_array(memories -> place - 1),
                ARRAY(SELECT u.embedding
                      FROM unnest(embeddings) WITH ORDINALITY AS u (embedding, number)
                      WHERE u.number = place), dimensions);
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
                explanation = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
            RAISE EXCEPTION 'memory %: %', place, message
                -- A value of the wrong type (class 22) is an argument out of its range.
                USING ERRCODE = CASE WHEN code LIKE '22%' THEN 'ME008' ELSE code END,
                      DETAIL = coalesce(nullif(explanation, ''),
                                        left(_redact_json(memories -> place - 1)::text, 200)),
                      HINT = CASE WHEN advice = '' OR code LIKE '22%'
                             THEN 'Nothing of this batch is stored. Correct this memory.'
                             ELSE advice END;
        END;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION remember_many(
    memories jsonb, embeddings halfvec[] DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS TABLE (place int, action text, memory_id bigint, reason text, other_ids bigint[])
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_memoize = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    first_vector CONSTANT halfvec := (
        SELECT u.embedding FROM unnest(embeddings) AS u (embedding)
        WHERE u.embedding IS NOT NULL LIMIT 1);
    has_sources boolean;
    known_dimensions CONSTANT int := (
        SELECT coalesce(m.dimensions, vector_dims(first_vector))
        FROM embedding_model AS m WHERE m.active);
    model embedding_model;
    given new_memory[];
    outcomes outcome[];
    ids bigint[];
BEGIN
    memories := _json_given(memories);
    has_sources := jsonb_path_exists(memories, '$[*].sources[*]');
    PERFORM _check_batch(memories, embeddings);
    -- Sources that were checked cannot be purged before they are linked.
    IF has_sources THEN
        PERFORM _lock_user(owner);
    END IF;
    BEGIN
        given := _read_batch(owner, memories, embeddings, known_dimensions);
    EXCEPTION WHEN OTHERS THEN
        PERFORM _blame_batch(owner, memories, embeddings, known_dimensions);
        RAISE;
    END;
    IF cardinality(given) = 0 THEN
        RETURN;
    END IF;
    model := _admitting_model(first_vector);
    PERFORM _lock_user(owner);
    outcomes := _remember(owner, model, given);
    ids := ARRAY(SELECT o.memory_id
                 FROM unnest(outcomes) WITH ORDINALITY AS o (action, memory_id, reason, others, n)
                 ORDER BY o.n);
    IF jsonb_path_exists(memories, '$[*].keywords[*]') THEN
        PERFORM _write_keywords(
            owner, array_agg(ids[t.place]), array_agg(t.keyword), NULL, 'user_tag')
        FROM (
            SELECT e.place, k.keyword
            FROM jsonb_array_elements(memories) WITH ORDINALITY AS e (memory, place),
                 jsonb_to_record(e.memory) AS r (keywords text[]),
                 unnest(_check_keywords(r.keywords, 50)) AS k (keyword)
            WHERE e.memory ? 'keywords' AND ids[e.place] IS NOT NULL
        ) AS t;
    END IF;
    IF has_sources THEN
        PERFORM _derive(
            owner, array_agg(ids[t.place]), array_agg(t.source),
            array_agg(CASE WHEN outcomes[t.place].action <> 'ADD'
                           THEN _change_of_text(owner, ids[t.place]) END))
        FROM (
            SELECT e.place, s.source
            FROM jsonb_array_elements(memories) WITH ORDINALITY AS e (memory, place),
                 jsonb_to_record(e.memory) AS r (sources bigint[]),
                 unnest(r.sources) AS s (source)
            WHERE e.memory ? 'sources' AND ids[e.place] IS NOT NULL
        ) AS t;
    END IF;
    RETURN QUERY
    SELECT o.place::int, o.action, o.memory_id, o.reason, o.others
    FROM unnest(outcomes)
             WITH ORDINALITY AS o (action, memory_id, reason, others, place)
    ORDER BY o.place;
END $$;

COMMENT ON FUNCTION remember_many(jsonb, halfvec[], text) IS
    'Stores many memories, all or none, as remember() would one after the other, in less than '
    'half the time. (A vector that comes with the second of two equal texts counts from the first '
    'on.) Returns a row each, in order: place (from 1), and action, memory_id, reason '
    'and other_ids as remember() has them. memories: an array of objects whose keys are the '
    'arguments of remember() except embedding and user_id; embeddings: their vectors in the same '
    'order, NULL for one without. sources name memories stored before. Batches of about 1,000 do '
    'best. Errors: those of remember(), with the place of the memory, and ME008 for an unknown '
    'key, a value of another type or another number of vectors.';
