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
    tags CONSTANT text[] := _check_keywords(keywords, 50);
    given CONSTANT new_memory := _new_memory(
        of_kind, content, subject, importance, data, summary, embedding, created_at, session_id,
        turn, speaker, source, confidence);
    ids bigint[];
BEGIN
    IF sources IS NOT NULL THEN
        PERFORM _check_memory(owner, s.id) FROM unnest(sources) AS s (id);
    END IF;
    ids := _store(owner, _admit_vector(embedding), ARRAY[given]);
    IF tags <> '{}' THEN
        PERFORM _write_keywords(
            owner, array_fill(ids[1], ARRAY[cardinality(tags)]), tags, NULL, 'user_tag');
    END IF;
    IF sources IS NOT NULL THEN
        PERFORM _derive(owner, array_fill(ids[1], ARRAY[cardinality(sources)]), sources);
    END IF;
    memory_id := ids[1];
    action := _action(memory_id = given.memory_id);
    reason := _reason(action);
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
