-- What the triggers of an attached table call for a written row. If the row cannot be taken over,
-- the application's write stands and the row waits in source_error.

-- One row: changed, moved to another key or user, or gone. A row that moves to another user leaves
-- nothing with the one before.
CREATE OR REPLACE FUNCTION _source_row(name text, r source_row, adding boolean, is_event boolean)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN is_event THEN _source_event(name, r, adding)
                ELSE _source_take(name, r, adding) END;
END $$;

CREATE OR REPLACE FUNCTION _source_row_gone(
    name text, user_id text, source_key text, for_good boolean, is_event boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN is_event THEN _source_event_gone(name, user_id, source_key)
                ELSE _source_gone(name, user_id, source_key, for_good) END;
END $$;

-- At REPEATABLE READ a transaction does not see a memory that a fill or maintain() made since it
-- began. If a row seems to have none, the unique key of memories tells: its error makes the row
-- wait. Events have no such key.
CREATE OR REPLACE FUNCTION _refuse_unseen(name text, r source_row, is_event boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF is_event OR current_setting('transaction_isolation') = 'read committed' THEN
        RETURN;
    END IF;
    PERFORM _source_add_many(_known_source(name, false), ARRAY[r]);
    RAISE SQLSTATE 'P0999';  -- there is none: the probe is taken back
EXCEPTION WHEN SQLSTATE 'P0999' THEN
    NULL;
END $$;

-- A row waits no longer once its change is taken over, or once it is gone. Returns whether it
-- waited.
CREATE OR REPLACE FUNCTION _waits_no_longer(name text, r source_row) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM source_error AS e
    WHERE e.user_id = left(coalesce(r.user_id, ''), 200) AND e.source = _waits_no_longer.name
      AND e.source_key = left(r.source_key, 1000);
    RETURN FOUND;
END $$;

-- A row that had no text before is new, whatever its key, and so is one that waits because of an
-- error. A row without a memory for any other reason was purged, or written while memory was off:
-- fill_source() takes it, its next change does not. A row that moves to another key or user leaves
-- nothing under the old one, even if it cannot be taken over under the new one, which is recorded
-- separately. But the old key may now belong to another row, if one statement moves several, or if
-- two rows had it until now.
-- Returns whether the row was a memory, as far as that was looked at.
CREATE OR REPLACE FUNCTION _source_changed(
    name text, old_row source_row, new_row source_row, for_good boolean, is_event boolean)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    moved CONSTANT boolean := (old_row.user_id, old_row.source_key)
                              IS DISTINCT FROM (new_row.user_id, new_row.source_key);
    at_old_key source_row;
    known boolean := false;
    waited boolean;
BEGIN
    IF new_row.source_key <> old_row.source_key THEN
        at_old_key := _row_now(name, old_row);
    END IF;
    IF (at_old_key.user_id, at_old_key.source_key) = (old_row.user_id, old_row.source_key) THEN
        PERFORM _take_rows(_known_source(name, false), ARRAY[at_old_key], 1);
    ELSIF moved AND old_row.source_key IS NOT NULL THEN
        known := _source_row_gone(
            name, old_row.user_id, old_row.source_key,
            for_good OR (old_row.user_id <> new_row.user_id) IS TRUE, is_event);
        IF NOT known THEN
            PERFORM _refuse_unseen(name, old_row, is_event);
        END IF;
        PERFORM _waits_no_longer(name, old_row);
    END IF;
    IF new_row.source_key IS NULL THEN
        RETURN known;
    ELSIF moved THEN
        PERFORM _take_rows(_known_source(name, false), ARRAY[new_row], 1);
        RETURN known;
    END IF;
    known := _source_row(name, new_row, NOT (is_event OR _says_something(old_row.content)),
                         is_event);
    waited := _waits_no_longer(name, new_row);
    IF known THEN
        RETURN true;
    ELSIF waited THEN
        PERFORM _take_rows(_known_source(name, false), ARRAY[new_row], 1);
    ELSE
        PERFORM _refuse_unseen(name, new_row, is_event);
    END IF;
    RETURN false;
END $$;

-- What becomes of a user's memories of a source: keep (only counted), forget or purge; events go.
CREATE OR REPLACE FUNCTION _leave_memories(
    owner text, name text, memories text, is_event boolean, reason text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    number bigint;
BEGIN
    IF memories = 'keep' THEN
        number := (SELECT count(*) FROM memory AS m
                   WHERE m.user_id = owner AND m.source = name)
                + (SELECT count(*) FROM event AS e
                   WHERE e.user_id = owner AND e.source = name);
    ELSIF is_event THEN
        DELETE FROM event AS e WHERE e.user_id = owner AND e.source = name;
        GET DIAGNOSTICS number = ROW_COUNT;
    ELSIF memories = 'purge' THEN
        DELETE FROM memory AS m WHERE m.user_id = owner AND m.source = name;
        GET DIAGNOSTICS number = ROW_COUNT;
        PERFORM _refresh_profile(owner);
    ELSE
        number := cardinality(_retire(
            owner, ARRAY(SELECT m.memory_id FROM memory AS m
                         WHERE m.user_id = owner AND m.source = name),
            'forgotten', 'FORGET', 'source', reason, now(), NULL));
    END IF;
    RETURN number;
END $$;

-- TRUNCATE: all rows are gone. A user whose memories somebody holds waits, with a place that stands
-- for all rows; after the first of them nobody else is waited for. A row that waits and that
-- somebody holds is left: who tries it again finds that it is gone. At REPEATABLE READ the table
-- may have had rows whose memories this transaction does not see: everybody is looked at again.
CREATE OR REPLACE FUNCTION _source_emptied(name text, for_good boolean, is_event boolean)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    owner text;
BEGIN
    BEGIN
        DELETE FROM source_error AS e WHERE e.source = name;
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    FOR owner IN SELECT u FROM _source_users(name) AS u LOOP
        BEGIN
            PERFORM _leave_memories(owner, name, CASE WHEN for_good THEN 'purge' ELSE 'forget' END,
                                    is_event, name || ' was emptied');
        EXCEPTION WHEN OTHERS THEN
            PERFORM _record_failure(name, _all_rows(owner), SQLSTATE, SQLERRM, 1),
                    set_config('lock_timeout', '1ms', true);
        END;
    END LOOP;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM _record_failure(name, _all_rows(''), '40001',
                                'others may have written rows before it was emptied', 1);
    END IF;
END $$;

-- The place that stands for all rows of a user, or of everybody ('').
CREATE OR REPLACE FUNCTION _all_rows(owner text) RETURNS source_row
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    r source_row;
BEGIN
    r.user_id := owner;
    r.place := '[]';
    RETURN r;
END $$;

-- The users who have rows of a source.
CREATE OR REPLACE FUNCTION _source_users(name text) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT p.user_id FROM profile AS p
    WHERE EXISTS (SELECT FROM memory AS m
                  WHERE m.user_id = p.user_id AND m.source = _source_users.name)
       OR EXISTS (SELECT FROM event AS e
                  WHERE e.user_id = p.user_id AND e.source = _source_users.name)
    ORDER BY p.user_id;
END $$;

-- New rows without those that nobody wants remembered, whatever is wrong with them.
CREATE OR REPLACE FUNCTION _wanted_rows(rows source_row[], is_event boolean) RETURNS source_row[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT w FROM unnest(rows) AS w
        WHERE (is_event OR _says_something(w.content))
          AND NOT EXISTS (SELECT FROM profile AS p
                          WHERE p.user_id = w.user_id AND NOT p.memory_on));
END $$;

-- Rows of an INSERT that could not be taken over together, because of one bad row, or because a
-- memory of one already existed (after a lost row, beside a fill, or because a trigger wrote the
-- row again: the table has it as it is now). They are taken a few at a time. Rows that were busy,
-- or that the server failed to process, are not tried again while the application waits.
CREATE OR REPLACE FUNCTION _source_added(name text, rows source_row[], code text, reason text)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    s CONSTANT source := _known_source(name, false);
    wanted CONSTANT source_row[] := _wanted_rows(rows, s.kind = 'event');
    r source_row;
BEGIN
    IF wanted = '{}' THEN
        RETURN;
    ELSIF NOT _is_of_server(code) THEN
        BEGIN
            IF code = '23505' THEN
                PERFORM _take_as_they_are(s, wanted);
            ELSE
                PERFORM _take_rows(s, wanted, 1);
            END IF;
            RETURN;
        EXCEPTION WHEN OTHERS THEN
            NULL;  -- all of them wait
        END;
    END IF;
    FOREACH r IN ARRAY wanted LOOP
        PERFORM _record_failure(name, r, code, reason, 1);
    END LOOP;
END $$;

-- Records what was wrong with a row, once until it is tried again, under each key it had. If its
-- columns are gone no key is known, and it is recorded without one.
CREATE OR REPLACE FUNCTION _source_failed(
    name text, old_row source_row, new_row source_row, code text, reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    r source_row;
BEGIN
    FOREACH r IN ARRAY CASE
        WHEN (old_row.user_id, old_row.source_key)
             IS DISTINCT FROM (new_row.user_id, new_row.source_key) THEN ARRAY[old_row, new_row]
        ELSE ARRAY[new_row] END
    LOOP
        CONTINUE WHEN r.source_key IS NULL
            AND coalesce(old_row.source_key, new_row.source_key) IS NOT NULL;
        PERFORM _record_failure(name, r, code, reason, 1);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION _record_failure(
    name text, r source_row, code text, reason text, attempts int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO source_error (user_id, source, source_key, place, code, reason, attempts)
    SELECT n.user_id, _record_failure.name, n.source_key,
           CASE WHEN NOT r.place @> '[null]' THEN r.place END, _record_failure.code,
           left(_redact(_record_failure.reason), 500), _record_failure.attempts
    FROM (SELECT left(coalesce(r.user_id, ''), 200) AS user_id,
                 left(coalesce(r.source_key, ''), 1000) AS source_key) AS n
    -- A snapshot may still see rows that have been tried again since.
    WHERE current_setting('transaction_isolation') <> 'read committed'
       OR NOT EXISTS (SELECT FROM source_error AS e
                      WHERE e.user_id = n.user_id AND e.source = _record_failure.name
                        AND e.source_key = n.source_key);
END $$;
