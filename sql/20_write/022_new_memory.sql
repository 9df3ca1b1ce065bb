-- A memory as it will be stored: every value checked, missing ones filled in, with its hash and its
-- id. One expression, which becomes part of the calling statement: remember() makes one memory of
-- it, remember_many() a thousand.
CREATE OR REPLACE FUNCTION _content_hash(
    kind text, subject text, session_id text, turn int, content text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(convert_to(jsonb_build_array(
        kind, subject, session_id, turn, btrim(content, E' \t\r\n'))::text, 'UTF8'));

-- A row of an attached table is a memory of its own, whatever it says.
CREATE OR REPLACE FUNCTION _row_hash(source text, source_key text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(convert_to(source || E'\n' || source_key, 'UTF8'));

CREATE OR REPLACE FUNCTION _new_memory(
    of_kind kind, content text, subject text, importance float8, data jsonb,
    summary text, embedding halfvec, created_at timestamptz, session_id text, turn int,
    speaker text, source text, confidence float8, valid_from timestamptz,
    valid_until timestamptz)
    RETURNS new_memory
    LANGUAGE sql VOLATILE
    RETURN ROW(
        nextval('memory_memory_id_seq'), of_kind.name, of_kind.kind_id, of_kind.layer = 'profile',
        _check_text(content, 'the memory'), _trimmed(summary),
        coalesce(_check_data(data), '{}'), _check_subject(subject),
        coalesce(_check_share(importance, 'importance'), of_kind.importance),
        coalesce(_check_share(confidence, 'confidence'), 1),
        coalesce(_check_author(source, 'the source'), 'user'), _check_session(session_id),
        _check_turn(turn), _check_speaker(speaker), of_kind.lifetime,
        _content_hash(of_kind.name, _check_subject(subject), session_id, turn, content),
        coalesce(_check_time(created_at, 'created_at'), now()),
        coalesce(_check_time(valid_from, 'valid_from'), created_at, now()),
        _check_until(valid_until, coalesce(valid_from, created_at, now())),
        'active', NULL, embedding, importance, confidence)::new_memory;
