-- Undoes everything one run did to the memories of a user: a maintenance, a consolidation. What was
-- changed since stays as it is, with what the same decision changed, and is reported.
CREATE OR REPLACE FUNCTION undo_run(
    run_id bigint, user_id text DEFAULT NULL, author text DEFAULT 'user')
    RETURNS TABLE (undone_id bigint, action text, line text, status text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    own_run CONSTANT bigint := _next_run();
    change bigint;
    since bigint;
    ids bigint[];
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
    FOR change IN
        SELECT o.change_id
        FROM (SELECT r.change_id, r.revision_id FROM revision AS r
              WHERE r.user_id = owner AND r.action NOT IN ('UNDO', 'NOOP')
                AND r.run_id BETWEEN undo_run.run_id AND undo_run.run_id
              ORDER BY r.run_id OFFSET 0) AS o
        GROUP BY o.change_id ORDER BY max(o.revision_id) DESC
    LOOP
        since := _changed_since(owner, change);
        ids := CASE WHEN since IS NULL THEN _undo_change(owner, change, author, own_run)
                    ELSE ARRAY(SELECT r.memory_id FROM revision AS r
                               WHERE r.user_id = owner AND r.change_id BETWEEN change AND change
                               ORDER BY r.change_id, r.revision_id) END;
        RETURN QUERY
        SELECT m.memory_id,
               CASE WHEN since IS NULL THEN 'undone'
                    WHEN EXISTS (SELECT FROM revision AS r
                                 WHERE r.user_id = owner AND r.memory_id BETWEEN i.id AND i.id
                                   AND r.undoes = change) THEN 'undone before'
                    WHEN _open_change(owner, i.id) IS DISTINCT FROM change
                        THEN 'left: changed since'
                    ELSE format('left: memory %s was changed since', since) END,
               _line(m.content, 200), m.status
        FROM unnest(ids) WITH ORDINALITY AS i (id, place)
        CROSS JOIN LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = owner AND m.memory_id = i.id OFFSET 0) AS m
        ORDER BY i.place;
    END LOOP;
END $$;

COMMENT ON FUNCTION undo_run(bigint, text, text) IS
    'Undoes all changes of one run (run_id of maintain, apply_decisions, an import or sync of '
    'files, a job) to the memories of a user, the last one first. Returns a row for each memory: '
    'undone_id, action (undone, undone before, left: changed since, or left because of a memory '
    'that the same decision changed: undo that one first), its first 200 characters and its '
    'status now. Errors: ME006 user, ME008 author, ME012 no such run of this user.';
