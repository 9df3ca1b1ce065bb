-- Whether a text is one SELECT that may be attached, and which columns it has. The client checks it
-- first with a parser; here PostgreSQL itself confirms that it is one statement that only reads.
-- What it reads comes from a view that is dropped at once: views know what they depend on. What a
-- function does inside stays unseen: it runs read-only, with the rights of the query's attacher.

-- Makes a view memoir_query of it, after a subtransaction that may not write has planned it. A
-- cursor accepts no second statement. Table names mean here what they will mean when it is read.
CREATE OR REPLACE FUNCTION _view_query(query text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    subquery CONSTANT text := _as_subquery(query);
    rows refcursor;
BEGIN
    PERFORM set_config('search_path', 'pg_catalog, public, pg_temp', true);
    BEGIN
        PERFORM set_config('transaction_read_only', 'on', true);
        OPEN rows FOR EXECUTE query;
        CLOSE rows;
        RAISE SQLSTATE 'P0999';  -- a failed subtransaction takes the setting back
    EXCEPTION WHEN SQLSTATE 'P0999' THEN
        NULL;
    END;
    EXECUTE 'CREATE TEMP VIEW memoir_query AS SELECT * FROM ' || subquery || ' AS n';
END $$;

-- What a query depends on: tables, views and functions, through views. PostgreSQL's own functions
-- are not recorded as dependencies; the rule of a view has their numbers, however they are written.
CREATE OR REPLACE FUNCTION _dependencies_of(query_view oid)
    RETURNS TABLE (class regclass, object oid)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH RECURSIVE below AS (
        SELECT 'pg_class'::regclass AS class, query_view AS object
        UNION
        SELECT d.refclassid::regclass, d.refobjid
        FROM below AS b
        JOIN pg_rewrite AS r ON b.class = 'pg_class'::regclass AND r.ev_class = b.object
        JOIN pg_depend AS d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                           AND d.refclassid IN ('pg_class'::regclass, 'pg_proc'::regclass)
    )
    SELECT b.class, b.object FROM below AS b WHERE b.object <> query_view
    UNION
    SELECT 'pg_proc'::regclass, f.number[1]::oid
    FROM below AS b
    JOIN pg_rewrite AS r ON b.class = 'pg_class'::regclass AND r.ev_class = b.object,
         regexp_matches(r.ev_action::text, ':(?:op)?funcid (\d+)', 'g') AS f (number);
END;

CREATE OR REPLACE FUNCTION _checked_query(query text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    columns jsonb;
    reason text;
    bad record;
BEGIN
    BEGIN
        PERFORM _view_query(query);
        columns := _columns_of('pg_temp.memoir_query'::regclass);
    EXCEPTION WHEN syntax_error_or_access_rule_violation OR read_only_sql_transaction
                   OR invalid_cursor_definition OR feature_not_supported
                   OR data_exception OR invalid_schema_name THEN
        GET STACKED DIAGNOSTICS reason = MESSAGE_TEXT;
        PERFORM _refuse_mapping(
            'the query cannot be attached: ' || reason,
            'One SELECT that writes nothing, its tables with their schemas: SELECT id AS '
            'source_id, title AS content, created_at FROM app.ticket.');
    END;
    SELECT CASE o.class WHEN 'pg_class'::regclass THEN o.object::regclass::text
                        ELSE o.object::regprocedure::text END AS name,
           coalesce(c.relnamespace, p.pronamespace) = current_schema()::regnamespace AS ours,
           p.pronamespace = 'pg_catalog'::regnamespace AS builtin
    INTO bad
    FROM _dependencies_of('pg_temp.memoir_query'::regclass) AS o
    LEFT JOIN pg_class AS c ON o.class = 'pg_class'::regclass AND c.oid = o.object
    LEFT JOIN pg_proc AS p ON o.class = 'pg_proc'::regclass AND p.oid = o.object
    WHERE coalesce(c.relnamespace, p.pronamespace) = current_schema()::regnamespace
       OR p.provolatile = 'v'
       OR p.pronamespace = 'pg_catalog'::regnamespace AND p.proname ~ '_to_xml'
    LIMIT 1;
    DROP VIEW pg_temp.memoir_query;
    IF bad.ours THEN
        PERFORM _refuse_mapping('the query reads memoir.' || bad.name
                                || ', which is not the application''s',
                                'Attach the tables of the application.');
    ELSIF bad.builtin THEN
        PERFORM _refuse_mapping('the query calls ' || bad.name || ', which does more than read, '
                                'or returns something else each time',
                                'Remove it; a mapping selects columns and expressions of them.');
    ELSIF bad.name IS NOT NULL THEN
        PERFORM _refuse_mapping('the query calls ' || bad.name || ', which may change something',
                                'Declare it STABLE if it only reads.');
    END IF;
    RETURN columns;
END $$;
