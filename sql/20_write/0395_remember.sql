-- Remembers checked memories and says what became of each: what remember() does with one, and
-- remember_many() with a thousand. Those that are new go in together; then slots are filled, and
-- what is like another is settled, one by one, so that each meets what the one before it left.

-- Whether a memory names a slot: of a turn the subject is no more than a name.
CREATE OR REPLACE FUNCTION _has_slot(given new_memory) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN given.subject IS NOT NULL AND given.position IS NULL AND given.status = 'active';

-- Whether another may stand for it: not for a turn, which says what was said.
CREATE OR REPLACE FUNCTION _may_repeat(given new_memory) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN given.subject IS NULL AND given.position IS NULL AND given.status = 'active';

-- Whether storing it changes more than its own rows.
CREATE OR REPLACE FUNCTION _needs_lock(given new_memory) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _has_slot(given) OR given.in_profile OR given.valid_until IS NOT NULL;

-- What an agent or a model adds waits until it is confirmed, where the user wants that.
CREATE OR REPLACE FUNCTION _remember(user_id text, model embedding_model, given new_memory[])
    RETURNS outcome[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    holder record;
    temporary text[];
    plain new_memory[] := '{}';
    plain_places int[] := '{}';
    slot_places int[] := '{}';
    known bigint[];
    like_others bigint[];
    near_id bigint;
    outcomes outcome[] := array_fill(NULL::outcome, ARRAY[cardinality(given)]);
BEGIN
    IF EXISTS (SELECT FROM unnest(given) AS g WHERE _needs_lock(g)) THEN
        PERFORM _lock_user(user_id);
    END IF;
    SELECT p.memory_on, p.confirm INTO holder FROM profile AS p WHERE p.user_id = _remember.user_id;
    IF NOT FOUND THEN
        INSERT INTO profile (user_id) VALUES (_remember.user_id) ON CONFLICT DO NOTHING;
    ELSIF NOT holder.memory_on THEN
        RETURN array_fill(_outcome('NOOP', NULL, 'memory is off'), ARRAY[cardinality(given)]);
    END IF;
    temporary := _open_sessions(user_id, ARRAY(
        SELECT g.session_id FROM unnest(given) AS g WHERE g.session_id IS NOT NULL));
    FOR place IN 1 .. cardinality(given) LOOP
        IF holder.confirm AND given[place].origin IN ('agent', 'model') THEN
            given[place].status := 'pending';
        END IF;
        IF given[place].session_id = ANY (temporary) THEN
            outcomes[place] := _outcome('NOOP', NULL, 'the session is temporary');
        ELSIF _has_slot(given[place]) THEN
            slot_places := slot_places || place;
        ELSE
            plain := plain || given[place];
            plain_places := plain_places || place;
        END IF;
    END LOOP;

    IF plain <> '{}' THEN
        known := _store(user_id, model, plain);
    END IF;
    FOR number IN 1 .. cardinality(plain) LOOP
        outcomes[plain_places[number]] := CASE
            WHEN known[number] IS NOT NULL THEN _said_again(user_id, known[number], plain[number])
            WHEN plain[number].status = 'pending'
                THEN _outcome('PENDING', plain[number].memory_id, 'it waits to be confirmed')
            ELSE _outcome('ADD', plain[number].memory_id, 'new') END;
    END LOOP;
    FOR number IN 1 .. cardinality(slot_places) LOOP
        outcomes[slot_places[number]] := _fill_slot(user_id, model, given[slot_places[number]]);
    END LOOP;
    -- Again for each: what it is like may be gone, or be another, after the one before it.
    IF model.consolidate THEN
        SELECT array_agg(d.memory_id) INTO like_others
        FROM _near_duplicates(user_id, model.model_id, ARRAY(
            SELECT g.memory_id FROM unnest(plain) AS g WHERE _may_repeat(g))) AS d;
    END IF;
    FOR number IN 1 .. CASE WHEN like_others IS NULL THEN 0 ELSE cardinality(plain) END LOOP
        CONTINUE WHEN plain[number].memory_id <> ALL (like_others);
        SELECT d.near_id INTO near_id
        FROM _near_duplicates(user_id, model.model_id, ARRAY[plain[number].memory_id]) AS d;
        IF FOUND THEN
            outcomes[plain_places[number]] := _settle(user_id, plain[number], near_id);
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM unnest(given) AS g WHERE g.in_profile) THEN
        PERFORM _refresh_profile(user_id);
    END IF;
    IF model.notify THEN
        PERFORM _notify(user_id, 'created', ARRAY(
            SELECT o.memory_id FROM unnest(outcomes) AS o
            WHERE o.action IN ('ADD', 'SUPERSEDE', 'PENDING') ORDER BY o.memory_id));
    END IF;
    RETURN outcomes;
END $$;
