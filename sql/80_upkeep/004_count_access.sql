-- Counts in table access what agents were shown (D2 3.3.2: how often and when last recalled): the
-- memories in the blocks of recalls and in the answers of tools; memory_write shows nothing. Recall
-- only appends to the logs, because it must not wait for a counter. A row is counted once, because
-- its mark and the count are in one transaction. If a crash empties the unlogged logs, what was
-- counted stays counted. Where nothing is stored of a user, what had found something was logged
-- while the user was purged, and goes (DECISIONS 85).
CREATE OR REPLACE FUNCTION _count_access(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    recalls bigint[];
    calls bigint[];
BEGIN
    IF run.dry_run THEN
        recalls := ARRAY(SELECT r.retrieval_id FROM retrieval AS r
                         WHERE r.user_id = user_id AND NOT r.counted);
        calls := ARRAY(SELECT c.tool_call_id FROM tool_call AS c
                       WHERE c.user_id = user_id AND NOT c.counted);
    ELSE
        IF NOT _lock_listed_user(user_id)
           AND NOT EXISTS (SELECT FROM session AS s WHERE s.user_id = user_id)
        THEN
            DELETE FROM retrieval AS r WHERE r.user_id = user_id AND r.ids <> '{}';
            DELETE FROM tool_call AS c
            WHERE c.user_id = user_id AND (c.memory_ids <> '{}' OR c.total_found > 0);
        END IF;
        -- Rows that mark_used() is writing at this moment wait for the next run.
        recalls := ARRAY(SELECT r.retrieval_id FROM retrieval AS r
                         WHERE r.user_id = user_id AND NOT r.counted
                         ORDER BY r.retrieval_id LIMIT run.most FOR UPDATE SKIP LOCKED);
        calls := ARRAY(SELECT c.tool_call_id FROM tool_call AS c
                       WHERE c.user_id = user_id AND NOT c.counted
                       ORDER BY c.tool_call_id LIMIT run.most FOR UPDATE SKIP LOCKED);
        UPDATE retrieval AS r SET counted = true
        WHERE r.user_id = user_id AND r.retrieval_id = ANY (recalls);
        UPDATE tool_call AS c SET counted = true
        WHERE c.user_id = user_id AND c.tool_call_id = ANY (calls);
        INSERT INTO access AS a (user_id, memory_id, count, last_at)
        SELECT user_id, s.memory_id, s.count, s.last_at
        FROM _shown(user_id, recalls, calls) AS s
        JOIN memory AS m ON m.user_id = user_id AND m.memory_id = s.memory_id
        ORDER BY s.memory_id
        FOR KEY SHARE OF m
        ON CONFLICT ON CONSTRAINT access_pkey DO UPDATE
        SET count = least(a.count::bigint + excluded.count, 2147483647),
            last_at = greatest(a.last_at, excluded.last_at);
        next := CASE WHEN greatest(cardinality(recalls), cardinality(calls)) = run.most THEN 0 END;
    END IF;
    IF recalls <> '{}' OR calls <> '{}' THEN
        action := 'access counted';
        memories := (SELECT count(*) FROM _shown(user_id, recalls, calls));
        details := jsonb_build_object('recalls', cardinality(recalls),
                                      'tool_calls', cardinality(calls));
        RETURN NEXT;
    END IF;
END $$;

-- What these recalls and tool calls have shown, including memories purged since.
CREATE OR REPLACE FUNCTION _shown(user_id text, recalls bigint[], calls bigint[])
    RETURNS TABLE (memory_id bigint, count int, last_at timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT s.id, count(*)::int, max(s.shown_at)
    FROM (
        SELECT whole.ids[abs(c.place)] AS id, r.created_at AS shown_at
        FROM retrieval AS r, LATERAL (SELECT r.ids || '{}' AS ids OFFSET 0) AS whole,
             unnest(r.chosen) AS c (place)
        WHERE r.user_id = user_id AND r.retrieval_id = ANY (recalls)
        UNION ALL
        SELECT i.id, t.created_at
        FROM tool_call AS t, unnest(t.memory_ids) AS i (id)
        WHERE t.user_id = user_id AND t.tool_call_id = ANY (calls) AND t.tool <> 'memory_write'
    ) AS s
    WHERE s.id > 0
    GROUP BY s.id;
END $$;
