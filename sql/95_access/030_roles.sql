-- Roles: memoir_reader recalls, memoir_agent recalls and remembers, memoir_worker does the jobs of
-- all users, memoir_admin does everything that is done with rows. Only the owner of the tables runs
-- migrations and changes redaction rules and indexes. The roles cannot log in; they are granted to
-- login roles. SECURITY.md says what each can and cannot do.
--
-- Roles belong to the whole cluster: another database may have made them, and the installing role
-- may not be allowed to. Rights are set by comparison with the existing ones, each time sql/ runs
-- and by grant_access(). A correct catalogue row is not written again, because the migration runner
-- recognises functions that are gone from sql/ by rows that were not written. One statement has all
-- objects that get the same right for the same roles.

CREATE OR REPLACE FUNCTION _role_names() RETURNS text[]
    LANGUAGE sql IMMUTABLE
    RETURN '{memoir_reader,memoir_agent,memoir_worker,memoir_admin}'::text[];

-- Who may call which function besides the owner. A public function that is not listed is the
-- owner's alone, and a test fails. memoir_agent may call what memoir_reader may, and memoir_admin
-- all. Private functions act with the caller's rights, so the four may call them. Those that act
-- with their owner's rights are the owner's, except _own_words, which checks the user, and those
-- that read an attached table, which memoir_admin may fill and pull.
CREATE OR REPLACE FUNCTION _callers() RETURNS TABLE (role text, functions text[])
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    VALUES
        ('memoir_reader', ARRAY[
            'cache_stats', 'call_tool', 'contradictions', 'decision_schema', 'embedding_text',
            'entities', 'estimate_tokens', 'evaluate', 'evaluate_queries', 'expand_keywords',
            'get_memory_detail', 'get_settings', 'gold_queries', 'health', 'history',
            'list_memories', 'log_days', 'memory_context', 'memory_explain', 'memory_relevance',
            'memory_search', 'messages', 'models', 'pgmemoir_version', 'query_terms', 'recall',
            'recall_query', 'redact', 'related', 'relations', 'replay', 'search_memories',
            'session_window', 'sessions', 'stats', 'suggest_weights', 'summary', 'system_prompt',
            'tokens', 'tool_schemas', 'use_model', 'wait_for', 'written_at']),
        ('memoir_agent', ARRAY[
            'apply_decisions', 'confirm', 'enqueue', 'event_add', 'expand_query', 'extract_session',
            'forget', 'gold_add', 'mark_used', 'memory_write', 'mention', 'message_add',
            'refresh_statistics', 'reject', 'relate', 'remember', 'remember_many', 'restore',
            'session_end', 'session_start', 'set_embedding', 'set_embeddings', 'set_keywords',
            'set_rolling_summary', 'set_settings', 'supersede', 'undo', 'undo_run', 'unmention',
            'unrelate', 'update_memory']),
        ('memoir_worker', ARRAY[
            'apply_decisions', 'claim', 'contradictions', 'decision_schema', 'enqueue',
            'enqueue_nightly', 'estimate_tokens', 'expand_keywords', 'extend_lease', 'fail',
            'finish', 'health', 'memories_without_vector', 'memory_explain', 'models',
            'pgmemoir_version', 'ready_users', 'redact', 'refresh_statistics', 'remember',
            'remember_many', 'retry_dead', 'search_memories', 'session_window', 'set_embedding',
            'set_embeddings', 'set_keywords', 'set_rolling_summary', 'supersede', 'tokens',
            'undo_run', 'update_memory', 'use_model', 'vector_backlog']),
        ('memoir_admin', ARRAY[
            'add_model', 'drop_model', 'export_day_log', 'export_markdown', 'export_memory_json',
            'export_user', 'fill_model', 'fill_source', 'import_day_log', 'import_markdown',
            'import_memory_json', 'import_user', 'maintain', 'maintain_all', 'migrate_day_log_md',
            'migrate_memory_md', 'pull_source', 'purge', 'purge_user', 'read_source',
            'switch_model', 'sync_markdown']),
        ('owner', ARRAY[
            'attach_source', 'compile_configuration', 'detach_source', 'grant_access']);
END;

-- Who may write what; memoir_admin may write all but the ledger and the redaction rules, which only
-- the owner can compile. Agents and workers both write the tables of memories, and each the tables
-- of its own work. columns: only these. but: all columns except these, so that whoever writes
-- memories can write a new column, while nobody changes who owns a row, when it was stored, or who
-- owns an index.
CREATE OR REPLACE FUNCTION _writers()
    RETURNS TABLE (roles text[], "right" text, tables text[], columns text[], but text[])
    LANGUAGE sql IMMUTABLE
BEGIN ATOMIC
    VALUES
        ('{memoir_agent,memoir_worker}'::text[], 'INSERT', ARRAY[
            'memory', 'trace', 'keyword', 'relation', 'revision', 'session', 'term', 'uncompared',
            'job'], NULL::text[], NULL::text[]),
        ('{memoir_agent,memoir_worker}', 'INSERT', '{profile}', NULL, '{ann}'),
        ('{memoir_agent,memoir_worker}', 'DELETE', ARRAY[
            'memory', 'keyword', 'relation', 'term'], NULL, NULL),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{memory}', NULL, ARRAY[
            'user_id', 'memory_id', 'created_at', 'recorded_at', 'origin', 'source',
            'source_key']),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{trace}', NULL, ARRAY[
            'user_id', 'memory_id', 'model', 'created_at']),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{profile}', NULL, '{user_id,settings,ann}'),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{keyword}', '{weight,origin}', NULL),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{relation}', '{strength}', NULL),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{term}', '{df}', NULL),
        ('{memoir_agent,memoir_worker}', 'UPDATE', '{query_expansion}', '{uses}', NULL),
        ('{memoir_agent}', 'INSERT', ARRAY[
            'entity', 'mention', 'message', 'event', 'retrieval', 'tool_call', 'gold',
            'gold_relevant'], NULL, NULL),
        ('{memoir_agent}', 'DELETE', '{mention,message,gold_relevant}', NULL, NULL),
        ('{memoir_agent}', 'UPDATE', '{profile}', '{settings}', NULL),
        ('{memoir_agent}', 'UPDATE', '{session}', NULL, '{user_id,session_id,number,started_at}'),
        ('{memoir_agent}', 'UPDATE', '{retrieval}', '{used_ids}', NULL),
        ('{memoir_agent}', 'UPDATE', '{event}', '{payload}', NULL),
        ('{memoir_agent}', 'UPDATE', '{gold}', '{query_vec,model}', NULL),
        ('{memoir_worker}', 'INSERT', '{query_expansion}', NULL, NULL),
        ('{memoir_worker}', 'DELETE', '{uncompared}', NULL, NULL),
        ('{memoir_worker}', 'UPDATE', '{query_expansion}', '{expansion,created_at}', NULL),
        ('{memoir_worker}', 'UPDATE', '{revision}', '{run_id}', NULL),
        ('{memoir_worker}', 'UPDATE', '{job}', NULL, '{user_id,job_id,kind,created_at}');
END;

-- What no job needs to see: logs and gold sets, and views of them.
CREATE OR REPLACE FUNCTION _hidden_from_workers(relation name) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN relation IN ('retrieval', 'tool_call', 'gold', 'gold_relevant');

-- Every right the four roles should have. Partitions are reached only through their table.
CREATE OR REPLACE FUNCTION _rights_due()
    RETURNS TABLE (object text, "right" text, role text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH made AS (
        SELECT r.role FROM unnest(_role_names()) AS r (role)
        WHERE to_regrole(r.role) IS NOT NULL
    ), relation AS (
        SELECT c.oid, c.relname, c.relkind, c.oid::regclass::text AS name
        FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace AND NOT c.relispartition
    ), due AS (
        SELECT 'SCHEMA ' || quote_ident(current_schema()) AS object, 'USAGE' AS "right", m.role
        FROM made AS m
        UNION ALL
        SELECT 'ROUTINE ' || p.oid::regprocedure, 'EXECUTE', m.role
        FROM pg_proc AS p, made AS m
        WHERE p.pronamespace = current_schema()::regnamespace
          -- Functions that read or write an attached table have the rights of its owner, or of who
          -- attached it. The trigger has those of memoir's owner, and nobody else may call it.
          AND (NOT p.prosecdef OR p.proname = '_own_words'
               OR m.role = 'memoir_admin' AND p.proname ~ '^_source_[0-9]+_(read|log)$')
          AND (p.proname LIKE '\_%' OR EXISTS (
                   SELECT FROM _callers() AS c
                   WHERE p.proname = ANY (c.functions) AND c.role <> 'owner'
                     AND (m.role IN (c.role, 'memoir_admin')
                          OR m.role = 'memoir_agent' AND c.role = 'memoir_reader')))
        UNION ALL
        SELECT 'TABLE ' || r.name, s."right", m.role
        FROM relation AS r, made AS m,
             unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS s ("right")
        WHERE r.relkind IN ('r', 'p', 'v')
          AND CASE WHEN s."right" = 'SELECT'
                   THEN m.role <> 'memoir_worker' OR NOT _hidden_from_workers(r.relname)
                   ELSE m.role = 'memoir_admin' AND r.relkind <> 'v'
                        AND r.relname NOT IN ('migration', 'redaction_rule') END
        UNION ALL
        SELECT 'TABLE ' || r.name, concat(w."right", ' (' || quote_ident(k.name) || ')'), m.role
        FROM _writers() AS w
        JOIN relation AS r ON r.relname = ANY (w.tables)
        JOIN made AS m ON m.role = ANY (w.roles)
        LEFT JOIN LATERAL (
            SELECT a.attname FROM pg_attribute AS a
            WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
              AND (a.attname = ANY (w.columns) OR a.attname <> ALL (w.but))) AS k (name) ON true
        UNION ALL
        -- import_user() advances sequences past the ids of a file. The numbers of models and of
        -- sources are few: whoever used them up would leave none for anybody.
        SELECT 'SEQUENCE ' || r.name, s."right", m.role
        FROM relation AS r JOIN pg_sequence AS q ON q.seqrelid = r.oid, made AS m,
             unnest('{USAGE,UPDATE}'::text[]) AS s ("right")
        WHERE m.role = 'memoir_admin'
           OR s."right" = 'USAGE' AND m.role <> 'memoir_reader' AND q.seqtypid = 'int8'::regtype
    )
    SELECT d.object, d."right", d.role FROM due AS d;
END $$;

-- Every right the four roles, and PUBLIC, have.
CREATE OR REPLACE FUNCTION _rights_given()
    RETURNS TABLE (object text, "right" text, role text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT g.object, a.privilege_type || g.column_name,
           coalesce(quote_ident(r.rolname), 'PUBLIC')
    FROM (
        SELECT 'SCHEMA ' || quote_ident(n.nspname) AS object, '' AS column_name, n.nspacl AS acl
        FROM pg_namespace AS n WHERE n.nspname = current_schema()
        UNION ALL
        SELECT 'ROUTINE ' || p.oid::regprocedure, '',
               coalesce(p.proacl, acldefault('f', p.proowner))
        FROM pg_proc AS p WHERE p.pronamespace = current_schema()::regnamespace
        UNION ALL
        SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || c.oid::regclass, '',
               c.relacl
        FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace
          AND c.relkind IN ('r', 'p', 'v', 'S')
        UNION ALL
        SELECT 'TABLE ' || c.oid::regclass, format(' (%I)', t.attname), t.attacl
        FROM pg_class AS c
        JOIN pg_attribute AS t ON t.attrelid = c.oid AND t.attacl IS NOT NULL
        WHERE c.relnamespace = current_schema()::regnamespace
    ) AS g
    CROSS JOIN LATERAL aclexplode(g.acl) AS a
    LEFT JOIN pg_roles AS r ON r.oid = a.grantee
    WHERE a.grantee = 0
       OR r.rolname = ANY (_role_names());
END $$;

-- Rights that are due and were not given, or were given and are not due.
CREATE OR REPLACE FUNCTION _rights_amiss()
    RETURNS TABLE (due boolean, object text, "right" text, role text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT d IS NOT NULL, r.object, r."right", r.role
    FROM _rights_due() AS d
    FULL JOIN _rights_given() AS g USING (object, "right", role) AS r
    WHERE d IS NULL OR g IS NULL;
END $$;

-- Who else may write the tables or call what acts as its owner: by ALTER DEFAULT PRIVILEGES, or by
-- hand. No policy limits TRUNCATE, and a trigger (TRIGGER) runs with the rights of whoever writes
-- the table. Reading is limited by the policies. "on" is what REVOKE wants. Who can become the
-- owner does not count.
CREATE OR REPLACE FUNCTION _rights_of_others()
    RETURNS TABLE (role text, "on" text, rights text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT name := _memoir_owner();
BEGIN
    RETURN QUERY
    SELECT quote_ident(r.rolname), format('ALL %s IN SCHEMA %I', g.type, current_schema()),
           string_agg(DISTINCT g."right", ', ')
    FROM (
        SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCES' ELSE 'TABLES' END AS type,
               a.grantee, a.privilege_type AS "right"
        FROM pg_class AS c, aclexplode(c.relacl) AS a
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'S')
          AND a.privilege_type <> 'SELECT'
        UNION ALL
        SELECT 'FUNCTIONS', a.grantee, a.privilege_type
        FROM pg_proc AS p, aclexplode(p.proacl) AS a
        WHERE p.pronamespace = current_schema()::regnamespace AND p.prosecdef
          AND a.grantee <> p.proowner
    ) AS g
    JOIN pg_roles AS r ON r.oid = g.grantee
    WHERE r.rolname <> ALL (_role_names()) AND NOT pg_has_role(r.oid, owner, 'USAGE')
    GROUP BY r.rolname, g.type
    ORDER BY r.rolname, g.type DESC;
END $$;

-- What to do about it.
CREATE OR REPLACE FUNCTION _advice_on_others() RETURNS text
    LANGUAGE sql STABLE
    RETURN (SELECT string_agg(format('REVOKE %s ON %s FROM %s;', o.rights, o."on", o.role), ' ')
                   || ' -- Then ALTER DEFAULT PRIVILEGES ... REVOKE, where that gave them.'
            FROM _rights_of_others() AS o);

CREATE OR REPLACE FUNCTION _warn_of_others() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    others CONSTANT text := (
        SELECT string_agg(DISTINCT o.role, ', ') FROM _rights_of_others() AS o);
BEGIN
    IF others IS NOT NULL THEN
        RAISE WARNING 'other roles than those of pgmemoir may write its tables or call what acts '
                      'as their owner: %', others
            USING HINT = _advice_on_others();
    END IF;
END $$;

-- Makes the missing roles; returns those that it may not make.
CREATE OR REPLACE FUNCTION _make_roles() RETURNS text[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    role text;
    missing text[] := '{}';
BEGIN
    FOREACH role IN ARRAY _role_names() LOOP
        CONTINUE WHEN to_regrole(role) IS NOT NULL;
        BEGIN
            EXECUTE format('CREATE ROLE %I', role);
        EXCEPTION
            WHEN insufficient_privilege THEN
                missing := missing || role;
            WHEN duplicate_object OR unique_violation THEN
                NULL;  -- another database made it at this moment
        END;
    END LOOP;
    RETURN missing;
END $$;

-- Policies by role. Agents and workers may delete a memory of their own transaction (remember()
-- does, if another says the same), and no other: stored memories they may only retire, and undo()
-- brings them back. Recalls that maintain() has folded are events, which workers archive. Jobs of
-- kind embed are read whole whenever a worker looks for users with work: a million ids of one user
-- would stop the workers of all, so agents, who need none, cannot write such jobs.
CREATE OR REPLACE FUNCTION _make_policies() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _put_policy(u.owned, 'all_rows', '', 'memoir_worker, memoir_admin', 'true',
                        'Workers and administrators serve every user.')
    FROM _user_tables() AS u (owned);
    PERFORM _put_policy(
        'memory', 'no_purge', 'AS RESTRICTIVE FOR DELETE', 'memoir_agent, memoir_worker',
        '((recorded_at = now()) OR pg_has_role((to_regrole(''memoir_admin''::text))::oid, '
        '''USAGE''::text))',
        'Agents and workers delete only what they stored in the same transaction.');
    PERFORM _put_policy(
        'job', 'no_embed', 'AS RESTRICTIVE FOR INSERT', 'memoir_agent', concat(
            '((kind <> ''embed''::text)', (
                SELECT string_agg(' OR ' || format(
                           'pg_has_role((to_regrole(%L::text))::oid, ''USAGE''::text)', r.role), '')
                FROM unnest('{memoir_worker,memoir_admin}'::text[]) AS r (role)), ')'),
        'Workers make the jobs of kind embed.');
    PERFORM _put_policy(
        'event', 'no_log', 'AS RESTRICTIVE', 'memoir_worker',
        concat('((type <> ''memory_retrieval''::text)', (
            SELECT string_agg(' OR ' || format(
                       'pg_has_role((to_regrole(%L::text))::oid, ''USAGE''::text)', r.role), '')
            FROM unnest(_role_names()) AS r (role) WHERE r.role <> 'memoir_worker'), ')'),
        'Who may not read the log of recalls does not find it among the events either.');
END $$;

-- Our functions look up the types of pgvector, and therefore also functions, in its schema. A role
-- that may create there can make a function that fits a call better than PostgreSQL's own, and it
-- would run with the rights of whoever recalls. So can whoever owns our schema, if it was there
-- before pgmemoir.
CREATE OR REPLACE FUNCTION _warn_of_open_schema() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    open_schema CONSTANT name := (
        SELECT n.nspname
        FROM pg_extension AS e
        JOIN pg_namespace AS n ON n.oid = e.extnamespace
        CROSS JOIN LATERAL aclexplode(n.nspacl) AS a
        WHERE e.extname = 'vector' AND a.grantee = 0 AND a.privilege_type = 'CREATE');
    installer CONSTANT name := _memoir_owner();
    maker CONSTANT name := (
        SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n
        WHERE n.nspname = current_schema() AND NOT pg_has_role(n.nspowner, installer, 'MEMBER'));
    -- A function that was there before keeps its owner when it is replaced.
    guest CONSTANT name := (
        SELECT min(pg_get_userbyid(g.role))
        FROM (SELECT a.grantee FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
              WHERE n.nspname = current_schema() AND a.privilege_type = 'CREATE'
              UNION ALL
              SELECT p.proowner FROM pg_proc AS p
              WHERE p.pronamespace = current_schema()::regnamespace
                AND p.proname !~ '^_source_[0-9]+_') AS g (role)
        WHERE g.role <> 0 AND NOT pg_has_role(g.role, installer, 'MEMBER'));
BEGIN
    IF open_schema IS NOT NULL THEN
        RAISE WARNING 'anybody may create functions in schema "%", where pgvector is, and those of '
                      'pgmemoir have it in their path', open_schema
            USING HINT = format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC;', open_schema);
    END IF;
    IF maker IS NOT NULL THEN
        RAISE WARNING 'schema "%" belongs to "%", who can have code run with the rights of "%"',
                      current_schema(), maker, installer
            USING HINT = format('ALTER SCHEMA %I OWNER TO %I;', current_schema(), installer);
    ELSIF guest IS NOT NULL THEN
        RAISE WARNING '"%" may make functions in schema "%", or has some there, and can have code '
                      'run with the rights of "%"', guest, current_schema(), installer
            USING HINT = format('REVOKE CREATE ON SCHEMA %1$I FROM %2$I; ALTER FUNCTION of %2$I '
                                'OWNER TO %3$I, or DROP it; then memoir migrate up --anew.',
                                current_schema(), guest, installer);
    END IF;
END $$;

-- What a role of pgmemoir lacks to use pgvector: the functions where ALTER DEFAULT PRIVILEGES took
-- EXECUTE from PUBLIC, and the schema where that is not public, since a new schema is its owner's
-- alone.
CREATE OR REPLACE FUNCTION _missing_for_vector()
    RETURNS TABLE (role text, "right" text, object text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT r.rolname::text, 'USAGE ON SCHEMA', e.extnamespace::regnamespace::text
    FROM pg_extension AS e
    JOIN pg_roles AS r ON r.rolname = ANY (_role_names())
    WHERE e.extname = 'vector' AND NOT has_schema_privilege(r.oid, e.extnamespace, 'USAGE')
    UNION ALL
    SELECT r.rolname::text, 'EXECUTE ON ROUTINE', p.oid::regprocedure::text
    FROM pg_extension AS e
    JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
                       AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
    JOIN pg_proc AS p ON p.oid = d.objid AND p.proacl IS NOT NULL
    JOIN pg_roles AS r ON r.rolname = ANY (_role_names())
    WHERE e.extname = 'vector' AND NOT has_function_privilege(r.oid, p.oid, 'EXECUTE');
END;

-- Recall calls them with the rights of its caller.
CREATE OR REPLACE FUNCTION _open_vector() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    statements CONSTANT text := (
        SELECT string_agg(s.statement, ' ' ORDER BY s.statement)
        FROM (SELECT format('GRANT %s %s TO %s;', l."right",
                            string_agg(DISTINCT l.object, ', '),
                            string_agg(DISTINCT l.role, ', ')) AS statement
              FROM _missing_for_vector() AS l GROUP BY l."right") AS s);
BEGIN
    IF statements IS NOT NULL THEN
        EXECUTE statements;
    END IF;
    -- Who may use something without passing it on gets no error.
    IF EXISTS (SELECT FROM _missing_for_vector()) THEN
        RAISE insufficient_privilege;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE WARNING 'the roles of pgmemoir may not use pgvector, and "%" may not let them',
                  current_user
        USING HINT = 'As the owner of pgvector and its schema: ' || statements;
END $$;

-- Say, a copy of a table that a superuser has made here before an upgrade, or one that he restored.
-- Without our roles only tables of users stand in the way, which get a policy.
CREATE OR REPLACE FUNCTION _first_of_anothers(keeper name, OUT name text, OUT owner name)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT format('%I.%I', current_schema(), c.relname), pg_get_userbyid(c.relowner)
    INTO name, owner
    FROM pg_class AS c
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
      AND NOT pg_has_role(keeper, c.relowner, 'USAGE')
      AND (c.relkind IN ('r', 'p') AND _has_user(c.oid)
           OR EXISTS (SELECT FROM unnest(_role_names()) AS r WHERE to_regrole(r) IS NOT NULL))
    ORDER BY c.relkind = 'S', c.relname LIMIT 1;
END $$;

CREATE OR REPLACE FUNCTION _refuse_what_is_anothers() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    stray CONSTANT record := _first_of_anothers(current_user);
BEGIN
    IF stray.name IS NOT NULL THEN
        RAISE EXCEPTION '% belongs to "%", so "%" cannot set rights on it', stray.name,
                stray.owner, current_user
            USING ERRCODE = 'insufficient_privilege',
                  HINT = format('As "%s": ALTER TABLE %s OWNER TO %I; or SET SCHEMA another.',
                                stray.owner, stray.name, current_user);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION grant_access() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    missing CONSTANT text[] := _make_roles();
    statement text;
BEGIN
    PERFORM _hand_over();
    PERFORM _refuse_what_is_anothers();
    PERFORM _secure_tables();
    FOR statement IN
        SELECT format(CASE WHEN s.due THEN 'GRANT %s ON %s %s TO %s'
                           ELSE 'REVOKE %s ON %s %s FROM %s' END,
                      s."right", s.type, string_agg(s.name, ', '), s.roles)
        FROM (
            SELECT r.due, r."right", split_part(r.object, ' ', 1) AS type,
                   substr(r.object, strpos(r.object, ' ') + 1) AS name,
                   string_agg(r.role, ', ' ORDER BY r.role) AS roles
            FROM _rights_amiss() AS r
            GROUP BY r.object, r."right", r.due
        ) AS s
        GROUP BY s.due, s."right", s.type, s.roles
        ORDER BY 1 DESC
    LOOP
        EXECUTE statement;
    END LOOP;
    PERFORM _warn_of_open_schema();
    IF missing <> '{}' THEN
        RAISE WARNING 'pgmemoir works only for the owner of its tables: role "%" may not create '
                      'the roles %', current_user, array_to_string(missing, ', ')
            USING HINT = format('Have somebody run CREATE ROLE %s; then run '
                                'SELECT memoir.grant_access();',
                                array_to_string(missing, '; CREATE ROLE '));
        RETURN false;
    END IF;
    PERFORM _warn_of_others();
    PERFORM _open_vector();
    PERFORM _make_policies();
    RETURN true;
END $$;

COMMENT ON FUNCTION grant_access() IS
    'Makes the roles memoir_reader, memoir_agent, memoir_worker and memoir_admin where they are '
    'missing and the caller may (CREATEROLE), gives them and PUBLIC exactly the rights they should '
    'have in this database, and switches row-level security on for every table of users. Returns '
    'whether all roles are there; else a WARNING says what to do, as it does where PUBLIC may '
    'create in the schema of pgvector. Every migration calls it; call it again when somebody made '
    'the roles later, or to take back what somebody granted them; of what other roles may write, '
    'it only warns. For the owner of the tables. Error: 42501 another role owns a table there. '
    'Source: DESIGN 8.';

SELECT grant_access();
