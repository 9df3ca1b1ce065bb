-- What scripts/distribute.sql calls of Citus, for a PostgreSQL without it: each call is noted, and
-- refused where Citus would refuse it, as far as the catalogue tells.
CREATE TABLE pg_dist_partition (
    logicalrelid regclass PRIMARY KEY, partmethod "char", near regclass);
CREATE TABLE distributed_function (
    signature regprocedure PRIMARY KEY, argument text, near regclass, forced boolean);
CREATE TABLE truncated (relation regclass);

CREATE FUNCTION refuse(reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', reason USING ERRCODE = '0A000';
END $$;

CREATE FUNCTION check_relation(relation regclass, sort "char") RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refuse(relation || ' is distributed already')
    FROM pg_dist_partition WHERE logicalrelid = relation;
    PERFORM refuse(relation || ' is a partition: distribute its table')
    FROM pg_class WHERE oid = relation AND relispartition;
    PERFORM refuse(format('trigger %s of %s is not supported', tgname, relation))
    FROM pg_trigger
    WHERE tgrelid = relation AND NOT tgisinternal
      AND (sort = 'n' OR coalesce(current_setting('citus.enable_unsafe_triggers', true), '')
                         <> 'on');
    PERFORM refuse(format('policy %s of %s has a subquery', polname, relation))
    FROM pg_policy WHERE polrelid = relation
      AND concat(pg_get_expr(polqual, relation), pg_get_expr(polwithcheck, relation)) ~ 'SELECT';
    PERFORM refuse(format('%s refers to %s, which is neither', conname, confrelid::regclass))
    FROM pg_constraint AS c
    WHERE contype = 'f' AND conrelid = relation AND NOT EXISTS (
        SELECT FROM pg_dist_partition AS p
        WHERE p.logicalrelid = c.confrelid AND (sort = 'h' OR p.partmethod = 'n'));
    PERFORM refuse(format('identity column %s of %s is no bigint', attname, relation))
    FROM pg_attribute
    WHERE attrelid = relation AND attidentity <> '' AND sort = 'h'
      AND atttypid <> 'bigint'::regtype;
END $$;

CREATE FUNCTION create_reference_table(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM check_relation(relation, 'n');
    INSERT INTO pg_dist_partition VALUES (relation, 'n');
END $$;

CREATE FUNCTION create_distributed_table(
    relation regclass, distribution_column text, colocate_with text DEFAULT 'default')
    RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place CONSTANT smallint := (SELECT attnum FROM pg_attribute
                                WHERE attrelid = relation AND attname = distribution_column);
    beside CONSTANT regclass := CASE colocate_with WHEN 'none' THEN relation
                                                   ELSE colocate_with::regclass END;
BEGIN
    PERFORM check_relation(relation, 'h');
    IF beside <> relation AND NOT EXISTS (SELECT FROM pg_dist_partition
                                          WHERE logicalrelid = beside AND partmethod = 'h') THEN
        PERFORM refuse(beside || ' is not distributed');
    END IF;
    PERFORM refuse(format('unique key %s without %s', indexrelid::regclass, distribution_column))
    FROM pg_index
    WHERE indrelid = relation AND (indisunique OR indisexclusion) AND place <> ALL (indkey);
    PERFORM refuse(format('foreign key %s does not carry %s', conname, distribution_column))
    FROM pg_constraint AS c JOIN pg_dist_partition AS p ON p.logicalrelid = c.confrelid
    WHERE c.contype = 'f' AND c.conrelid = relation AND p.partmethod = 'h' AND (
        p.near <> beside OR NOT EXISTS (
            SELECT FROM unnest(c.conkey, c.confkey) AS k (own, other)
            JOIN pg_attribute AS a ON a.attrelid = c.confrelid AND a.attnum = k.other
            WHERE k.own = place AND a.attname = distribution_column));
    PERFORM refuse(format('foreign key %s sets %s', conname, distribution_column))
    FROM pg_constraint
    WHERE contype = 'f' AND conrelid = relation
      AND ('{n,d}'::"char"[] && ARRAY[confdeltype, confupdtype]);
    INSERT INTO pg_dist_partition VALUES (relation, 'h', beside);
END $$;

CREATE FUNCTION truncate_local_data_after_distributing_table(relation regclass) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refuse(format('%s refers to %s and is local', conrelid::regclass, relation))
    FROM pg_constraint AS c
    WHERE contype = 'f' AND confrelid = relation AND conparentid = 0 AND NOT EXISTS (
        SELECT FROM pg_dist_partition AS p WHERE p.logicalrelid = c.conrelid);
    INSERT INTO truncated VALUES (relation);
END $$;

CREATE FUNCTION create_distributed_function(
    signature regprocedure, distribution_arg_name text DEFAULT NULL,
    colocate_with text DEFAULT 'default', force_delegation boolean DEFAULT NULL)
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM refuse(format('%s has no argument %s of type text', signature, distribution_arg_name))
    FROM pg_proc AS p
    WHERE p.oid = signature AND distribution_arg_name IS NOT NULL AND NOT EXISTS (
        SELECT FROM unnest(p.proargnames, p.proargtypes::oid[]) AS a (name, type)
        WHERE a.name = distribution_arg_name AND a.type = 'text'::regtype);
    INSERT INTO distributed_function
    VALUES (signature, distribution_arg_name,
            CASE WHEN distribution_arg_name IS NOT NULL THEN colocate_with::regclass END,
            force_delegation)
    ON CONFLICT ON CONSTRAINT distributed_function_pkey DO NOTHING;
END $$;
