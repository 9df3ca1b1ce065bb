-- Stores one memory, in the caller's transaction, with its recall projection.
-- The same content of the same kind, subject and place in a session is stored once: the second
-- time is a NOOP. Plans are made once and by index: one made while the tables were small would read
-- them whole for as long as the connection lasts.
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
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    of_kind CONSTANT kind := _check_kind(kind);
    tags CONSTANT text[] := _check_keywords(keywords, 50);
    model CONSTANT embedding_model := _admitting_model(embedding);
    given CONSTANT new_memory := _new_memory(
        of_kind, model.text_limit, content, subject, importance, data, summary, embedding,
        created_at, session_id, turn, speaker, source, confidence);
    known bigint[];
BEGIN
    IF sources IS NOT NULL THEN
        PERFORM _check_memory(owner, s.id) FROM unnest(sources) AS s (id);
    END IF;
    IF session_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM session AS s
                       WHERE s.user_id = owner AND s.session_id = remember.session_id) THEN
        PERFORM _open_sessions(owner, ARRAY[session_id]);
    END IF;
    known := _store(owner, model, ARRAY[given]);
    memory_id := coalesce(known[1], given.memory_id);
    action := _action(known IS NULL);
    reason := _reason(known IS NULL);
    IF given.in_profile AND known IS NULL THEN
        PERFORM _refresh_profile(owner);
    END IF;
    IF tags <> '{}' THEN
        PERFORM _write_keywords(
            owner, array_fill(memory_id, ARRAY[cardinality(tags)]), tags, NULL, 'user_tag');
    END IF;
    IF sources IS NOT NULL THEN
        PERFORM _derive(owner, array_fill(memory_id, ARRAY[cardinality(sources)]), sources);
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
