-- maintain() in small transactions, for large databases: from psql, pg_cron or any client. It holds
-- no lock longer than a batch takes. If it is stopped, what is done stays done, and the next run
-- goes on from there.

-- As much of a step as one transaction takes. done: rows of the step so far, as a JSON array.
CREATE OR REPLACE FUNCTION _upkeep_batch(
    planned jsonb, run upkeep_run, INOUT after bigint, INOUT done jsonb)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    next bigint;
    made jsonb;
BEGIN
    SELECT max(s.next), jsonb_agg(jsonb_build_object(
               'user_id', planned -> 'owner', 'action', s.action, 'memories', s.memories,
               'details', s.details)) FILTER (WHERE s.action IS NOT NULL)
    INTO next, made
    FROM _upkeep_step(planned ->> 'step', planned ->> 'owner', run, after) AS s;
    IF made IS NOT NULL THEN
        done := CASE WHEN done = '[]' THEN made ELSE _merged_rows(done || made) END;
    END IF;
    after := next;
END $$;

-- Combines report rows that say the same of several batches: numbers are added up, and the first
-- 100 ids stay.
CREATE OR REPLACE FUNCTION _merged_rows(given jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT jsonb_agg(m.merged ORDER BY m.place)
        FROM (
            SELECT min(r.place) AS place,
                   jsonb_build_object(
                       'user_id', min(r.entry ->> 'user_id'), 'action', r.entry ->> 'action',
                       'memories', sum((r.entry ->> 'memories')::bigint),
                       'details', _merged_details(
                           jsonb_agg(r.entry -> 'details' ORDER BY r.place)
                               FILTER (WHERE r.entry -> 'details' <> 'null'))) AS merged
            FROM jsonb_array_elements(given) WITH ORDINALITY AS r (entry, place)
            GROUP BY r.entry ->> 'action', r.entry #>> '{details,why}'
        ) AS m);
END $$;

CREATE OR REPLACE FUNCTION _merged_details(given jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT jsonb_object_agg(k.key, CASE jsonb_typeof(k.first)
                   WHEN 'number' THEN (SELECT to_jsonb(sum((v.value)::numeric))
                                       FROM jsonb_path_query(given, 'lax $[*].keyvalue()') AS p,
                                            LATERAL (SELECT p -> 'value' AS value) AS v
                                       WHERE p ->> 'key' = k.key)
                   WHEN 'array' THEN jsonb_path_query_array(
                       jsonb_path_query_array(given, 'lax $[*].ids[*]'), '$[0 to 99]')
                   ELSE k.first END)
        FROM (SELECT DISTINCT ON (e.key) e.key, e.value AS first
              FROM jsonb_array_elements(given) AS d (details), jsonb_each(d.details) AS e) AS k);
END $$;

CREATE OR REPLACE FUNCTION _upkeep_list(phase int, only_user text, run upkeep_run) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(p), '[]') FROM _upkeep_plan(phase, only_user, run) AS p);
END $$;

-- A procedure with a SET clause cannot commit, so this one names its schema instead of pinning the
-- path: its text is made at installation. What it calls pins the path as usual. Each transaction
-- sees the results of those it waited for, whatever isolation the database is set to.
DO $install$
BEGIN
    EXECUTE format($format$
CREATE OR REPLACE PROCEDURE maintain_all(
    only_user text DEFAULT NULL, build_up_to bigint DEFAULT NULL, at timestamptz DEFAULT NULL,
    INOUT report jsonb DEFAULT NULL)
    LANGUAGE plpgsql
AS $procedure$
DECLARE
    run CONSTANT %1$I.upkeep_run := %1$I._new_run(
        only_user, at, false,
        (SELECT s.value::int FROM %1$I.setting AS s WHERE s.name = 'maintain_batch'),
        build_up_to);
    plan jsonb;
    after bigint;
    done jsonb;
    -- Appended to one JSON array, the rows of 10,000 users would be copied 10,000 times.
    reported jsonb[] := '{}';
BEGIN
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    FOR phase IN 1..3 LOOP
        plan := %1$I._upkeep_list(phase, only_user, run);
        FOR place IN 0 .. jsonb_array_length(plan) - 1 LOOP
            after := 0;
            done := '[]';
            WHILE after IS NOT NULL LOOP
                SELECT b.after, b.done INTO after, done
                FROM %1$I._upkeep_batch(plan -> place, run, after, done) AS b;
                COMMIT;
                SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
            END LOOP;
            IF done <> '[]' THEN
                reported := array_append(reported, done);
            END IF;
        END LOOP;
    END LOOP;
    report := (SELECT coalesce(jsonb_agg(r.entry ORDER BY d.place, r.place), '[]')
               FROM unnest(reported) WITH ORDINALITY AS d (rows, place),
                    jsonb_array_elements(d.rows) WITH ORDINALITY AS r (entry, place));
END $procedure$
$format$, current_schema());
END $install$;

COMMENT ON PROCEDURE maintain_all(text, bigint, timestamptz, jsonb) IS
    'maintain() with a commit after each batch (setting maintain_batch: so many rows), for many '
    'memories: CALL memoir.maintain_all(), outside a transaction. It holds no lock for more than '
    'a second, except to build an index: with build_up_to => 0 it leaves those to the command '
    'memoir maintain. Arguments as maintain(). report: a JSON array of the rows that maintain() '
    'returns, and besides partition added and partition dropped: tables of events by month. With '
    'pg_cron, in its database: SELECT cron.schedule_in_database(''memoir'', ''0 3 * * *'', '
    '''CALL memoir.maintain_all()'', ''app''). Errors: ME006 user, ME011 at. Source: D4 6.2.';
