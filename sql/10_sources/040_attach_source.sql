-- Attaches a table, a view or a query of the application as memory. This is quick whatever the size
-- of the table. Triggers need a lock that makes writers wait, so it waits for that lock no longer
-- than half a second. Rows that are already in the table are read later, by fill_source().

-- Who attaches needs the rights of memoir's owner, and of the owner of the table. The hint proposes
-- no GRANT of these: it could make a program a superuser, or show it the memories of all users.
CREATE OR REPLACE FUNCTION _check_attacher(relation regclass) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    of_memoir CONSTANT name := _memoir_owner();
    of_table CONSTANT name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c
                               WHERE c.oid = relation);
    missing CONSTANT name := CASE WHEN NOT pg_has_role(of_memoir, 'USAGE') THEN of_memoir
                                  WHEN NOT pg_has_role(of_table, 'USAGE') THEN of_table END;
BEGIN
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'role "%" may not attach %: it needs the rights of "%"', current_user,
                coalesce(relation::text, 'a query'), missing
            USING ERRCODE = '42501',
                  HINT = format('Attach it as a role with the rights of "%s", such as a superuser.',
                                concat_ws('" and "', of_memoir, nullif(of_table, of_memoir)));
    END IF;
END $$;

-- A table named by a client, and what to_regclass() finds under that name: a cast to regclass would
-- refuse it without a hint.
CREATE OR REPLACE FUNCTION _named_relation(name text, relation regclass) RETURNS regclass
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    IF name IS NOT NULL AND relation IS NULL THEN
        PERFORM _refuse_mapping(
            format('there is no table or view "%s"', name),
            'Name it as SQL does, with its schema: app.tasks; \d app.* in psql lists them.');
    END IF;
    RETURN relation;
END $$;

-- Why a relation cannot be attached, or can no longer be.
CREATE OR REPLACE FUNCTION _why_not_attachable(relation regclass) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_class pg_class;
BEGIN
    SELECT c.* INTO found_class FROM pg_class AS c WHERE c.oid = relation;
    RETURN CASE
        WHEN NOT FOUND THEN 'it is not there'
        WHEN found_class.relnamespace = current_schema()::regnamespace
             OR found_class.relnamespace IN ('pg_catalog'::regnamespace,
                                             'information_schema'::regnamespace)
            THEN 'it is not a table of an application'
        WHEN found_class.relkind NOT IN ('r', 'p', 'v', 'm', 'f') THEN 'it is not a table'
        WHEN found_class.relpersistence = 't' THEN 'it is temporary'
        WHEN found_class.relispartition THEN 'it is a partition'
        WHEN found_class.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits AS i
                                                   WHERE relation IN (i.inhparent, i.inhrelid))
            THEN 'tables inherit from it or it from them' END;
END $$;

-- Whether a subscription fills a table, or one of its partitions. What is applied there calls no
-- trigger of a statement, as ours for INSERT is, and others only if they say ALWAYS.
CREATE OR REPLACE FUNCTION _is_subscribed(relation regclass) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM pg_subscription_rel AS r
                   WHERE r.srrelid = relation
                      OR r.srrelid IN (SELECT p.relid FROM pg_partition_tree(relation) AS p));

-- Triggers follow the changes of a table; anything that is not a plain table, or is filled by a
-- subscription, is pulled.
CREATE OR REPLACE FUNCTION _check_relation(relation regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    why CONSTANT text := _why_not_attachable(relation);
BEGIN
    IF why IS NOT NULL THEN
        PERFORM _refuse_mapping(
            format('%s cannot be attached: %s', relation, why),
            CASE WHEN why = 'it is a partition' THEN 'Attach the partitioned table.'
                 ELSE 'Attach a table, a view or a query.' END);
    END IF;
    RETURN (SELECT c.relkind IN ('r', 'p') FROM pg_class AS c WHERE c.oid = relation)
           AND NOT _is_subscribed(relation);
END $$;

CREATE OR REPLACE FUNCTION _make_triggers(s source, relation regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '500ms'
AS $$
DECLARE
    partitioned CONSTANT boolean := (SELECT c.relkind = 'p' FROM pg_class AS c
                                     WHERE c.oid = relation);
BEGIN
    EXECUTE format('CREATE TRIGGER memoir_source_%s AFTER %s UPDATE OR DELETE ON %s '
                   'FOR EACH ROW EXECUTE FUNCTION _source_%1$s_write()', s.source_id,
                   CASE WHEN partitioned THEN 'INSERT OR' ELSE '' END, relation);
    IF NOT partitioned THEN
        EXECUTE format('CREATE TRIGGER memoir_source_%s_added AFTER INSERT ON %s '
                       'REFERENCING NEW TABLE AS memoir_added FOR EACH STATEMENT '
                       'EXECUTE FUNCTION _source_%1$s_write()', s.source_id, relation);
    END IF;
    EXECUTE format('CREATE TRIGGER memoir_source_%s_emptied AFTER TRUNCATE ON %s '
                   'FOR EACH STATEMENT EXECUTE FUNCTION _source_%1$s_write()', s.source_id,
                   relation);
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION '% is busy: its triggers could not be made within half a second', relation
        USING ERRCODE = 'ME014',
              HINT = 'Try again when no long transaction writes it; memoir source attach does.';
END $$;

-- Checks the arguments but for the columns that they name.
CREATE OR REPLACE FUNCTION _check_attachment(
    name text, relation regclass, query text, on_delete text, user_id text, user_column text)
    RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    IF (relation IS NULL) = (query IS NULL) THEN
        PERFORM _refuse_mapping('give either a relation or a query',
                                'memoir.attach_source(''tasks'', ''task'', ''app.tasks'', ...).');
    ELSIF coalesce(btrim(name), '') = '' OR length(name) > 100 THEN
        PERFORM _refuse_mapping('a source needs a name of 1 to 100 characters', 'Such as tasks.');
    ELSIF EXISTS (SELECT FROM source AS s WHERE s.name = name) THEN
        PERFORM _refuse_mapping(
            format('source "%s" is attached already', name),
            format('SELECT * FROM memoir.detach_source(%L); then attach it again.', name));
    ELSIF on_delete NOT IN ('forget', 'purge') OR on_delete IS NULL THEN
        PERFORM _refuse_mapping(format('on_delete must be forget or purge, not "%s"', on_delete),
                                'forget: memories of deleted rows can be restored. purge: they '
                                'are deleted.');
    ELSIF user_id IS NOT NULL AND user_column IS NOT NULL THEN
        PERFORM _refuse_mapping('user_id and user_column are both given',
                                'Pass user_id for a single user, user_column for several.');
    ELSIF user_id IS NOT NULL THEN
        PERFORM _resolve_user(user_id);
    END IF;
END $$;

-- The columns of the primary key of a table, in its order.
CREATE OR REPLACE FUNCTION _primary_key(relation regclass) RETURNS text[]
    LANGUAGE sql STABLE
    RETURN ARRAY(
        SELECT a.attname
        FROM pg_index AS i
        CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (number, place)
        JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
        WHERE i.indrelid = relation AND i.indisprimary
        ORDER BY k.place);

CREATE OR REPLACE FUNCTION attach_source(
    name text,
    kind text,
    relation regclass DEFAULT NULL,
    content text[] DEFAULT NULL,
    source_id text[] DEFAULT NULL,
    created_at text DEFAULT NULL,
    summary text DEFAULT NULL,
    importance text DEFAULT NULL,
    data text[] DEFAULT NULL,
    subject text DEFAULT NULL,
    status text DEFAULT NULL,
    valid_until text DEFAULT NULL,
    type text DEFAULT NULL,
    payload text[] DEFAULT NULL,
    changed_at text DEFAULT NULL,
    user_column text DEFAULT NULL,
    query text DEFAULT NULL,
    on_delete text DEFAULT 'forget',
    write_retrievals boolean DEFAULT false,
    user_id text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    of_kind CONSTANT kind := _check_kind(kind);
    -- A table borrows no rights: its owner reads it. A superuser lends none to a query either.
    reads_as CONSTANT name := coalesce(
        (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = relation),
        CASE WHEN _is_superuser(current_user) THEN _memoir_owner() ELSE current_user END);
    follows boolean := false;
    columns jsonb;
    key_columns text[] := '{}';
    mapping jsonb;
    made source;
BEGIN
    PERFORM _check_attacher(relation);
    PERFORM _check_attachment(name, relation, query, on_delete, user_id, user_column);
    IF query IS NULL THEN
        follows := _check_relation(relation);
        columns := _columns_of(relation);
        key_columns := _primary_key(relation);
    ELSE
        columns := _checked_query(query);
    END IF;
    -- Otherwise the rows of all users would be one user's, named like the column.
    IF columns ? user_id THEN
        PERFORM _refuse_mapping(
            format('user_id is the one user of all rows, and "%s" is a column', user_id),
            'Pass it as user_column: whose memory a row is.');
    END IF;
    mapping := _checked_mapping(
        coalesce(relation::text, 'the query'), columns,
        jsonb_build_object(
            'user_id', user_id, 'user_column', user_column, 'source_id', source_id,
            'content', content, 'created_at', created_at, 'summary', summary,
            'importance', importance, 'data', data, 'subject', subject, 'status', status,
            'valid_until', valid_until, 'type', type, 'payload', payload,
            'changed_at', changed_at),
        of_kind, key_columns,
        (SELECT c.relkind IN ('r', 'p') FROM pg_class AS c WHERE c.oid = relation) IS NOT TRUE);
    IF write_retrievals AND NOT (follows AND of_kind.name = 'event'
                                 AND jsonb_array_length(mapping -> 'payload') = 1) THEN
        PERFORM _refuse_mapping('retrievals can be written only into a table of kind event',
                                'With one payload column; leave write_retrievals out.');
    END IF;

    INSERT INTO source AS s (name, kind, relation, query, follows, mapping, on_delete,
                             write_retrievals)
    VALUES (name, of_kind.name,
            coalesce((SELECT format('%I.%I', n.nspname, c.relname)
                      FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                      WHERE c.oid = relation), 'query'),
            query, follows, mapping, on_delete, coalesce(write_retrievals, false))
    ON CONFLICT ON CONSTRAINT source_pkey DO NOTHING
    RETURNING s.* INTO made;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another connection has just attached source "%"', name
            USING ERRCODE = 'serialization_failure', HINT = 'SELECT * FROM memoir.sources;';
    END IF;
    PERFORM _compile_read(made, columns, reads_as);
    IF follows THEN
        PERFORM _compile_write(made, relation);
        PERFORM _make_triggers(made, relation);
    END IF;
    IF write_retrievals THEN
        PERFORM _compile_log(made, columns, reads_as);
    END IF;
    RETURN CASE WHEN follows THEN 'filling' ELSE 'pulling' END;
END $$;

COMMENT ON FUNCTION attach_source(text, text, regclass, text[], text[], text, text, text, text[],
                                  text, text, text, text, text[], text, text, text, text, boolean,
                                  text) IS
    'Makes each row of a table, view or query of the application a memory of this kind; for kind '
    'event, an event. A table is followed by triggers, in the transaction that changes it; rows '
    'it already has are read by fill_source() or CALL read_source(). A view or query is read by '
    'pull_source(), and so is a table that a subscription fills. Returns the state of view '
    'sources: filling or pulling. name: of the source, kept with its memories. The other '
    'arguments name columns. content: joined line by line; default a column content. source_id: '
    'the key; default the primary key. user_column: whose memory a row is; default a '
    'column user_id, unless user_id names the one user of all rows. '
    'created_at: default a column of that name. summary, importance (0 to 1), subject (a name, no '
    'slot), status (active, archived, forgotten, NULL: active), valid_until: as in remember(). '
    'data: one column of JSON, or several by their names. type and payload: of events; default '
    'columns of these names. changed_at, of a view or a query: pull_source() reads only what '
    'is newer; a table needs none. query: one SELECT whose columns have these names. on_delete: '
    'whether the memory of a deleted row is forgotten or purged. write_retrievals: maintain() '
    'also writes events of type memory_retrieval into that table. A faulty row never blocks the '
    'application: it waits in source_error. Errors: ME002 kind, ME006 user, ME014 the table is '
    'busy, ME016 relation, query, column or argument, 42501 not the owner of memoir and of the '
    'table. Source: SPEC 7, D0.';
