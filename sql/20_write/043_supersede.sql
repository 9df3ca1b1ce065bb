-- Makes one stored memory replace another, from its own beginning on. The older one leaves recall
-- and keeps its row: as_of finds it for its time.

-- The memory, if its status allows the intended change.
CREATE OR REPLACE FUNCTION _check_status(
    user_id text, memory_id bigint, allowed text[], done text) RETURNS memory
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_memory memory;
BEGIN
    PERFORM _check_memory(user_id, memory_id);
    SELECT m.* INTO found_memory
    FROM memory AS m
    WHERE m.user_id = _check_status.user_id AND m.memory_id = _check_status.memory_id;
    IF found_memory.status <> ALL (allowed) THEN
        RAISE EXCEPTION 'memory % is %: it cannot be %', memory_id, found_memory.status, done
            USING ERRCODE = 'ME014',
                  DETAIL = format('Only a memory that is %s can be.',
                                  array_to_string(allowed, ' or ')),
                  HINT = format(CASE
                      WHEN found_memory.status IN ('forgotten', 'archived')
                      THEN 'memoir.restore(%s, user_id => %L) brings it back.'
                      WHEN found_memory.status = 'pending'
                      THEN 'memoir.confirm(%s, user_id => %L) accepts it.'
                      WHEN found_memory.status = 'superseded' AND done = 'restored'
                      THEN 'SELECT * FROM memoir.undo(%s, user_id => %L) takes back what '
                           'replaced it.'
                      ELSE 'SELECT * FROM memoir.history(%s, user_id => %L) shows why.'
                      END, memory_id, user_id);
    END IF;
    RETURN found_memory;
END $$;

-- The older one ends where the newer begins, or now if that began earlier. known_at: when it was
-- said that it has ended, which may be long after both were told: until then, both were recalled.
CREATE OR REPLACE FUNCTION _supersede(
    user_id text, older memory, newer memory, known_at timestamptz, author text, reason text,
    run_id bigint, change_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _end_at(
        user_id, older.memory_id,
        CASE WHEN newer.valid_from > older.valid_from THEN newer.valid_from
             ELSE greatest(now(), older.valid_from + interval '1 microsecond') END,
        greatest(newer.created_at, older.created_at, known_at), author,
        coalesce(reason, format('memory %s takes its place', newer.memory_id)), run_id, change_id);
    PERFORM _link(user_id, ARRAY[newer.memory_id], ARRAY[older.memory_id], 'supersedes', 1,
                  ARRAY[change_id]);
END $$;

CREATE OR REPLACE FUNCTION supersede(
    memory_id bigint, by_id bigint, reason text DEFAULT NULL, user_id text DEFAULT NULL,
    author text DEFAULT 'user')
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    IF memory_id = by_id THEN
        RAISE EXCEPTION 'memory % cannot supersede itself', memory_id
            USING ERRCODE = 'ME014',
                  HINT = 'Pass the older memory first, then the newer one.';
    END IF;
    PERFORM _lock_user(owner);
    PERFORM _supersede(
        owner, _check_status(owner, memory_id, '{active}', 'superseded'),
        _check_status(owner, by_id, '{active}', 'taken in its place'), now(), author, reason,
        NULL, _next_change());
END $$;

COMMENT ON FUNCTION supersede(bigint, bigint, text, text, text) IS
    'Replaces memory_id by memory by_id: it ends (valid_until) where the other begins, and is '
    'recalled only as_of a time before this call. reason, author (up to 200 characters): kept in '
    'the revision. undo() takes it back. Errors: ME006 user, ME008 author, ME012 no such memory of '
    'this user, ME014 one of them is not active, or both are the same. Source: D4 5.8.';
