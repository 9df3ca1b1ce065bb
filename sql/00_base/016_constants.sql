-- Makes functions of what every write needs from tables kind and setting: a constant of its plan
-- costs a statement nothing. A change of a row makes them anew, and with them every plan that uses
-- them. memoir_admin also writes the two tables, and may not replace a function: the trigger has
-- its owner's rights, takes no input and only does this.
-- changed: the setting that was; NULL: everything.
CREATE OR REPLACE FUNCTION _refresh_constants(changed text DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $compile$
DECLARE
    constant record;
BEGIN
    FOR constant IN
        SELECT format('%I(kind_id int)', v.name) AS signature, v.type,
               format('CASE kind_id %s END', string_agg(
                   format('WHEN %s THEN %L::%s', k.kind_id, v.value, v.type), ' '
                   ORDER BY k.kind_id)) AS value
        FROM kind AS k
        CROSS JOIN LATERAL (VALUES
            ('_kind_name', 'text', k.name),
            ('_kind_importance', 'float8', k.importance::text),
            ('_in_profile', 'boolean', (k.layer = 'profile')::text)) AS v (name, type, value)
        WHERE changed IS NULL
        GROUP BY v.name, v.type
        UNION ALL
        SELECT format('%I()', c.name), c.type, format('%L::%s', CASE c.type
                   WHEN 'int' THEN s.value::int::text
                   ELSE coalesce(s.value = 'true', false)::text END, c.type)
        FROM (VALUES ('_text_limit', 'int', 'text_limit'), ('_line_length', 'int', 'line_length'),
                     ('_brief_length', 'int', 'brief_length'), ('_notifies', 'boolean', 'notify'),
                     ('_consolidates', 'boolean', 'consolidate')) AS c (name, type, setting)
        LEFT JOIN setting AS s ON s.name = c.setting
        WHERE changed IS NULL OR c.setting = changed
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS %s LANGUAGE sql STABLE PARALLEL SAFE '
                       'RETURN %s', constant.signature, constant.type, constant.value);
    END LOOP;
END $compile$;

CREATE OR REPLACE FUNCTION _compile_constants() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    -- The name of a kind, or of a setting: all other settings leave all plans alone.
    PERFORM _refresh_constants(CASE TG_TABLE_NAME WHEN 'setting' THEN
                                   coalesce(to_jsonb(NEW), to_jsonb(OLD))->>'name' END);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER compile_constants AFTER INSERT OR UPDATE OR DELETE ON kind
    FOR EACH STATEMENT EXECUTE FUNCTION _compile_constants();
CREATE OR REPLACE TRIGGER compile_constants AFTER INSERT OR UPDATE OR DELETE ON setting
    FOR EACH ROW EXECUTE FUNCTION _compile_constants();
UPDATE kind SET name = name WHERE false;
