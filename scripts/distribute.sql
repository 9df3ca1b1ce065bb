-- Distributes an installed pgmemoir over a Citus cluster, by user: psql -v ON_ERROR_STOP=1 -f this
-- file on the coordinator, as the owner of schema memoir. Without Citus it changes nothing. Run
-- again, it changes only what is not as it should be, so run it after every memoir migrate, too.
--
-- Tables without user_id are configuration and become reference tables. The others are distributed
-- by user_id and colocated with profile, so that all data of a user is on one node and no join or
-- foreign key leaves it. Functions go to every node; the private ones that work for one user run on
-- that user's node.
--
-- What is different on a cluster:
-- * Configuration has no triggers there: after a change of setting, mode, mode_weight, kind,
--   synonym, redaction_rule or embedding_model, call SELECT memoir.compile_configuration().
--   Name the embedding model before the first vector: SELECT memoir.use_model('name', 1536).
-- * NOTIFY would be heard on the node of the user alone: settings notify and job_notify become
--   false. Listeners poll view outbox, workers poll anyway.
-- * The log of recalls becomes durable: shards move by logical replication, which takes no unlogged
--   table.
-- * Clients connect to the coordinator. Row-level security needs
--   ALTER DATABASE ... SET citus.propagate_set_commands = 'local', and SET LOCAL memoir.user_id.
-- * memoir migrate needs ALTER ROLE ... SET citus.enable_unsafe_triggers = on: it makes triggers.
BEGIN;
-- A reference table and what refers to it in one transaction: one shard after the other.
SET LOCAL citus.multi_shard_modify_mode = 'sequential';
-- mention_changed and drop_statistics stay: they touch rows of the same user, on the same node.
SET LOCAL citus.enable_unsafe_triggers = on;
SET LOCAL client_min_messages = notice;
DO $distribute$
DECLARE
    configuration regclass[];
    owned regclass[];
    made text[] := '{}';
    moved regclass[] := '{}';
    next regclass;
    sort record;
BEGIN
    IF to_regproc('create_distributed_table') IS NULL THEN
        RAISE NOTICE 'Citus is not installed here: nothing to distribute';
        RETURN;
    END IF;
    IF to_regclass('memoir.profile') IS NULL THEN
        RAISE EXCEPTION 'pgmemoir is not installed here' USING HINT = 'Run: memoir migrate';
    END IF;

    UPDATE memoir.setting SET value = 'false'
    WHERE name IN ('notify', 'job_notify') AND value <> 'false';
    FOR sort IN
        SELECT t.tgname, t.tgrelid::regclass AS tablename
        FROM pg_trigger AS t
        JOIN pg_class AS c ON c.oid = t.tgrelid AND c.relnamespace = 'memoir'::regnamespace
        WHERE NOT t.tgisinternal AND NOT EXISTS (
            SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'user_id')
    LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', sort.tgname, sort.tablename);
        made := made || format('trigger %s dropped', sort.tgname);
    END LOOP;
    FOR sort IN
        SELECT c.oid::regclass AS tablename FROM pg_class AS c
        WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind = 'r'
          AND c.relpersistence = 'u'
    LOOP
        EXECUTE format('ALTER TABLE %s SET LOGGED', sort.tablename);
        made := made || format('%s made durable', sort.tablename);
    END LOOP;
    -- Citus numbers a sequence per node if a distributed table has it as a default. Functions draw
    -- from these two, so they become defaults only here.
    ALTER TABLE memoir.revision
        ALTER change_id SET DEFAULT nextval('memoir.change_id_seq'),
        ALTER run_id SET DEFAULT nextval('memoir.run_id_seq');

    -- Referenced tables first; partitions follow their table.
    WITH RECURSIVE candidate AS (
        SELECT c.oid, EXISTS (SELECT FROM pg_attribute AS a
                              WHERE a.attrelid = c.oid AND a.attname = 'user_id') AS has_user
        FROM pg_class AS c
        WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p')
          AND NOT c.relispartition AND c.relname <> 'migration'
    ), depth AS (
        SELECT oid, 0 AS depth FROM candidate
        UNION
        SELECT f.conrelid, d.depth + 1
        FROM depth AS d
        JOIN pg_constraint AS f ON f.contype = 'f' AND f.confrelid = d.oid
                               AND f.conrelid <> f.confrelid AND f.conparentid = 0
        JOIN candidate AS c ON c.oid = f.conrelid
    ), placed AS (
        SELECT c.oid, c.has_user, max(d.depth) AS depth
        FROM candidate AS c JOIN depth AS d USING (oid)
        GROUP BY c.oid, c.has_user
    )
    SELECT array_agg(oid::regclass ORDER BY depth, oid::regclass::text) FILTER (WHERE NOT has_user),
           array_agg(oid::regclass ORDER BY oid <> 'memoir.profile'::regclass, depth,
                                            oid::regclass::text) FILTER (WHERE has_user)
    INTO configuration, owned
    FROM placed;

    FOREACH next IN ARRAY configuration LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_dist_partition AS p WHERE p.logicalrelid = next);
        PERFORM create_reference_table(next);
        moved := moved || next;
        made := made || format('%s is a reference table', next);
    END LOOP;
    FOREACH next IN ARRAY owned LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_dist_partition AS p WHERE p.logicalrelid = next);
        PERFORM create_distributed_table(
            next, 'user_id', colocate_with => CASE next WHEN 'memoir.profile'::regclass
                                                        THEN 'none' ELSE 'memoir.profile' END);
        moved := moved || next;
        made := made || format('%s is distributed by user_id', next);
    END LOOP;
    -- The rows are on the nodes; what the tables held here is hidden, and is deleted.
    FOREACH next IN ARRAY moved LOOP
        PERFORM truncate_local_data_after_distributing_table(next);
    END LOOP;

    -- Functions that read the caller's settings or notify listeners stay where they are called, and
    -- so do the steps of upkeep that make or drop indexes and partitions.
    FOR sort IN
        SELECT p.oid::regprocedure AS signature,
               p.proname LIKE '\_%' AND l.lanname = 'plpgsql' AND p.prokind = 'f'
               AND p.proargnames[1] = 'user_id' AND p.proargtypes[0] = 'text'::regtype
               AND p.proname NOT IN (
                   '_resolve_user', '_notify', '_tend_indexes', '_tend_left_over',
                   '_tend_partitions', '_build_own_index', '_drop_own_index', '_use_own_index')
               AS of_user
        FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
        WHERE p.pronamespace = 'memoir'::regnamespace AND p.prorettype <> 'trigger'::regtype
        ORDER BY p.oid
    LOOP
        IF sort.of_user THEN
            PERFORM create_distributed_function(
                sort.signature, 'user_id', colocate_with => 'memoir.profile',
                force_delegation => true);
        ELSE
            PERFORM create_distributed_function(sort.signature);
        END IF;
    END LOOP;
    RAISE NOTICE '%', CASE WHEN made = '{}' THEN 'all tables were distributed already'
                           ELSE array_to_string(made, E'\n') END;
END $distribute$;
COMMIT;
