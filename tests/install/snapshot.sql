-- The catalogue of a database, one line an object: two databases are alike when their lines are.
-- Members of extensions are left out (the extension's line stands for them), so is column order,
-- and so are the owner's rights, which are written down once somebody gets a right. Members of
-- pgmemoir itself are not, nor has it a line: it makes what memoir migrate makes.
WITH member AS (
    SELECT d.classid, d.objid
    FROM pg_depend d
    JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE d.deptype = 'e' AND e.extname <> 'pgmemoir'
), space AS (
    SELECT oid, nspname FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
), relation AS (
    SELECT c.*, c.oid::regclass::text AS name
    FROM pg_class c JOIN space ON space.oid = c.relnamespace
    WHERE ('pg_class'::regclass, c.oid) NOT IN (TABLE member)
), routine AS (
    SELECT p.*
    FROM pg_proc p JOIN space ON space.oid = p.pronamespace
    WHERE ('pg_proc'::regclass, p.oid) NOT IN (TABLE member)
)
SELECT format('schema %s', nspname) FROM space
UNION ALL
SELECT format('extension %s %s in %s', extname, extversion, extnamespace::regnamespace)
FROM pg_extension WHERE extname <> 'pgmemoir'
UNION ALL
SELECT format('relation %s %s %s %s rls %s forced %s %s', relkind, name, relpersistence, reloptions,
    relrowsecurity, relforcerowsecurity, pg_get_expr(relpartbound, oid))
FROM relation
UNION ALL
SELECT format('sequence %s from %s by %s to %s cycle %s', name, seqstart, seqincrement, seqmax,
    seqcycle)
FROM relation JOIN pg_sequence ON seqrelid = oid
UNION ALL
SELECT format('%s on %s %s to %s', a.privilege_type, g.kind, g.name, r.rolname)
FROM (
    SELECT 'schema' AS kind, nspname::text AS name, nspacl AS acl, nspowner AS owner
    FROM space JOIN pg_namespace n USING (oid, nspname)
    UNION ALL
    SELECT 'relation', name, relacl, relowner FROM relation
    UNION ALL
    SELECT 'column', name || '.' || attname, attacl, relowner
    FROM relation JOIN pg_attribute a ON a.attrelid = relation.oid AND attacl IS NOT NULL
    UNION ALL
    SELECT 'routine', oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)), proowner
    FROM routine
) g
CROSS JOIN LATERAL aclexplode(g.acl) a
LEFT JOIN pg_roles r ON r.oid = a.grantee
WHERE a.grantee <> g.owner
UNION ALL
SELECT format('column %s.%s %s %s not null %s identity %s default %s', name, attname,
    format_type(atttypid, atttypmod), attstorage, attnotnull, attidentity,
    pg_get_expr(adbin, adrelid))
FROM relation
JOIN pg_attribute a ON a.attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
UNION ALL
SELECT format('view %s %s', name, pg_get_viewdef(oid)) FROM relation WHERE relkind IN ('v', 'm')
UNION ALL
SELECT pg_get_indexdef(oid) FROM relation WHERE relkind IN ('i', 'I')
UNION ALL
SELECT format('constraint %s on %s %s', conname, relation.name, pg_get_constraintdef(con.oid))
FROM pg_constraint con JOIN relation ON relation.oid = con.conrelid
UNION ALL
SELECT pg_get_triggerdef(t.oid)
FROM pg_trigger t JOIN relation ON relation.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT 'policy ' || p::text FROM pg_policies p
UNION ALL
SELECT format('%s %s', oid::regprocedure,
    CASE WHEN prokind IN ('f', 'p') THEN pg_get_functiondef(oid) ELSE 'aggregate' END)
FROM routine
UNION ALL
SELECT format('type %s %s %s', t.oid::regtype, t.typtype,
    (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
FROM pg_type t JOIN space ON space.oid = t.typnamespace
WHERE ('pg_type'::regclass, t.oid) NOT IN (TABLE member)
UNION ALL
SELECT format('comment on %s %s: %s', o.type, o.identity, d.description)
FROM pg_description d, pg_identify_object(d.classoid, d.objoid, d.objsubid) o
WHERE d.objoid >= 16384 AND (d.classoid, d.objoid) NOT IN (TABLE member)
  AND o.type || ' ' || o.identity <> 'extension pgmemoir'
