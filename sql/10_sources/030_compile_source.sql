-- Makes the functions of a source, with its columns in their text, so that a trigger has its plans
-- ready: reading the mapping at every row takes longer than all the rest. A function whose plan
-- fails because a column is gone records that, and the application's write stands.
--   _source_N_write  the trigger: rights of memoir's owner, because who writes the table has none
--                    on memoir. It evaluates no expression of anybody else's.
--   _source_N_read   reads the table or runs the query, with the rights of who attached it: never
--                    more than he had, whoever pulls.
--   _source_N_log    writes retrieval events into the table, if that is wished.
-- Nobody may call them but memoir's owner and memoir_admin.

CREATE OR REPLACE FUNCTION _memoir_owner() RETURNS name
    LANGUAGE sql STABLE
    RETURN (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c
            WHERE c.relname = 'memory' AND c.relnamespace = current_schema()::regnamespace);

CREATE OR REPLACE FUNCTION _is_superuser(role name) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = role);

-- The table a source follows: the one its trigger is on, whatever its name is now. As text, because
-- functions that have no rights on memoir ask it, too.
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

CREATE OR REPLACE FUNCTION _make_function(
    name text, owner name, arguments text, returns text, settings text, body text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    EXECUTE format('CREATE OR REPLACE FUNCTION %I(%s) RETURNS %s LANGUAGE plpgsql SECURITY DEFINER '
                   '%s AS %L', name, arguments, returns, settings, body);
    EXECUTE format('REVOKE ALL ON FUNCTION %I(%s) FROM PUBLIC', name, arguments);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %I(%s) TO %I', name, arguments, _memoir_owner());
    IF to_regrole('memoir_admin') IS NOT NULL THEN
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I(%s) TO memoir_admin', name, arguments);
    END IF;
    EXECUTE format('ALTER FUNCTION %I(%s) OWNER TO %I', name, arguments, owner);
END $$;

-- What the session sets must not show in a key or a text.
CREATE OR REPLACE FUNCTION _plain_settings(columns jsonb, mapping jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN EXISTS (
        SELECT FROM jsonb_each(mapping) AS m,
                    jsonb_array_elements_text(CASE jsonb_typeof(m.value)
                        WHEN 'array' THEN m.value ELSE jsonb_build_array(m.value) END) AS n (name)
        WHERE m.key NOT IN ('user_id', 'time_zone', 'created_at', 'valid_until')
          AND _base_type((columns ->> n.name)::oid)::regtype NOT IN (
              'text', 'varchar', 'bpchar', 'name', 'int2', 'int4', 'int8', 'uuid', 'bool', 'json',
              'jsonb'))
    THEN ' SET TimeZone = ''UTC'' SET DateStyle = ''ISO, YMD'' SET IntervalStyle = ''postgres'''
         ' SET extra_float_digits = 1 SET bytea_output = ''hex'' SET lc_monetary = ''C'''
    ELSE '' END;
END $$;

-- Rows of one INSERT come together, where the table allows it (a partitioned one does not): 200 of
-- them take a third of the time of one each, in one subtransaction.
-- A wait for a lock ends before PostgreSQL looks for a deadlock and might cancel the application.
CREATE OR REPLACE FUNCTION _compile_write(s source, columns jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    call CONSTANT text := format('%L, %L', s.on_delete = 'purge', s.kind = 'event');
BEGIN
    PERFORM _make_function(
        format('_source_%s_write', s.source_id), _memoir_owner(), '', 'trigger',
        'SET search_path FROM CURRENT SET lock_timeout = ''200ms'' '
        'SET plan_cache_mode = force_generic_plan SET enable_seqscan = off'
        || _plain_settings(columns, s.mapping),
        format($body$
DECLARE
    old_row source_row;
    new_row source_row;
    batch source_row[] := '{}';
    number int := 0;
    done boolean;
    code text;
    reason text;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM _source_emptied(%1$L, %2$s);
        RETURN NULL;
    ELSIF TG_LEVEL = 'STATEMENT' THEN
        FOR new_row IN SELECT
        %7$s
        FROM memoir_added AS n LOOP
            batch := batch || new_row;
            number := number + 1;
            IF number %% 200 = 0 THEN
                PERFORM _source_added(%1$L, batch);
                batch := '{}';
            END IF;
        END LOOP;
        IF number > 1 THEN
            PERFORM _source_added(%1$L, batch);
        ELSIF number = 1 THEN
            new_row := batch[1];
            done := %5$s;
        END IF;
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        old_row := ROW(
        %3$s);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        new_row := ROW(
        %4$s);
    END IF;
    IF TG_OP = 'INSERT' THEN
        done := %5$s;
    ELSIF old_row IS DISTINCT FROM new_row THEN
        PERFORM _source_changed(%1$L, old_row, new_row, %2$s);
    END IF;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    code := SQLSTATE;
    reason := SQLERRM;
    BEGIN
        PERFORM _source_failed(%1$L, old_row, new_row, %6$L, code, reason);
    EXCEPTION WHEN OTHERS THEN
        RAISE WARNING 'memoir: a row of source %% is not in memory: %% (%%)', %1$L, reason, code;
    END;
    RETURN NULL;
END $body$,
            s.name, call, _row_of(columns, s.mapping, 'OLD'), _row_of(columns, s.mapping, 'NEW'),
            CASE WHEN s.kind = 'event' THEN format('_source_event(%L, new_row, true)', s.name)
                 ELSE format('_source_add(%L, new_row)', s.name) END, s.kind = 'event',
            _row_of(columns, s.mapping, 'n')));
END $$;

-- request: after (place behind which to begin), upto (place to end with), since (time of change
-- from which on), keys (places of single rows), most (rows), lock (whether to hold the rows: those
-- that somebody else holds are left out). Values go in as literals, which the type itself reads.
CREATE OR REPLACE FUNCTION _compile_read(s source, columns jsonb, owner name) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    keys CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(s.mapping -> 'source_id'));
    changed CONSTANT text := _changed_at(s.mapping, 'n');
    key_list CONSTANT text := (SELECT string_agg(format('n.%I', u.k), ', ' ORDER BY u.place)
                               FROM unnest(keys) WITH ORDINALITY AS u (k, place));
    types CONSTANT text[] := ARRAY(
        SELECT format_type(_base_type((columns ->> u.name)::oid), NULL)
        FROM unnest(array_remove(ARRAY[s.mapping ->> 'changed_at'], NULL) || keys)
             WITH ORDINALITY AS u (name, place) ORDER BY u.place);
    place CONSTANT text :=
        '(SELECT string_agg(format(''%%L::%%s'', p.value, types[p.place + %s]), '', '' '
        'ORDER BY p.place) FROM jsonb_array_elements_text(%s) WITH ORDINALITY AS p (value, place))';
BEGIN
    PERFORM _make_function(
        format('_source_%s_read', s.source_id), owner, 'request jsonb', 'SETOF source_row',
        CASE WHEN s.query IS NULL THEN 'SET search_path FROM CURRENT'
             ELSE 'SET search_path = pg_catalog, public, pg_temp' END
        || ' SET TimeZone = ''UTC'' SET DateStyle = ''ISO, YMD'' SET IntervalStyle = ''postgres'''
           ' SET extra_float_digits = 1 SET bytea_output = ''hex'' SET lc_monetary = ''C''',
        format($body$
DECLARE
    columns CONSTANT text := %1$L;
    types CONSTANT text[] := %2$L;
    changed CONSTANT text := %3$L;
    keys CONSTANT text := %4$L;
    places CONSTANT text := %5$L;
    relation CONSTANT text := %6$s;
    condition text := 'true';
BEGIN
    IF relation IS NULL THEN
        RAISE undefined_table USING MESSAGE = 'its table is gone';
    END IF;
    IF request ? 'since' THEN
        condition := condition || format(' AND %%s >= %%L', changed, request ->> 'since');
    END IF;
    IF request ? 'after' THEN
        condition := condition || format(' AND (%%s) > (%%s)', places, %7$s);
    END IF;
    IF request ? 'upto' THEN
        condition := condition || format(' AND (%%s) <= (%%s)', places, %8$s);
    END IF;
    IF request ? 'keys' THEN
        condition := condition || format(' AND (%%s) IN (%%s)', keys, (
            SELECT string_agg('(' || %9$s || ')', ', ')
            FROM jsonb_array_elements(request -> 'keys') AS k (key)));
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT %%s FROM %%s AS n WHERE %%s ORDER BY %%s LIMIT %%s %%s', columns, relation,
        condition, places, coalesce(request ->> 'most', 'ALL'),
        CASE WHEN request ? 'lock' THEN 'FOR SHARE OF n SKIP LOCKED' ELSE '' END);
END $body$,
            _row_of(columns, s.mapping, 'n'), types, changed, key_list,
            concat_ws(', ', changed, key_list), CASE
                WHEN s.query IS NOT NULL THEN format('%L', format(E'(%s\n)', s.query))
                WHEN s.follows THEN format('(%s)', _followed_query(s.source_id))
                ELSE format('%L::regclass::text', s.relation) END,
            format(place, 0, 'request -> ''after'''), format(place, 0, 'request -> ''upto'''),
            format(place, cardinality(types) - cardinality(keys), 'k.key')));
END $$;

-- Retrieval events go into the columns of the mapping; the user's where there is one.
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
        format($body$
BEGIN
    EXECUTE format('INSERT INTO %%s (%%s) VALUES (%%s)', (%1$s), %2$L, %3$L)
    USING 'memory_retrieval'::text, payload, created_at, user_id;
END $body$,
            _followed_query(s.source_id),
            (SELECT string_agg(quote_ident(n.name), ', ' ORDER BY n.place)
             FROM unnest(names) WITH ORDINALITY AS n (name, place) WHERE n.name IS NOT NULL),
            (SELECT string_agg(format('$%s::%s', n.place, format_type(
                        (columns ->> n.name)::oid, NULL)), ', ' ORDER BY n.place)
             FROM unnest(names) WITH ORDINALITY AS n (name, place) WHERE n.name IS NOT NULL)));
END $$;
