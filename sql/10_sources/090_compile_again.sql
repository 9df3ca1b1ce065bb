-- After an upgrade, sources that were attached before it get functions of the present text: theirs
-- call private functions as these were. The triggers stay: no table of the application is locked.

-- Each function keeps its owner: whoever owns the table by now did not attach it. A source whose
-- table is gone, or whose functions are, as in a copy of the rows, has nothing to compile.
CREATE OR REPLACE FUNCTION _recompile_sources(s source) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    relation CONSTANT regclass := CASE WHEN s.follows THEN _followed_table(s.source_id)
                                       WHEN s.query IS NULL THEN to_regclass(s.relation) END;
    reader CONSTANT name := (
        SELECT pg_get_userbyid(p.proowner) FROM pg_proc AS p
        WHERE p.pronamespace = current_schema()::regnamespace
          AND p.proname = format('_source_%s_read', s.source_id));
    columns jsonb;
BEGIN
    IF reader IS NULL OR relation IS NULL AND s.query IS NULL THEN
        RETURN;
    END IF;
    columns := CASE WHEN s.query IS NULL THEN _columns_of(relation)
                    ELSE _checked_query(s.query) END;
    PERFORM _check_columns(coalesce(relation::text, 'the query'), columns, s.mapping);
    PERFORM _compile_read(s, columns, reader);
    IF s.follows THEN
        PERFORM _compile_write(s, relation);
    END IF;
    IF s.write_retrievals THEN
        PERFORM _compile_log(s, columns, reader);
    END IF;
END $$;

-- One that cannot be compiled, as its table has changed too, does not stop the upgrade.
CREATE OR REPLACE FUNCTION _compile_sources() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    s source;
BEGIN
    FOR s IN SELECT o.* FROM source AS o ORDER BY o.source_id LOOP
        BEGIN
            PERFORM _recompile_sources(s);
        EXCEPTION WHEN OTHERS THEN
            IF _is_of_server(SQLSTATE) THEN
                RAISE;
            END IF;
            RAISE WARNING 'source "%" keeps the functions of an earlier version: %', s.name, SQLERRM
                USING HINT = 'Its rows may no longer become memories. Detach it and attach it '
                             'again.';
        END;
    END LOOP;
END $$;

DO $upgrade$
BEGIN
    PERFORM _compile_sources();
END $upgrade$;
