-- A candidate that the user confirms is remembered: it takes its place in its slot, or beside the
-- memory that says nearly the same, as remember() would have given it at once. No row is deleted: a
-- candidate was seen, so one that adds nothing is superseded by the one that already says it.

-- A confirmed candidate replaces the memories it was proposed for (apply_decisions): these ids.
CREATE OR REPLACE FUNCTION _supersede_proposed(
    user_id text, memory_id bigint, run_id bigint, change_id bigint) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    newer CONSTANT memory := _check_status(user_id, memory_id, '{active,superseded}', 'confirmed');
    ids CONSTANT bigint[] := ARRAY(
        SELECT m.memory_id
        FROM relation AS r, LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = _supersede_proposed.user_id AND m.memory_id = r.to_id OFFSET 0) AS m
        WHERE r.user_id = _supersede_proposed.user_id AND r.from_id = newer.memory_id
          AND r.type = 'supersedes' AND m.status = 'active' AND newer.status = 'active');
BEGIN
    PERFORM _supersede_all(user_id, ids, newer.memory_id, newer.created_at, 'user', NULL, run_id,
                           change_id);
    RETURN ids;
END $$;

-- The candidate at its place in time; it ends the memory before it.
CREATE OR REPLACE FUNCTION _confirm_in_slot(candidate memory, run_id bigint, change_id bigint)
    RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    place record;
    ended bigint[];
BEGIN
    place := _slot(candidate.user_id, candidate.kind, candidate.subject, candidate.created_at,
                   candidate.valid_from, candidate.valid_until);
    PERFORM _end_at(candidate.user_id, place.before_id, place.valid_from, candidate.created_at,
                    'user', format('memory %s follows', candidate.memory_id), run_id, change_id);
    PERFORM _revise(candidate.user_id, ARRAY[candidate.memory_id],
                    ARRAY[to_jsonb(place) - '{before_id,after_id}'::text[]],
                    'CONFIRM', 'user', NULL, run_id, change_id);
    PERFORM _link(candidate.user_id, ARRAY[candidate.memory_id, place.after_id],
                  ARRAY[place.before_id, candidate.memory_id], 'supersedes', 1,
                  ARRAY[change_id, change_id]);
    ended := _supersede_proposed(candidate.user_id, candidate.memory_id, run_id, change_id);
    RETURN CASE
        WHEN place.after_id IS NOT NULL
            THEN _outcome('CONFIRM', candidate.memory_id,
                          format('memory %s follows it', place.after_id), ARRAY[place.after_id])
        WHEN place.before_id IS NOT NULL
            THEN _outcome('SUPERSEDE', candidate.memory_id, 'newer on the same subject',
                          place.before_id || ended)
        WHEN ended <> '{}'
            THEN _outcome('SUPERSEDE', candidate.memory_id, 'as it was proposed', ended)
        ELSE _outcome('CONFIRM', candidate.memory_id, 'confirmed') END;
END $$;

-- The candidate beside the memory that says nearly the same: if one contains the other, the
-- containing one stays. decided: somebody decided that it is added, however similar it is.
CREATE OR REPLACE FUNCTION _confirm_beside(
    candidate memory, run_id bigint, change_id bigint, decided boolean) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    stored memory;
    decision record;
    kept_id bigint := candidate.memory_id;
    ended_id bigint;
    ended bigint[];
BEGIN
    PERFORM _revise(candidate.user_id, ARRAY[candidate.memory_id],
                    ARRAY['{"status": "active"}'::jsonb], 'CONFIRM', 'user', NULL, run_id,
                    change_id);
    ended := _supersede_proposed(candidate.user_id, kept_id, run_id, change_id);
    IF ended <> '{}' THEN
        RETURN _outcome('SUPERSEDE', kept_id, 'as it was proposed', ended);
    ELSIF decided THEN
        RETURN _outcome('CONFIRM', kept_id, 'confirmed');
    END IF;
    SELECT m.* INTO stored
    FROM _near_duplicates(candidate.user_id, model, ARRAY[candidate.memory_id]) AS d
    JOIN memory AS m ON m.user_id = candidate.user_id AND m.memory_id = d.near_id
    WHERE candidate.position IS NULL;
    IF NOT FOUND THEN
        RETURN _outcome('CONFIRM', kept_id, 'confirmed');
    END IF;
    decision := _decide(stored.content, candidate.content);
    ended_id := stored.memory_id;
    IF decision.action = 'NOOP' THEN
        kept_id := stored.memory_id;
        ended_id := candidate.memory_id;
    END IF;
    PERFORM _link(candidate.user_id, ARRAY[kept_id], ARRAY[ended_id],
                  coalesce(decision.relation, 'supersedes'),
                  CASE WHEN decision.relation IS NULL THEN 1 ELSE 0.9 END, ARRAY[change_id]);
    IF decision.action = 'ADD' THEN
        RETURN _outcome('CONFIRM', kept_id, 'confirmed; a stored one is like it', ARRAY[ended_id]);
    END IF;
    PERFORM _retire(candidate.user_id, ARRAY[ended_id], 'superseded', 'SUPERSEDE', 'user',
                    format('memory %s says so', kept_id), now(), run_id, change_id);
    IF decision.action = 'NOOP' THEN
        RETURN _outcome('NOOP', kept_id, 'a stored memory says so already', ARRAY[ended_id]);
    END IF;
    RETURN _outcome('SUPERSEDE', kept_id, 'it says more than the stored one', ARRAY[ended_id]);
END $$;

-- The caller holds _lock_user.
CREATE OR REPLACE FUNCTION _confirm(
    user_id text, memory_id bigint, run_id bigint DEFAULT NULL, change_id bigint DEFAULT NULL,
    decided boolean DEFAULT false) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    candidate CONSTANT memory := _check_status(user_id, memory_id, '{pending}', 'confirmed');
    change CONSTANT bigint := coalesce(change_id, _next_change());
BEGIN
    RETURN CASE WHEN candidate.subject IS NOT NULL AND candidate.position IS NULL
                THEN _confirm_in_slot(candidate, run_id, change)
                ELSE _confirm_beside(candidate, run_id, change, decided) END;
END $$;

-- What waits for the user no longer waits once the user says it. NULL: it does not wait.
CREATE OR REPLACE FUNCTION _confirm_said(
    user_id text, memory_id bigint, run_id bigint, change_id bigint, decided boolean)
    RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    confirmed outcome;
BEGIN
    PERFORM FROM memory AS m
    WHERE m.user_id = _confirm_said.user_id AND m.memory_id = _confirm_said.memory_id
      AND m.status = 'pending';
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    confirmed := _confirm(user_id, memory_id, run_id, change_id, decided);
    RETURN _outcome(CASE confirmed.action WHEN 'CONFIRM' THEN 'UPDATE' ELSE confirmed.action END,
                    confirmed.memory_id, 'it waited to be confirmed', confirmed.other_ids);
END $$;

CREATE OR REPLACE FUNCTION confirm(
    INOUT memory_id bigint, user_id text DEFAULT NULL,
    OUT action text, OUT reason text, OUT other_ids bigint[])
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    PERFORM _lock_user(owner);
    SELECT d.memory_id, d.action, d.reason, d.other_ids INTO memory_id, action, reason, other_ids
    FROM _confirm(owner, memory_id) AS d;
END $$;

COMMENT ON FUNCTION confirm(bigint, text) IS
    'Confirms a pending memory: it is recalled from now on, and decided about as by remember(). '
    'Returns memory_id, the memory that holds it now; action: CONFIRM; SUPERSEDE (it is newer on '
    'its subject, says more than a stored one or was proposed for it, and that one has ended); '
    'NOOP (a stored one says so already, this one is superseded); reason; other_ids: memories it '
    'superseded, that follow it, or that it is like; of NOOP itself. list_memories(status => '
    '''{pending}'') lists what waits. Errors: ME006 user, ME012 no such memory of this user, ME014 '
    'it is not pending. Source: D4 4.4.';
