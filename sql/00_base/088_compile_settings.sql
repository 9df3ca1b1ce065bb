-- Keeps embedding_model.text_limit and its siblings: what a write needs from table setting, next to
-- the model. A write reads one row; looking up three settings takes 20 µs of a write's 400.
CREATE OR REPLACE FUNCTION _refresh_settings() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    compiled record;
    stale smallint[];
BEGIN
    SELECT max(s.value::int) FILTER (WHERE s.name = 'text_limit') AS text_limit,
           max(s.value::int) FILTER (WHERE s.name = 'line_length') AS line_length,
           max(s.value::int) FILTER (WHERE s.name = 'brief_length') AS brief_length,
           bool_and(s.value = 'true') FILTER (WHERE s.name = 'notify') AS notify,
           bool_and(s.value = 'true') FILTER (WHERE s.name = 'consolidate') AS consolidate
    INTO compiled
    FROM setting AS s
    WHERE s.name IN ('text_limit', 'line_length', 'brief_length', 'notify', 'consolidate');
    -- Even an update of no row rebuilds the constants of writes, and with them all plans.
    stale := ARRAY(SELECT m.model_id FROM embedding_model AS m
                   WHERE (m.text_limit, m.line_length, m.brief_length) IS DISTINCT FROM
                         (compiled.text_limit, compiled.line_length, compiled.brief_length));
    IF stale <> '{}' THEN
        UPDATE embedding_model
        SET text_limit = compiled.text_limit, line_length = compiled.line_length,
            brief_length = compiled.brief_length
        WHERE model_id = ANY (stale);
    END IF;
    UPDATE embedding_model AS m
    SET notify = compiled.notify, consolidate = compiled.consolidate
    WHERE (m.notify, m.consolidate) IS DISTINCT FROM (compiled.notify, compiled.consolidate);
END $$;

CREATE OR REPLACE TRIGGER compile_settings AFTER INSERT OR UPDATE OR DELETE ON setting
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_settings');
CREATE OR REPLACE TRIGGER compile_settings AFTER INSERT ON embedding_model
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_settings');
UPDATE setting SET value = value WHERE name = 'text_limit';
