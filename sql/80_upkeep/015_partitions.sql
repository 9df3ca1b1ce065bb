-- Events lie in one table per month, so that a month whose events are all due is dropped, not
-- deleted row by row. Tables are made for this month and the next two. Events of any other month
-- (imported history, months in which nobody called maintain) are in event_default. A table is made
-- empty and then attached. For that the server reads event_default once, under a lock that recalls
-- wait for; if that table is large or busy, it is left for another time, and while a publication
-- would send it as a table of its own.

-- Makes a policy, or corrects what differs, for which every recall waits. rule: as PostgreSQL
-- writes it. The comment is written each time, for which nobody waits: the migration runner drops
-- the policies that sql/ has not made or described this time.
CREATE OR REPLACE FUNCTION _put_policy(
    owned regclass, policy name, scope text, roles text, rule text, description text)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    -- PUBLIC is no role: it has the number 0.
    oids CONSTANT oid[] := ARRAY(SELECT coalesce(to_regrole(r), 0)
                                 FROM regexp_split_to_table(roles, ', ') AS r);
    of_new CONSTANT boolean := scope LIKE '%FOR INSERT';
    clause CONSTANT text := CASE WHEN of_new THEN 'WITH CHECK' ELSE 'USING' END;
    is_so boolean;
    for_writes boolean;
BEGIN
    SELECT p.polroles = oids
               AND pg_get_expr(CASE WHEN of_new THEN p.polwithcheck ELSE p.polqual END, p.polrelid)
                   IS NOT DISTINCT FROM rule,
           p.polwithcheck IS NOT NULL AND NOT of_new
    INTO is_so, for_writes
    FROM pg_policy AS p
    WHERE p.polrelid = owned AND p.polname = policy;
    -- Ours has one rule for reading and writing, or only one for new rows. Another one for writing
    -- cannot be taken back.
    IF for_writes THEN
        EXECUTE format('DROP POLICY %I ON %s', policy, owned);
    END IF;
    IF is_so IS NULL OR for_writes THEN
        EXECUTE format('CREATE POLICY %I ON %s %s TO %s %s (%s)',
                       policy, owned, scope, roles, clause, rule);
    ELSIF NOT is_so THEN
        EXECUTE format('ALTER POLICY %I ON %s TO %s %s (%s)', policy, owned, roles, clause, rule);
    END IF;
    EXECUTE format('COMMENT ON POLICY %I ON %s IS %L', policy, owned, description);
END $$;

-- The policy of every table of user data (sql/95_access). After the transaction of a SET LOCAL the
-- setting is '' and not missing: that is no user either.
CREATE OR REPLACE FUNCTION _own_rows_rule() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '(user_id = NULLIF(current_setting(''memoir.user_id''::text, true), ''''::text))';

CREATE OR REPLACE FUNCTION _own_rows(owned regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _put_policy(
        owned, 'own_rows', '', 'PUBLIC', _own_rows_rule(),
        'The rows of the user that memoir.user_id names; without it none.');
END $$;

-- Publications that send events under the name of their month's table. A subscriber has no table
-- that is made later: replication of all tables would stop at the first event in it, and this
-- server keep its log until the disk is full.
CREATE OR REPLACE FUNCTION _sends_months() RETURNS text[]
    LANGUAGE sql STABLE
    RETURN ARRAY(
        SELECT p.pubname::text FROM pg_publication AS p
        WHERE p.pubinsert AND NOT p.pubviaroot
          AND (p.puballtables
               OR p.oid IN (SELECT r.prpubid FROM pg_publication_rel AS r
                            WHERE r.prrelid = 'event'::regclass)
               OR p.oid IN (SELECT n.pnpubid FROM pg_publication_namespace AS n
                            WHERE n.pnnspid = current_schema()::regnamespace))
        ORDER BY p.pubname);

CREATE OR REPLACE FUNCTION _add_partition(month timestamptz) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '500ms'
AS $$
DECLARE
    name CONSTANT name := _partition_name(month);
    owner CONSTANT name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c
                            WHERE c.oid = 'event'::regclass);
BEGIN
    -- Checked without that lock: the first month keeps its events there until they are deleted.
    IF pg_relation_size('event_default') > 256 * 1024 * 1024
       OR _sends_months() <> '{}'
       OR EXISTS (SELECT FROM event_default AS e
                  WHERE e.created_at >= month AND e.created_at < _month_after(month))
    THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE event INCLUDING DEFAULTS INCLUDING CONSTRAINTS '
                   'INCLUDING STORAGE)', name);
    PERFORM _keep_to_owner(format('TABLE %I', name), c.relacl)
    FROM pg_class AS c WHERE c.oid = name::text::regclass;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    PERFORM _own_rows(name::text::regclass);
    -- If a superuser runs the upkeep: the owner could not upgrade it.
    IF owner <> current_user AND pg_has_role(owner, 'SET') THEN
        EXECUTE format('ALTER TABLE %I OWNER TO %I', name, owner);
    END IF;
    -- Who stores an event meanwhile waits before choosing a table for it: event_default, chosen
    -- before, would refuse it.
    LOCK TABLE ONLY event IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format('ALTER TABLE event ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                   name, month, _month_after(month));
    RETURN true;
EXCEPTION WHEN lock_not_available OR check_violation THEN
    -- The table is busy, or event_default now has events of that month.
    RETURN false;
END $$;

CREATE OR REPLACE FUNCTION _month_after(month timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';

CREATE OR REPLACE FUNCTION _partition_name(month timestamptz) RETURNS text
    LANGUAGE sql STABLE
    RETURN to_char(month AT TIME ZONE 'UTC', '"event_"YYYY"_"MM');

-- Drops the table of a month, if all its events may go. 256 MB are read in less than a second; the
-- events of a larger table are deleted in batches until it is small or empty.
CREATE OR REPLACE FUNCTION _drop_partition(name name) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '500ms'
AS $$
DECLARE
    left_over boolean;
BEGIN
    IF pg_relation_size(name::text::regclass) > 256 * 1024 * 1024 THEN
        RETURN false;
    END IF;
    LOCK TABLE ONLY event IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('SELECT EXISTS (SELECT FROM %I AS e WHERE NOT _is_log(e.type) '
                   'AND ((e.user_id, e.archive_job) IN (SELECT j.user_id, j.job_id FROM job AS j '
                   'WHERE j.status = ''done'')) IS NOT TRUE)', name)
    INTO left_over;
    IF NOT left_over THEN
        EXECUTE format('DROP TABLE %I', name);
    END IF;
    RETURN NOT left_over;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- The tables of months that end before a time.
CREATE OR REPLACE FUNCTION _old_partitions(until timestamptz) RETURNS SETOF name
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT c.relname
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'event'::regclass AND c.relname ~ '^event_[0-9]{4}_[0-9]{2}$'
      AND _month_after((replace(substring(c.relname FROM 7), '_', '-') || '-01 00:00:00+00')
                       ::timestamptz) <= until
    ORDER BY c.relname;
END;

-- The report of maintain on a step that failed. It is in the server's log, too: pg_cron keeps no
-- rows.
CREATE OR REPLACE FUNCTION _failure(message text, code text, step text, of text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    why CONSTANT text := _kept_error(message);
BEGIN
    RAISE WARNING 'memoir: maintain failed at % of %: % (%)', step, of, why, code;
    RETURN jsonb_build_object('why', why, 'code', code, 'step', step);
END $$;

-- Whether CREATE EXTENSION made the tables. A table attached to one of the extension could not be
-- restored from a dump: pg_dump makes its indexes, which attaching has already made.
CREATE OR REPLACE FUNCTION _is_extension() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM pg_depend AS d
                   WHERE d.classid = 'pg_class'::regclass AND d.objid = 'event'::regclass
                     AND d.deptype = 'e');

-- The step of upkeep; it belongs to no user. With the extension all events stay in event_default.
-- What an event trigger of the database refuses is reported, and the other tables are still tended.
CREATE OR REPLACE FUNCTION _tend_partitions(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    this_month CONSTANT timestamptz := date_trunc('month', run.at, 'UTC');
    month timestamptz;
    name name;
BEGIN
    IF NOT _owns_tables() OR _is_extension() THEN
        RETURN;
    END IF;
    FOR name, month IN
        SELECT p.old, NULL FROM _old_partitions(run.at - _days('delete_days')) AS p (old)
        UNION ALL
        SELECT _partition_name(m), m
        FROM generate_series(this_month, this_month + interval '70 days', interval '1 month',
                             'UTC') AS m
        WHERE to_regclass(format('%I.%I', current_schema(), _partition_name(m))) IS NULL
    LOOP
        details := jsonb_build_object('table', name);
        BEGIN
            CONTINUE WHEN NOT CASE WHEN month IS NULL THEN _drop_partition(name)
                                   ELSE _add_partition(month) END;
            action := CASE WHEN month IS NULL THEN 'partition dropped'
                           ELSE 'partition added' END;
        EXCEPTION WHEN OTHERS THEN
            action := 'failed';
            details := details || _failure(SQLERRM, SQLSTATE, 'tend_partitions', name);
        END;
        RETURN NEXT;
    END LOOP;
END $$;
