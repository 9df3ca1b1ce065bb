-- Reads an attached table or query, one batch per transaction: from where the last batch ended,
-- each row once, in the order of its key. It is safe beside the application's writers because it
-- locks the rows of the batch (FOR SHARE) until it commits: a writer who wants to change or delete
-- one waits, and then finds its memory. It waits neither for rows that others have locked nor for
-- their memories and users: who holds one may want a row of the batch next, and it is the
-- application that PostgreSQL might cancel for the deadlock. They are read again later.

-- A source by its name, locked: two readers of one source take turns.
CREATE OR REPLACE FUNCTION _known_source(name text, locked boolean) RETURNS source
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_source source;
BEGIN
    IF locked THEN
        SELECT s.* INTO found_source FROM source AS s WHERE s.name = _known_source.name
        FOR NO KEY UPDATE;
    ELSE
        SELECT s.* INTO found_source FROM source AS s WHERE s.name = _known_source.name;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no source "%"', name
            USING ERRCODE = 'ME016', HINT = 'SELECT name FROM memoir.sources lists them.';
    END IF;
    RETURN found_source;
END $$;

-- Prepared statements outlast a rollback: one under a name that the client will use would run with
-- the client's rights. It is as old as the statement that is running; of those from before an
-- application may have thousands.
CREATE OR REPLACE FUNCTION _prepared_statements() RETURNS text[]
    LANGUAGE sql STABLE
    RETURN ARRAY(SELECT concat(p.name, ' ', p.statement)
                 FROM pg_prepared_statements AS p
                 WHERE p.prepare_time >= statement_timestamp());

CREATE OR REPLACE FUNCTION _refuse_prepared(name text, before text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    made name[] := ARRAY(SELECT p.name FROM pg_prepared_statements AS p
                         WHERE p.prepare_time >= statement_timestamp()
                           AND concat(p.name, ' ', p.statement) <> ALL (before));
    each name;
BEGIN
    FOREACH each IN ARRAY made LOOP
        EXECUTE format('DEALLOCATE %I', each);
    END LOOP;
    IF made <> '{}' THEN
        RAISE insufficient_privilege
            USING MESSAGE = format('what source "%s" reads prepared statements in this session',
                                   name),
                  HINT = 'They are gone again; look at the policies and functions of its owner.';
    END IF;
END $$;

-- The rows of a source that fit a request. The owner of what is read can have his code run there
-- (a policy, a function of a view, of an index), with his rights, but in this session: he could
-- leave a search path for the lines that follow, a cursor carried out at COMMIT, a temporary
-- view. So it is read in a subtransaction that is taken back. Nor may what is pulled write there:
-- PostgreSQL refuses any change by a query or a function it calls. Rows stay locked only without
-- a subtransaction: for who fills or maintains, never for who writes the table.
CREATE OR REPLACE FUNCTION _source_rows(s source, request jsonb) RETURNS source_row[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    statement CONSTANT text := format(
        'SELECT coalesce(array_agg(r), ''{}'') FROM _source_%s_read($1) AS r', s.source_id);
    prepared CONSTANT text[] := _prepared_statements();
    rows source_row[];
BEGIN
    IF s.follows AND request ? 'lock' THEN
        EXECUTE statement INTO rows USING request;
        RETURN rows;
    END IF;
    BEGIN
        IF NOT s.follows THEN
            PERFORM set_config('transaction_read_only', 'on', true);
        END IF;
        EXECUTE statement INTO rows USING request - 'lock';
        RAISE SQLSTATE 'P0999';  -- a failed subtransaction takes the settings back
    EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
        PERFORM _refuse_prepared(s.name, prepared);
        IF SQLSTATE <> 'P0999' THEN
            RAISE;
        END IF;
        RETURN rows;
    END;
END $$;

-- Takes rows over, and records those that fail. Returns how many changed something. All of them run
-- in one subtransaction; if it fails, each tenth of them in its own, until a bad row is alone. Not
-- each half: that reads every row ten times, and a secret in one takes longer than all the rest.
CREATE OR REPLACE FUNCTION _take_rows(s source, rows source_row[], attempts int) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    number CONSTANT int := cardinality(rows);
    part CONSTANT int := ceil(number / 10.0);
    written int := 0;
BEGIN
    RETURN _take_together(s, rows);
EXCEPTION WHEN OTHERS THEN
    IF number > 1 THEN
        IF SQLSTATE = '55P03' THEN  -- after the first one, nobody else is waited for
            PERFORM set_config('lock_timeout', '1ms', true);
        END IF;
        -- What fails most often, a row of nobody, stands together.
        SELECT array_agg(g) FILTER (WHERE g.user_id <> '')
               || array_agg(g) FILTER (WHERE (g.user_id <> '') IS NOT true) INTO rows
        FROM unnest(rows) AS g;
        FOR place IN 1 .. number BY part LOOP
            written := written + _take_rows(s, rows[place:place + part - 1], attempts);
        END LOOP;
    ELSIF SQLSTATE <> '55P03' AND _is_of_server(SQLSTATE) THEN
        RAISE;
    ELSE
        -- 55P03: somebody holds its memory, which is no fault of the row.
        PERFORM _record_failure(s.name, rows[1], SQLSTATE, SQLERRM,
                                CASE SQLSTATE WHEN '55P03' THEN attempts - 1 ELSE attempts END);
    END IF;
    RETURN written;
END $$;

CREATE OR REPLACE FUNCTION _take_together(s source, rows source_row[]) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    is_event CONSTANT boolean := s.kind = 'event';
    one_by_one source_row[] := rows;
    fresh source_row[];
    r source_row;
    written int := 0;
BEGIN
    PERFORM _check_whose(s, rows);
    IF NOT is_event THEN
        SELECT array_agg(g ORDER BY g.user_id) FILTER (WHERE m.known),
               array_agg(g) FILTER (WHERE m.known IS NULL)
        INTO one_by_one, fresh
        FROM unnest(rows) AS g
        LEFT JOIN LATERAL (SELECT true AS known FROM memory AS k
                           WHERE k.user_id = g.user_id AND k.source = s.name
                             AND k.source_key = g.source_key OFFSET 0) AS m ON true;
        fresh := _wanted_rows(fresh, false);
        IF fresh <> '{}' THEN
            PERFORM _check_row(g.user_id, g.source_key, g.status) FROM unnest(fresh) AS g;
            written := _source_add_many(s, fresh);
        END IF;
    END IF;
    FOREACH r IN ARRAY coalesce(one_by_one, '{}') LOOP
        written := written + _source_row(s.name, r, true, is_event)::int;
    END LOOP;
    RETURN written;
END $$;

-- A query for one user may not return rows of another.
CREATE OR REPLACE FUNCTION _check_whose(s source, rows source_row[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    r source_row;
BEGIN
    SELECT g.* INTO r FROM unnest(rows) AS g WHERE g.user_id <> s.mapping ->> 'user_id' LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'row "%" is of user "%", the source is of "%"', r.source_key, r.user_id,
                s.mapping ->> 'user_id'
            USING ERRCODE = 'ME016', HINT = 'Select the rows of that user, or give no user_id.';
    END IF;
END $$;

-- Whether rows of a source stand in the profiles of their users.
CREATE OR REPLACE FUNCTION _is_of_profile(s source) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM kind AS k WHERE k.name = s.kind AND k.layer = 'profile');

-- Of these rows those whose memories nobody else holds, nor their users, if their profiles will
-- change; both are locked now. The others wait, and that counts as no attempt.
CREATE OR REPLACE FUNCTION _rows_not_held(s source, rows source_row[], attempts int)
    RETURNS source_row[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    of_profile CONSTANT boolean := _is_of_profile(s);
    ends CONSTANT boolean := s.mapping ? 'valid_until';
    -- OFFSET 0: by the index for each row, whatever the planner expects without statistics.
    ids CONSTANT bigint[] := ARRAY(
        SELECT m.memory_id
        FROM unnest(rows) AS g, LATERAL (
            SELECT k.memory_id FROM memory AS k
            WHERE k.user_id = g.user_id AND k.source = s.name AND k.source_key = g.source_key
            OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS m);
    users CONSTANT text[] := ARRAY(
        SELECT p.user_id FROM profile AS p
        WHERE (of_profile OR ends AND NOT p.some_expire)
          AND p.user_id IN (SELECT g.user_id FROM unnest(rows) AS g)
        FOR NO KEY UPDATE OF p SKIP LOCKED);
    held CONSTANT source_row[] := ARRAY(
        SELECT g
        FROM unnest(rows) AS g
        LEFT JOIN LATERAL (
            SELECT k.memory_id FROM memory AS k
            WHERE k.user_id = g.user_id AND k.source = s.name AND k.source_key = g.source_key
            OFFSET 0) AS m ON true
        WHERE m.memory_id IS NOT NULL AND m.memory_id NOT IN (SELECT unnest(ids))
           OR (of_profile OR ends) AND EXISTS (
               SELECT FROM profile AS p
               WHERE p.user_id = g.user_id AND (of_profile OR NOT p.some_expire)
                 AND p.user_id NOT IN (SELECT unnest(users))));
BEGIN
    IF held = '{}' THEN
        RETURN rows;
    END IF;
    PERFORM _record_failure(s.name, h, '55P03', 'somebody else holds its memory', attempts - 1)
    FROM unnest(held) AS h;
    RETURN ARRAY(SELECT g FROM unnest(rows) AS g
                 WHERE g.place NOT IN (SELECT h.place FROM unnest(held) AS h));
END $$;

-- Takes over a batch. What was not foreseen is waited for no longer than a trigger would. A first
-- reading mostly has new rows, whose memories nobody can hold: to look for them costs a tenth.
CREATE OR REPLACE FUNCTION _take_batch(s source, rows source_row[], attempts int) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '200ms'
AS $$
BEGIN
    IF s.follows AND rows <> '{}' THEN
        PERFORM set_config('memoir.rows_locked', 'on', true);
    END IF;
    IF s.follows AND (s.complete OR s.checking IS NOT NULL OR s.mapping ? 'valid_until'
                      OR _is_of_profile(s))
    THEN
        rows := _rows_not_held(s, rows, attempts);
    END IF;
    RETURN _take_rows(s, rows, attempts);
END $$;

-- Rows between two places that were not locked, because another transaction has them.
CREATE OR REPLACE FUNCTION _note_busy(s source, held source_row[], request jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _record_failure(s.name, r, '55P03', 'somebody else holds the row', 0)
    FROM unnest(_source_rows(s, request || jsonb_build_object(
        'without', ARRAY(SELECT h.source_key FROM unnest(held) AS h)))) AS r;
END $$;

-- Reads on by at most this many rows; at_end is true when the end is reached.
CREATE OR REPLACE FUNCTION _read_next(s source, most int, OUT read_rows int, OUT written int,
                                    OUT at_end boolean)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    request CONSTANT jsonb := jsonb_strip_nulls(jsonb_build_object(
        'after', CASE WHEN s.read_up_to ->> 0 <> 'since' THEN s.read_up_to END,
        'since', CASE WHEN s.read_up_to ->> 0 = 'since' THEN s.read_up_to -> 1 END));
    rows CONSTANT source_row[] := _source_rows(
        s, request || jsonb_build_object('most', most, 'lock', true));
    last_place CONSTANT jsonb := rows[cardinality(rows)].place;
BEGIN
    read_rows := cardinality(rows);
    at_end := read_rows < most;
    written := _take_batch(s, rows, 1);
    IF s.follows AND read_rows > 0 THEN
        PERFORM _note_busy(s, rows, request || CASE WHEN at_end THEN '{}'::jsonb
                                              ELSE jsonb_build_object('upto', last_place) END);
    END IF;
    UPDATE source AS o
    SET read_up_to = coalesce(last_place, o.read_up_to), complete = at_end, last_read = now()
    WHERE o.name = s.name;
END $$;

-- The rows with these keys, as memories have them.
CREATE OR REPLACE FUNCTION _rows_with(s source, keys text[]) RETURNS source_row[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    several CONSTANT boolean := jsonb_array_length(s.mapping -> 'source_id') > 1;
BEGIN
    RETURN _source_rows(s, jsonb_build_object('keys', (
        SELECT jsonb_agg(CASE WHEN several THEN k.key::jsonb ELSE jsonb_build_array(k.key) END)
        FROM unnest(keys) AS k (key))));
END $$;

-- Of these users and keys those that no row has.
CREATE OR REPLACE FUNCTION _keys_gone(s source, INOUT users text[], INOUT keys text[])
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    there CONSTANT source_row[] := _rows_with(s, keys);
BEGIN
    SELECT coalesce(array_agg(k.user_id), '{}'), coalesce(array_agg(k.source_key), '{}')
    INTO users, keys
    FROM unnest(users, keys) AS k (user_id, source_key)
    WHERE NOT EXISTS (SELECT FROM unnest(there) AS t
                      WHERE t.source_key = k.source_key AND t.user_id = k.user_id);
END $$;

-- Locks the memories of rows that seem to be gone. Whoever is just writing such a row again holds
-- its memory: once that transaction is over, the table tells.
CREATE OR REPLACE FUNCTION _wait_for_writers(s source, users text[], keys text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM memory AS m, unnest(users, keys) AS k (user_id, source_key)
    WHERE m.user_id = k.user_id AND m.source = s.name AND m.source_key = k.source_key
    ORDER BY m.user_id, m.source_key FOR NO KEY UPDATE OF m;
END $$;

-- Of memories with these keys those whose rows no longer exist go. Returns how many.
CREATE OR REPLACE FUNCTION _take_gone(s source, users text[], keys text[]) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    gone record := _keys_gone(s, users, keys);
BEGIN
    IF s.follows AND gone.keys <> '{}' THEN
        PERFORM _wait_for_writers(s, gone.users, gone.keys);
        gone := _keys_gone(s, gone.users, gone.keys);
    END IF;
    RETURN (
        SELECT count(*) FILTER (
            WHERE _source_row_gone(s.name, k.user_id, k.source_key, s.on_delete = 'purge',
                                   s.kind = 'event'))
        FROM unnest(gone.users, gone.keys) AS k (user_id, source_key));
END $$;

-- A user whom _source_emptied() left: what has come into the table since stays.
CREATE OR REPLACE FUNCTION _empty_again(s source, owner text) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    batch CONSTANT int := _config('source_batch');
    keys CONSTANT text[] := ARRAY(
        SELECT m.source_key FROM memory AS m
        WHERE m.user_id = owner AND m.source = s.name
          AND (m.status <> 'forgotten' OR s.on_delete = 'purge')
        UNION ALL
        SELECT e.source_key FROM event AS e WHERE e.user_id = owner AND e.source = s.name);
    part text[];
    written int := 0;
BEGIN
    FOR place IN 1 .. cardinality(keys) BY batch LOOP
        part := keys[place : place + batch - 1];
        written := written + _take_gone(s, array_fill(owner, ARRAY[cardinality(part)]), part);
    END LOOP;
    DELETE FROM source_error AS e
    WHERE e.user_id = owner AND e.source = s.name AND e.place = '[]';
    RETURN written;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
WHEN OTHERS THEN
    IF _is_of_server(SQLSTATE) THEN
        RAISE;
    END IF;
    UPDATE source_error AS e SET code = SQLSTATE, reason = left(_redact(SQLERRM), 500),
        attempts = e.attempts + 1
    WHERE e.user_id = owner AND e.source = s.name AND e.place = '[]';
    RETURN 0;
END $$;

-- Memories of rows that no longer exist (deleted while nobody followed them, or in a partition that
-- was dropped), after a reading from the start. At most this many memories are looked at.
CREATE OR REPLACE FUNCTION _check_gone(s source, most int, OUT written int, OUT at_end boolean)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    stored record;
BEGIN
    SELECT array_agg(m.user_id) AS users, array_agg(m.source_key) AS keys INTO stored
    FROM (SELECT k.user_id, k.source_key
          FROM (SELECT m.user_id, m.source_key FROM memory AS m
                WHERE m.source = s.name
                  AND (m.status <> 'forgotten' OR s.on_delete = 'purge')
                UNION ALL
                SELECT e.user_id, e.source_key FROM event AS e WHERE e.source = s.name) AS k
          WHERE (k.user_id, k.source_key) > (s.checking ->> 0, s.checking ->> 1)
          ORDER BY k.user_id, k.source_key LIMIT most) AS m;
    written := 0;
    at_end := coalesce(cardinality(stored.keys), 0) < most;
    IF stored.keys IS NOT NULL THEN
        written := _take_gone(s, stored.users, stored.keys);
    END IF;
    UPDATE source AS o
    SET checking = CASE WHEN NOT at_end THEN jsonb_build_array(
            stored.users[cardinality(stored.users)], stored.keys[cardinality(stored.keys)]) END
    WHERE o.name = s.name;
END $$;

-- The rows of a table or query that now have the keys of these places.
CREATE OR REPLACE FUNCTION _rows_at(s source, places jsonb[], lock boolean) RETURNS source_row[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _source_rows(s, jsonb_build_object('keys', (
        SELECT jsonb_agg(CASE WHEN s.mapping ? 'changed_at' THEN u.place - 0 ELSE u.place END)
        FROM unnest(places) AS u (place)))
        || CASE WHEN lock THEN '{"lock": true}' ELSE '{}' END::jsonb);
END $$;

-- A row as its table has it now; nothing if its key is gone.
CREATE OR REPLACE FUNCTION _row_now(name text, r source_row) RETURNS source_row
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (_rows_at(_known_source(name, false), ARRAY[r.place], false))[1];
END $$;

-- Takes rows that may have changed or gone, as their table has them now.
CREATE OR REPLACE FUNCTION _take_as_they_are(s source, rows source_row[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    there CONSTANT source_row[] := _rows_at(s, ARRAY(SELECT r.place FROM unnest(rows) AS r), false);
BEGIN
    PERFORM _take_rows(s, there, 1);
    PERFORM _source_row_gone(s.name, r.user_id, r.source_key, s.on_delete = 'purge',
                             s.kind = 'event')
    FROM unnest(rows) AS r
    WHERE (r.user_id, r.source_key) NOT IN (SELECT t.user_id, t.source_key FROM unnest(there) AS t);
END $$;

-- Tries failed rows again, of all users or of one. If a row is gone, its memory goes too. If a row
-- now belongs to another user, the memory of the former user goes. What somebody holds waits on.
-- What failed again gets a new error_id: it comes after those not tried since.
CREATE OR REPLACE FUNCTION _try_again(s source, only_user text, most int, OUT read_rows int,
                                      OUT written int)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    waiting source_error[];
    gone source_row[];
    there source_row[];
    lacking jsonb[];
    tried int;
    of_tried source_row[];
BEGIN
    IF only_user IS NULL THEN
        WITH of_everybody AS (
            DELETE FROM source_error AS e
            WHERE e.user_id = '' AND e.source = s.name AND e.place = '[]'
            RETURNING e.code, e.reason, e.attempts
        )
        INSERT INTO source_error (user_id, source, source_key, place, code, reason, attempts)
        SELECT u, s.name, '', '[]', e.code, e.reason, e.attempts
        FROM of_everybody AS e, _source_users(s.name) AS u;
    END IF;
    waiting := ARRAY(
        SELECT e FROM source_error AS e
        WHERE e.source = s.name AND e.place IS NOT NULL
          AND (only_user IS NULL OR e.user_id = only_user)
          AND e.attempts < (SELECT _config('source_attempts'))
        ORDER BY e.error_id LIMIT most FOR UPDATE SKIP LOCKED);
    read_rows := cardinality(waiting);
    written := coalesce((SELECT sum(_empty_again(s, w.user_id)) FROM unnest(waiting) AS w
                         WHERE w.place = '[]'), 0);
    waiting := ARRAY(SELECT w FROM unnest(waiting) AS w WHERE w.place <> '[]');
    IF waiting = '{}' THEN
        RETURN;
    END IF;
    there := _rows_at(s, ARRAY(SELECT w.place FROM unnest(waiting) AS w), true);
    lacking := ARRAY(
        SELECT w.place FROM unnest(waiting) AS w
        WHERE w.source_key NOT IN (SELECT left(t.source_key, 1000) FROM unnest(there) AS t));
    IF lacking <> '{}' THEN
        waiting := ARRAY(
            SELECT w FROM unnest(waiting) AS w
            WHERE w.place NOT IN (SELECT unnest(lacking))
               OR w.source_key NOT IN (SELECT left(h.source_key, 1000)
                                       FROM unnest(_rows_at(s, lacking, false)) AS h));
    END IF;
    DELETE FROM source_error AS e USING unnest(waiting) AS w
    WHERE e.user_id = w.user_id AND e.error_id = w.error_id;
    FOR tried, of_tried IN
        SELECT w.attempts, array_agg(DISTINCT t)
        FROM unnest(waiting) AS w
        JOIN unnest(there) AS t ON left(t.source_key, 1000) = w.source_key
        GROUP BY w.attempts
    LOOP
        written := written + _take_batch(s, of_tried, tried + 1);
    END LOOP;
    gone := ARRAY(
        SELECT jsonb_populate_record(NULL::source_row, jsonb_build_object(
                   'user_id', w.user_id, 'source_key', w.source_key, 'place', w.place))
        FROM unnest(waiting) AS w
        WHERE w.user_id <> ''
          AND (w.user_id, w.source_key)
              NOT IN (SELECT t.user_id, left(t.source_key, 1000) FROM unnest(there) AS t
                      WHERE t.user_id IS NOT NULL));
    -- Whoever is just writing such a row again holds its memory.
    IF s.follows AND gone <> '{}' THEN
        gone := _rows_not_held(s, gone, 1);
        there := there || _rows_at(s, ARRAY(SELECT g.place FROM unnest(gone) AS g), false);
    END IF;
    written := written + (
        SELECT count(*) FILTER (
            WHERE _source_row_gone(
                s.name, g.user_id, g.source_key,
                s.on_delete = 'purge'
                OR g.source_key IN (SELECT left(t.source_key, 1000) FROM unnest(there) AS t
                                    WHERE t.user_id IS NOT NULL),
                s.kind = 'event'))
        FROM unnest(gone) AS g
        WHERE (g.user_id, g.source_key)
              NOT IN (SELECT t.user_id, left(t.source_key, 1000) FROM unnest(there) AS t
                      WHERE t.user_id IS NOT NULL));
END $$;

-- Keywords of rows that a trigger or fill took over without them: for this many memories of a user.
-- Those are locked until the keywords are there; otherwise a memory that the application changes
-- meanwhile would have keywords of its old text. One that is being changed is left for next time.
CREATE OR REPLACE FUNCTION _source_keywords(user_id text, after bigint, most int, OUT looked_at int,
                                            OUT last_id bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    ids bigint[];
BEGIN
    ids := ARRAY(
        SELECT m.memory_id FROM memory AS m
        WHERE m.user_id = _source_keywords.user_id AND m.memory_id > after
          AND m.source IS NOT NULL AND m.status = 'active'
          AND NOT EXISTS (SELECT FROM keyword AS k
                          WHERE k.user_id = m.user_id AND k.memory_id = m.memory_id
                            AND k.origin <> 'user_tag')
        ORDER BY m.memory_id LIMIT most
        FOR NO KEY UPDATE SKIP LOCKED);
    looked_at := cardinality(ids);
    last_id := ids[looked_at];
    IF looked_at > 0 THEN
        PERFORM _replace_keywords(user_id, ids);
    END IF;
END $$;
