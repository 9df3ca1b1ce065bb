-- Stores one memory with its recall projection in the caller's transaction, and decides at once
-- what it means for those stored before. Nothing is memoized: texts are seldom the same.

-- The keywords and sources that come with a memory; those it has already stay. is_new: its text is
-- its first.
CREATE OR REPLACE FUNCTION _tag(
    user_id text, memory_id bigint, tags text[], sources bigint[], origin text, is_new boolean)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF tags <> '{}' THEN
        PERFORM _write_keywords(
            user_id, array_fill(memory_id, ARRAY[cardinality(tags)]), tags, NULL, origin);
    END IF;
    IF sources <> '{}' THEN
        PERFORM _derive(
            user_id, array_fill(memory_id, ARRAY[cardinality(sources)]), sources,
            CASE WHEN NOT is_new THEN
                array_fill(_change_of_text(user_id, memory_id), ARRAY[cardinality(sources)]) END);
    END IF;
END $$;

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
    valid_from timestamptz DEFAULT NULL,
    valid_until timestamptz DEFAULT NULL,
    OUT action text, OUT memory_id bigint, OUT reason text, OUT other_ids bigint[])
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_memoize = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    of_kind CONSTANT kind := _check_kind(kind);
    tags text[];
    model embedding_model;
    given new_memory;
    became outcome;
BEGIN
    IF keywords IS NOT NULL THEN
        tags := _check_keywords(keywords, 50);
    END IF;
    model := _admitting_model(embedding);
    -- Redacted before _new_memory, which uses these more than once: PostgreSQL inlines it only if
    -- they are plain variables by then. What most memories come without has a condition, because
    -- setting it up costs 1 % of a call (5 % of the first).
    content := _redact(content);
    IF num_nonnulls(subject, speaker, summary) > 0 THEN
        subject := _redact(subject);
        speaker := _redact(speaker);
        summary := _redact(summary);
    END IF;
    given := _new_memory(
        of_kind, content, subject, importance, _redact_json(_json_given(nullif(data, 'null'))),
        summary, embedding, created_at, session_id, turn, speaker, source, confidence, valid_from,
        valid_until);
    IF num_nonnulls(keywords, sources) > 0 THEN
        IF tags <> '{}' OR sources <> '{}' THEN
            PERFORM _lock_user(owner);
        END IF;
        PERFORM _keep_memory(owner, s.id) FROM unnest(sources) AS s (id);
    END IF;
    became := (_remember(owner, model, ARRAY[given]))[1];
    action := became.action;
    memory_id := became.memory_id;
    reason := became.reason;
    other_ids := became.other_ids;
    IF memory_id IS NOT NULL AND num_nonnulls(keywords, sources) > 0 THEN
        PERFORM _tag(owner, memory_id, tags, sources, 'user_tag', action = 'ADD');
    END IF;
END $$;

COMMENT ON FUNCTION remember(text, text, text, text, float8, jsonb, text, halfvec, timestamptz,
                             text, int, text, text, float8, text[], bigint[], timestamptz,
                             timestamptz) IS
    'Stores a memory and returns what was done. action: ADD; SUPERSEDE (it is newer on its '
    'subject, the older one has ended); UPDATE (a stored one says less and has this text now, the '
    'same text is told with other data, another summary or end, another importance or confidence '
    'unless by agent or model, or it waited for the user, who says it now; its start stays); NOOP '
    '(it is stored already, or another says so); PENDING (it waits to be confirmed). A text whose '
    'memory has ended is new when it is said again: the ended one makes way, and keeps '
    'its time. memory_id: the memory that holds it now, NULL where memory is off or the session '
    'temporary; reason; other_ids: memories that it superseded, that follow it, or that it '
    'resembles (relation related, or contradicts if only one of them negates). Nothing is lost: '
    'history() has what was before, undo() takes it back. '
    'kind: a row of table kind. importance, confidence: 0 to 1. subject: names a single-valued '
    'slot, up to 200 characters; of one kind only one memory is active in it, and its words are '
    'searched with those of the text. summary: a short form, for a block in which only that fits. '
    'embedding: of the model of this database, or NULL to be found by words until it is set. '
    'created_at: when it was said or learned, 1970 to a day from now. valid_from (default '
    'created_at) and valid_until (default open): when it is true; what arrives late takes its '
    'place in the past. session_id and turn (from 0): its place in a conversation. speaker: who '
    'said it, up to 200 characters; the line of a turn begins with the name. source: who or what '
    'made it, up to 200 characters; agent and model wait for confirmation where the user wants '
    'that. keywords: at most 50 tags of 1 to 100 characters (weight 1, besides up to five found '
    'by rule); sources: ids of the memories it was made from (relation derived_from). Both are '
    'added to a memory that is stored already. Errors: ME002 kind, ME003 and ME004 vector, ME006 '
    'user, ME007 text, ME008 number, subject, data, session_id, speaker, source or keyword, ME011 '
    'time, ME012 source. Source: D1 4.1, D3 4.1, D4 5.8.';
