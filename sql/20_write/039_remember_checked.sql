-- Remembers checked memories and says what became of each: what remember() does with one, and
-- remember_many() with a thousand. New ones are stored together. Then slots are filled and
-- near-duplicates settled one by one, so that each sees what the one before it left.

-- Whether a memory fills a slot: the subject of a turn is only a name.
CREATE OR REPLACE FUNCTION _has_slot(given new_memory) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN given.subject IS NOT NULL AND given.position IS NULL AND given.status = 'active';

-- Whether another memory may stand for it: not for a turn, which records what was said.
CREATE OR REPLACE FUNCTION _may_repeat(given new_memory) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN given.subject IS NULL AND given.position IS NULL AND given.status = 'active';

-- Whether storing it changes more than its own rows.
CREATE OR REPLACE FUNCTION _needs_lock(given new_memory) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _has_slot(given) OR given.in_profile OR given.valid_until IS NOT NULL;

-- Whether what this author adds waits if the user confirms, because nobody has looked at it. The
-- author is recognised in any spelling: a capital must not let a memory pass.
CREATE OR REPLACE FUNCTION _is_automatic(author text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _lower(_trimmed(author)) IN ('agent', 'model');

CREATE OR REPLACE FUNCTION _remember(user_id text, model embedding_model, given new_memory[])
    RETURNS outcome[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    batch record;
    settings record;
    temporary text[];
    plain new_memory[];
    plains int := 0;
    slots boolean := false;
    known bigint[];
    like_others bigint[];
    near_ids bigint[];
    stale bigint[] := '{}';
    number int := 0;
    stored_id bigint;
    near_id bigint;
    outcomes outcome[] := array_fill(NULL::outcome, ARRAY[cardinality(given)]);
BEGIN
    -- Everything that is asked of the array, asked at once: each time takes 8 µs of a call (2 % in
    -- all).
    SELECT bool_or(_needs_lock(g)) AS needs_lock, bool_or(g.in_profile) AS in_profile,
           array_agg(g.session_id) FILTER (WHERE g.session_id IS NOT NULL) AS session_ids,
           array_agg(g.created_at) FILTER (WHERE g.session_id IS NOT NULL) AS said_at
    INTO batch
    FROM unnest(given) AS g;
    IF batch.needs_lock THEN
        PERFORM _lock_user(user_id);
    END IF;
    SELECT p.memory_on, p.confirm INTO settings
    FROM profile AS p WHERE p.user_id = _remember.user_id;
    IF NOT FOUND THEN
        PERFORM _make_profile(user_id);
    ELSIF NOT settings.memory_on THEN
        RETURN array_fill(_outcome('NOOP', NULL, 'memory is off'), ARRAY[cardinality(given)]);
    END IF;
    IF batch.session_ids IS NOT NULL THEN
        temporary := _open_sessions(user_id, batch.session_ids, batch.said_at);
    END IF;
    FOR place IN 1 .. cardinality(given) LOOP
        IF settings.confirm AND _is_automatic(given[place].origin) THEN
            given[place].status := 'pending';
            stored_id := _proposed_already(user_id, given[place]);
            IF stored_id IS NOT NULL
               AND (given[place].session_id = ANY (temporary)) IS NOT TRUE
            THEN
                outcomes[place] := _said_again(user_id, stored_id, given[place]);
                CONTINUE;
            END IF;
        END IF;
        IF given[place].session_id = ANY (temporary) THEN
            outcomes[place] := _outcome('NOOP', NULL, 'the session is temporary');
        ELSIF _has_slot(given[place]) THEN
            slots := true;
        ELSE
            plains := plains + 1;
            plain[plains] := given[place];
        END IF;
    END LOOP;

    IF plains > 0 THEN
        known := _store(user_id, model, plain);
    END IF;
    -- If no slot is filled in between, near-duplicates are looked for once for all of them. The
    -- result holds until a memory is removed or gets a different text: those are stale.
    IF _consolidates() AND NOT slots THEN
        SELECT array_agg(d.memory_id), array_agg(d.near_id) INTO like_others, near_ids
        FROM _near_duplicates(user_id, model.model_id, ARRAY(
            SELECT g.memory_id FROM unnest(plain) AS g WHERE _may_repeat(g))) AS d;
    END IF;
    FOR place IN 1 .. cardinality(given) LOOP
        CONTINUE WHEN outcomes[place].action IS NOT NULL;
        IF _has_slot(given[place]) THEN
            outcomes[place] := _fill_slot(user_id, model, given[place]);
            CONTINUE;
        END IF;
        number := number + 1;
        stored_id := known[number];
        -- The memory with the same text is gone, or has a different text by now: look again.
        IF stored_id = ANY (stale) THEN
            stored_id := (_store(user_id, model, ARRAY[given[place]]))[1];
            like_others := like_others || given[place].memory_id;
        END IF;
        IF stored_id IS NOT NULL THEN
            outcomes[place] := _said_again(user_id, stored_id, given[place]);
            CONTINUE;
        END IF;
        outcomes[place] := CASE given[place].status
            WHEN 'pending'
            THEN _outcome('PENDING', given[place].memory_id, 'it waits to be confirmed')
            ELSE _outcome('ADD', given[place].memory_id, 'new') END;
        CONTINUE WHEN NOT (_consolidates() AND _may_repeat(given[place])
                           AND (slots OR given[place].memory_id = ANY (like_others)));
        IF slots OR cardinality(stale) > 0 THEN
            near_id := (SELECT d.near_id FROM _near_duplicates(
                            user_id, model.model_id, ARRAY[given[place].memory_id]) AS d);
        ELSE
            near_id := near_ids[array_position(like_others, given[place].memory_id)];
        END IF;
        IF near_id IS NOT NULL THEN
            outcomes[place] := _settle(user_id, given[place], near_id);
            IF outcomes[place].memory_id <> given[place].memory_id THEN
                stale := stale || given[place].memory_id || near_id;
            END IF;
        END IF;
    END LOOP;
    IF batch.in_profile THEN
        PERFORM _refresh_profile(user_id);
    END IF;
    PERFORM _notify(user_id, 'created', ARRAY(
        SELECT o.memory_id FROM unnest(outcomes) AS o
        WHERE o.action IN ('ADD', 'SUPERSEDE', 'PENDING') ORDER BY o.memory_id));
    RETURN outcomes;
END $$;
