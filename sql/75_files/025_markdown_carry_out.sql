-- Carries out what the files changed, as changes by author file, with the file as the reason. All
-- of them are one run: undo_run() undoes a whole sync. A change that conflicts with another memory
-- is reported as a conflict, and the rest goes on. The caller holds _lock_user.

-- Like _revise(), for memories some of which may be refused: returns those, and why. 500 at a time;
-- only if one of them is refused are they tried one by one.
CREATE OR REPLACE FUNCTION _revise_each(
    user_id text, memory_ids bigint[], new_values jsonb[], action text, reason text, run_id bigint,
    at_once int DEFAULT 500, OUT memory_id bigint, OUT refused text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    high int;
BEGIN
    FOR low IN 1 .. cardinality(memory_ids) BY at_once LOOP
        high := low + at_once - 1;
        BEGIN
            PERFORM _revise(user_id, memory_ids[low : high], new_values[low : high], action,
                            'file', reason, run_id, NULL);
        EXCEPTION WHEN SQLSTATE 'ME014' THEN
            IF at_once = 1 THEN
                memory_id := memory_ids[low];
                refused := SQLERRM;
                RETURN NEXT;
            ELSE
                RETURN QUERY
                SELECT e.memory_id, e.refused
                FROM _revise_each(user_id, memory_ids[low : high], new_values[low : high],
                                  action, reason, run_id, 1) AS e;
            END IF;
        END;
    END LOOP;
END $$;

-- The values a file gives a memory. A summary of the old text is removed with it.
CREATE OR REPLACE FUNCTION _file_values(change markdown_change) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE change.action
        WHEN 'FORGET' THEN _retired('forgotten', now())
        ELSE jsonb_build_object('content', change.file_text)
             || CASE WHEN change.kind IS NULL THEN '{}'
                     ELSE jsonb_build_object('kind', change.kind) END
             || CASE WHEN change.file_text IS DISTINCT FROM change.database_text
                     THEN '{"summary": null}'::jsonb ELSE '{}' END
             || CASE change.action WHEN 'RESTORE'
                     THEN '{"status": "active", "retired_at": null}'::jsonb ELSE '{}' END END;

-- Stores what is new in the files. If the same kind already has a memory in the same words, that
-- one is meant, and it is confirmed if it waits for that. A memory that is only similar stays
-- beside it, because a person wrote it.
CREATE OR REPLACE FUNCTION _add_from_files(
    user_id text, plan markdown_change[], run_id bigint, at timestamptz) RETURNS markdown_change[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    model CONSTANT embedding_model := _admitting_model(NULL);
    given CONSTANT new_memory[] := ARRAY(
        SELECT _new_memory(c.of_kind, c.said, NULL, NULL, NULL, NULL, NULL, at,
                           NULL, NULL, NULL, 'file', NULL, NULL, NULL)
        FROM (SELECT k AS of_kind, p.file_text AS said
              FROM unnest(plan) WITH ORDINALITY
                       AS p (file, place, line, action, changed, memory_id, kind, file_text,
                             database_text, reason, number)
              JOIN kind AS k ON k.name = p.kind
              ORDER BY p.number) AS c);
    known CONSTANT bigint[] := _store(_add_from_files.user_id, model, given, run_id);
    recorded CONSTANT bigint[] := _recorded(
        _add_from_files.user_id, ARRAY(SELECT g.memory_id FROM unnest(given) AS g));
    added bigint[];
    confirmed outcome;
BEGIN
    FOR number IN 1 .. cardinality(plan) LOOP
        plan[number].memory_id := coalesce(known[number], given[number].memory_id);
        IF known[number] IS NULL THEN
            added := added || given[number].memory_id;
            IF given[number].memory_id <> ALL (recorded) THEN
                PERFORM _record_added(user_id, ARRAY[given[number].memory_id], 'file',
                                      plan[number].reason, run_id, NULL);
            END IF;
            CONTINUE;
        END IF;
        confirmed := _confirm_said(user_id, known[number], run_id, NULL, true);
        IF confirmed.action IS NOT NULL THEN
            plan[number].action := 'UPDATE';
            plan[number].reason := confirmed.reason;
        ELSE
            plan[number].action := 'NOOP';
            plan[number].changed := NULL;
            plan[number].reason := 'the same memory is stored already';
        END IF;
    END LOOP;
    PERFORM _notify(user_id, 'created', added);
    IF EXISTS (SELECT FROM unnest(given) AS g WHERE g.in_profile) THEN
        PERFORM _refresh_profile(user_id);
    END IF;
    RETURN plan;
END $$;

CREATE OR REPLACE FUNCTION _carry_out_files(
    user_id text, plan markdown_change[], run_id bigint, at timestamptz) RETURNS markdown_change[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    refused jsonb := '{}';
    step record;
    fresh markdown_change[];
BEGIN
    -- Deletions go first: the deleted text may now belong to another memory.
    FOR step IN
        SELECT c.action, c.reason, array_agg(c.memory_id) AS ids,
               array_agg(_file_values(c)) AS new_values
        FROM unnest(plan) AS c
        WHERE c.changed = 'database' AND c.action <> 'ADD'
        GROUP BY c.action, c.reason
        ORDER BY c.action
    LOOP
        refused := refused || coalesce((
            SELECT jsonb_object_agg(r.memory_id, r.refused)
            FROM _revise_each(user_id, step.ids, step.new_values, step.action, step.reason,
                              run_id) AS r), '{}');
        IF step.action = 'FORGET' THEN
            PERFORM _renew_summary(user_id);
        END IF;
    END LOOP;
    fresh := ARRAY(SELECT c FROM unnest(plan) AS c
                   WHERE c.changed = 'database' AND c.action = 'ADD');
    IF fresh <> '{}' THEN
        fresh := _add_from_files(user_id, fresh, run_id, at);
    END IF;
    RETURN ARRAY(
        SELECT CASE WHEN refused ? c.memory_id::text AND c.changed = 'database'
                    THEN ROW(c.file, c.place, c.line, 'CONFLICT', NULL, c.memory_id, c.kind,
                             c.file_text, c.database_text,
                             refused ->> c.memory_id::text)::markdown_change
                    ELSE c END
        FROM unnest(fresh || ARRAY(
                 SELECT p FROM unnest(plan) AS p
                 WHERE (p.changed = 'database' AND p.action = 'ADD') IS NOT TRUE)) AS c
        ORDER BY c.file, c.place);
END $$;
