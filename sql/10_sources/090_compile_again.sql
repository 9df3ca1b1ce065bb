-- After an upgrade, sources that were attached before it get functions of the present text: theirs
-- call private functions as these were. The triggers stay: no table of the application is locked.

-- Each function keeps its owner: whoever owns the table by now did not attach it.
CREATE OR REPLACE FUNCTION _compile_again(s source) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    relation CONSTANT regclass := CASE WHEN s.follows THEN _followed_table(s.source_id)
                                       WHEN s.query IS NULL THEN to_regclass(s.relation) END;
    columns CONSTANT jsonb := CASE WHEN s.query IS NULL THEN _columns_of(relation)
                                   ELSE _checked_query(s.query) END;
    part text;
    owner name;
BEGIN
    PERFORM _check_columns(coalesce(relation::text, 'the query'), columns, s.mapping);
    FOR part, owner IN
        SELECT p.part, pg_get_userbyid(f.proowner)
        FROM unnest('{read,write,log}'::text[]) AS p (part)
        JOIN pg_proc AS f ON f.pronamespace = current_schema()::regnamespace
                         AND f.proname = format('_source_%s_%s', s.source_id, p.part)
    LOOP
        IF part = 'write' THEN
            PERFORM _compile_write(s, relation);
        ELSIF part = 'read' THEN
            PERFORM _compile_read(s, columns, owner);
        ELSE
            PERFORM _compile_log(s, columns, owner);
        END IF;
    END LOOP;
END $$;

-- One that cannot be compiled, as its table has changed too, does not stop the upgrade.
DO $again$
DECLARE
    s source;
BEGIN
    FOR s IN SELECT o.* FROM source AS o ORDER BY o.source_id LOOP
        BEGIN
            PERFORM _compile_again(s);
        EXCEPTION WHEN OTHERS THEN
            IF _is_of_server(SQLSTATE) THEN
                RAISE;
            END IF;
            RAISE WARNING 'source "%" keeps the functions of an earlier version: %', s.name, SQLERRM
                USING HINT = 'Its rows may no longer become memories. Detach it and attach it '
                             'again.';
        END;
    END LOOP;
END $again$;
