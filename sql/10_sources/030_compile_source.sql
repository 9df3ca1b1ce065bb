-- Makes the functions of a source with its columns in their text, so that a trigger has its plans
-- ready: reading the mapping for every row takes longer than all the rest. A function whose plan
-- fails because a column is gone records that, and the application's write stands.
--   _source_N_write  the trigger. It has the rights of memoir's owner, because those who write the
--                    table have none on memoir. It evaluates nobody else's expressions.
--   _source_N_read   reads the table with the rights of its owner, or runs the query with those of
--                    the role that attached it: never more than that role had, whoever pulls. A
--                    table's owner can make its readers run code (policies, functions of a view).
--   _source_N_log    writes retrieval events into the table, if wanted, also as its owner.
-- memoir_admin may call the last two. Who may call the first can make it the trigger of any of
-- their own tables, which would then be the table that is followed: only memoir's owner may.

CREATE OR REPLACE FUNCTION _memoir_owner() RETURNS name
    LANGUAGE sql STABLE
    RETURN (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c
            WHERE c.relname = 'memory' AND c.relnamespace = current_schema()::regnamespace);

CREATE OR REPLACE FUNCTION _is_superuser(role name) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = role);

-- The table a source follows: the one its trigger is on, whatever its name is now. As text, because
-- functions that have no rights on memoir ask for it too.
CREATE OR REPLACE FUNCTION _followed_query(source_id int) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN format(
        'SELECT DISTINCT t.tgrelid::regclass::text '
        'FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid WHERE '
        'p.pronamespace = %L::regnamespace AND p.proname = ''_source_%s_write'' '
        'AND t.tgparentid = 0 AND t.tgtype & 32 = 0', current_schema(), source_id);
END $$;

CREATE OR REPLACE FUNCTION _followed_table(source_id int) RETURNS regclass
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_table text;
BEGIN
    EXECUTE _followed_query(source_id) INTO found_table;
    RETURN found_table;
END $$;

-- Gives a function to its owner, who needs CREATE in the schema for just that moment.
CREATE OR REPLACE FUNCTION _give_function(signature text, owner name) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    lent CONSTANT boolean := NOT has_schema_privilege(owner, current_schema(), 'CREATE');
BEGIN
    IF lent THEN
        EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', current_schema(), owner);
    END IF;
    EXECUTE format('ALTER FUNCTION %s OWNER TO %I', signature, owner);
    IF lent THEN
        EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', current_schema(), owner);
    END IF;
END $$;

-- How a function begins that was given to another owner, who cannot replace it but can ALTER it.
-- Made SECURITY INVOKER with another path, it would run that owner's code with the rights of the
-- puller; with a role of its own, too, which that code could RESET.
CREATE OR REPLACE FUNCTION _as_owner_alone(name text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN format($guard$
BEGIN
    IF (SELECT p.prosecdef
               AND pg_catalog.pg_get_userbyid(p.proowner) OPERATOR(pg_catalog.=) current_user
        FROM pg_catalog.pg_proc AS p, pg_catalog.pg_namespace AS n
        WHERE n.oid OPERATOR(pg_catalog.=) p.pronamespace
          AND n.nspname OPERATOR(pg_catalog.=) %L
          AND p.proname OPERATOR(pg_catalog.=) %L) IS NOT true
    THEN
        RAISE insufficient_privilege
            USING MESSAGE = %L, HINT = 'Detach its source and attach it again.';
    END IF;$guard$, current_schema(), name, 'somebody changed function ' || name);
END $$;

-- The same where a table, the variable relation of the function, was given to somebody else, or
-- somebody's view has the name of the former one now: the new owner's policies, triggers and
-- functions would run with the rights of the former one.
CREATE OR REPLACE FUNCTION _of_same_owner() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN $guard$
    IF (SELECT pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.<>) current_user
        FROM pg_catalog.pg_class AS c
        WHERE c.oid OPERATOR(pg_catalog.=) relation::pg_catalog.regclass) IS NOT false
    THEN
        RAISE insufficient_privilege
            USING MESSAGE = pg_catalog.concat(relation, ' belongs to another role now'),
                  HINT = 'Detach its source and attach it again.';
    END IF;$guard$;

-- They go with the extension, and with them the triggers that call them: a trigger that is left
-- behind would refuse every write of the application. The script of an upgrade makes them again. It
-- may replace members of the extension only: for that moment they are.
CREATE OR REPLACE FUNCTION _make_function(
    name text, owner name, arguments text, returns text, settings text, body text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    signature CONSTANT text := format('%I(%s)', name, arguments);
    extended CONSTANT boolean := EXISTS (SELECT FROM pg_extension AS e
                                         WHERE e.extname = 'pgmemoir');
    again CONSTANT boolean := EXISTS (
        SELECT FROM pg_proc AS p
        WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = name);
BEGIN
    IF extended AND again THEN
        EXECUTE 'ALTER EXTENSION pgmemoir ADD FUNCTION ' || signature;
    END IF;
    EXECUTE format('CREATE OR REPLACE FUNCTION %s RETURNS %s LANGUAGE plpgsql SECURITY DEFINER '
                   '%s AS %L', signature, returns, settings, body);
    IF extended AND again THEN
        EXECUTE 'ALTER EXTENSION pgmemoir DROP FUNCTION ' || signature;
    END IF;
    PERFORM _keep_to_owner('FUNCTION ' || signature,
                           coalesce(p.proacl, acldefault('f', p.proowner)))
    FROM pg_proc AS p
    WHERE p.pronamespace = current_schema()::regnamespace AND p.proname = name;
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', signature, _memoir_owner());
    IF returns <> 'trigger' AND to_regrole('memoir_admin') IS NOT NULL THEN
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO memoir_admin', signature);
    END IF;
    IF extended THEN
        EXECUTE format('ALTER FUNCTION %s DEPENDS ON EXTENSION pgmemoir', signature);
    END IF;
    IF owner <> current_user THEN
        PERFORM _give_function(signature, owner);
    END IF;
END $$;

-- The settings a trigger pins, so that those of the session (DateStyle, ...) do not change how a
-- key, a text or a time is printed.
CREATE OR REPLACE FUNCTION _plain_settings(columns jsonb, mapping jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN EXISTS (
        SELECT FROM _mapped_columns(mapping) AS m
        WHERE m.output NOT IN ('created_at', 'valid_until')
          AND _base_type((columns ->> m.name)::oid)::regtype NOT IN (
              'text', 'varchar', 'bpchar', 'name', 'int2', 'int4', 'int8', 'uuid', 'bool', 'json',
              'jsonb'))
    THEN ' SET TimeZone = ''UTC'' SET DateStyle = ''ISO, YMD'' SET IntervalStyle = ''postgres'''
         ' SET extra_float_digits = 1 SET bytea_output = ''hex'' SET lc_monetary = ''C'''
    WHEN mapping ?| '{created_at,valid_until}' THEN ' SET DateStyle = ''ISO, YMD'''
    ELSE '' END;
END $$;

-- The rows of an INSERT as a query, with all columns of source_row or some outputs of the mapping.
-- They arrive together if the table allows it: a partitioned one does not.
CREATE OR REPLACE FUNCTION _added_rows(
    s source, relation regclass, columns jsonb, outputs text[] DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT CASE c.relkind
                WHEN 'p' THEN 'SELECT ' || _row_of(columns, s.mapping, 'NEW', outputs)
                ELSE format('SELECT %s FROM memoir_added AS n',
                            _row_of(columns, s.mapping, 'n', outputs)) END
            FROM pg_class AS c WHERE c.oid = relation);
END $$;

-- The statement that makes memories of new rows, one or thousands, with their traces. Setup is most
-- of the time of a single row and grows with columns and operators. So it is one statement, without
-- anything the mapping does not have. The first INSERT selects nothing volatile, which would add a
-- node (volatile parts are in its WHERE). OFFSET 0 makes the values of a row once, not wherever a
-- text is named: seven times just to see that it has no secret.
-- name and kind_id: expressions. rows: a query that gives what the mapping has, in its order.
CREATE OR REPLACE FUNCTION _adding_statement(name text, kind_id text, mapping jsonb, rows text)
    RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    -- What the mapping has is a column of the row; anything else is the same for all rows.
    owner CONSTANT text := CASE WHEN mapping ? 'user_column' THEN 'n.user_id'
                                ELSE format('%L::text', mapping ->> 'user_id') END;
    summary CONSTANT text := CASE WHEN mapping ? 'summary' THEN 'n.summary'
                                  ELSE 'NULL::text' END;
    importance CONSTANT text := CASE WHEN mapping ? 'importance' THEN 'n.importance'
                                     ELSE format('_kind_importance(%s)', kind_id) END;
    data CONSTANT text := CASE WHEN mapping ? 'data' THEN 'n.data' ELSE '''{}''::jsonb' END;
    subject CONSTANT text := CASE WHEN mapping ? 'subject' THEN 'n.subject'
                                  ELSE 'NULL::text' END;
    status CONSTANT text := CASE WHEN mapping ? 'status' THEN 'n.status'
                                 ELSE '''active''::text' END;
    made_at CONSTANT text := CASE WHEN mapping ? 'created_at' THEN 'n.created_at'
                                  ELSE 'now()' END;
    valid_until CONSTANT text := CASE WHEN mapping ? 'valid_until' THEN 'n.valid_until'
                                      ELSE 'NULL::timestamptz' END;
    expiring CONSTANT text := CASE WHEN mapping ? 'valid_until' THEN format(
        $expiring$, expiring AS (
            UPDATE profile AS p SET some_expire = true
            WHERE NOT p.some_expire AND p.user_id = ANY (ARRAY(
                SELECT %s FROM added AS n WHERE n.valid_until IS NOT NULL))
        )$expiring$, owner) ELSE '' END;
    has_subject CONSTANT boolean := mapping ? 'subject';
    -- Goals (okr), or rows of which only the call knows the kind.
    has_standing CONSTANT boolean := kind_id IN ('4', 'of_kind') AND mapping ? 'data';
    names text[];
    made text[];
BEGIN
    SELECT array_agg(m.name), array_agg(m.made || ' AS ' || m.name) INTO names, made
    FROM (VALUES
        ('user_column', 'user_id', 'n.user_id'),
        ('source_id', 'source_key', 'n.source_key'),
        ('content', 'content', '_redact(n.content)'),
        ('summary', 'summary', '_trimmed(_redact(n.summary))'),
        ('importance', 'importance',
         format('coalesce(_check_share(n.importance, ''importance''), _kind_importance(%s))',
                kind_id)),
        ('data', 'data', 'CASE WHEN n.data IS NULL THEN ''{}'' ELSE _redact_json(n.data) END'),
        ('subject', 'subject',
         'CASE WHEN n.subject IS NOT NULL THEN _check_subject(_redact(n.subject)) END'),
        ('status', 'status', 'coalesce(n.status, ''active'')'),
        ('created_at', 'created_at',
         'coalesce(_check_time(n.created_at, ''created_at''), now())'),
        ('valid_until', 'valid_until',
         '_row_until(n.valid_until, '
         || CASE WHEN mapping ? 'created_at' THEN 'coalesce(n.created_at, now()))'
                 ELSE 'now())' END)
    ) AS m (output, name, made)
    WHERE mapping ? m.output;
    RETURN format($statement$
        WITH added AS (
            INSERT INTO memory (user_id, kind, content, summary, data, subject, importance,
                                confidence, origin, source, source_key, valid_from, valid_until,
                                lifetime, status, retired_at, content_hash, created_at)
            SELECT %3$s, _kind_name(%1$s), n.content, %4$s, %6$s, %7$s, %5$s, 1, 'source', %2$s,
                   n.source_key, %9$s, %10$s, 'core', %8$s,
                   CASE WHEN %8$s <> 'active' THEN now() END, _row_hash(%2$s, n.source_key), %9$s
            FROM (
                SELECT %13$s,
                       (SELECT p.memory_on FROM profile AS p WHERE p.user_id = %3$s) AS memory_on
                FROM (%11$s OFFSET 0) AS n (%12$s)
                OFFSET 0
            ) AS n
            WHERE CASE WHEN NOT n.memory_on OR NOT _says_something(n.content) THEN false
                       WHEN _check_row(%3$s, n.source_key, %8$s)
                            AND (octet_length(n.content) > _text_limit()
                                 AND _refuse_text(n.content, 'the memory') IS NULL) IS NOT TRUE
                       THEN coalesce(n.memory_on, _make_profile(%3$s)) END
            RETURNING memory_id, %14$s
        )%15$s
        INSERT INTO trace (user_id, memory_id, model, kind, created_at, importance, asks, details,
                           cost, brief_cost, term_count, terms, line, brief, active, wide)
        SELECT %3$s, n.memory_id, e.model_id, %1$s, %9$s, %5$s, w.asks, w.details,
               _cost_of_line(n.line),
               CASE WHEN %4$s IS NOT NULL OR length(n.line) > 2 * _brief_length()
                    THEN _brief_cost(_brief(n.content, %4$s, n.line)) END,
               w.term_count, w.terms, n.line,
               CASE WHEN %4$s IS NOT NULL OR length(n.line) > 2 * _brief_length()
                    THEN _brief(n.content, %4$s, n.line) END,
               %8$s = 'active', _is_wide(NULL::halfvec, w.term_count, n.line, %3$s)
        FROM (SELECT n.*, %18$s AS line%16$s
              FROM added AS n OFFSET 0) AS n,
             _word_vector(n.content, %17$s, %7$s) AS w, embedding_model AS e
        WHERE NOT e.dropping;$statement$,
        kind_id, name, owner, summary, importance, data, subject, status, made_at, valid_until,
        rows, array_to_string(names, ', '),
        array_to_string(made, ', '),
        array_to_string(array_remove(array_remove(names, 'source_key'),
                                     CASE WHEN NOT has_standing THEN 'data' END), ', '), expiring,
        CASE WHEN has_subject THEN ', _searched_text(n.content, n.subject) AS searched_text'
             ELSE '' END,
        CASE WHEN has_subject THEN 'n.searched_text' ELSE 'n.content' END,
        CASE WHEN has_standing THEN format('_line_of(n.content, %s = 4, n.data)', kind_id)
             ELSE '_line(n.content, _line_length())' END);
END $$;

-- What follows it, if the memories belong to the profile. keys: a query for the users and keys.
CREATE OR REPLACE FUNCTION _profile_statement(name text, kind_id text, keys text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format($statement$
        IF _in_profile(%2$s) THEN
            PERFORM _refresh_profile(o.user_id)
            FROM (SELECT DISTINCT m.user_id
                  FROM (%3$s) AS n (user_id, source_key), memory AS m
                  WHERE m.user_id = n.user_id AND m.source = %1$s
                    AND m.source_key = n.source_key
                  ORDER BY m.user_id) AS o;
        END IF;$statement$, name, kind_id, keys);

CREATE OR REPLACE FUNCTION _adding_events(s source, rows text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN format($statement$
        FOR new_row IN %s LOOP
            done := _source_event(%L, new_row, true);
        END LOOP;$statement$, rows, s.name);
END $$;

-- A wait for a lock ends before PostgreSQL looks for a deadlock and might cancel the application.
-- If a trigger of the application writes into the table, the function hears of that write before
-- the one that fired it. So after such a write, until the transaction ends, it asks the table
-- what became of a row that was changed again (its xmax). Once a trigger wrote a row before it was
-- a memory ('early'), it asks for rows that are new or gone, too. Otherwise it does not ask.
-- A session that wrote the table before a column changed its type has plans for the old type
-- (42804): there, rows are read by statements that are planned anew.
-- A transaction that is refused at SERIALIZABLE cannot record that, either: its write fails, with
-- 40001, which it has to expect anyway. Otherwise it might commit, and nobody knew of the row.
CREATE OR REPLACE FUNCTION _compile_write(s source, relation regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    columns CONSTANT jsonb := _columns_of(relation);
    rows CONSTANT text := _added_rows(s, relation, columns);
    name CONSTANT text := quote_literal(s.name);
    kind_id CONSTANT text := (SELECT k.kind_id FROM kind AS k WHERE k.name = s.kind);
    call CONSTANT text := format('%L, %L', s.on_delete = 'purge', s.kind = 'event');
BEGIN
    PERFORM _make_function(
        format('_source_%s_write', s.source_id), _memoir_owner(), '', 'trigger',
        'SET search_path FROM CURRENT SET jit = off SET lock_timeout = ''200ms'' '
        'SET plan_cache_mode = force_generic_plan SET enable_seqscan = off'
        || _plain_settings(columns, s.mapping),
        format($body$
DECLARE
    old_row source_row;
    new_row source_row;
    batch source_row[];
    done boolean;
    code text;
    reason text;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF current_setting(%7$L, true) = 'early' THEN
            RAISE unique_violation;
        END IF;%6$s
    ELSIF TG_OP = 'TRUNCATE' THEN
        old_row := _all_rows('');
        new_row := old_row;
        PERFORM _source_emptied(%1$L, %2$s);
    ELSE
        old_row := ROW(
        %3$s);
        IF TG_OP = 'UPDATE' THEN
            new_row := ROW(
        %4$s);
        END IF;
        IF old_row IS DISTINCT FROM new_row THEN
            IF %9$scurrent_setting(%7$L, true) <> ''
               AND (NEW.xmax <> 0 OR TG_OP = 'DELETE' AND current_setting(%7$L, true) = 'early')
            THEN
                new_row := _row_now(%1$L, CASE TG_OP WHEN 'DELETE' THEN old_row ELSE new_row END);
            END IF;
            done := _source_changed(%1$L, old_row, new_row, %2$s);
            IF pg_trigger_depth() > 1 THEN
                PERFORM set_config(%7$L, CASE
                    WHEN done AND current_setting(%7$L, true) IS DISTINCT FROM 'early' THEN 'again'
                    ELSE 'early' END, true);
            END IF;
        END IF;
    END IF;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    code := SQLSTATE;
    reason := SQLERRM;
    IF pg_trigger_depth() > 1 THEN
        PERFORM set_config(%7$L, 'early', true);
    END IF;
    BEGIN
        IF code = '42804' AND TG_LEVEL = 'ROW' THEN
            IF TG_OP <> 'INSERT' THEN
                EXECUTE %8$L INTO old_row USING OLD;
            END IF;
            IF TG_OP <> 'DELETE' THEN
                EXECUTE %8$L INTO new_row USING NEW;
            END IF;
            done := _source_changed(%1$L, old_row, new_row, %2$s);
            RETURN NULL;
        ELSIF TG_OP = 'INSERT' THEN
            FOR new_row IN %5$s LOOP
                batch := batch || new_row;
                IF cardinality(batch) = 200 THEN
                    PERFORM _source_added(%1$L, batch, code, reason);
                    batch := NULL;
                END IF;
            END LOOP;
            PERFORM _source_added(%1$L, batch, code, reason);
            RETURN NULL;
        END IF;
    EXCEPTION WHEN OTHERS THEN
        NULL;  -- what was wrong first is recorded
    END;
    BEGIN
        PERFORM _source_failed(%1$L, old_row, new_row, code, reason);
    EXCEPTION WHEN serialization_failure THEN
        RAISE;
    WHEN OTHERS THEN
        RAISE WARNING 'memoir: a row of source %% is not in memory: %% (%%)', %1$L, reason, code;
    END;
    RETURN NULL;
END $body$,
            s.name, call, _row_of(columns, s.mapping, 'OLD'), _row_of(columns, s.mapping, 'NEW'),
            rows, CASE WHEN s.kind = 'event' THEN _adding_events(s, rows)
                       ELSE _adding_statement(name, kind_id, s.mapping, _added_rows(
                                s, relation, columns,
                                ARRAY(SELECT jsonb_object_keys(s.mapping))))
                            || _profile_statement(name, kind_id, _added_rows(
                                s, relation, columns, '{user_column,source_id}')) END,
            format('memoir.source_%s_written', s.source_id),
            'SELECT ' || _row_of(columns, s.mapping, '($1)'), CASE
                WHEN EXISTS (SELECT FROM pg_index AS i
                             WHERE i.indrelid = relation AND NOT i.indimmediate)
                THEN 'TG_OP = ''DELETE'' OR ' ELSE '' END));
END $$;

-- A query in parentheses. It may end in a comment, or in the semicolon that psql wants.
CREATE OR REPLACE FUNCTION _as_subquery(query text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '(' || rtrim(query, E'; \t\r\n') || E'\n)';

-- request: after (place behind which to begin), upto (place to end with), since (time of change to
-- begin with), keys (places of single rows), without (keys of rows that the caller has), most
-- (rows), lock (whether to lock the rows: others' locked rows are left out). Values of columns are
-- literals, which the type itself reads. What is pulled may call functions: whoever calls this one
-- directly cannot have them write, either.
CREATE OR REPLACE FUNCTION _compile_read(s source, columns jsonb, owner name) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    keys CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(s.mapping -> 'source_id'));
    -- As in the place of a row (_row_of).
    changed CONSTANT text := CASE WHEN s.mapping ? 'changed_at' THEN
        format('coalesce(n.%I, ''-infinity'')', s.mapping ->> 'changed_at') END;
    key_list CONSTANT text := (SELECT string_agg(format('n.%I', u.k), ', ' ORDER BY u.place)
                               FROM unnest(keys) WITH ORDINALITY AS u (k, place));
    place CONSTANT text :=
        '(SELECT string_agg(format(''%%L'', p.value), '', '' ORDER BY p.place) '
        'FROM jsonb_array_elements_text(%s) WITH ORDINALITY AS p (value, place))';
BEGIN
    PERFORM _make_function(
        format('_source_%s_read', s.source_id), owner, 'request jsonb', 'SETOF source_row',
        CASE WHEN s.query IS NULL THEN 'SET search_path FROM CURRENT'
             ELSE 'SET search_path = pg_catalog, public, pg_temp' END
        || ' SET TimeZone = ''UTC'' SET DateStyle = ''ISO, YMD'' SET IntervalStyle = ''postgres'''
           ' SET extra_float_digits = 1 SET bytea_output = ''hex'' SET lc_monetary = ''C'''
           ' SET standard_conforming_strings = on',
        format($body$%9$s
DECLARE
    columns CONSTANT text := %1$L;
    changed CONSTANT text := %2$L;
    keys CONSTANT text := %3$L;
    places CONSTANT text := %4$L;
    relation CONSTANT text := %5$s;
    condition text := 'true';
BEGIN
    IF relation IS NULL THEN
        RAISE undefined_table USING MESSAGE = 'its table is gone';
    END IF;%10$s%11$s
    IF request ? 'since' THEN
        condition := condition || format(' AND %%s >= %%L', changed, request ->> 'since');
    END IF;
    IF request ? 'after' THEN
        condition := condition || format(' AND (%%s) > (%%s)', places, %6$s);
    END IF;
    IF request ? 'upto' THEN
        condition := condition || format(' AND (%%s) <= (%%s)', places, %7$s);
    END IF;
    IF request ? 'keys' THEN
        condition := condition || format(' AND (%%s) IN (%%s)', keys, (
            SELECT string_agg('(' || %8$s || ')', ', ')
            FROM jsonb_array_elements(request -> 'keys') AS k (key)));
    END IF;
    IF request ? 'without' THEN
        condition := condition || %12$L;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT %%s FROM %%s AS n WHERE %%s ORDER BY %%s LIMIT %%L %%s', columns, relation,
        condition, places, request ->> 'most',
        CASE WHEN request ? 'lock' THEN 'FOR SHARE OF n SKIP LOCKED' ELSE '' END)
    USING ARRAY(SELECT jsonb_array_elements_text(request -> 'without'));
END;
END $body$,
            _row_of(columns, s.mapping, 'n'), changed, key_list,
            concat_ws(', ', changed, key_list), CASE
                WHEN s.query IS NOT NULL THEN format('%L', _as_subquery(s.query))
                WHEN s.follows THEN format('(%s)', _followed_query(s.source_id))
                ELSE format('%L::regclass::text', s.relation) END,
            format(place, 'request -> ''after'''), format(place, 'request -> ''upto'''),
            format(place, 'k.key'),
            _as_owner_alone(format('_source_%s_read', s.source_id)),
            CASE WHEN s.query IS NULL THEN _of_same_owner() END,
            CASE WHEN NOT s.follows THEN $guard$
    IF current_setting('transaction_read_only') = 'off' THEN
        RAISE insufficient_privilege
            USING MESSAGE = 'what is pulled is read where nothing may be written',
                  HINT = 'SELECT * FROM memoir.pull_source(...);';
    END IF;$guard$ END,
            format(' AND (%s) <> ALL ($1)', _row_of(columns, s.mapping, 'n', '{source_id}'))));
END $$;

-- Retrieval events go into the columns of the mapping, the user into its column if there is one.
-- Types are named with their schema: of what is in front, only PostgreSQL's own is on the path.
CREATE OR REPLACE FUNCTION _compile_log(s source, columns jsonb, owner name) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    names CONSTANT text[] := ARRAY[s.mapping ->> 'type', s.mapping #>> '{payload,0}',
                                   s.mapping ->> 'created_at', s.mapping ->> 'user_column'];
BEGIN
    PERFORM _make_function(
        format('_source_%s_log', s.source_id), owner,
        'user_id text, payload jsonb, created_at timestamptz', 'void',
        'SET search_path = pg_catalog, pg_temp SET TimeZone = '
        || quote_literal(s.mapping ->> 'time_zone'),
        format($body$%4$s
DECLARE
    relation CONSTANT text := (%1$s);
BEGIN%5$s
    EXECUTE format('INSERT INTO %%s (%%s) VALUES (%%s)', relation, %2$L, %3$L)
    USING 'memory_retrieval'::text, payload, created_at, user_id;
END;
END $body$,
            _followed_query(s.source_id),
            (SELECT string_agg(quote_ident(n.name), ', ' ORDER BY n.place)
             FROM unnest(names) WITH ORDINALITY AS n (name, place) WHERE n.name IS NOT NULL),
            (SELECT string_agg(format('$%s::%s.%I', n.place, t.typnamespace::regnamespace,
                                      t.typname), ', ' ORDER BY n.place)
             FROM unnest(names) WITH ORDINALITY AS n (name, place)
             JOIN pg_type AS t ON t.oid = (columns ->> n.name)::oid),
            _as_owner_alone(format('_source_%s_log', s.source_id)), _of_same_owner()));
END $$;
