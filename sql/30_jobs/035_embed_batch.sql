-- Memories without a vector are the queue of the embedding model. A write makes no job: a row per
-- memory would cost the write, and one row per user would make writers wait for each other. claim()
-- makes a job of the next memories, which holds them until it is done. A text that fails gets a job
-- of its own, which fails, waits and dies separately.
CREATE OR REPLACE FUNCTION _text_hash(user_id text, content text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(content, hashtextextended(user_id, 0));

-- The next memories of a user for one job. Their traces are locked first; only then does a separate
-- statement read which of them another job holds, so that no memory is in two jobs.
CREATE OR REPLACE FUNCTION _next_without_vector(user_id text, model smallint, most int)
    RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_sort = off
AS $$
DECLARE
    held bigint[] := _held_by_jobs(user_id);
    locked bigint[];
BEGIN
    locked := ARRAY(
        SELECT t.memory_id
        FROM trace AS t
        WHERE t.user_id = _next_without_vector.user_id AND t.model = _next_without_vector.model
          AND t.active AND t.embedding IS NULL AND t.memory_id <> ALL (held)
        ORDER BY t.memory_id LIMIT most
        FOR NO KEY UPDATE SKIP LOCKED);
    held := _held_by_jobs(user_id);
    RETURN ARRAY(SELECT l.id FROM unnest(locked) AS l (id) WHERE l.id <> ALL (held) ORDER BY 1);
END $$;

-- The texts of memories by their ids.
CREATE OR REPLACE FUNCTION _contents(user_id text, memory_ids bigint[])
    RETURNS TABLE (memory_id bigint, content text, hash bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
BEGIN
    RETURN QUERY
    SELECT i.id, m.content, _text_hash(_contents.user_id, m.content)
    FROM unnest(memory_ids) AS i (id), LATERAL (
        SELECT m.content FROM memory AS m
        WHERE m.user_id = _contents.user_id AND m.memory_id = i.id
        OFFSET 0) AS m;
END $$;

-- Copies vectors of the same text from other memories of the user: nothing is embedded twice.
CREATE OR REPLACE FUNCTION _copy_known_vectors(user_id text, model smallint, memory_ids bigint[])
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    known bigint[];
    vectors halfvec[];
    hashes bigint[];
BEGIN
    SELECT array_agg(m.memory_id), array_agg(k.embedding), array_agg(m.hash)
    INTO known, vectors, hashes
    FROM _contents(user_id, memory_ids) AS m, LATERAL (
        SELECT t.embedding
        FROM memory AS o, LATERAL (
            SELECT t.embedding FROM trace AS t
            WHERE t.user_id = _copy_known_vectors.user_id AND t.memory_id = o.memory_id
              AND t.model = _copy_known_vectors.model AND t.embedding IS NOT NULL OFFSET 0) AS t
        WHERE o.user_id = _copy_known_vectors.user_id AND o.content = m.content
          AND _text_hash(o.user_id, o.content) = m.hash
        LIMIT 1) AS k;
    RETURN CASE WHEN known IS NULL THEN 0
                ELSE _store_vectors(user_id, model, known, vectors, false, hashes) END;
END $$;

-- What of a text is handed out to be embedded: no model reads a million characters. A row holds a
-- gigabyte at most: 50 texts of 25 MB, which an agent can write, would stop every worker again and
-- again, and take a backfill as much of memory.
CREATE OR REPLACE FUNCTION _text_to_embed(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(content, 1000000);

-- What is left to embed of these memories: their ids and the hashes of their texts, in parallel,
-- and each text once, in the order in which its hash first appears; NULL texts: nothing is left.
CREATE OR REPLACE FUNCTION _texts_of(
    user_id text, model smallint, memory_ids bigint[], OUT payload jsonb, OUT texts text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT m.memory_id, m.content, m.hash
        FROM _contents(user_id, memory_ids) AS m, LATERAL (
            SELECT FROM trace AS t
            WHERE t.user_id = _texts_of.user_id AND t.memory_id = m.memory_id
              AND t.model = _texts_of.model AND t.active AND t.embedding IS NULL
            OFFSET 0) AS t
    ), distinct_text AS (
        SELECT DISTINCT ON (w.hash) w.hash, w.memory_id, w.content
        FROM wanted AS w ORDER BY w.hash, w.memory_id
    )
    SELECT jsonb_build_object(
               'model', _texts_of.model,
               'memory_ids', coalesce(jsonb_agg(w.memory_id::text ORDER BY w.memory_id), '[]'),
               'hashes', coalesce(jsonb_agg(w.hash::text ORDER BY w.memory_id), '[]')),
           (SELECT array_agg(_text_to_embed(d.content) ORDER BY d.memory_id)
            FROM distinct_text AS d)
    INTO payload, texts
    FROM wanted AS w;
END $$;

-- The memories an embed job holds, with the place (from 1) of their text among its texts.
CREATE OR REPLACE FUNCTION _texts_held(claimed job)
    RETURNS TABLE (place bigint, memory_id bigint, hash bigint)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT dense_rank() OVER (ORDER BY f.first), f.memory_id, f.hash
    FROM (
        SELECT g.memory_id::bigint, g.hash::bigint,
               min(g.number) OVER (PARTITION BY g.hash) AS first
        FROM ROWS FROM (jsonb_array_elements_text(claimed.payload -> 'memory_ids'),
                        jsonb_array_elements_text(claimed.payload -> 'hashes'))
                 WITH ORDINALITY AS g (memory_id, hash, number)
    ) AS f;
END $$;

-- A separate job for each text of an embed job that failed. errors: one for each text, in order,
-- NULL if it had none.
CREATE OR REPLACE FUNCTION _embed_apart(claimed job, errors text[], attempts int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO job (user_id, kind, payload, attempts, run_at, error)
    SELECT claimed.user_id, 'embed',
           claimed.payload || jsonb_build_object(
               'memory_ids', jsonb_agg(h.memory_id::text ORDER BY h.memory_id),
               'hashes', jsonb_agg(h.hash::text)),
           _embed_apart.attempts,
           now() + CASE _embed_apart.attempts WHEN 0 THEN interval '0' ELSE _backoff(1) END,
           _kept_error(errors[h.place])
    FROM _texts_held(claimed) AS h
    WHERE errors[h.place] IS NOT NULL
    GROUP BY h.place;
END $$;

-- An existing embed job, with its texts as they are now. NULL: nothing is left to do, or its model
-- is no longer in use. A job that failed again and again becomes one job per text.
CREATE OR REPLACE FUNCTION _claimed_texts(claimed job) RETURNS claimed_job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    ids CONSTANT bigint[] := _payload_ids(claimed.payload);
    model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    known int := coalesce((claimed.payload -> 'known')::int, 0);
    texts text[];
BEGIN
    IF coalesce((claimed.payload -> 'model')::smallint, model) = model THEN
        known := known + _copy_known_vectors(claimed.user_id, model, ids);
        SELECT t.payload || jsonb_build_object('known', known), t.texts INTO claimed.payload, texts
        FROM _texts_of(claimed.user_id, model, ids) AS t;
    END IF;
    IF cardinality(texts) > 1 AND claimed.attempts > _config('embed_split_after') THEN
        PERFORM _embed_apart(
            claimed, array_fill('one of its batch failed: ' || coalesce(claimed.error, 'its worker '
                                'did not come back'), ARRAY[cardinality(texts)]), 0);
        texts := NULL;
    END IF;
    IF texts IS NULL THEN
        PERFORM _jobs_done(claimed.user_id, ARRAY[claimed.job_id]);
        RETURN NULL;
    END IF;
    UPDATE job AS j SET payload = claimed.payload
    WHERE j.user_id = claimed.user_id AND j.job_id = claimed.job_id;
    RETURN _claimed_job(claimed, texts);
END $$;

-- New jobs, each with the next memories of the user that wait for a vector and that no job holds.
CREATE OR REPLACE FUNCTION _next_embed_jobs(
    user_id text, n int, worker text, until timestamptz) RETURNS SETOF claimed_job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    ids bigint[];
    known int;
    given record;
    made job;
BEGIN
    WHILE n > 0 LOOP
        ids := _next_without_vector(user_id, model, _config('embed_batch')::int);
        EXIT WHEN ids = '{}';
        known := _copy_known_vectors(user_id, model, ids);
        given := _texts_of(user_id, model, ids);
        INSERT INTO job AS j (user_id, kind, payload, status, attempts, run_at, worker, finished_at)
        VALUES (_next_embed_jobs.user_id, 'embed',
                given.payload || jsonb_build_object('known', known),
                CASE WHEN given.texts IS NULL THEN 'done' ELSE 'running' END, 1, until,
                _next_embed_jobs.worker, CASE WHEN given.texts IS NULL THEN now() END)
        RETURNING j.* INTO made;
        IF made.status = 'running' THEN
            n := n - 1;
            RETURN NEXT _claimed_job(made, given.texts);
        END IF;
    END LOOP;
END $$;
