-- Keeps mode.kind_weights and its siblings: the registry rows as arrays by kind_id. Recall reads
-- one row of mode instead of gathering them at each call (DECISIONS 6).
CREATE OR REPLACE FUNCTION _refresh_modes() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $$
BEGIN
    UPDATE mode
    SET expansions = compiled.expansions,
        model_id = compiled.model_id, dimensions = compiled.dimensions,
        log_recalls = compiled.log_recalls,
        asks_feature = compiled.asks, when_feature = compiled.whens,
        plain_kinds = compiled.plain, kind_weights = compiled.weights, kind_rates = compiled.rates,
        kind_priorities = compiled.priorities,
        kind_headings = compiled.headings, heading_costs = compiled.costs
    FROM (
        SELECT m.name, (SELECT max(expansions) FROM mode) AS expansions,
               e.model_id, e.dimensions, coalesce(s.value = 'true', false) AS log_recalls,
               _feature_entry('asks', -m.question_penalty) AS asks,
               _feature_entry('when', m.when_boost) AS whens,
               sum(CASE WHEN coalesce(w.weight, 1) = 1
                             AND (k.half_life_days IS NULL OR NOT m.kind_decay)
                        THEN 1::bigint << place ELSE 0 END)::bigint AS plain,
               array_agg(coalesce(w.weight, 1) ORDER BY place) AS weights,
               array_agg(_decay_rate(CASE WHEN m.kind_decay THEN k.half_life_days END)
                         ORDER BY place) AS rates,
               array_agg(coalesce(k.priority / nullif(top.priority, 0), 0) ORDER BY place)
                   AS priorities,
               array_agg('## ' || coalesce(k.heading, '') ORDER BY place) AS headings,
               array_agg(_token_cost('## ' || coalesce(k.heading, '') || E'\n') ORDER BY place)
                   AS costs
        FROM mode AS m
        JOIN embedding_model AS e ON e.active
        LEFT JOIN setting AS s ON s.name = 'log_recalls'
        CROSS JOIN (SELECT max(greatest(priority, 0))::float8 FROM kind) AS top (priority)
        CROSS JOIN generate_series(1, (SELECT max(kind_id) FROM kind)) AS place
        LEFT JOIN kind AS k ON k.kind_id = place
        LEFT JOIN mode_weight AS w ON w.mode = m.name AND w.kind = k.name
        GROUP BY m.name, e.model_id, e.dimensions, s.value
    ) AS compiled
    WHERE mode.name = compiled.name
      AND (mode.expansions, mode.model_id, mode.dimensions, mode.log_recalls, mode.asks_feature,
           mode.when_feature, mode.plain_kinds, mode.kind_weights, mode.kind_rates,
           mode.kind_priorities, mode.kind_headings, mode.heading_costs)
          IS DISTINCT FROM
          (compiled.expansions, compiled.model_id, compiled.dimensions, compiled.log_recalls,
           compiled.asks, compiled.whens, compiled.plain, compiled.weights, compiled.rates,
           compiled.priorities, compiled.headings, compiled.costs);
END $$;

CREATE OR REPLACE TRIGGER compile_modes AFTER INSERT OR UPDATE OR DELETE ON kind
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_modes');
CREATE OR REPLACE TRIGGER compile_modes AFTER INSERT OR UPDATE OR DELETE ON mode_weight
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_modes');
CREATE OR REPLACE TRIGGER compile_modes AFTER INSERT OR UPDATE OR DELETE ON embedding_model
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_modes');
CREATE OR REPLACE TRIGGER compile_modes AFTER INSERT OR UPDATE OR DELETE ON setting
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_modes');
CREATE OR REPLACE TRIGGER compile_modes
    AFTER INSERT OR UPDATE OF kind_decay, when_boost, question_penalty ON mode
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_modes');
UPDATE kind SET name = name WHERE false;
