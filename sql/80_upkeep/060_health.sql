-- What is wrong with an installation, or may become so, and what to do about it: the same for psql
-- and for the command memoir doctor. Each group of checks is a function of its own. What the caller
-- may not see is reported as unseen: a count without other users' rows would be wrong.

CREATE OR REPLACE FUNCTION _may_see(tables text[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM unnest(tables) AS t (name)
        WHERE NOT has_table_privilege(t.name, 'SELECT')
           OR row_security_active(t.name) AND NOT _serves_everybody()
           OR pg_is_in_recovery() AND (SELECT c.relpersistence = 'u' FROM pg_class AS c
                                       WHERE c.oid = t.name::regclass));
END $$;

CREATE OR REPLACE FUNCTION _unseen(INOUT name text, OUT status text, OUT value text,
                                   OUT advice text)
    LANGUAGE sql STABLE
    RETURN ROW(name, 'unseen'::text,
               CASE WHEN pg_is_in_recovery() THEN 'not on a standby'
                    ELSE 'hidden from ' || current_user END, NULL::text);

-- Some of the names, and how many more there are.
CREATE OR REPLACE FUNCTION _some_of(names text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_string(names[:3], ', ')
           || CASE WHEN cardinality(names) > 3
                   THEN format(' and %s more', cardinality(names) - 3) ELSE '' END;

CREATE OR REPLACE FUNCTION _installation_health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    extension text := (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'pgmemoir');
BEGIN
    RETURN QUERY
    SELECT 'server', CASE WHEN d.sorts_anew THEN 'warning' ELSE 'ok' END,
           format('PostgreSQL %s%s%s', current_setting('server_version'),
                  CASE WHEN pg_is_in_recovery() THEN ', a standby' ELSE '' END,
                  CASE WHEN d.sorts_anew THEN ', on a system that sorts text differently from the '
                                              'one that built the indexes' ELSE '' END),
           CASE WHEN d.sorts_anew
                THEN format('REINDEX (CONCURRENTLY) DATABASE %1$I; '
                            'ALTER DATABASE %1$I REFRESH COLLATION VERSION;', d.datname) END
    FROM (SELECT s.datname, s.datcollversion
                 <> coalesce(pg_database_collation_actual_version(s.oid), '') AS sorts_anew
          FROM pg_database AS s WHERE s.datname = current_database()) AS d;
    RETURN QUERY
    SELECT 'pgvector', CASE WHEN v.new_enough AND v.found THEN 'ok' ELSE 'error' END,
           format('%s in schema %s%s', v.extversion, v.extnamespace::regnamespace,
                  CASE WHEN NOT v.found THEN ', which is not on the functions'' path' END),
           CASE WHEN NOT v.new_enough
                THEN 'pgmemoir needs 0.8: ALTER EXTENSION vector UPDATE;'
                WHEN NOT v.found AND extension IS NULL THEN 'memoir migrate'
                WHEN NOT v.found
                THEN 'Move it back: ALTER EXTENSION vector SET SCHEMA ...;' END
    FROM (SELECT e.*, string_to_array(substring(e.extversion FROM '^[0-9.]+'), '.')::int[]
                      >= '{0,8}' AS new_enough,
                 to_regtype('halfvec') IS NOT NULL AS found
          FROM pg_extension AS e WHERE e.extname = 'vector') AS v;
    IF NOT FOUND THEN
        RETURN QUERY
        SELECT 'pgvector', 'error', 'dropped, and with it all columns and functions of its types',
               'Restore the database, at least schema memoir, from a backup.';
    END IF;
    RETURN QUERY
    SELECT 'version',
           CASE WHEN extension <> pgmemoir_version() THEN 'error' ELSE 'ok' END,
           format('pgmemoir %s by %s', pgmemoir_version(),
                  coalesce('CREATE EXTENSION ' || extension, 'memoir migrate')),
           CASE WHEN extension <> pgmemoir_version() THEN 'ALTER EXTENSION pgmemoir UPDATE;' END;
END $$;

-- Tables of configuration whose rows nobody but the owner sees, because row-level security is on
-- for them and no policy lets anybody in.
CREATE OR REPLACE FUNCTION _hidden_configuration() RETURNS SETOF regclass
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT c.oid::regclass FROM pg_class AS c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relrowsecurity
      AND NOT _has_user(c.oid)
      AND NOT EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid);
END $$;

-- Views and functions that act with their owner's rights, for whom no policy holds, though ours do
-- not: a view replaced without its option, a function made SECURITY DEFINER. Also one of ours that
-- does, but finds other functions by the path of who calls it. repair: what puts that right.
CREATE OR REPLACE FUNCTION _lent_rights(OUT object text, OUT repair text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'view ' || c.relname,
           format('ALTER VIEW memoir.%I SET (security_invoker = true);', c.relname)
    FROM pg_class AS c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'v'
      AND EXISTS (SELECT FROM aclexplode(c.relacl) AS a WHERE a.grantee <> c.relowner)
      AND NOT EXISTS (SELECT FROM pg_options_to_table(c.reloptions) AS o
                      WHERE o.option_name = 'security_invoker' AND o.option_value::boolean);
    RETURN QUERY
    SELECT 'function ' || p.proname,
           format('ALTER ROUTINE memoir.%I(%s) %s;', p.proname,
                  pg_get_function_identity_arguments(p.oid),
                  CASE WHEN o.ours THEN 'SET search_path = ' || current_setting('search_path')
                       ELSE 'SECURITY INVOKER' END)
    FROM pg_proc AS p,
         LATERAL (SELECT p.proname IN ('_compile_constants', '_own_words')
                         OR p.proname ~ '^_source_[0-9]+_(write|read|log)$') AS o (ours)
    WHERE p.pronamespace = current_schema()::regnamespace AND p.prosecdef
      AND NOT (o.ours AND EXISTS (SELECT FROM unnest(p.proconfig) AS s (setting)
                                  WHERE starts_with(s.setting, 'search_path=')));
END $$;

CREATE OR REPLACE FUNCTION _access_health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET quote_all_identifiers = off
AS $$
DECLARE
    wanted CONSTANT text[] := _role_names();
    missing CONSTANT text[] := ARRAY(SELECT w.role FROM unnest(wanted) AS w (role)
                                     WHERE to_regrole(w.role) IS NULL);
    locked_out CONSTANT text[] := ARRAY(
        SELECT r.rolname FROM pg_roles AS r
        WHERE r.rolname = ANY (wanted)
          AND (NOT has_schema_privilege(r.oid, current_schema(), 'USAGE')
               OR EXISTS (SELECT FROM _missing_for_vector() AS l WHERE l.role = r.rolname)));
    amiss CONSTANT text[] := ARRAY(SELECT DISTINCT r.role FROM _rights_amiss() AS r
                                   ORDER BY r.role);
    bare CONSTANT text[] := ARRAY(
        SELECT c.relname FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
          AND _has_user(c.oid)
          AND NOT (c.relrowsecurity
                   AND EXISTS (SELECT FROM pg_policy AS p
                               WHERE p.polrelid = c.oid AND p.polname = 'own_rows'
                                 AND p.polwithcheck IS NULL
                                 AND pg_get_expr(p.polqual, p.polrelid) = _own_rows_rule()))
        UNION ALL
        SELECT c.relname FROM pg_class AS c WHERE c.oid IN (SELECT _hidden_configuration())
        ORDER BY relname);
    keeper CONSTANT name := _memoir_owner();
    stray CONSTANT record := _first_of_anothers(keeper);
    others CONSTANT text[] := ARRAY(SELECT DISTINCT o.role FROM _rights_of_others() AS o
                                    ORDER BY o.role);
    lent CONSTANT text[] := ARRAY(SELECT l.object FROM _lent_rights() AS l ORDER BY l.object);
    -- Policies that show somebody more than ours do.
    wider CONSTANT text[] := ARRAY(
        SELECT format('%I ON memoir.%I', p.polname, c.relname)
        FROM pg_policy AS p JOIN pg_class AS c ON c.oid = p.polrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND p.polpermissive
          AND p.polname <> 'own_rows'
          AND NOT (p.polname = 'all_rows'
                   AND p.polroles <@ ARRAY[to_regrole('memoir_worker')::oid,
                                           to_regrole('memoir_admin')::oid])
        ORDER BY p.polname, c.relname);
    -- With internal triggers, which are the foreign keys.
    silent CONSTANT text[] := ARRAY(
        SELECT DISTINCT c.relname::text FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND t.tgenabled IN ('D', 'R')
        ORDER BY 1);
BEGIN
    RETURN QUERY
    SELECT 'roles',
           CASE WHEN cardinality(missing) IN (0, 4) AND locked_out = '{}' AND amiss = '{}'
                THEN 'ok' ELSE 'warning' END,
           CASE WHEN missing = wanted THEN 'none: the owner does everything'
                WHEN missing <> '{}' THEN 'missing: ' || array_to_string(missing, ', ')
                WHEN locked_out <> '{}'
                THEN 'without rights here: ' || array_to_string(locked_out, ', ')
                WHEN amiss <> '{}'
                THEN 'with other rights than theirs: ' || array_to_string(amiss, ', ')
                ELSE 'reader, agent, worker, admin' END,
           CASE WHEN cardinality(missing) NOT IN (0, 4) OR locked_out <> '{}' OR amiss <> '{}'
                THEN 'As the owner of the schema: SELECT memoir.grant_access(); It says what the '
                     'owner of pgvector must grant.' END;
    RETURN QUERY
    SELECT 'security',
           CASE WHEN bare <> '{}' OR lent <> '{}' OR stray.name IS NOT NULL THEN 'error'
                WHEN others <> '{}' OR wider <> '{}' THEN 'warning' ELSE 'ok' END,
           CASE WHEN bare <> '{}' THEN 'off, or another than ours, for ' || _some_of(bare)
                WHEN lent <> '{}' THEN 'passed over by ' || _some_of(lent)
                                       || ', with the rights of the owner'
                WHEN stray.name IS NOT NULL
                THEN format('%s belongs to %s, and the rest to %s', stray.name, stray.owner, keeper)
                WHEN others <> '{}' THEN 'on; other roles may write here: ' || _some_of(others)
                WHEN wider <> '{}' THEN 'on; others'' policies add to it: ' || _some_of(wider)
                WHEN _sees_one_user() THEN format('on; %s sees one user at a time', current_user)
                ELSE format('on; %s sees all users', current_user) END,
           CASE WHEN bare <> '{}'
                THEN 'As the owner of the tables: SELECT memoir.grant_access();'
                WHEN lent <> '{}'
                THEN 'As the owner of the tables: '
                     || (SELECT string_agg(l.repair, ' ' ORDER BY l.object)
                         FROM _lent_rights() AS l)
                WHEN stray.name IS NOT NULL
                THEN format('As %s: ALTER TABLE %s OWNER TO %I;', stray.owner, stray.name, keeper)
                WHEN others <> '{}' OR wider = '{}'
                THEN 'As the owner of the tables: ' || _advice_on_others()
                ELSE format('Unless its roles may read rows of all users: DROP POLICY %s;',
                            wider[1]) END;
    RETURN QUERY
    SELECT 'triggers', CASE WHEN silent <> '{}' THEN 'error' ELSE 'ok' END,
           CASE WHEN silent <> '{}' THEN 'switched off on ' || _some_of(silent)
                ELSE 'on for every table' END,
           CASE WHEN silent <> '{}'
                THEN format(
                    'Derived values are not kept up: ALTER TABLE memoir.%I ENABLE TRIGGER %s; '
                    'then memoir doctor', silent[1],
                    -- An owner who is no superuser may not touch the others.
                    CASE WHEN EXISTS (SELECT FROM pg_trigger AS t JOIN pg_class AS c
                                          ON c.oid = t.tgrelid AND c.relname = silent[1]
                                      WHERE c.relnamespace = current_schema()::regnamespace
                                        AND t.tgisinternal AND t.tgenabled IN ('D', 'R'))
                         THEN 'ALL' ELSE 'USER' END) END;
END $$;

-- Settings that nothing reads, that were deleted, or whose value cannot be used, and whether the
-- values derived from them are current.
CREATE OR REPLACE FUNCTION _settings_health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    unread text[];
    missing text[];
    unfit text[];
    is_stale boolean;
    -- The model whose traces recall reads, if a write finds none.
    inactive mode;
BEGIN
    IF NOT _may_see('{setting,mode,embedding_model}') THEN
        RETURN QUERY SELECT u.* FROM _unseen('settings') AS u;
        RETURN;
    END IF;
    unread := ARRAY(SELECT s.name FROM setting AS s
                    WHERE s.name NOT IN (SELECT k.name FROM _known_settings() AS k)
                    ORDER BY s.name);
    missing := ARRAY(SELECT k.name FROM _known_settings() AS k
                     WHERE k.name NOT IN (SELECT s.name FROM setting AS s) ORDER BY k.name);
    unfit := ARRAY(SELECT format('%s = %s', s.name, left(s.value::text, 40)) FROM setting AS s
                   WHERE NOT _fits_setting(s.name, s.value) ORDER BY s.name);
    is_stale := EXISTS (SELECT FROM mode AS m JOIN embedding_model AS e ON e.active
                        WHERE (m.model_id, m.dimensions)
                              IS DISTINCT FROM (e.model_id, e.dimensions));
    SELECT m.* INTO inactive FROM mode AS m
    WHERE NOT EXISTS (SELECT FROM embedding_model AS e WHERE e.active) LIMIT 1;
    RETURN QUERY
    SELECT 'settings',
           CASE WHEN unfit <> '{}' OR missing <> '{}' OR is_stale OR inactive.name <> ''
                THEN 'error'
                WHEN unread <> '{}' THEN 'warning' ELSE 'ok' END,
           coalesce(nullif(concat_ws('; ',
                                     CASE WHEN inactive.name <> '' THEN 'no embedding model is '
                                          'active: nothing can be stored' END,
                                     'out of range: ' || nullif(_some_of(unfit), ''),
                                     'missing: ' || nullif(_some_of(missing), ''),
                                     'unknown: ' || nullif(_some_of(unread), ''),
                                     CASE WHEN is_stale THEN 'modes are for another model' END),
                           ''),
                    'all known and in range'),
           CASE WHEN inactive.name <> ''
                THEN format('INSERT INTO memoir.embedding_model (model_id, dimensions, active) '
                            'VALUES (%s, %s, true) ON CONFLICT (model_id) DO UPDATE '
                            'SET active = true;', inactive.model_id,
                            coalesce(inactive.dimensions::text, 'NULL'))
                WHEN missing <> '{}'
                THEN 'Insert them again: the migrations of pgmemoir have their values.'
                WHEN is_stale AND unfit = '{}' THEN 'SELECT memoir.compile_configuration();'
                WHEN unfit <> '{}' OR unread <> '{}'
                THEN 'SELECT name, value, description FROM memoir.setting; UPDATE to change.' END;
END $$;

-- Indexes that are broken, missing for users with many memories, or half empty.
CREATE OR REPLACE FUNCTION _index_health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    invalid CONSTANT text[] := ARRAY(
        SELECT c.relname FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indexrelid
        WHERE c.relnamespace = current_schema()::regnamespace
          AND NOT (i.indisvalid AND i.indisready)
          AND c.relname !~ '^trace_(near|words|leading)_[0-9]+$'
          AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS b
                          WHERE b.index_relid = c.oid)
        ORDER BY c.relname);
    broken text[];
    bare text[];
    indexed bigint;
    loose int;
    size record;
    lost CONSTANT boolean := to_regclass('trace_scan') IS NULL;
BEGIN
    IF NOT _may_see('{trace,profile,embedding_model,setting}') THEN
        RETURN QUERY SELECT u.* FROM _unseen('indexes') AS u;
        RETURN;
    END IF;
    SELECT array_agg(format('"%s" (%s)', p.owner, p.memories) ORDER BY p.memories DESC, p.owner)
               FILTER (WHERE p.action = 'repair'),
           array_agg(format('"%s" (%s)', p.owner, p.memories) ORDER BY p.memories DESC, p.owner)
               FILTER (WHERE p.action = 'build')
    INTO broken, bare
    FROM _index_plan(NULL) AS p;
    SELECT count(*), cardinality(_left_over_indexes()) INTO indexed, loose
    FROM profile AS p WHERE p.ann > 0;
    bare := bare[:greatest(0, _config('ann_limit')::int - indexed)];
    RETURN QUERY
    SELECT 'indexes',
           CASE WHEN invalid <> '{}' THEN 'error' WHEN said.faults <> '' THEN 'warning'
                ELSE 'ok' END,
           coalesce(nullif(concat_ws('; ', 'invalid: ' || nullif(_some_of(invalid), ''),
                                     nullif(said.faults, '')), ''),
                    CASE indexed WHEN 0 THEN 'no user has enough memories for any'
                                 WHEN 1 THEN 'one user has its own'
                                 ELSE indexed || ' users have their own' END),
           CASE WHEN invalid <> '{}'
                THEN format('REINDEX INDEX CONCURRENTLY memoir.%I;', invalid[1])
                WHEN said.faults <> '' THEN 'Run: memoir maintain' END
    FROM (SELECT concat_ws('; ',
              'missing or unusable for ' || _some_of(broken) || ' memories: recall reads the table',
              'none yet for ' || nullif(_some_of(bare), '') || ' memories',
              CASE WHEN loose > 0 THEN loose || ' of an interrupted or running build' END)
         ) AS said (faults);
    SELECT s.bytes, s.needed INTO size FROM _scan_bloat() AS s;
    RETURN QUERY
    SELECT 'bloat',
           CASE WHEN lost THEN 'error' WHEN _is_bloated(size.bytes, size.needed) THEN 'warning'
                ELSE 'ok' END,
           CASE WHEN lost THEN 'trace_scan is missing: a recall reads the table'
                ELSE format('trace_scan has %s', pg_size_pretty(size.bytes))
                     || CASE WHEN size.needed = size.bytes THEN ''
                             ELSE format(', %s would do', pg_size_pretty(size.needed)) END END,
           CASE WHEN lost THEN 'memoir doctor says what else is missing, and what to do.'
                WHEN _is_bloated(size.bytes, size.needed)
                THEN 'Run memoir maintain, or: REINDEX INDEX CONCURRENTLY memoir.trace_scan;' END;
END $$;

-- What waits: memories for vectors, jobs for a worker, everything for upkeep.
CREATE OR REPLACE FUNCTION _work_health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    cron CONSTANT boolean := EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron');
BEGIN
    IF _may_see('{memory,trace,mode}') THEN
        RETURN QUERY
        SELECT 'memories',
               CASE WHEN c.lost > 0 THEN 'error' WHEN c.bare > 0 THEN 'warning' ELSE 'ok' END,
               format('%s active, %s without a vector', c.total, c.bare)
               || CASE WHEN c.lost > 0 THEN format(', %s without a trace', c.lost) ELSE '' END,
               CASE WHEN c.lost > 0
                    THEN 'No recall finds those: their traces are gone. Restore memoir.trace, or '
                         'export, purge and import the users they belong to.'
                    WHEN c.bare > 0 THEN 'Those are recalled by words alone. Run: memoir worker, '
                                         'or memoir backfill' END
        FROM (SELECT count(*) AS total, count(*) FILTER (WHERE t.embedding IS NULL) AS bare,
                     (SELECT count(*) FROM memory AS m WHERE m.status = 'active')
                     - count(*) AS lost
              FROM trace AS t
              WHERE t.active AND t.model = (SELECT min(m.model_id) FROM mode AS m)) AS c;
    ELSE
        RETURN QUERY SELECT u.* FROM _unseen('memories') AS u;
    END IF;
    IF _may_see('{job}') THEN
        RETURN QUERY
        SELECT 'jobs',
               CASE WHEN c.dead > 0 OR c.ahead > 0 OR c.oldest < now() - interval '1 hour'
                    THEN 'warning' ELSE 'ok' END,
               format('%s waiting, %s dead', c.waiting, c.dead)
               || CASE WHEN c.ahead > 0 THEN format(', %s written while the clock was ahead',
                                                    c.ahead) ELSE '' END,
               CASE WHEN c.ahead > 0
                    THEN 'They wait for that time: UPDATE memoir.job SET run_at = now(), '
                         'created_at = now() WHERE created_at > now() AND status <> ''dead'';'
                    WHEN c.dead > 0 THEN 'See memoir.job_errors for why; SELECT '
                                         'memoir.retry_dead(); tries them again.'
                    WHEN c.oldest < now() - interval '1 hour'
                    THEN format('The oldest waits since %s. Run: memoir worker',
                                to_char(c.oldest AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')) END
        FROM (SELECT coalesce(sum(o.waiting), 0) AS waiting, coalesce(sum(o.dead), 0) AS dead,
                     min(o.oldest) AS oldest,
                     (SELECT count(*) FROM job AS j
                      WHERE j.status IN ('waiting', 'running')
                        AND j.created_at > now() + interval '1 hour') AS ahead
              FROM job_overview AS o) AS c;
    ELSE
        RETURN QUERY SELECT u.* FROM _unseen('jobs') AS u;
    END IF;
    IF _may_see('{source,source_error}') THEN
        RETURN QUERY
        SELECT 'sources',
               CASE WHEN c.broken IS NOT NULL THEN 'error' WHEN c.waiting > 0 THEN 'warning'
                    ELSE 'ok' END,
               CASE WHEN c.broken IS NOT NULL THEN 'broken: ' || _some_of(c.broken)
                    WHEN c.attached = 0 THEN 'none attached'
                    ELSE format('%s attached, rows not taken in: %s', c.attached, c.waiting) END,
               CASE WHEN c.broken IS NOT NULL OR c.waiting > 0
                    THEN 'SELECT name, state, last_error FROM memoir.sources; tells why.' END
        FROM (SELECT count(*) AS attached, coalesce(sum(s.waiting), 0) AS waiting,
                     array_agg(s.name) FILTER (WHERE s.state LIKE 'broken%') AS broken
              FROM sources AS s) AS c;
    ELSE
        RETURN QUERY SELECT u.* FROM _unseen('sources') AS u;
    END IF;
    IF _may_see('{retrieval}') THEN
        RETURN QUERY
        SELECT 'upkeep', CASE WHEN c.days > 2 THEN 'warning' ELSE 'ok' END,
               CASE WHEN c.days > 2
                    THEN format('nobody has called maintain for %s days', round(c.days))
                    ELSE 'nothing is overdue' END,
               CASE WHEN c.days > 2 AND cron
                    THEN 'SELECT cron.schedule(''memoir'', ''0 3 * * *'', '
                         '''CALL memoir.maintain_all()'');'
                    WHEN c.days > 2 THEN 'Run it once a day: memoir maintain' END
        FROM (SELECT coalesce(extract(epoch FROM now() - min(r.created_at)) / 86400, 0) AS days
              FROM retrieval AS r WHERE NOT r.counted) AS c;
    ELSE
        RETURN QUERY SELECT u.* FROM _unseen('upkeep') AS u;
    END IF;
END $$;

-- The oldest of what keeps VACUUM from removing rows that died since, begun before a time. When
-- transactions of others began is seen by members of pg_read_all_stats only.
CREATE OR REPLACE FUNCTION _holds_back_vacuum(before timestamptz) RETURNS text
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT h.what FROM (
        SELECT age(a.backend_xmin), format('Process %s has had a transaction open since %s UTC: '
               'end it.', a.pid, to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'))
        FROM pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.xact_start < before AND a.pid <> pg_backend_pid()
        UNION ALL
        SELECT age(p.transaction), format('ROLLBACK PREPARED %L;, or COMMIT it.', p.gid)
        FROM pg_prepared_xacts AS p
        WHERE p.database = current_database() AND p.prepared < before
        UNION ALL
        SELECT age(r.xmin), format('Nobody reads replication slot %I: start its standby, or drop '
                                   'it.', r.slot_name)
        FROM pg_replication_slots AS r WHERE NOT r.active
    ) AS h (age, what)
    WHERE h.age IS NOT NULL ORDER BY h.age DESC LIMIT 1;
END;

-- What the server's statistics say of the tables, and what a crash would lose.
CREATE OR REPLACE FUNCTION _storage_health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    unlogged CONSTANT text[] := ARRAY(
        SELECT c.relname FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
          AND c.relpersistence = 'u' ORDER BY c.relname);
    stale CONSTANT text[] := ARRAY(
        SELECT s.relname FROM pg_stat_user_tables AS s
        WHERE s.schemaname = current_schema() AND greatest(s.n_live_tup, s.n_dead_tup) > 10000
          AND (s.n_mod_since_analyze > s.n_live_tup / 2 OR s.n_dead_tup > s.n_live_tup / 2)
          -- The installation fills it, a minute before autovacuum looks.
          AND s.relname <> 'expansion'
        ORDER BY s.n_live_tup DESC);
    this_month CONSTANT timestamptz := date_trunc('month', now(), 'UTC');
    parted CONSTANT boolean := NOT _is_extension();
    sent CONSTANT text[] := _sends_months();
    ahead CONSTANT boolean :=
        to_regclass(format('%I.%I', current_schema(), _partition_name(this_month))) IS NOT NULL;
    next_too CONSTANT boolean := to_regclass(
        format('%I.%I', current_schema(), _partition_name(_month_after(this_month)))) IS NOT NULL;
    -- A recall locks every table of events and every index of what it reads. There is room for
    -- twice the setting per connection: at four times, for half of the connections at once.
    locked CONSTANT bigint := (
        SELECT count(i.indexrelid) + count(DISTINCT t.oid)
        FROM (SELECT 'trace'::regclass AS oid
              UNION ALL SELECT h.inhrelid FROM pg_inherits AS h
              WHERE h.inhparent = 'event'::regclass) AS t
        LEFT JOIN pg_index AS i ON i.indrelid = t.oid);
    crowded CONSTANT boolean :=
        locked > 4 * current_setting('max_locks_per_transaction')::bigint;
BEGIN
    RETURN QUERY
    SELECT 'unlogged', CASE WHEN unlogged <@ '{retrieval,tool_call}' THEN 'ok' ELSE 'warning' END,
           CASE WHEN unlogged = '{}' THEN 'none: a crash takes nothing'
                ELSE format('%s: a crash empties them', array_to_string(unlogged, ', ')) END,
           CASE WHEN NOT unlogged <@ '{retrieval,tool_call}'
                THEN 'Memories would be lost: ALTER TABLE ... SET LOGGED;' END;
    RETURN QUERY
    SELECT 'statistics',
           CASE WHEN stale <> '{}' OR current_setting('autovacuum') = 'off' THEN 'warning'
                ELSE 'ok' END,
           CASE WHEN current_setting('autovacuum') = 'off' THEN 'autovacuum is off'
                WHEN stale <> '{}' THEN 'out of date for ' || _some_of(stale)
                ELSE 'up to date' END,
           CASE WHEN current_setting('autovacuum') = 'off'
                THEN 'ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();'
                WHEN stale <> '{}'
                THEN concat_ws(' ', _holds_back_vacuum(now() - interval '1 hour'),
                               (SELECT format('VACUUM (ANALYZE) %s;',
                                              string_agg(format('memoir.%I', t), ', '))
                                FROM unnest(stale) AS t)) END;
    RETURN QUERY
    SELECT 'partitions', CASE WHEN crowded THEN 'warning' ELSE 'ok' END,
           CASE WHEN crowded
                THEN format('so many, with their indexes, that a recall holds %s locks', locked)
                WHEN NOT parted THEN 'none: the extension keeps events in one table'
                WHEN ahead THEN 'there is one for this month'
                ELSE 'none for this month: its events are in event_default' END,
           CASE WHEN crowded
                THEN format('Many at once may end with "out of shared memory". ALTER SYSTEM SET '
                            'max_locks_per_transaction = %s; and restart the server.', locked / 2)
                WHEN parted AND NOT next_too AND sent <> '{}'
                THEN format('Publication %s would send each as a table that subscribers lack. '
                            'ALTER PUBLICATION %1$I SET (publish_via_partition_root = true); and '
                            'on each copy, TRUNCATE memoir.event; ALTER SUBSCRIPTION ... REFRESH '
                            'PUBLICATION;', sent[1])
                WHEN parted AND NOT next_too THEN 'memoir maintain makes them.' END;
END $$;

CREATE OR REPLACE FUNCTION health()
    RETURNS TABLE (name text, status text, value text, advice text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    RETURN QUERY SELECT h.* FROM _installation_health() AS h;
    IF NOT EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'vector') THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT h.* FROM _access_health() AS h;
    RETURN QUERY SELECT h.* FROM _settings_health() AS h;
    RETURN QUERY SELECT h.* FROM _work_health() AS h;
    RETURN QUERY SELECT h.* FROM _index_health() AS h;
    RETURN QUERY SELECT h.* FROM _storage_health() AS h;
END $$;

COMMENT ON FUNCTION health() IS
    'Checks the installation and returns a row for each check: name; status: ok, warning, error, '
    'or unseen (this role does not see it all, or a standby does not have it); value: what was '
    'found; advice: the statement or command that helps, NULL where nothing is to be done. '
    'Checks: server (and whether its system sorts text as it did), pgvector, version (and how it '
    'was installed), roles (there, with the rights they should have), security (row-level, on for '
    'every table of users, with its policy; no view or function with rights of its owner; no '
    'policies or rights to write of others), triggers '
    '(none switched off), '
    'settings (unknown, missing, out of range, no active model), memories (without vectors; error: '
    'without a trace, so that nothing recalls them), jobs (dead, waiting for more than an hour or '
    'for a time when the clock was ahead), '
    'sources (broken, rows not '
    'taken in), upkeep (days since maintain), indexes (invalid, missing for users with many '
    'memories), bloat (trace_scan, which REINDEX makes small; error: it is missing), unlogged '
    '(tables a crash empties), statistics (autovacuum, a transaction or slot that holds VACUUM '
    'back), partitions (of events; with the indexes more than max_locks_per_transaction allows '
    'for). Changes nothing. It counts the memories: about a '
    'second for a million. The command memoir doctor adds what a client knows: embedder, models, '
    'and a recall.';
