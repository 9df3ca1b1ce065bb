-- Undoes everything one run did to the memories of a user: a maintenance, a consolidation. What was
-- changed since stays as it is, with what the same decision changed, and is reported; so does what
-- another memory has taken the place of. Changes that have nothing in common are undone together,
-- 500 at a time: one by one takes four to five times as long.

-- The first of these changes that are to do with different memories and different slots, so that it
-- does not matter which of them is undone first.
CREATE OR REPLACE FUNCTION _separate_changes(user_id text, change_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN change_ids[: (
        SELECT coalesce(min(k.place) - 1, cardinality(change_ids))
        FROM (
            SELECT t.place, min(t.place) OVER (PARTITION BY t.touched) AS first_place
            FROM (
                SELECT c.place, g.touched
                FROM unnest(change_ids) WITH ORDINALITY AS c (id, place)
                CROSS JOIN LATERAL (
                    SELECT r.memory_id, r.old_values FROM revision AS r
                    WHERE r.user_id = _separate_changes.user_id
                      AND r.change_id BETWEEN c.id AND c.id
                    ORDER BY r.change_id OFFSET 0) AS r
                CROSS JOIN LATERAL (
                    SELECT m.kind, m.subject FROM memory AS m
                    WHERE m.user_id = _separate_changes.user_id AND m.memory_id = r.memory_id
                    OFFSET 0) AS m
                CROSS JOIN LATERAL (VALUES
                    (to_jsonb(r.memory_id)), (jsonb_build_array(m.kind, m.subject)),
                    (jsonb_build_array(coalesce(r.old_values ->> 'kind', m.kind),
                                       coalesce(r.old_values ->> 'subject', m.subject)))
                ) AS g (touched)
                WHERE g.touched ->> 1 IS NOT NULL OR jsonb_typeof(g.touched) = 'number'
            ) AS t
        ) AS k
        WHERE k.first_place < k.place)];
END $$;

-- Undoes changes that are separate; if one is in the way of another, one by one. Returns a row for
-- each memory, in the order of the changes.
CREATE OR REPLACE FUNCTION _undo_separate(
    user_id text, change_ids bigint[], author text, run_id bigint)
    RETURNS TABLE (memory_id bigint, said text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    sinces CONSTANT bigint[] := ARRAY(
        SELECT _changed_since(user_id, c.id)
        FROM unnest(change_ids) WITH ORDINALITY AS c (id, place) ORDER BY c.place);
    ids bigint[];
    places int[];
    obstacle text;
BEGIN
    BEGIN
        SELECT u.* INTO ids, places
        FROM _undo_changes(
            user_id, ARRAY(SELECT CASE WHEN c.since IS NULL THEN c.id END
                           FROM unnest(change_ids, sinces) WITH ORDINALITY AS c (id, since, place)
                           ORDER BY c.place), author, run_id) AS u;
    EXCEPTION WHEN serialization_failure OR SQLSTATE 'ME014' OR SQLSTATE 'ME002'
                   OR SQLSTATE 'ME011' THEN
        IF cardinality(change_ids) > 1 THEN
            FOR place IN 1 .. cardinality(change_ids) LOOP
                RETURN QUERY
                SELECT u.*
                FROM _undo_separate(user_id, change_ids[place : place], author, run_id) AS u;
            END LOOP;
            RETURN;
        ELSIF SQLSTATE NOT LIKE 'ME%' THEN
            RAISE;
        END IF;
        obstacle := SQLERRM;
    END;
    RETURN QUERY
    SELECT s.memory_id, s.said
    FROM (
        SELECT u.place, u.step, u.id, 'undone'
        FROM unnest(places, ids) WITH ORDINALITY AS u (place, id, step)
        UNION ALL
        SELECT c.place, l.revision_id, l.memory_id, CASE
            WHEN c.since IS NULL THEN 'left: ' || obstacle
            WHEN EXISTS (SELECT FROM revision AS r
                         WHERE r.user_id = _undo_separate.user_id
                           AND r.memory_id BETWEEN l.memory_id AND l.memory_id
                           AND r.undoes = c.id) THEN 'undone before'
            WHEN _open_change(_undo_separate.user_id, l.memory_id) IS DISTINCT FROM c.id
                THEN 'left: changed since'
            ELSE format('left: memory %s was changed since', c.since) END
        FROM unnest(change_ids, sinces) WITH ORDINALITY AS c (id, since, place)
        CROSS JOIN LATERAL (
            SELECT r.memory_id, r.revision_id FROM revision AS r
            WHERE r.user_id = _undo_separate.user_id AND r.change_id BETWEEN c.id AND c.id
            ORDER BY r.change_id, r.revision_id OFFSET 0) AS l
        WHERE c.since IS NOT NULL OR obstacle IS NOT NULL
    ) AS s (place, step, memory_id, said)
    ORDER BY s.place, s.step;
END $$;

CREATE OR REPLACE FUNCTION undo_run(
    run_id bigint, user_id text DEFAULT NULL, author text DEFAULT 'user')
    RETURNS TABLE (undone_id bigint, action text, line text, status text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    own_run CONSTANT bigint := _next_run();
    changes bigint[];
    part bigint[];
    ids bigint[];
    said text[];
BEGIN
    PERFORM _lock_user(owner);
    IF NOT EXISTS (SELECT FROM revision AS r
                   WHERE r.user_id = owner AND r.action <> 'NOOP'
                     AND r.run_id BETWEEN undo_run.run_id AND undo_run.run_id
                   ORDER BY r.run_id OFFSET 0) THEN
        RAISE EXCEPTION 'run % changed no memory of user "%"',
                coalesce(undo_run.run_id::text, 'NULL'), owner
            USING ERRCODE = 'ME012',
                  HINT = 'maintain() and apply_decisions() return the run_id; history() shows it.';
    END IF;
    changes := ARRAY(
        SELECT o.change_id
        FROM (SELECT r.change_id, r.revision_id FROM revision AS r
              WHERE r.user_id = owner AND r.action NOT IN ('UNDO', 'NOOP')
                AND r.run_id BETWEEN undo_run.run_id AND undo_run.run_id
              ORDER BY r.run_id OFFSET 0) AS o
        GROUP BY o.change_id ORDER BY max(o.revision_id) DESC);
    WHILE changes <> '{}' LOOP
        part := _separate_changes(owner, changes[: 500]);
        SELECT array_agg(u.memory_id ORDER BY u.place), array_agg(u.said ORDER BY u.place)
        INTO ids, said
        FROM _undo_separate(owner, part, author, own_run)
                 WITH ORDINALITY AS u (memory_id, said, place);
        RETURN QUERY
        SELECT m.memory_id, u.said, _line(m.content, 200), m.status
        FROM unnest(ids, said) WITH ORDINALITY AS u (memory_id, said, place)
        CROSS JOIN LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = owner AND m.memory_id = u.memory_id OFFSET 0) AS m
        ORDER BY u.place;
        changes := changes[cardinality(part) + 1 :];
    END LOOP;
END $$;

COMMENT ON FUNCTION undo_run(bigint, text, text) IS
    'Undoes all changes of one run (run_id of maintain, apply_decisions, an import or sync of '
    'files, a job) to the memories of a user, the last one first. Returns a row for each memory: '
    'undone_id, action (undone, undone before, left: changed since, or left because of another '
    'memory: one that the same decision changed, to be undone first, or one that has taken its '
    'place; or left because it was of a kind that there is no more), its first 200 characters and '
    'its status now. Errors: ME006 user, ME008 author, ME012 no such run of this user.';
