-- Deletes everything of a user, from all tables of the catalogue that have rows of users. The
-- indexes of the user and the functions made for them contain the name, so they go, too.

-- Tables with rows of users, in an order in which they can be emptied: a referring table before the
-- one it refers to, and mentions after traces, because each rebuilds the trace of its memory.
CREATE OR REPLACE FUNCTION _user_tables() RETURNS SETOF regclass
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    waiting oid[] := ARRAY(
        SELECT c.oid FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace
          AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND _has_user(c.oid)
        ORDER BY c.relname = 'mention', c.relname);
    free oid[];
BEGIN
    WHILE waiting <> '{}' LOOP
        free := ARRAY(
            SELECT w.oid FROM unnest(waiting) WITH ORDINALITY AS w (oid, place)
            WHERE NOT EXISTS (SELECT FROM pg_constraint AS f
                              WHERE f.contype = 'f' AND f.confrelid = w.oid
                                AND f.conrelid = ANY (waiting) AND f.conrelid <> w.oid)
            ORDER BY w.place);
        RETURN QUERY SELECT u.oid::regclass FROM unnest(free) AS u (oid);
        waiting := ARRAY(SELECT w.oid FROM unnest(waiting) AS w (oid) WHERE w.oid <> ALL (free));
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION purge_user(user_id text, dry_run boolean DEFAULT false)
    RETURNS TABLE (table_name text, rows bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET quote_all_identifiers = off SET enable_seqscan = off
    SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    ids bigint[];
    number smallint;
    is_new CONSTANT boolean :=
        NOT EXISTS (SELECT FROM profile AS p WHERE p.user_id = user_id);
BEGIN
    IF user_id IS NULL THEN
        RAISE EXCEPTION 'user_id is missing: whose memory shall be deleted for good?'
            USING ERRCODE = 'ME006', HINT = 'SELECT * FROM memoir.purge_user(''alice'', true);';
    END IF;
    PERFORM _resolve_user(user_id), _check_primary('purge_user');
    IF dry_run IS NOT TRUE THEN
        -- What tries rows of a source again locks them before it locks their user; so does this.
        PERFORM FROM source_error AS e WHERE e.user_id = user_id ORDER BY e.error_id FOR UPDATE;
        PERFORM _lock_user(user_id);
        -- Adding a message or ending a session locks it before its messages; so does this.
        PERFORM FROM session AS s WHERE s.user_id = user_id ORDER BY s.session_id FOR UPDATE;
    END IF;
    ids := ARRAY(SELECT m.memory_id FROM memory AS m WHERE m.user_id = user_id
                 ORDER BY m.memory_id);
    number := coalesce((SELECT p.ann FROM profile AS p WHERE p.user_id = user_id), 0);
    FOR table_name IN SELECT t::text FROM _user_tables() AS t LOOP
        EXECUTE format(CASE WHEN dry_run THEN 'SELECT count(*) FROM %s WHERE user_id = $1'
                            ELSE 'WITH gone AS (DELETE FROM %s WHERE user_id = $1 RETURNING 1) '
                                 'SELECT count(*) FROM gone' END, table_name)
        INTO rows USING user_id;
        -- _lock_user has made the profile of a user who had none.
        IF rows > 0 AND NOT (is_new AND table_name = 'profile') THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    IF number > 0 THEN
        RETURN QUERY SELECT * FROM _purge_own_indexes(number, dry_run);
    END IF;
    IF dry_run IS NOT TRUE THEN
        -- A worker locks no user, nor does a recall, a call that only adds, or upkeep when it folds
        -- recalls. What they held was waited for, and they may have written here since a table was
        -- emptied. What a recall logs later than this, maintain() deletes.
        FOR table_name IN SELECT t::text FROM _user_tables() AS t LOOP
            EXECUTE format('DELETE FROM %s WHERE user_id = $1', table_name) USING user_id;
        END LOOP;
        PERFORM _notify(user_id, 'deleted', ids);
    END IF;
END $$;

-- The indexes of a user without a profile, and the user's branches of the functions that use them.
-- What a busy table or a role that does not own it leaves, maintain() removes.
CREATE OR REPLACE FUNCTION _purge_own_indexes(number int, dry_run boolean)
    RETURNS TABLE (table_name text, rows bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '100ms'
AS $$
DECLARE
    names CONSTANT name[] := _own_indexes(number);
    dropped boolean := true;
BEGIN
    IF dry_run IS NOT TRUE THEN
        BEGIN
            dropped := _owns_tables();
            IF dropped THEN
                PERFORM _compile_near_rows();
                dropped := _drop_indexes(names);
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            dropped := false;
        END;
    END IF;
    table_name := CASE WHEN dropped THEN 'own indexes' ELSE 'own indexes left: memoir maintain' END;
    rows := cardinality(names);
    RETURN NEXT;
END $$;

COMMENT ON FUNCTION purge_user(text, boolean) IS
    'Deletes everything of a user for good: memories with all that belongs to them, profile and '
    'settings, sessions and messages, events, jobs, logs, gold sets, statistics, and the indexes '
    'made for this user. Cannot be undone. user_id: must be given, there is no default. dry_run: '
    'deletes nothing, returns the same. Returns a row for each table: table_name, rows; a row own '
    'indexes left: memoir maintain means that the table was busy or this role does not own it: '
    'until maintain has run, their definitions contain the user''s name. Samples of the user''s '
    'rows stay in the planner''s statistics until ANALYZE, bytes on disk until VACUUM FULL, and '
    'in backups as long as you keep them. A transaction of the application that is still open may '
    'bring rows afterwards: of a recall, which maintain() deletes, or what it remembers. '
    'Error: ME006 user.';
