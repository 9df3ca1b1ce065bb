-- What becomes of a new memory, given what is already stored. A new one is stored first and then
-- compared, using its stored row. If the rule keeps the other one, the new row is removed before
-- anybody has seen it. Its text stays in the other memory or in a revision.

CREATE OR REPLACE FUNCTION _outcome(
    action text, memory_id bigint, reason text, other_ids bigint[] DEFAULT '{}') RETURNS outcome
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ROW(action, memory_id, reason, other_ids)::outcome;

-- The memory that says the same in the same words and is already stored or waiting: what an agent
-- says in every session is to be confirmed once. NULL: none.
CREATE OR REPLACE FUNCTION _proposed_already(user_id text, given new_memory) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT m.memory_id
        FROM _keywords(given.content) AS w,
             LATERAL (SELECT k.memory_id FROM keyword AS k
                      WHERE k.user_id = _proposed_already.user_id AND k.keyword = w.keyword
                      ORDER BY k.memory_id DESC LIMIT 24) AS k,
             LATERAL (SELECT o.* FROM memory AS o
                      WHERE o.user_id = _proposed_already.user_id AND o.memory_id = k.memory_id
                      OFFSET 0) AS m
        WHERE m.status IN ('active', 'pending') AND m.position IS NULL AND m.source IS NULL
          AND m.kind = given.kind AND m.subject IS NOT DISTINCT FROM given.subject
          AND given.position IS NULL AND (m.valid_until > given.valid_from) IS NOT FALSE
          AND _word_sequence(m.content) = (SELECT _word_sequence(given.content))  -- once
        ORDER BY m.status, m.memory_id LIMIT 1);
END $$;

-- The values given with a text that is stored already, without those that were filled in. A model
-- repeats what it knows, each time with another guess of how important that is: that is left out.
CREATE OR REPLACE FUNCTION _given_values(given new_memory) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $$
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object('summary', given.summary)
               || CASE WHEN _is_automatic(given.origin) THEN '{}'
                       ELSE jsonb_build_object('importance', given.told_importance,
                                               'confidence', given.told_confidence) END)
        || CASE WHEN given.data = '{}' THEN '{}' ELSE jsonb_build_object('data', given.data) END;
END $$;

-- The same text again: what else comes with it is added, unless the user is to confirm it.
CREATE OR REPLACE FUNCTION _said_again(
    user_id text, known bigint, given new_memory, run_id bigint DEFAULT NULL,
    change_id bigint DEFAULT NULL) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    given_values jsonb := _given_values(given);
    waits boolean;
    confirmed outcome;
BEGIN
    IF given.position IS NULL THEN
        waits := 'pending' = (SELECT m.status FROM memory AS m
                              WHERE m.user_id = _said_again.user_id AND m.memory_id = known);
        IF given.valid_until IS NOT NULL AND EXISTS (
            SELECT FROM memory AS m
            WHERE m.user_id = _said_again.user_id AND m.memory_id = known AND m.status = 'active'
              AND m.valid_from < given.valid_until
              AND m.valid_from <= given.valid_from + interval '1 millisecond')
        THEN
            given_values := given_values || jsonb_build_object('valid_until', given.valid_until);
        END IF;
    END IF;
    IF waits AND given.status = 'active' THEN
        PERFORM _lock_user(user_id);
        -- Whoever held the lock before may have confirmed it.
        confirmed := _confirm_said(user_id, known, run_id, change_id, false);
        IF confirmed.action IS NOT NULL THEN
            RETURN confirmed;
        END IF;
    ELSIF NOT waits AND given.status = 'pending' AND given_values <> '{}' THEN
        RETURN _outcome('NOOP', known, 'nothing is changed before the user confirms it');
    END IF;
    IF given_values <> '{}' THEN
        PERFORM _lock_user(user_id);
        IF _revise(user_id, ARRAY[known], ARRAY[given_values], 'UPDATE', given.origin,
                   'the same text with other values', run_id, change_id) <> '{}' THEN
            RETURN _outcome('UPDATE', known, 'the same text with other values');
        END IF;
    END IF;
    RETURN _outcome('NOOP', known, 'the same memory is stored already');
END $$;

-- A new memory that says nearly the same as a stored one. The lock is not waited for, because this
-- transaction may hold what its holder waits for: without it both memories stay. So they do while
-- the stored one is being purged, because nothing may refer to it. A model is asked later about
-- what the rule keeps side by side.
CREATE OR REPLACE FUNCTION _settle(user_id text, given new_memory, near_id bigint)
    RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    stored memory;
    decision record;
    given_values jsonb;
    locked boolean := false;
BEGIN
    LOOP
        SELECT m.* INTO stored
        FROM memory AS m
        WHERE m.user_id = _settle.user_id AND m.memory_id = near_id AND m.status = 'active'
        FOR KEY SHARE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN _outcome('ADD', given.memory_id, 'new');
        END IF;
        decision := _decide(stored.content, given.content);
        given_values := CASE WHEN decision.action = 'NOOP'
                             THEN _given_values(given) - 'summary' END;
        EXIT WHEN locked OR decision.action = 'ADD' OR given_values = '{}';
        -- Whoever held the lock may just have changed it, so it is read again under the lock.
        locked := _try_lock_user(user_id);
        EXIT WHEN NOT locked;
    END LOOP;
    IF decision.action = 'NOOP' AND (locked OR given_values = '{}') THEN
        DELETE FROM memory AS m
        WHERE m.user_id = _settle.user_id AND m.memory_id = given.memory_id;
        INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, run_id,
                              change_id)
        VALUES (_settle.user_id, near_id, 'NOOP', given.origin,
                'said again: ' || given.content, '{}', NULL, _next_change());
        IF given_values ? 'data' THEN
            given_values := given_values || jsonb_build_object('data', stored.data || given.data);
        END IF;
        IF _revise(user_id, ARRAY[near_id], ARRAY[given_values], 'UPDATE', given.origin,
                   'said again with other values', NULL, NULL) <> '{}' THEN
            RETURN _outcome('UPDATE', near_id, 'a stored memory says so, with other values');
        END IF;
        RETURN _outcome('NOOP', near_id, 'a stored memory says so already');
    ELSIF decision.action = 'UPDATE' AND locked THEN
        DELETE FROM memory AS m
        WHERE m.user_id = _settle.user_id AND m.memory_id = given.memory_id;
        PERFORM _revise(
            user_id, ARRAY[near_id],
            ARRAY[jsonb_build_object(
                'content', given.content, 'data', stored.data || given.data,
                'importance', greatest(stored.importance, given.importance),
                'embedding', given.embedding::text)],
            'UPDATE', given.origin, 'it says more', NULL, NULL);
        RETURN _outcome('UPDATE', near_id, 'it says more than the stored one');
    END IF;
    PERFORM _ask_about_pair(user_id, near_id, given.memory_id,
                            coalesce(decision.relation, 'related'));
    RETURN _outcome('ADD', given.memory_id,
                    CASE decision.relation WHEN 'contradicts' THEN 'it contradicts a stored one'
                        ELSE 'it is like a stored one' END, ARRAY[near_id]);
END $$;

-- The revision of memories that came with other changes, and go when those are undone. change_id
-- NULL: each memory is a change of its own.
CREATE OR REPLACE FUNCTION _record_added(
    user_id text, memory_ids bigint[], author text, reason text, run_id bigint,
    change_id bigint) RETURNS void
    LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO revision (user_id, memory_id, action, author, reason, change_id, run_id)
    SELECT _record_added.user_id, i, 'ADD', _record_added.author, _record_added.reason,
           coalesce(_record_added.change_id, _next_change()), _record_added.run_id
    FROM unnest(memory_ids) AS i;
END;

-- Of memories that a file adds, those that have this revision already, because _replace_ended
-- stored them.
CREATE OR REPLACE FUNCTION _recorded(user_id text, memory_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    RETURN ARRAY(SELECT r.memory_id FROM revision AS r
                 WHERE r.user_id = _recorded.user_id AND r.memory_id = ANY (memory_ids)
                   AND r.action = 'ADD');
END $$;

-- If a transaction keeps its snapshot, only the index knows what another has just put into the
-- slot. In READ COMMITTED the lock is enough, which saves a subtransaction for each memory.
CREATE OR REPLACE FUNCTION _store_in_slot(user_id text, model embedding_model, given new_memory)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM _store(user_id, model, ARRAY[given]);
        RETURN;
    END IF;
    BEGIN
        PERFORM _store(user_id, model, ARRAY[given]);
    EXCEPTION WHEN unique_violation THEN
        RAISE EXCEPTION 'another connection has just filled the slot "%"', given.subject
            USING ERRCODE = 'serialization_failure',
                  HINT = 'Try the whole transaction again.';
    END;
END $$;

-- A memory for a slot: it takes its place in time. The caller holds _lock_user.
CREATE OR REPLACE FUNCTION _fill_slot(
    user_id text, model embedding_model, given new_memory, reason text DEFAULT NULL,
    run_id bigint DEFAULT NULL, change_id bigint DEFAULT NULL) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    change CONSTANT bigint := coalesce(change_id, _next_change());
    place record;
    known bigint;
    newest timestamptz;
    ended boolean;
BEGIN
    -- Memories of a slot do not overlap, so of those that begin no later than this one only the
    -- last can be true at its time.
    SELECT m.memory_id INTO known
    FROM memory AS m
    WHERE m.user_id = _fill_slot.user_id AND m.content_hash = given.content_hash
      AND m.status = 'pending' AND m.source IS NULL
    UNION ALL
    (SELECT m.memory_id
     FROM (SELECT m.memory_id, m.valid_from, m.valid_until, m.content_hash, m.content
           FROM memory AS m
           WHERE m.user_id = _fill_slot.user_id AND m.kind = given.kind
             AND m.subject = given.subject AND m.position IS NULL AND m.source IS NULL
             AND m.valid_from >= coalesce((
                 SELECT max(h.valid_from) FROM memory AS h
                 WHERE h.user_id = _fill_slot.user_id AND h.kind = given.kind
                   AND h.subject = given.subject AND h.position IS NULL AND h.source IS NULL
                   AND h.status IN ('active', 'superseded') AND h.valid_from <= given.valid_from),
                 '-infinity')
             -- If two begin at the same moment, the later one begins a little later.
             AND (m.status = 'pending'
                  OR m.status IN ('active', 'superseded')
                     AND m.valid_from <= given.valid_from + interval '1 millisecond'
                     AND (given.valid_from < m.valid_until) IS NOT FALSE)
           -- A batch may have a thousand of one moment, and an agent may propose as many: the same
           -- text is found among all of them, the same words among 20.
           ORDER BY m.content_hash = given.content_hash DESC, m.status = 'pending',
                    m.valid_from DESC
           LIMIT 20) AS m
     -- The session is part of the hash, so the same words said in another session are compared
     -- too.
     WHERE m.content_hash = given.content_hash
        OR _word_sequence(m.content) = (SELECT _word_sequence(given.content))  -- once
           AND (given.valid_until IS NULL OR given.valid_until = m.valid_until)
     ORDER BY m.valid_from DESC LIMIT 1)
    LIMIT 1;
    IF FOUND THEN
        RETURN _said_again(user_id, known, given, run_id, change_id);
    END IF;
    place := _slot(user_id, given.kind, given.subject, given.created_at, given.valid_from,
                   given.valid_until);
    -- With no time told, what is told last is the newest: a clock may have been set back, and what
    -- another transaction has stored meanwhile has a later time than this one's beginning. What
    -- was told beforehand of a time to come stays there.
    IF place.after_id IS NOT NULL AND (given.created_at, given.valid_from) = (now(), now()) THEN
        SELECT max(m.valid_from) INTO newest
        FROM memory AS m
        WHERE m.user_id = _fill_slot.user_id AND m.kind = given.kind AND m.subject = given.subject
          AND m.position IS NULL AND m.source IS NULL AND m.status IN ('active', 'superseded')
          AND m.valid_from > given.valid_from
          AND m.valid_from < m.created_at + interval '1 millisecond';
        IF newest IS NOT NULL AND (given.valid_until > newest) IS NOT FALSE THEN
            given.created_at := newest;
            given.valid_from := newest;
            RETURN _fill_slot(user_id, model, given, reason, run_id, change);
        END IF;
    END IF;
    given.valid_from := place.valid_from;
    given.valid_until := place.valid_until;
    given.status := place.status;
    given.retired_at := place.retired_at;
    ended := place.before_id IS NOT NULL AND _end_at(
        user_id, place.before_id, place.valid_from, given.created_at, given.origin,
        format('memory %s follows', given.memory_id), run_id, change);
    PERFORM _store_in_slot(user_id, model, given);
    PERFORM _link(user_id, ARRAY[given.memory_id, place.after_id],
                  ARRAY[place.before_id, given.memory_id], 'supersedes', 1,
                  ARRAY[change, change]);
    -- Without this revision an undo would not find the relations made above.
    IF coalesce(place.before_id, place.after_id, run_id) IS NOT NULL THEN
        PERFORM _record_added(user_id, ARRAY[given.memory_id], given.origin, reason, run_id,
                              change);
    END IF;
    RETURN CASE
        WHEN place.after_id IS NOT NULL
            THEN _outcome('ADD', given.memory_id, format('memory %s follows it', place.after_id),
                     ARRAY[place.after_id])
        WHEN ended THEN _outcome('SUPERSEDE', given.memory_id, 'newer on the same subject',
                                 ARRAY[place.before_id])
        ELSE _outcome('ADD', given.memory_id, coalesce(reason, 'new')) END;
END $$;
