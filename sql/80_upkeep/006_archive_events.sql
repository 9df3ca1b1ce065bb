-- Old events (D3 4.6). After 30 days they are queued to be summarised and what matters in them
-- remembered, which takes a model. After 60 days they are deleted, but a user's events only once
-- their job is done: without a working model, or while the user has memory or auto_extract off,
-- they stay. The log's own events (_is_log) are nobody's words and are simply deleted.
CREATE OR REPLACE FUNCTION _archive_events(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    -- How far the last batch went: events archived then are not looked at again.
    since CONSTANT timestamptz := CASE after WHEN 0 THEN '-infinity' ELSE _time_of(after) END;
    until CONSTANT timestamptz := run.at - _days('archive_days');
    size CONSTANT int := _config('archive_events');
    events int := 0;
    jobs int := 0;
    part record;
    job_id bigint;
BEGIN
    IF NOT _may_extract(user_id, NULL) THEN
        RETURN;
    END IF;
    IF NOT run.dry_run THEN
        PERFORM _lock_listed_user(user_id);
    END IF;
    FOR part IN
        SELECT array_agg(o.event_id ORDER BY o.created_at, o.event_id) AS ids,
               min(o.created_at) AS first_at, max(o.created_at) AS last_at
        FROM (
            SELECT e.event_id, e.created_at,
                   (row_number() OVER (ORDER BY e.created_at, e.event_id) - 1) / size AS number
            FROM event AS e
            WHERE e.user_id = user_id AND e.created_at >= since AND e.created_at < until
              AND NOT _is_log(e.type)
              AND (e.archive_job IS NULL
                   OR NOT EXISTS (SELECT FROM job AS j
                                  WHERE j.user_id = user_id AND j.job_id = e.archive_job))
            ORDER BY e.created_at, e.event_id
            LIMIT run.most
        ) AS o
        GROUP BY o.number
        ORDER BY o.number
    LOOP
        IF NOT run.dry_run THEN
            -- Without a dedup_key: it must be a job with exactly these events.
            job_id := enqueue('archive', jsonb_build_object('event_ids', part.ids::text[]),
                              user_id);
            UPDATE event AS e SET archive_job = job_id
            WHERE e.user_id = user_id AND e.event_id = ANY (part.ids)
              AND e.created_at BETWEEN part.first_at AND part.last_at;
        END IF;
        events := events + cardinality(part.ids);
        jobs := jobs + 1;
        next := _microseconds(part.last_at);
    END LOOP;
    IF events > 0 THEN
        action := 'archive queued';
        details := jsonb_build_object('events', events, 'jobs', jobs);
        next := CASE WHEN events = run.most AND NOT run.dry_run THEN next END;
        RETURN NEXT;
    END IF;
END $$;

-- Deletes old events, tool calls, query expansions (asked again, a model may answer differently by
-- then) and jobs. A job that archived events stays as long as one of them: it is what marks them as
-- archived.
CREATE OR REPLACE FUNCTION _delete_old(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    until CONSTANT timestamptz := run.at - _days('delete_days');
    jobs_until CONSTANT timestamptz := run.at - _days('job_days');
    events bigint[] := '{}';
    calls CONSTANT bigint[] := ARRAY(
        SELECT c.tool_call_id FROM tool_call AS c
        WHERE c.user_id = user_id AND c.created_at < until AND (c.counted OR run.dry_run)
        LIMIT run.most);
    queries CONSTANT bytea[] := ARRAY(
        SELECT q.query_hash FROM query_expansion AS q
        WHERE q.user_id = user_id AND q.created_at < until LIMIT run.most);
    jobs bigint[];
BEGIN
    -- This reads all that must stay to find what may go: not again while the rest is deleted.
    IF after = 0 THEN
        events := ARRAY(SELECT e.event_id FROM event AS e
                        WHERE e.user_id = user_id AND e.created_at < until
                          AND (_is_log(e.type)
                               OR e.archive_job IN (
                                   SELECT j.job_id FROM job AS j
                                   WHERE j.user_id = user_id AND j.status = 'done'))
                        ORDER BY e.created_at, e.event_id LIMIT run.most);
    END IF;
    IF NOT run.dry_run THEN
        DELETE FROM event AS e
        WHERE e.user_id = user_id AND e.event_id = ANY (events) AND e.created_at < until;
        -- With the last event of a day goes what else its log said (D3 2.2).
        DELETE FROM file_head AS h
        WHERE h.user_id = user_id
          AND (SELECT d.day + 2 < until::date
                      AND NOT EXISTS (SELECT FROM event AS e
                                      WHERE e.user_id = user_id AND e.created_at >= d.day - 1
                                        AND e.created_at < d.day + 2)
               FROM (SELECT substring(h.name FROM '^logs/(.{10})')::date AS day) AS d);
        DELETE FROM tool_call AS c WHERE c.user_id = user_id AND c.tool_call_id = ANY (calls);
        DELETE FROM query_expansion AS q
        WHERE q.user_id = user_id AND q.query_hash = ANY (queries) AND q.created_at < until;
    END IF;
    jobs := ARRAY(SELECT j.job_id FROM job AS j
                  WHERE j.user_id = user_id AND j.status = 'done' AND j.finished_at < jobs_until
                    AND NOT EXISTS (SELECT FROM event AS e
                                    WHERE e.user_id = user_id AND e.archive_job = j.job_id)
                  LIMIT run.most);
    IF NOT run.dry_run THEN
        DELETE FROM job AS j WHERE j.user_id = user_id AND j.job_id = ANY (jobs);
    END IF;
    SELECT jsonb_object_agg(d.name, d.number) FILTER (WHERE d.number > 0),
           min(d.again_after) FILTER (WHERE d.number = run.most)
    INTO details, next
    FROM (VALUES ('events', cardinality(events), 0), ('tool_calls', cardinality(calls), 1),
                 ('expansions', cardinality(queries), 1), ('jobs', cardinality(jobs), 1))
         AS d (name, number, again_after);
    IF details IS NOT NULL THEN
        action := 'old rows deleted';
        RETURN NEXT;
    END IF;
END $$;
