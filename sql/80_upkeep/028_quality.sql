-- The last step of upkeep, after everything else: the figures of the quality report (D4 6.2), for
-- one user or (NULL) for all together. It changes nothing.
CREATE OR REPLACE FUNCTION _report_quality(only_user text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    by_state jsonb;
    by_status jsonb;
    shares jsonb;
BEGIN
    SELECT coalesce(jsonb_object_agg(s.state, s.number), '{}') INTO by_state
    FROM (SELECT r.state, count(*) AS number FROM _relevances(only_user, run.at) AS r
          GROUP BY r.state) AS s;
    SELECT coalesce(jsonb_object_agg(s.status, s.number), '{}') INTO by_status
    FROM (SELECT m.status, count(*) AS number FROM memory AS m
          WHERE only_user IS NULL OR m.user_id = only_user
          GROUP BY m.status) AS s;
    SELECT jsonb_build_object(
               'without_vector', count(*) FILTER (WHERE t.embedding IS NULL),
               'keyword_coverage', round((sum((k.user_id IS NOT NULL)::int)
                                          / nullif(count(*), 0)::numeric), 4))
    INTO shares
    FROM embedding_model AS e
    JOIN trace AS t ON t.model = e.model_id AND t.active
    LEFT JOIN LATERAL (SELECT w.user_id FROM keyword AS w
                       WHERE w.user_id = t.user_id AND w.memory_id = t.memory_id
                       LIMIT 1) AS k ON true
    WHERE e.active AND (only_user IS NULL OR t.user_id = only_user);
    action := 'report';
    memories := coalesce((by_status ->> 'active')::bigint, 0);
    details := jsonb_build_object('relevance', by_state, 'status', by_status) || shares;
    RETURN NEXT;
END $$;
