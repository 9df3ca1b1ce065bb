-- Undoes the last change of a memory, with all that was changed by the same decision: a memory that
-- was superseded is active again, and the one that superseded it is forgotten. Nothing is lost by
-- this: what an undo removes is in the history too. Revisions are searched by a range of one id and
-- in the order of the one index that begins with it: if most users have no more than one, "=" may
-- read all of a user who has thousands.

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

CREATE OR REPLACE FUNCTION _undo_change(
    user_id text, change_id bigint, author text, run_id bigint) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    in_model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    step record;
    ids bigint[] := '{}';
    unsourced bigint[];
BEGIN
    FOR step IN
        SELECT r.memory_id, r.action,
               -- A vector of another model is not a vector for this one.
               r.old_values - CASE WHEN r.model <> in_model THEN 'embedding' ELSE '' END
                   AS old_values
        FROM revision AS r
        WHERE r.user_id = _undo_change.user_id
          AND r.change_id BETWEEN _undo_change.change_id AND _undo_change.change_id
        ORDER BY r.change_id, r.revision_id DESC
    LOOP
        ids := ids || _revise(
            user_id, ARRAY[step.memory_id],
            ARRAY[coalesce(step.old_values, _retired('forgotten', now()))],
            'UNDO', author, 'undone: ' || step.action, run_id, NULL, change_id);
    END LOOP;
    WITH gone AS (
        DELETE FROM relation AS r
        WHERE r.user_id = _undo_change.user_id AND r.change_id = _undo_change.change_id
          AND r.from_id = ANY (ids)
          AND r.from_id BETWEEN (SELECT min(i) FROM unnest(ids) AS i)
                            AND (SELECT max(i) FROM unnest(ids) AS i)
        RETURNING r.from_id, r.type
    ), came AS (
        DELETE FROM relation AS r
        WHERE r.user_id = _undo_change.user_id AND r.change_id = _undo_change.change_id
          AND r.to_id = ANY (ids) AND r.from_id <> ALL (ids)
          AND r.to_id BETWEEN (SELECT min(i) FROM unnest(ids) AS i)
                          AND (SELECT max(i) FROM unnest(ids) AS i)
        RETURNING r.from_id, r.type
    )
    SELECT array_agg(g.from_id) INTO unsourced
    FROM (SELECT * FROM gone UNION ALL SELECT * FROM came) AS g WHERE g.type = 'derived_from';
    IF unsourced IS NOT NULL THEN
        PERFORM _mark_derived(user_id, unsourced);
    END IF;
    RETURN ids;
END $$;

CREATE OR REPLACE FUNCTION undo(
    memory_id bigint, user_id text DEFAULT NULL, author text DEFAULT 'user')
    RETURNS TABLE (undone_id bigint, action text, line text, status text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
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
                       'UNDO', author, 'undone: ADD', NULL, NULL, 0);
    ELSE
        ids := _undo_change(owner, change, author, NULL);
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
    'Errors: ME006 user, ME008 author, ME012 no such memory of this user, ME014 nothing to undo, '
    'another memory of the decision was changed since, or another has taken its place.';
