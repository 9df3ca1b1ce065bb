-- The daily upkeep of D4 6.2: everything that is due, in steps of one user each. One query without
-- a lock finds what is due for all users; the steps then lock the user, in the order of the user
-- names, so that two runs cannot deadlock. Each of the three phases looks at what the one before
-- left: rows, then indexes, then the words to count, the jobs and the report.
CREATE OR REPLACE FUNCTION _upkeep_plan(phase int, only_user text, run upkeep_run)
    RETURNS TABLE (owner text, step text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    -- Constants, because a statement would read the setting again for every row: 8 µs.
    fold_until CONSTANT timestamptz := run.at - _days('replay_days');
    archive_until CONSTANT timestamptz := run.at - _days('archive_days');
    delete_until CONSTANT timestamptz := run.at - _days('delete_days');
    jobs_until CONSTANT timestamptz := run.at - _days('job_days');
BEGIN
    IF phase = 1 THEN
        -- Recalls wait until it commits, so not in a transaction of the caller.
        RETURN QUERY SELECT NULL, '_tend_partitions'
                     WHERE only_user IS NULL AND run.most IS NOT NULL;
        RETURN QUERY SELECT only_user, '_tend_sources' WHERE EXISTS (SELECT FROM source);
        RETURN QUERY
        SELECT d.owner, d.step
        FROM (
            (SELECT r.user_id, 1, '_count_access' FROM retrieval AS r WHERE NOT r.counted
             UNION
             SELECT c.user_id, 1, '_count_access' FROM tool_call AS c WHERE NOT c.counted)
            UNION ALL
            SELECT DISTINCT m.user_id, 2, '_age' FROM memory AS m
            WHERE m.status = 'active' AND m.lifetime <> 'core'
            UNION ALL
            SELECT DISTINCT r.user_id, 3, '_fold_log' FROM retrieval AS r
            WHERE r.created_at < fold_until
            UNION ALL
            SELECT DISTINCT e.user_id, 4, '_archive_events' FROM event AS e
            WHERE e.created_at < archive_until AND NOT _is_log(e.type)
            UNION ALL
            (SELECT e.user_id, 5, '_delete_old' FROM event AS e
             WHERE e.created_at < delete_until
             UNION
             SELECT c.user_id, 5, '_delete_old' FROM tool_call AS c
             WHERE c.created_at < delete_until
             UNION
             SELECT q.user_id, 5, '_delete_old' FROM query_expansion AS q
             WHERE q.created_at < delete_until
             UNION
             SELECT j.user_id, 5, '_delete_old' FROM job AS j
             WHERE j.status = 'done' AND j.finished_at < jobs_until)
            UNION ALL
            SELECT p.user_id, 6, '_find_source_keywords' FROM profile AS p
            WHERE EXISTS (SELECT FROM memory AS m
                          WHERE m.user_id = p.user_id AND m.source IS NOT NULL)
        ) AS d (owner, place, step)
        WHERE only_user IS NULL OR d.owner = only_user
        ORDER BY d.owner, d.place;
    ELSIF phase = 2 THEN
        RETURN QUERY SELECT NULL, '_tend_left_over' WHERE only_user IS NULL;
        -- The limit counts here: a step does not know of an index that another one leaves to the
        -- command.
        RETURN QUERY
        SELECT p.owner, '_tend_indexes'
        FROM (SELECT x.*,
                     row_number() OVER (PARTITION BY x.action ORDER BY x.memories DESC, x.owner)
                         AS place,
                     count(*) FILTER (WHERE x.action = 'drop' OR x.action = 'repair'
                                                                 AND NOT x.earned)
                         OVER () AS given_up
              FROM _index_plan(only_user) AS x
              WHERE x.action IS NOT NULL) AS p
        WHERE p.action <> 'build'
           OR p.place <= _config('ann_limit') + p.given_up
                         - (SELECT count(*) FROM profile AS f WHERE f.ann > 0)
        ORDER BY p.action DESC, p.memories DESC, p.owner;
    ELSE
        RETURN QUERY SELECT u.owner, '_count_words' FROM _uncounted(only_user) AS u;
        RETURN QUERY
        SELECT u.user_id, s.step
        FROM _users_with_memories(only_user) AS u (user_id),
             (VALUES (1, '_enqueue_nightly'), (2, '_report_contradictions')) AS s (place, step)
        ORDER BY u.user_id, s.place;
        RETURN QUERY SELECT only_user, '_report_quality';
    END IF;
END $$;

-- Checks the arguments of a run and gives it a number. Only what changes nothing may look ahead.
CREATE OR REPLACE FUNCTION _new_run(
    only_user text, at timestamptz, dry_run boolean, most int, build_up_to bigint)
    RETURNS upkeep_run
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    run upkeep_run;
BEGIN
    PERFORM _check_primary('maintain');
    PERFORM _resolve_user(only_user) WHERE only_user IS NOT NULL;
    run.at := coalesce(at, now());
    run.dry_run := coalesce(dry_run, false);
    IF run.dry_run THEN
        PERFORM _check_moment(run.at);
    ELSE
        PERFORM _check_time(run.at, 'at');
        run.run_id := _next_run();
    END IF;
    run.most := most;
    run.build_up_to := coalesce(
        build_up_to,
        CASE WHEN only_user IS NULL THEN _config('ann_inline')::bigint END,
        9223372036854775807);
    RETURN run;
END $$;

-- One step, or as much of it as one transaction takes. A user locked for long, say by an open
-- transaction, is left to the next run. If the transaction holds other users, the wait is short
-- (see _build_own_index), and next to none if it has locked rows of the application (_take_batch),
-- which would be cancelled for a deadlock if it holds what this waits for. A step may fail on rows
-- written by hand, or a trigger or event trigger may refuse it: that is reported, and other users
-- still get theirs.
-- If indexes or tables cannot be made or dropped, or recalls not be folded (they may go to a table
-- of the application), what is stored and recalled stays the same.
CREATE OR REPLACE FUNCTION _upkeep_step(
    step text, user_id text, run upkeep_run, after bigint DEFAULT 0)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '100ms'
AS $$
BEGIN
    IF run.most IS NOT NULL THEN
        PERFORM set_config('lock_timeout', '10s', true);
    ELSIF current_setting('memoir.rows_locked', true) = 'on' THEN
        PERFORM set_config('lock_timeout', '1ms', true);
    END IF;
    RETURN QUERY EXECUTE format('SELECT * FROM %I($1, $2, $3)', step) USING user_id, run, after;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    action := 'left to the next run';
    details := jsonb_build_object('why', 'somebody is writing', 'step', ltrim(step, '_'));
    RETURN NEXT;
WHEN OTHERS THEN
    IF step <> ALL ('{_tend_partitions,_tend_left_over,_tend_indexes,_fold_log}')
       AND (user_id IS NULL OR left(SQLSTATE, 2) NOT IN ('22', '23', 'ME', 'P0'))
    THEN
        RAISE;
    END IF;
    action := 'failed';
    details := _failure(SQLERRM, SQLSTATE, ltrim(step, '_'),
                        coalesce('user ' || quote_ident(user_id), 'all users'));
    RETURN NEXT;
END $$;

-- What a batch of new memories calls for, and no more: after a load by the client.
CREATE OR REPLACE FUNCTION _tend_recall(only_user text, build_up_to bigint)
    RETURNS TABLE (user_id text, action text, memories bigint, details jsonb)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    run CONSTANT upkeep_run := _new_run(only_user, NULL, false, NULL, build_up_to);
BEGIN
    FOR phase IN 2..3 LOOP
        RETURN QUERY
        SELECT p.owner, s.action, s.memories, s.details
        FROM _upkeep_plan(phase, only_user, run) AS p,
             LATERAL _upkeep_step(p.step, p.owner, run) AS s
        WHERE p.step IN ('_tend_left_over', '_tend_indexes', '_count_words');
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION maintain(
    only_user text DEFAULT NULL, dry_run boolean DEFAULT false, at timestamptz DEFAULT NULL,
    build_up_to bigint DEFAULT NULL)
    RETURNS TABLE (user_id text, action text, memories bigint, details jsonb)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    run CONSTANT upkeep_run := _new_run(only_user, at, dry_run, NULL, build_up_to);
BEGIN
    FOR phase IN 1..3 LOOP
        RETURN QUERY
        SELECT p.owner, s.action, s.memories, s.details
        FROM _upkeep_plan(phase, only_user, run) AS p,
             LATERAL _upkeep_step(p.step, p.owner, run) AS s;
    END LOOP;
END $$;

COMMENT ON FUNCTION maintain(text, boolean, timestamptz, bigint) IS
    'The daily upkeep, of all users or of one, in one transaction; with very many memories call '
    'maintain_all() or the command memoir maintain, which commit in between. Returns a row for '
    'each thing done: user_id (NULL: of all), action, memories (how many), details. Actions: '
    'access counted (from the logs of recalls and tools), forgotten and importance lowered (as '
    'memory_relevance says; importance x 0.9 at most once a day, not below 0.2; details have why, '
    'the first 100 ids, and run_id, which undo_run() takes back), recalls folded (older than 7 '
    'days, into events), archive queued (events older than 30 days), old rows deleted (events '
    'older than 60 days that are archived or of the log, tool calls, what models said of queries, '
    'jobs done), source read or source failed (attached tables and queries: rows that failed, '
    'changes of what is pulled; of one user, what is theirs alone), keywords found (of rows that '
    'came from them), words counted, index built, index dropped, unusable index dropped, '
    'left-over index dropped, or what is left to the command memoir maintain, jobs enqueued (see '
    'enqueue_nightly()), contradiction (see contradictions()), left to the next run (somebody '
    'kept the user locked), failed (a step that cannot be done with the rows of a user, '
    'or that a trigger refuses; details say which and why), and last report: of the memories how '
    'many are active, steady, fading, forgettable or kept by relevance, how many have which '
    'status, how many active ones have no vector, and the share with keywords. The '
    'numbers are rows of table setting. build_up_to: it builds indexes of up to so '
    'many memories itself, and writers wait meanwhile; default setting ann_inline, and for one '
    'user no limit; 0 leaves indexes alone. dry_run: nothing is changed, the rows tell what '
    'would be. at: the clock, 1970 to a day from now (NULL: now), in a dry run '
    'to a hundred years from now. Safe to run twice at once and to be stopped at any point. '
    'Indexes and partitions need the owner of the tables. Errors: ME006 user, ME011 at. '
    'Source: D4 6, D3 4.6.';
