-- Makes a memory of a row of an attached table, and changes, forgets or deletes it with that row.
-- An INSERT of the application waits for this, so steps that rows do not need are left out: rows
-- are not compared with stored memories, fill no slot, take no lock of the user (the application
-- may keep its transaction open) and notify nobody. Their keywords are found later, by maintain()
-- and the fill.

-- Checks the key, the user and the status of a row: an expression that calls only to refuse.
CREATE OR REPLACE FUNCTION _refuse_row(user_id text, source_key text, status text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(btrim(user_id, E' \t\r\n'), '') = '' OR length(user_id) > 200 THEN
        RAISE EXCEPTION 'the user of row "%" has % characters, not 1 to 200', source_key,
                coalesce(length(user_id)::text, 'no')
            USING ERRCODE = 'ME006', HINT = 'A row without a user cannot be stored as memory.';
    ELSIF coalesce(octet_length(source_key) NOT BETWEEN 1 AND 1000, true) THEN
        RAISE EXCEPTION 'the key of a row has % bytes, not 1 to 1000',
                coalesce(octet_length(source_key), 0)
            USING ERRCODE = 'ME008',
                  HINT = 'source_id names the columns of a short, unique key without NULL.';
    END IF;
    RAISE EXCEPTION 'status "%" of row "%" is not a status of a memory', status, source_key
        USING ERRCODE = 'ME008',
              HINT = 'Use active, archived, forgotten or NULL; put your own status into data.';
END $$;

CREATE OR REPLACE FUNCTION _check_row(user_id text, source_key text, status text) RETURNS boolean
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN length(btrim(user_id, E' \t\r\n')) > 0 AND length(user_id) <= 200
                     AND octet_length(source_key) BETWEEN 1 AND 1000
                     AND coalesce(status, 'active') IN ('active', 'archived', 'forgotten')
                THEN true ELSE _refuse_row(user_id, source_key, status) END;

-- Whether there is something to remember: a row without text is no memory, and no mistake either.
CREATE OR REPLACE FUNCTION _says_something(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(_is_visible(content), false);

-- A row that ended before it began has been over from the start.
CREATE OR REPLACE FUNCTION _row_until(valid_until timestamptz, made_at timestamptz)
    RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN valid_until < 'infinity'
                THEN greatest(valid_until, made_at + interval '1 microsecond') END;

-- Whether the application decides on a memory's status. What somebody else decided stands.
CREATE OR REPLACE FUNCTION _status_is_the_sources(user_id text, memory_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN coalesce((
        SELECT r.author = 'source' FROM revision AS r
        WHERE r.user_id = _status_is_the_sources.user_id
          AND r.memory_id BETWEEN _status_is_the_sources.memory_id
                              AND _status_is_the_sources.memory_id
          AND r.old_values ? 'status'
        ORDER BY r.memory_id DESC, r.revision_id DESC LIMIT 1), true);
END $$;

-- Takes over a row, which may be a memory already. adding: makes a memory if there is none; without
-- it, a missing memory was purged and stays away. Returns whether anything changed.
CREATE OR REPLACE FUNCTION _source_take(name text, r source_row, adding boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    -- Read by nobody: an assignment makes the check in less time than PERFORM.
    checked CONSTANT boolean := _check_row(r.user_id, r.source_key, r.status);
    found_row record;
    stored memory;
    changed memory;
BEGIN
    SELECT m AS memory, k AS of_kind,
           (SELECT p.memory_on FROM profile AS p WHERE p.user_id = r.user_id) AS memory_on
    INTO found_row
    FROM memory AS m JOIN kind AS k ON k.name = m.kind
    WHERE m.user_id = r.user_id AND m.source = _source_take.name AND m.source_key = r.source_key
    FOR NO KEY UPDATE OF m;
    IF NOT FOUND THEN
        RETURN adding AND _source_add_many(_known_source(name, false), ARRAY[r]) > 0;
    ELSIF NOT _says_something(r.content) THEN
        RETURN _source_gone(name, r.user_id, r.source_key, false);
    ELSIF NOT found_row.memory_on THEN
        RETURN false;
    END IF;
    stored := found_row.memory;
    r.created_at := coalesce(_check_time(r.created_at, 'created_at'), stored.created_at);
    changed := stored;
    changed.content := _check_text(_redact(r.content), 'the memory');
    changed.summary := _trimmed(_redact(r.summary));
    changed.data := coalesce(_redact_json(r.data), '{}');
    changed.subject := _check_subject(_redact(r.subject));
    changed.importance := coalesce(_check_share(r.importance, 'importance'), stored.importance);
    changed.valid_from := r.created_at;
    -- What somebody has ended stays ended, whatever the row says next.
    changed.valid_until := _row_until(
        least(r.valid_until, CASE WHEN stored.status = 'superseded' THEN stored.valid_until END),
        r.created_at);
    IF stored.status <> coalesce(r.status, 'active')
       AND _status_is_the_sources(r.user_id, stored.memory_id) THEN
        changed.status := coalesce(r.status, 'active');
        changed.retired_at := CASE WHEN changed.status <> 'active' THEN now() END;
    END IF;
    IF changed.valid_until IS NOT NULL THEN
        PERFORM _note_end(r.user_id);
    END IF;
    IF r.created_at <> stored.created_at THEN
        UPDATE memory AS m SET created_at = r.created_at
        WHERE m.user_id = r.user_id AND m.memory_id = stored.memory_id;
        UPDATE trace AS t SET created_at = r.created_at
        WHERE t.user_id = r.user_id AND t.memory_id = stored.memory_id;
    END IF;
    RETURN _revise_row(
        stored, changed, found_row.of_kind,
        CASE WHEN stored.status = 'forgotten' AND changed.status <> 'forgotten' THEN 'RESTORE'
             ELSE 'UPDATE' END,
        'its row in ' || name);
END $$;

-- The memory of a row that no longer exists: forgotten, or deleted for good.
CREATE OR REPLACE FUNCTION _source_gone(
    name text, user_id text, source_key text, for_good boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    found_row record;
    stored memory;
    changed memory;
BEGIN
    SELECT m AS memory, k AS of_kind INTO found_row
    FROM memory AS m JOIN kind AS k ON k.name = m.kind
    WHERE m.user_id = _source_gone.user_id AND m.source = _source_gone.name
      AND m.source_key = _source_gone.source_key
    FOR NO KEY UPDATE OF m;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    stored := found_row.memory;
    IF NOT for_good THEN
        changed := stored;
        IF stored.status <> 'forgotten' THEN
            changed.status := 'forgotten';
            changed.retired_at := now();
        END IF;
        RETURN _revise_row(stored, changed, found_row.of_kind, 'FORGET',
                           'its row in ' || name || ' is gone');
    END IF;
    DELETE FROM memory AS m
    WHERE m.user_id = _source_gone.user_id AND m.memory_id = stored.memory_id;
    IF (found_row.of_kind).layer = 'profile' THEN
        PERFORM _refresh_profile(user_id);
    END IF;
    RETURN true;
END $$;
