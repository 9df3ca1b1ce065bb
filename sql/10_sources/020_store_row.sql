-- Makes a memory of a row of an attached table, and changes, forgets or deletes it with that row.
-- An INSERT of the application waits for this, so it is done without what rows do not need: they
-- are not compared with what is stored, fill no slot, take no lock of the user (a transaction of
-- the application may stay open), notify nobody, and their keywords are found later, by maintain()
-- and the fill. remember() takes 2.5 times as long. Two thirds of the time go into setting up
-- statements, so they are few and small here, and many rows go together in 021_store_rows.sql.

-- Its key, its user and its status, checked: an expression, of which only the refusal is a call.
CREATE OR REPLACE FUNCTION _refuse_row(r source_row) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF coalesce(btrim(r.user_id), '') = '' OR length(r.user_id) > 200 THEN
        RAISE EXCEPTION 'the user of row "%" has % characters, not 1 to 200', r.source_key,
                coalesce(length(r.user_id)::text, 'no')
            USING ERRCODE = 'ME006', HINT = 'A row without a user belongs to no memory.';
    ELSIF coalesce(octet_length(r.source_key) NOT BETWEEN 1 AND 1000, true) THEN
        RAISE EXCEPTION 'the key of a row has % bytes, not 1 to 1000',
                coalesce(octet_length(r.source_key), 0)
            USING ERRCODE = 'ME008', HINT = 'source_id names the columns of a short, unique key.';
    END IF;
    RAISE EXCEPTION 'status "%" of row "%" is none of a memory', r.status, r.source_key
        USING ERRCODE = 'ME008',
              HINT = 'active, archived, forgotten or NULL. One of your own goes into data.';
END $$;

CREATE OR REPLACE FUNCTION _check_row(r source_row) RETURNS boolean
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN length(btrim(r.user_id)) > 0 AND length(r.user_id) <= 200
                     AND octet_length(r.source_key) BETWEEN 1 AND 1000
                     AND coalesce(r.status, 'active') IN ('active', 'archived', 'forgotten')
                THEN true ELSE _refuse_row(r) END;

-- Whether there is something to remember: a row without a text is no memory, and no mistake.
CREATE OR REPLACE FUNCTION _says_something(r source_row) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(r.content ~ '[^[:space:][:cntrl:]]', false);

-- What ended before it began is over from the start.
CREATE OR REPLACE FUNCTION _row_until(valid_until timestamptz, made_at timestamptz)
    RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN valid_until < 'infinity'
                THEN greatest(valid_until, made_at + interval '1 microsecond') END;

-- The profile of a user with his first row. Where another transaction is just making it, this one
-- does not wait for that to end.
CREATE OR REPLACE FUNCTION _source_profile(user_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF pg_try_advisory_xact_lock(hashtextextended('memoir profile ' || user_id, 0)) THEN
        INSERT INTO profile (user_id) VALUES (_source_profile.user_id) ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- Where nobody wants it remembered nothing is; a row that is there already raises unique_violation.
CREATE OR REPLACE FUNCTION _source_add(name text, r source_row) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    setup record;
    said text;
    told jsonb := '{}';
    made_at CONSTANT timestamptz := coalesce(r.created_at, now());
    ends_at CONSTANT timestamptz := _row_until(r.valid_until, made_at);
    importance float8;
    new_id bigint;
    line text;
    brief text;
    brief_cost float8;
BEGIN
    SELECT k.kind_id, k.name AS kind, k.importance, k.layer = 'profile' AS in_profile,
           e.text_limit, e.term_limit, e.line_length, e.brief_length,
           (SELECT p.memory_on FROM profile AS p WHERE p.user_id = r.user_id) AS memory_on
    INTO setup
    FROM source AS s JOIN kind AS k ON k.name = s.kind CROSS JOIN embedding_model AS e
    WHERE s.name = _source_add.name AND e.active;
    -- An expression takes 1 µs where PERFORM, a query, takes 10.
    IF NOT setup.memory_on OR NOT (_says_something(r) AND _check_row(r)) THEN
        RETURN false;
    END IF;
    said := _check_text(_redact(r.content), 'the memory', setup.text_limit);
    IF r.data IS NOT NULL THEN
        told := _redact_json(r.data);
    END IF;
    IF r.summary IS NOT NULL OR r.subject IS NOT NULL THEN
        r.summary := nullif(btrim(_redact(r.summary), E' \t\r\n'), '');
        r.subject := _check_subject(_redact(r.subject));
    END IF;
    importance := coalesce(_check_share(r.importance, 'importance'), setup.importance);
    r.created_at := _check_time(r.created_at, 'created_at');
    IF setup.memory_on IS NULL THEN
        PERFORM _source_profile(r.user_id);
    END IF;

    INSERT INTO memory (user_id, memory_id, kind, content, summary, data, subject, importance,
                        confidence, origin, source, source_key, valid_from, valid_until, lifetime,
                        status, retired_at, content_hash, created_at)
    VALUES (r.user_id, nextval('memory_memory_id_seq'), setup.kind, said, r.summary, told,
            r.subject, importance, 1, 'source', _source_add.name, r.source_key, made_at,
            ends_at, 'core',
            coalesce(r.status, 'active'), CASE WHEN r.status <> 'active' THEN now() END,
            _row_hash(_source_add.name, r.source_key), made_at)
    RETURNING memory_id INTO new_id;
    line := _line(said, setup.line_length);
    IF r.summary IS NOT NULL OR length(line) > 2 * setup.brief_length THEN
        brief := _brief(said, r.summary, line, setup.line_length, setup.brief_length);
        brief_cost := _token_cost('- ' || brief || E'\n');
    END IF;
    INSERT INTO trace (user_id, memory_id, model, kind, created_at, importance, asks, cost,
                       brief_cost, term_count, terms, line, brief, active, wide)
    SELECT r.user_id, new_id, e.model_id, setup.kind_id, made_at, importance, w.asks,
           _token_cost('- ' || line || E'\n'), brief_cost, w.term_count, w.terms, line, brief,
           coalesce(r.status, 'active') = 'active',
           _is_wide(NULL::halfvec, w.term_count, line, r.user_id)
    FROM _word_vector(said, r.subject, setup.term_limit) AS w, embedding_model AS e
    WHERE NOT e.dropping;
    IF ends_at IS NOT NULL THEN
        UPDATE profile AS p SET some_expire = true
        WHERE p.user_id = r.user_id AND NOT p.some_expire;
    END IF;
    IF setup.in_profile THEN
        PERFORM _refresh_profile(r.user_id);
    END IF;
    RETURN true;
END $$;

-- Whose decision the status of a memory is: the application's, or somebody else's, which stands.
CREATE OR REPLACE FUNCTION _status_is_the_sources(user_id text, memory_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN coalesce((
        SELECT r.author = 'source' FROM revision AS r
        WHERE r.user_id = _status_is_the_sources.user_id
          AND r.memory_id = _status_is_the_sources.memory_id AND r.old_values ? 'status'
        ORDER BY r.revision_id DESC LIMIT 1), true);
END $$;

-- Takes a row over that may be a memory already. adding: also when it is none; else that is the
-- will of somebody who purged it. Returns whether anything changed.
CREATE OR REPLACE FUNCTION _source_take(name text, r source_row, adding boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    stored memory;
    wanted text;
    new_values jsonb;
BEGIN
    PERFORM _check_row(r);
    SELECT m.* INTO stored FROM memory AS m
    WHERE m.user_id = r.user_id AND m.source = _source_take.name AND m.source_key = r.source_key
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN adding AND _source_add(name, r);
    ELSIF NOT _says_something(r) THEN
        RETURN _source_gone(name, r.user_id, r.source_key, false);
    ELSIF (SELECT NOT p.memory_on FROM profile AS p WHERE p.user_id = r.user_id) THEN
        RETURN false;
    END IF;
    wanted := coalesce(r.status, 'active');
    r.created_at := coalesce(_check_time(r.created_at, 'created_at'), stored.created_at);
    new_values := jsonb_build_object(
        'content', _check_text(_redact(r.content), 'the memory'),
        'summary', nullif(btrim(_redact(r.summary), E' \t\r\n'), ''),
        'data', coalesce(_redact_json(r.data), '{}'),
        'subject', _check_subject(_redact(r.subject)),
        'valid_from', r.created_at, 'valid_until', _row_until(r.valid_until, r.created_at))
        || CASE WHEN r.importance IS NULL THEN '{}'
                ELSE jsonb_build_object('importance', _check_share(r.importance, 'importance'))
           END
        || CASE WHEN stored.status <> wanted AND _status_is_the_sources(r.user_id, stored.memory_id)
                THEN jsonb_build_object('status', wanted, 'retired_at',
                                        CASE WHEN wanted <> 'active' THEN now() END)
                ELSE '{}' END;
    IF new_values ->> 'valid_until' IS NOT NULL THEN
        UPDATE profile AS p SET some_expire = true
        WHERE p.user_id = r.user_id AND NOT p.some_expire;
    END IF;
    IF r.created_at <> stored.created_at THEN
        UPDATE memory AS m SET created_at = r.created_at
        WHERE m.user_id = r.user_id AND m.memory_id = stored.memory_id;
        UPDATE trace AS t SET created_at = r.created_at
        WHERE t.user_id = r.user_id AND t.memory_id = stored.memory_id;
    END IF;
    RETURN _revise(
        r.user_id, ARRAY[stored.memory_id], ARRAY[new_values],
        CASE WHEN stored.status = 'forgotten' AND new_values ? 'status' THEN 'RESTORE'
             ELSE 'UPDATE' END,
        'source', 'its row in ' || name, NULL, NULL) <> '{}';
END $$;

-- The memory of a row that is no more: forgotten, or deleted for good.
CREATE OR REPLACE FUNCTION _source_gone(
    name text, user_id text, source_key text, for_good boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    stored record;
BEGIN
    SELECT m.memory_id, m.status, k.layer = 'profile' AS in_profile INTO stored
    FROM memory AS m JOIN kind AS k ON k.name = m.kind
    WHERE m.user_id = _source_gone.user_id AND m.source = _source_gone.name
      AND m.source_key = _source_gone.source_key
    FOR NO KEY UPDATE OF m;
    IF NOT FOUND THEN
        RETURN false;
    ELSIF NOT for_good THEN
        RETURN _retire(user_id, ARRAY[stored.memory_id], 'forgotten', 'FORGET', 'source',
                       'its row in ' || name || ' is gone', now(), NULL) <> '{}';
    END IF;
    DELETE FROM memory AS m
    WHERE m.user_id = _source_gone.user_id AND m.memory_id = stored.memory_id;
    IF stored.in_profile THEN
        PERFORM _refresh_profile(user_id);
    END IF;
    RETURN true;
END $$;
