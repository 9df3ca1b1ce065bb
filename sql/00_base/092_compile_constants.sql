-- Makes functions of what a write needs from tables kind and embedding_model. As a constant of its
-- plan it costs a statement nothing, while reading the two rows takes 30 of the 350 µs of a row of
-- an attached table. A change of a row rebuilds them, and with them every plan that uses them, as
-- the redaction rules do (066_compile_redaction). memoir_admin also writes the two tables, and may
-- not replace a function: the trigger has its owner's rights, takes no input and only does this.
CREATE OR REPLACE FUNCTION _refresh_constants() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $compile$
DECLARE
    constant record;
BEGIN
    -- If two connections change a row at once, the second sees the change of the first.
    PERFORM pg_advisory_xact_lock(hashtextextended('memoir._refresh_constants', 0));
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
        GROUP BY v.name, v.type
        UNION ALL
        SELECT format('%I()', v.name), 'int', format('%L::int', v.value)
        FROM embedding_model AS e
        CROSS JOIN LATERAL (VALUES
            ('_text_limit', e.text_limit), ('_term_limit', e.term_limit),
            ('_line_length', e.line_length), ('_brief_length', e.brief_length)) AS v (name, value)
        WHERE e.active
    LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS %s LANGUAGE sql STABLE PARALLEL SAFE '
                       'RETURN %s', constant.signature, constant.type, constant.value);
    END LOOP;
END $compile$;

CREATE OR REPLACE FUNCTION _compile_constants() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _refresh_constants();
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER compile_constants AFTER INSERT OR UPDATE OR DELETE ON kind
    FOR EACH STATEMENT EXECUTE FUNCTION _compile_constants();
CREATE OR REPLACE TRIGGER compile_constants
    AFTER INSERT OR DELETE
       OR UPDATE OF active, term_limit, text_limit, line_length, brief_length ON embedding_model
    FOR EACH STATEMENT EXECUTE FUNCTION _compile_constants();
UPDATE kind SET name = name WHERE false;
