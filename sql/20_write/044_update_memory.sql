-- Changes a stored memory in place: its id stays, a revision keeps what was.
-- A new text without a vector is found by its words until the vector is made.
CREATE OR REPLACE FUNCTION update_memory(
    memory_id bigint, content text DEFAULT NULL, summary text DEFAULT NULL,
    data jsonb DEFAULT NULL, importance float8 DEFAULT NULL, confidence float8 DEFAULT NULL,
    kind text DEFAULT NULL, subject text DEFAULT NULL, lifetime text DEFAULT NULL,
    embedding halfvec DEFAULT NULL, reason text DEFAULT NULL, user_id text DEFAULT NULL,
    author text DEFAULT 'user')
    RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1 SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    new_values jsonb := '{}';
BEGIN
    IF lifetime NOT IN ('core', 'working', 'temporary') THEN
        RAISE EXCEPTION 'unknown lifetime "%"', lifetime
            USING ERRCODE = 'ME008', HINT = 'Lifetimes: core, working (30 d), temporary (7 d).';
    END IF;
    PERFORM _admitting_model(embedding);
    data := _json_given(data);
    new_values := jsonb_strip_nulls(jsonb_build_object(
        'content', CASE WHEN content IS NOT NULL
                        THEN _check_text(_redact(content), 'the memory') END,
        'importance', _check_share(importance, 'importance'),
        'confidence', _check_share(confidence, 'confidence'), 'lifetime', lifetime,
        'kind', CASE WHEN kind IS NOT NULL THEN (_check_kind(kind)).name END,
        'embedding', embedding::text))
        || CASE WHEN nullif(data, 'null') IS NULL THEN '{}'
                ELSE jsonb_build_object('data', _redact_json(_check_data(data))) END
        || CASE WHEN summary IS NULL THEN '{}'
                ELSE jsonb_build_object('summary', _trimmed(_redact(summary))) END
        || CASE WHEN subject IS NULL THEN '{}'
                ELSE jsonb_build_object('subject', _check_subject(_redact(subject))) END;
    PERFORM _lock_user(owner);
    PERFORM _check_status(owner, memory_id, '{active,pending}', 'changed');
    RETURN CASE WHEN _revise(owner, ARRAY[memory_id], ARRAY[new_values], 'UPDATE', author, reason,
                             NULL, NULL) = '{}' THEN 'NOOP' ELSE 'UPDATE' END;
END $$;

COMMENT ON FUNCTION update_memory(bigint, text, text, jsonb, float8, float8, text, text, text,
                                  halfvec, text, text, text) IS
    'Changes an active or pending memory and returns UPDATE, or NOOP when it was so already. NULL '
    'leaves a value as it is; an empty summary or subject removes it. content: a text without '
    'embedding is found by its words until it has one. data replaces the old. importance, '
    'confidence: 0 to 1. lifetime: core, working or temporary. reason, author (up to 200 '
    'characters): kept in the revision; history() shows what was, undo() brings it back. Errors: '
    'ME002 kind, ME003 and ME004 vector, ME006 user, ME007 text, ME008 number, subject, data, '
    'lifetime or author, ME012 no such memory of this user, ME014 it is neither active nor '
    'pending, or another memory has this text or fills this subject.';
