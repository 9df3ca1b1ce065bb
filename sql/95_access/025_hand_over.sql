-- One owner of everything. A superuser who upgrades for another role, restores the extension, or
-- makes it in that role's schema would own what the script makes: that role could not read its
-- tables or replace its functions, and triggers of attached tables, which run as the owner, would
-- take in no row. So what he made goes to who owns the tables or, where he made these with the
-- extension, the schema, which a dump makes first. What reads an attached table stays its owner's,
-- and so does another extension: whoever owns pgvector's functions decides what others' calls do.
CREATE OR REPLACE FUNCTION _hand_over() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    keeper name := _memoir_owner();
    statement text;
BEGIN
    IF keeper = current_user AND _is_extension() THEN
        keeper := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n
                   WHERE n.oid = current_schema()::regnamespace);
    END IF;
    IF keeper = current_user OR NOT _is_superuser(current_user) THEN
        RETURN;
    END IF;
    FOR statement IN
        SELECT format('ALTER %s OWNER TO %I', o.object, keeper)
        FROM (
            SELECT 'TABLE ' || c.oid::regclass, c.relowner, c.tableoid, c.oid
            FROM pg_class AS c
            WHERE c.relnamespace = current_schema()::regnamespace
              AND c.relkind IN ('r', 'p', 'v', 'S')
              -- An identity goes with its table.
              AND NOT EXISTS (SELECT FROM pg_depend AS d
                              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                                AND d.refclassid = 'pg_class'::regclass AND c.relkind = 'S'
                                AND d.deptype IN ('a', 'i'))
            UNION ALL
            SELECT 'TYPE ' || t.oid::regtype, t.typowner, t.tableoid, t.oid
            FROM pg_type AS t LEFT JOIN pg_class AS c ON c.oid = t.typrelid
            WHERE t.typnamespace = current_schema()::regnamespace
              AND (t.typtype = 'd' OR c.relkind = 'c')
            UNION ALL
            SELECT 'ROUTINE ' || p.oid::regprocedure, p.proowner, p.tableoid, p.oid
            FROM pg_proc AS p
            WHERE p.pronamespace = current_schema()::regnamespace
              AND p.proname !~ '^_source_[0-9]+_'
        ) AS o (object, owner, class, oid)
        WHERE pg_get_userbyid(o.owner) = current_user
          AND NOT EXISTS (SELECT FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
                          WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e'
                            AND d.refclassid = 'pg_extension'::regclass
                            AND e.extname <> 'pgmemoir')
    LOOP
        EXECUTE statement;
    END LOOP;
END $$;
