-- Forgets memories whose time is over and lowers the importance of fading ones (D4 6.1). Core
-- memories are left alone: D4 3.3 keeps them unless the user deletes them, and lowering is the
-- first step of forgetting. It would also rewrite every lasting memory once a day, from a month
-- after it was last shown.
--
-- Like all steps of upkeep it takes the user, the run, and where to go on (after; 0 at first),
-- looks at run.most rows, and returns what was done; next: where to go on, NULL: nothing is left.
CREATE OR REPLACE FUNCTION _age(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $$
#variable_conflict use_variable
DECLARE
    rules CONSTANT record := _forgetting();
    last_id bigint;
    looked_at int;
    ids bigint[];
    new_values jsonb[];
    why text;
BEGIN
    SELECT max(a.memory_id), count(*) INTO last_id, looked_at
    FROM (SELECT m.memory_id FROM memory AS m
          WHERE m.user_id = user_id AND m.status = 'active' AND m.lifetime <> 'core'
            AND m.memory_id > after
          ORDER BY m.memory_id LIMIT run.most) AS a;
    IF looked_at = 0 THEN
        RETURN;
    END IF;
    next := CASE WHEN looked_at = run.most THEN last_id END;
    IF NOT run.dry_run THEN
        PERFORM _lock_listed_user(user_id);
    END IF;

    FOR why, ids IN
        SELECT r.over, array_agg(r.memory_id ORDER BY r.memory_id)
        FROM _relevances(user_id, run.at, false, after, run.most) AS r
        WHERE r.over IS NOT NULL
        GROUP BY r.over
        ORDER BY r.over
    LOOP
        IF NOT run.dry_run THEN
            ids := _retire(user_id, ids, 'forgotten', 'FORGET', 'maintain', why, run.at,
                           run.run_id);
        END IF;
        action := 'forgotten';
        memories := cardinality(ids);
        details := _changes_told(run, why, ids);
        RETURN NEXT;
    END LOOP;

    SELECT array_agg(r.memory_id ORDER BY r.memory_id),
           array_agg(jsonb_build_object(
                         'importance', greatest(r.importance * rules.lower_by, rules.lower_to))
                     ORDER BY r.memory_id)
    INTO ids, new_values
    FROM _relevances(user_id, run.at, false, after, run.most) AS r
    -- The memories forgotten above made room for more.
    WHERE r.memory_id <= last_id AND r.state = 'fading' AND r.importance > rules.lower_to
      AND (r.lowered_at > run.at - interval '24 hours') IS NOT TRUE;
    IF ids IS NOT NULL THEN
        why := 'its relevance is below ' || rules.fade_below;
        IF NOT run.dry_run THEN
            ids := _revise(user_id, ids, new_values, 'LOWER', 'maintain', why, run.run_id,
                           NULL);
        END IF;
        action := 'importance lowered';
        memories := cardinality(ids);
        details := _changes_told(run, why, ids);
        RETURN NEXT;
    END IF;
    IF next IS NOT NULL AND action IS NULL THEN
        RETURN NEXT;
    END IF;
END $$;

-- A report row for many memories that were changed.
CREATE OR REPLACE FUNCTION _changes_told(run upkeep_run, why text, ids bigint[]) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'why', why, 'ids', to_jsonb(ids[:100]::text[]), 'run_id', run.run_id::text));
