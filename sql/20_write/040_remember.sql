-- Stores one memory, in the caller's transaction, with its recall projection.
-- The same content of the same kind, subject and place in a session is stored once: the second
-- time is a NOOP.
CREATE OR REPLACE FUNCTION remember(
    content text,
    kind text DEFAULT 'general',
    user_id text DEFAULT NULL,
    subject text DEFAULT NULL,
    importance float8 DEFAULT NULL,
    data jsonb DEFAULT NULL,
    summary text DEFAULT NULL,
    embedding halfvec DEFAULT NULL,
    created_at timestamptz DEFAULT NULL,
    session_id text DEFAULT NULL,
    turn int DEFAULT NULL,
    speaker text DEFAULT NULL,
    source text DEFAULT NULL,
    confidence float8 DEFAULT NULL,
    keywords text[] DEFAULT NULL,
    sources bigint[] DEFAULT NULL,
    OUT action text, OUT memory_id bigint, OUT reason text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    of_kind CONSTANT kind := _check_kind(kind);
    said_at CONSTANT timestamptz := coalesce(created_at, now());
    tags CONSTANT text[] := _check_keywords(keywords, 50);
    in_model smallint;
    hash bytea;
BEGIN
    PERFORM _check_text(content, 'the memory');
    PERFORM _check_share(importance, 'importance');
    PERFORM _check_share(confidence, 'confidence');
    PERFORM _check_time(said_at, 'created_at');
    IF turn < 0 THEN
        RAISE EXCEPTION 'turn must not be negative, not %', turn
            USING ERRCODE = 'ME008', HINT = 'Turns of a session count from 0.';
    END IF;
    IF length(session_id) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION 'session_id has % characters, not 1 to 200', length(session_id)
            USING ERRCODE = 'ME008', HINT = 'Pass a short key of the conversation or leave it out.';
    END IF;
    IF sources IS NOT NULL THEN
        PERFORM _check_memory(owner, s.id) FROM unnest(sources) AS s (id);
    END IF;
    in_model := _admit_vector(embedding);
    hash := sha256(convert_to(jsonb_build_array(
        of_kind.name, subject, session_id, turn, btrim(content, E' \t\r\n'))::text, 'UTF8'));

    INSERT INTO memory AS m (user_id, kind, content, summary, data, subject,
                             importance, confidence, origin,
                             session_id, position, speaker,
                             valid_from, lifetime, content_hash, created_at)
    VALUES (owner, of_kind.name, content, nullif(btrim(summary, E' \t\r\n'), ''),
            coalesce(data, '{}'), subject,
            coalesce(importance, of_kind.importance), coalesce(confidence, 1),
            coalesce(source, 'user'), session_id, turn, speaker,
            said_at, of_kind.lifetime, hash, said_at)
    ON CONFLICT (user_id, content_hash) WHERE status IN ('active', 'pending') DO NOTHING
    RETURNING m.memory_id INTO memory_id;

    IF memory_id IS NOT NULL THEN
        PERFORM _project(owner, memory_id, in_model, embedding);
        IF of_kind.layer = 'profile' THEN
            PERFORM _refresh_profile(owner);
        END IF;
        INSERT INTO keyword (user_id, keyword, memory_id, weight, origin)
        SELECT owner, k.keyword, memory_id, k.weight, 'system' FROM _keywords(content) AS k;
        action := 'ADD';
        reason := 'new';
    ELSE
        SELECT m.memory_id INTO memory_id
        FROM memory AS m
        WHERE m.user_id = owner AND m.content_hash = hash AND m.status IN ('active', 'pending');
        IF embedding IS NOT NULL THEN
            PERFORM _store_vector(owner, memory_id, in_model, embedding, false);
        END IF;
        action := 'NOOP';
        reason := 'the same memory is stored already';
    END IF;
    IF tags <> '{}' THEN
        PERFORM _write_keywords(owner, memory_id, tags, NULL, 'user_tag');
    END IF;
    IF sources IS NOT NULL THEN
        INSERT INTO relation (user_id, from_id, to_id, type, strength)
        SELECT DISTINCT owner, memory_id, s.id, 'derived_from', 1
        FROM unnest(sources) AS s (id) WHERE s.id <> memory_id
        ON CONFLICT DO NOTHING;
        PERFORM _mark_derived(owner, memory_id);
    END IF;
END $$;

COMMENT ON FUNCTION remember(text, text, text, text, float8, jsonb, text, halfvec, timestamptz,
                             text, int, text, text, float8, text[], bigint[]) IS
    'Stores a memory and returns what was done: action ADD or NOOP (the same is stored already), '
    'memory_id, reason. kind: a row of table kind. importance, confidence: 0 to 1. subject: names '
    'a single-valued slot. embedding: of the model of this database, or NULL to be found by words '
    'until it is set. created_at: 1970 to a day from now. session_id and turn (from 0): its place '
    'in a conversation. keywords: at most 50 tags of 1 to 100 characters (weight 1, besides up to '
    'five found by rule); sources: ids of the memories it was made from (relation derived_from). '
    'Both are added to a memory that is stored already. Errors: ME002 kind, ME003 and ME004 '
    'vector, ME006 user, ME007 text, ME008 number or keyword, ME011 time, ME012 source.';
