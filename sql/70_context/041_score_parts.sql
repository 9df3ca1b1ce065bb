-- The columns of memory_explain() that make up the score of a mode besides those of every mode: the
-- command memoir explain shows no others.
CREATE OR REPLACE FUNCTION _score_parts(mode text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT array_remove(ARRAY[
            CASE WHEN m.keyword_weight > 0 THEN 'keyword' END,
            CASE WHEN m.graph_weight > 0 THEN 'graph' END,
            CASE WHEN m.recency_weight > 0 OR m.recency_power > 0 THEN 'recency' END,
            CASE WHEN m.importance_weight > 0 OR m.importance_power > 0 THEN 'importance' END,
            CASE WHEN m.interaction_weight > 0 THEN 'interaction' END,
            CASE WHEN m.priority_weight > 0 THEN 'priority' END,
            CASE WHEN (m.name_boost, m.time_boost, m.when_boost, m.question_penalty)
                      <> (0, 0, 0, 0) THEN 'boost' END,
            CASE WHEN greatest(m.neighbour_weight, m.second_neighbour_weight, m.answer_weight) > 0
                 THEN 'neighbours' END,
            CASE WHEN m.session_weight > 0 THEN 'session' END], NULL)
        FROM mode AS m WHERE m.name = _score_parts.mode);
END $$;
