-- Recalls more than a week old become events of type memory_retrieval (D0 3.2), with the payload
-- that view retrieval_log shows. Until then they stay where replay() can choose again; and as
-- younger events they would slow down every recall, which reads the newest events. The event's line
-- has no words: it is for people who read the log, not for recall.
CREATE OR REPLACE FUNCTION _fold_log(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $$
#variable_conflict use_variable
DECLARE
    until CONSTANT timestamptz := run.at - _days('replay_days');
    line CONSTANT text := '[memory_retrieval]';
    recalls bigint[];
BEGIN
    IF run.dry_run THEN
        recalls := ARRAY(SELECT r.retrieval_id FROM retrieval AS r
                         WHERE r.user_id = user_id AND r.created_at < until);
    ELSE
        -- A row that mark_used() has locked is skipped: it is folded the next time, with its marks.
        recalls := ARRAY(SELECT r.retrieval_id FROM retrieval AS r
                         WHERE r.user_id = user_id AND r.counted AND r.created_at < until
                         ORDER BY r.retrieval_id LIMIT run.most FOR UPDATE SKIP LOCKED);
        INSERT INTO event (user_id, type, payload, created_at, line, cost, terms, term_count)
        SELECT user_id, 'memory_retrieval',
               l.payload || jsonb_build_object('retrieval_id', l.retrieval_id::text),
               l.created_at, line, _cost_of_line(line), _term_set('{}', '{}'), 0
        FROM _kept_recalls AS l
        WHERE l.user_id = user_id AND l.retrieval_id = ANY (recalls);
        IF EXISTS (SELECT FROM source AS s WHERE s.write_retrievals) THEN
            PERFORM _write_retrievals(user_id, array_agg(l.payload), array_agg(l.created_at))
            FROM _kept_recalls AS l
            WHERE l.user_id = user_id AND l.retrieval_id = ANY (recalls);
        END IF;
        DELETE FROM retrieval AS r
        WHERE r.user_id = user_id AND r.retrieval_id = ANY (recalls);
        next := CASE WHEN cardinality(recalls) = run.most THEN 0 END;
    END IF;
    IF recalls <> '{}' THEN
        action := 'recalls folded';
        details := jsonb_build_object('recalls', cardinality(recalls));
        RETURN NEXT;
    END IF;
END $$;
