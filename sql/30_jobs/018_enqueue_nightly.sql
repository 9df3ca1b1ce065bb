-- The nightly pass that gives the chat model its work: a step of maintain(), which can also be
-- called more often. Run twice, it enqueues nothing twice.

-- Pairs, as many as there is room for; the others stay uncompared. Returns the memory after which
-- it goes on; NULL: nothing is left, or no room. The user is locked only when pairs are found:
-- comparing takes 1.8 ms per memory.
CREATE OR REPLACE FUNCTION _enqueue_pairs(
    user_id text, run upkeep_run, after bigint, OUT jobs int, OUT next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    room CONSTANT int := _job_room(user_id, 'consolidate');
    -- The next memories that got their vector after they were stored.
    ids CONSTANT bigint[] := CASE WHEN room > 0 THEN ARRAY(
        SELECT u.memory_id FROM uncompared AS u
        WHERE u.user_id = user_id ORDER BY u.memory_id LIMIT run.most) END;
    compared bigint := ids[cardinality(ids)];
    older bigint[];
    newer bigint[];
BEGIN
    SELECT array_agg(f.older ORDER BY f.newer, f.older),
           array_agg(f.newer ORDER BY f.newer, f.older)
    INTO older, newer
    FROM (SELECT p.older, p.newer FROM _pairs_to_ask(user_id, ids, after = 0) AS p
          WHERE room > 0 LIMIT room + 1) AS f;
    jobs := least(coalesce(cardinality(older), 0), room);
    IF cardinality(older) > room THEN
        compared := least(compared, newer[room + 1] - 1);
    END IF;
    IF run.dry_run THEN
        RETURN;
    END IF;
    PERFORM _lock_listed_user(user_id);
    FOR n IN 1 .. jobs LOOP
        IF 2 = (SELECT count(*) FROM memory AS m
                WHERE m.user_id = user_id AND m.memory_id IN (older[n], newer[n])) THEN
            PERFORM _ask_about_pair(user_id, older[n], newer[n]);
        ELSE
            jobs := jobs - 1;  -- one of them was purged since they were found
        END IF;
    END LOOP;
    DELETE FROM uncompared AS u
    WHERE u.user_id = user_id AND u.memory_id = ANY (ids) AND u.memory_id <= compared;
    next := CASE WHEN cardinality(ids) = run.most AND jobs < room THEN compared END;
END $$;

-- A step of upkeep (see _age).
CREATE OR REPLACE FUNCTION _enqueue_nightly(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    found_jobs record;
    number int;
BEGIN
    IF NOT _may_extract(user_id, NULL) THEN
        RETURN;
    END IF;
    SELECT p.jobs, p.next INTO number, next FROM _enqueue_pairs(user_id, run, after) AS p;
    details := CASE WHEN number > 0 THEN jsonb_build_object('consolidate', number) ELSE '{}' END;
    FOR found_jobs IN
        SELECT f.kind, array_agg(f.payload) AS payloads
        FROM (SELECT 'compress' AS kind, c AS payload
              FROM _compress_jobs(user_id, run.at, _job_room(user_id, 'compress')) AS c
              UNION ALL
              SELECT 'rolling_summary', s
              FROM _rolling_summary_jobs(user_id, _job_room(user_id, 'rolling_summary')) AS s
              UNION ALL
              SELECT 'keywords', k
              FROM _keywords_jobs(user_id, run.at, _job_room(user_id, 'keywords')) AS k) AS f
        WHERE after = 0
        GROUP BY f.kind
        ORDER BY f.kind
    LOOP
        IF NOT run.dry_run THEN
            -- What somebody asked for goes first.
            PERFORM enqueue(found_jobs.kind, p, user_id, priority => -1)
            FROM unnest(found_jobs.payloads) AS p;
        END IF;
        details := details || jsonb_build_object(found_jobs.kind,
                                                 cardinality(found_jobs.payloads));
    END LOOP;
    IF details <> '{}' OR next IS NOT NULL THEN
        action := CASE WHEN details <> '{}' THEN 'jobs enqueued' END;
        RETURN NEXT;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _users_with_memories(only_user text) RETURNS SETOF text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT DISTINCT m.user_id FROM memory AS m
    WHERE m.status = 'active' AND (only_user IS NULL OR m.user_id = only_user)
    ORDER BY 1;
END $$;

CREATE OR REPLACE FUNCTION enqueue_nightly(
    only_user text DEFAULT NULL, at timestamptz DEFAULT NULL)
    RETURNS TABLE (user_id text, kind text, jobs int)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    run CONSTANT upkeep_run := _new_run(only_user, at, false, NULL, 0);
BEGIN
    RETURN QUERY
    SELECT o.user_id, d.key, d.value::int
    FROM _users_with_memories(only_user) AS o (user_id),
         LATERAL _enqueue_nightly(o.user_id, run, 0) AS s,
         LATERAL jsonb_each_text(s.details) AS d;
END $$;

COMMENT ON FUNCTION enqueue_nightly(text, timestamptz) IS
    'Enqueues what a chat model is to do that nobody asked for, for one user or (NULL) all, and '
    'returns a row for each user and kind: how many jobs. consolidate: two memories that say '
    'nearly the same or seem to contradict each other, which no relation joins yet (it joins them, '
    'as related, so that each pair is asked about once); among those whose vector came after they '
    'were stored, and contradictions(). compress: memories of a kind that were not shown for '
    'setting compress_days and less than compress_accesses times in all, from compress_least to '
    'compress_most of them; none where the user confirms first. rolling_summary: where '
    'summary_changes memories were stored since the last one, or one ended. keywords: of new '
    'memories, with setting keyword_jobs. At most setting nightly_jobs of a kind wait for a user; '
    'nothing for one with memory or auto_extract off. A step of maintain(); run again it enqueues '
    'nothing twice. at: the clock, NULL: now. Errors: ME006 user, ME011 at. '
    'Source: D1 4.1, D2 8.1, D3 2.1, 4.2.';
