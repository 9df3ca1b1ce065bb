-- Undoes the last change of a memory, with all that was changed by the same decision: a memory that
-- was superseded is active again, and the one that superseded it is forgotten. Nothing is lost by
-- this: what an undo removes is in the history too.

-- The last change of a memory that was not undone; 0: its addition; NULL: none.
CREATE OR REPLACE FUNCTION _open_change(user_id text, memory_id bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        WITH of_memory AS MATERIALIZED (
            SELECT r.revision_id, r.change_id, r.action, r.undoes FROM revision AS r
            WHERE r.user_id = _open_change.user_id
              AND r.memory_id BETWEEN _open_change.memory_id AND _open_change.memory_id
            ORDER BY r.memory_id, r.revision_id
        )
        SELECT c.change_id
        FROM (
            SELECT r.change_id, r.revision_id FROM of_memory AS r
            WHERE r.action NOT IN ('UNDO', 'NOOP')
            UNION ALL
            SELECT 0, 0 WHERE NOT EXISTS (SELECT FROM of_memory AS r WHERE r.action = 'ADD')
        ) AS c
        WHERE c.change_id NOT IN (
            SELECT u.undoes FROM of_memory AS u WHERE u.undoes IS NOT NULL)
        ORDER BY c.revision_id DESC LIMIT 1);
END $$;

-- A memory of a change that was changed again since; NULL: none, so the change can be undone.
CREATE OR REPLACE FUNCTION _changed_since(user_id text, change_id bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN (
        SELECT r.memory_id FROM revision AS r
        WHERE r.user_id = _changed_since.user_id
          AND r.change_id BETWEEN _changed_since.change_id AND _changed_since.change_id
          AND _open_change(r.user_id, r.memory_id) IS DISTINCT FROM r.change_id
        ORDER BY r.change_id
        LIMIT 1);
END $$;

-- Undoes changes that have no memory in common, all at once: of each its last step first. A NULL
-- among them is skipped. Returns the memories that changed, in this order, and the places of their
-- changes.
CREATE OR REPLACE FUNCTION _undo_changes(
    user_id text, change_ids bigint[], author text, run_id bigint,
    OUT ids bigint[], OUT places int[])
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    in_model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    step record;
    changed bigint[];
    from_ids bigint[];
    to_ids bigint[];
    types text[];
BEGIN
    ids := '{}';
    places := '{}';
    FOR step IN
        SELECT s.action, array_agg(s.memory_id ORDER BY s.memory_id) AS ids,
               array_agg(s.old_values ORDER BY s.memory_id) AS old_values,
               array_agg(s.change_id ORDER BY s.memory_id) AS changes,
               array_agg(s.place ORDER BY s.memory_id) AS places
        FROM (
            SELECT r.memory_id, r.action, c.id AS change_id, c.place::int AS place,
                   row_number() OVER (PARTITION BY c.id ORDER BY r.revision_id DESC) AS step,
                   -- A vector of another model is not a vector for this one.
                   coalesce(r.old_values - CASE WHEN r.model <> in_model THEN 'embedding'
                                                ELSE '' END,
                            _retired('forgotten', now())) AS old_values
            FROM unnest(change_ids) WITH ORDINALITY AS c (id, place)
            CROSS JOIN LATERAL (
                SELECT r.* FROM revision AS r
                WHERE r.user_id = _undo_changes.user_id AND r.change_id BETWEEN c.id AND c.id
                ORDER BY r.change_id OFFSET 0) AS r
        ) AS s
        GROUP BY s.step, s.action
        -- What was added makes way for what comes back.
        ORDER BY s.step, s.action <> 'ADD', s.action
    LOOP
        changed := _revise(user_id, step.ids, step.old_values, 'UNDO', author,
                           'undone: ' || step.action, run_id, NULL, step.changes);
        -- What changes no value is undone, too: the next undo is of the one before.
        IF changed <> step.ids THEN
            INSERT INTO revision (user_id, memory_id, action, author, reason, old_values,
                                  change_id, run_id, undoes)
            SELECT _undo_changes.user_id, s.id, 'UNDO', coalesce(_check_author(author), 'user'),
                   'undone: ' || step.action, '{}', _next_change(), _undo_changes.run_id, s.change
            FROM unnest(step.ids, step.changes) AS s (id, change)
            WHERE s.id <> ALL (changed);
        END IF;
        ids := ids || step.ids;
        places := places || step.places;
    END LOOP;
    -- The relations that came with a change go with it.
    SELECT array_agg(r.from_id), array_agg(r.to_id), array_agg(r.type)
    INTO from_ids, to_ids, types
    FROM unnest(ids, places) AS u (id, place)
    CROSS JOIN LATERAL (
        SELECT r.from_id, r.to_id, r.type
        FROM (SELECT o.* FROM relation AS o
              WHERE o.user_id = _undo_changes.user_id AND o.from_id BETWEEN u.id AND u.id
              ORDER BY o.from_id OFFSET 0) AS r
        WHERE r.change_id = change_ids[u.place]
        UNION
        SELECT r.from_id, r.to_id, r.type
        FROM (SELECT o.* FROM relation AS o
              WHERE o.user_id = _undo_changes.user_id AND o.to_id BETWEEN u.id AND u.id
              ORDER BY o.to_id OFFSET 0) AS r
        WHERE r.change_id = change_ids[u.place]) AS r;
    IF from_ids IS NOT NULL THEN
        DELETE FROM relation AS r
        USING unnest(from_ids, to_ids, types) AS g (from_id, to_id, type)
        WHERE r.user_id = _undo_changes.user_id AND r.from_id = g.from_id AND r.to_id = g.to_id
          AND r.type = g.type
          AND r.from_id BETWEEN (SELECT min(i) FROM unnest(from_ids) AS i)
                            AND (SELECT max(i) FROM unnest(from_ids) AS i);
    END IF;
    IF 'derived_from' = ANY (types) THEN
        PERFORM _mark_derived(user_id, ARRAY(
            SELECT g.from_id FROM unnest(from_ids, types) AS g (from_id, type)
            WHERE g.type = 'derived_from'));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION undo(
    memory_id bigint, user_id text DEFAULT NULL, author text DEFAULT 'user')
    RETURNS TABLE (undone_id bigint, action text, line text, status text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    change bigint;
    since bigint;
    ids bigint[];
BEGIN
    PERFORM _check_memory(owner, undo.memory_id);
    PERFORM _lock_user(owner);
    -- The application changes its rows without that lock.
    PERFORM FROM memory AS m WHERE m.user_id = owner AND m.memory_id = undo.memory_id
    FOR NO KEY UPDATE;
    change := _open_change(owner, undo.memory_id);
    since := _changed_since(owner, change);
    IF change IS NULL THEN
        RAISE EXCEPTION 'memory % has nothing to undo', undo.memory_id
            USING ERRCODE = 'ME014',
                  HINT = format('SELECT * FROM memoir.history(%s, user_id => %L) shows what was '
                                'undone.', undo.memory_id, owner);
    ELSIF since IS NOT NULL THEN
        RAISE EXCEPTION 'memory % was changed with memory %, which was changed again since',
                undo.memory_id, since
            USING ERRCODE = 'ME014',
                  HINT = format('SELECT * FROM memoir.undo(%s, user_id => %L) first.', since,
                                owner);
    ELSIF change = 0 THEN
        ids := _revise(owner, ARRAY[undo.memory_id], ARRAY[_retired('forgotten', now())],
                       'UNDO', author, 'undone: ADD', NULL, NULL, '{0}');
    ELSE
        ids := (_undo_changes(owner, ARRAY[change], author, NULL)).ids;
    END IF;
    RETURN QUERY
    SELECT m.memory_id, r.reason, _line(m.content, 200), m.status
    FROM unnest(ids) WITH ORDINALITY AS i (id, place)
    CROSS JOIN LATERAL (
        SELECT m.* FROM memory AS m
        WHERE m.user_id = owner AND m.memory_id = i.id OFFSET 0) AS m
    CROSS JOIN LATERAL (SELECT r.reason FROM revision AS r
                        WHERE r.user_id = owner AND r.memory_id BETWEEN i.id AND i.id
                        ORDER BY r.memory_id DESC, r.revision_id DESC LIMIT 1) AS r
    ORDER BY i.place;
END $$;

COMMENT ON FUNCTION undo(bigint, text, text) IS
    'Undoes the last change of a memory; called again, the one before; in the end its addition, '
    'which forgets it. Everything the same decision changed is undone with it: a superseded '
    'memory is active again. Tags of the user stay: they have no history. Returns a row for each '
    'memory: undone_id, action (what was undone), its first 200 characters and its status now. '
    'Errors: ME002 it was of a kind that there is no more, ME006 user, ME008 author, ME011 it '
    'would end before it began, ME012 no such memory of this user, ME014 nothing to undo, another '
    'memory of the decision was changed since, or another has taken its place.';
