-- Which users have indexes of their own. A user with many memories gets three private ones, by
-- vector, by words and by importance. That beats an index shared by all users (filtered afterwards,
-- 0.4 ms for each 1 / the user's share of it) and, from about 4,700 memories on, comparing all. It
-- changes no row; every insert, of any user, takes 2 µs more for each such user.

-- Expected milliseconds of the search itself (DESIGN 3): all compared, or through own indexes.
CREATE OR REPLACE FUNCTION _exact_cost(memories bigint) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 0.1::float8 + 0.0004::float8 * memories;

CREATE OR REPLACE FUNCTION _indexed_cost(memories bigint) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 0.5::float8 + 0.1::float8 * ln(greatest(memories, 1000) / 1000::float8);

-- Memory for building an index by vector (maintenance_work_mem), up to 4 GB or what is set: a graph
-- that does not fit takes many times as long.
CREATE OR REPLACE FUNCTION _build_memory(memories bigint) RETURNS text
    LANGUAGE sql STABLE
    RETURN (
        SELECT greatest(
                   pg_size_bytes(current_setting('maintenance_work_mem')) / 1024,
                   least(memories * (2 * coalesce(e.dimensions, 0) + 800) / 1024, 4194304)) || 'kB'
        FROM embedding_model AS e WHERE e.active);

-- The names of the indexes with a number. With usable_by only those that recall of this user can
-- use: complete (an interrupted CONCURRENTLY leaves an invalid one), with this user's rows, and for
-- vectors of the model in use. What PostgreSQL says of an index follows the two settings.
CREATE OR REPLACE FUNCTION _own_indexes(number int, usable_by text DEFAULT NULL) RETURNS name[]
    LANGUAGE sql STABLE
    SET quote_all_identifiers = off SET standard_conforming_strings = on
    RETURN ARRAY(
        SELECT c.relname
        FROM pg_class AS c
        JOIN pg_index AS i ON i.indexrelid = c.oid
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = 1
        LEFT JOIN embedding_model AS e ON e.active
        CROSS JOIN LATERAL (SELECT CASE c.relname WHEN 'trace_leading_' || number THEN '+'
                                   ELSE '' END) AS x (suffix)
        WHERE i.indrelid = 'trace'::regclass
          AND c.relname IN ('trace_near_' || number, 'trace_words_' || number,
                            'trace_leading_' || number)
          AND (usable_by IS NULL
               OR i.indisvalid
                  AND pg_get_expr(i.indpred, i.indrelid)
                      = '(((user_id || ''' || x.suffix || '''::text) = '''
                        || replace(usable_by, '''', '''''') || x.suffix
                        || '''::text) AND (model = ' || e.model_id || ') AND active)'
                  AND (c.relname <> 'trace_near_' || number OR a.atttypmod = e.dimensions))
        ORDER BY c.relname);

-- Indexes whose number no user has: an interrupted build leaves them. Nobody must be building.
CREATE OR REPLACE FUNCTION _left_over_indexes() RETURNS name[]
    LANGUAGE sql STABLE
    RETURN ARRAY(
        SELECT c.relname
        FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
        WHERE i.indrelid = 'trace'::regclass AND c.relname ~ '^trace_(near|words|leading)_[0-9]+$'
          AND NOT EXISTS (SELECT FROM profile AS p
                          WHERE p.ann = substring(c.relname FROM '[0-9]+$')::int)
        ORDER BY c.relname);

-- Whether this role can make indexes on the tables.
CREATE OR REPLACE FUNCTION _owns_tables() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN pg_has_role(
        (SELECT c.relowner FROM pg_class AS c WHERE c.oid = 'trace'::regclass), 'USAGE');

-- The advisory lock for making or dropping own indexes, one at a time: maintain() holds it until
-- the end of its transaction, the command memoir maintain until the end of its session.
CREATE OR REPLACE FUNCTION _index_lock() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended('memoir own indexes', 0);

-- The smallest number that no user and no index has.
CREATE OR REPLACE FUNCTION _free_number() RETURNS int
    LANGUAGE sql STABLE
    RETURN (
        SELECT n FROM generate_series(1, 32767) AS n
        WHERE NOT EXISTS (SELECT FROM profile AS p WHERE p.ann = n)
          AND _own_indexes(n) = '{}'
        LIMIT 1);

-- From here on recall of the user uses the indexes with this number, which must exist, be valid and
-- be theirs; 0: none.
CREATE OR REPLACE FUNCTION _use_own_index(user_id text, number int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    -- What summary() says from here on, counted before the profile row is locked.
    told CONSTANT jsonb := (SELECT to_jsonb(s) FROM _summary(user_id) AS s WHERE number > 0);
BEGIN
    IF number > 0 AND cardinality(_own_indexes(number, user_id)) < 3 THEN
        RAISE EXCEPTION 'user "%" has no complete indexes trace_near_%, trace_words_% and '
                        'trace_leading_%', user_id, number, number, number
            USING ERRCODE = 'ME013', HINT = 'memoir maintain builds them.';
    END IF;
    IF NOT _lock_listed_user(user_id) AND number > 0 THEN
        RAISE EXCEPTION 'user "%" was purged', user_id
            USING ERRCODE = 'ME013', HINT = 'memoir maintain drops what was built.';
    END IF;
    UPDATE profile AS p
    SET ann = number, overview = _lasting_overview(p.user_id, told), updated_at = now()
    WHERE p.user_id = _use_own_index.user_id;
    -- Without indexes recall needs exact statistics.
    UPDATE profile AS p SET counted = 0, counted_up_to = 0
    WHERE p.user_id = _use_own_index.user_id AND p.ann = 0;
    PERFORM _compile_near_rows();
END $$;

-- Builds the indexes of a user at once; writers of memories wait until it commits. False: the table
-- was busy. The wait for it is short: writers and recalls queue behind it, and one of them may be
-- waiting for this transaction. That one would be cancelled for a deadlock if its deadlock_timeout
-- ended just then, so this gives up after a tenth of it.
CREATE OR REPLACE FUNCTION _build_own_index(user_id text, memories bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '100ms'
AS $$
DECLARE
    number CONSTANT int := _free_number();
    before CONSTANT text := current_setting('maintenance_work_mem');
    workers CONSTANT text := current_setting('max_parallel_maintenance_workers');
    statement text;
BEGIN
    BEGIN
        IF NOT _lock_listed_user(user_id) THEN
            RETURN false;
        END IF;
        LOCK TABLE trace IN SHARE MODE;
    EXCEPTION WHEN lock_not_available THEN
        RETURN false;
    END;
    PERFORM set_config('maintenance_work_mem', _build_memory(memories), true);
    FOREACH statement IN ARRAY _index_statements(user_id, number) LOOP
        BEGIN
            EXECUTE statement;
        EXCEPTION WHEN disk_full THEN
            -- A container gives parallel workers 64 MB of shared memory.
            PERFORM set_config('max_parallel_maintenance_workers', '0', true);
            EXECUTE statement;
        END;
    END LOOP;
    PERFORM set_config('maintenance_work_mem', before, true),
            set_config('max_parallel_maintenance_workers', workers, true);
    PERFORM _use_own_index(user_id, number);
    RETURN true;
END $$;

-- Drops indexes; false: the table was busy, and none is dropped.
CREATE OR REPLACE FUNCTION _drop_indexes(names name[]) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '100ms'
AS $$
DECLARE
    index_name name;
BEGIN
    FOREACH index_name IN ARRAY names LOOP
        EXECUTE format('DROP INDEX %I', index_name);
    END LOOP;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Removes a user's indexes: from here on all memories are compared. False: table busy.
CREATE OR REPLACE FUNCTION _drop_own_index(user_id text, number int) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '100ms'
AS $$
BEGIN
    PERFORM _lock_listed_user(user_id);
    IF NOT _drop_indexes(_own_indexes(number)) THEN
        RETURN false;
    END IF;
    PERFORM _use_own_index(user_id, 0);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- The vectors of another model are in no index yet.
CREATE OR REPLACE FUNCTION _forget_own_indexes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    UPDATE profile AS p SET ann = 0, counted = 0, counted_up_to = 0, updated_at = now()
    WHERE p.ann > 0;
    -- Nobody is looked up there any more; the next maintain() of the owner removes the rest.
    IF FOUND AND _owns_tables() THEN
        PERFORM _compile_near_rows();
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER forget_own_indexes AFTER UPDATE OF active, dimensions ON embedding_model
    FOR EACH ROW
    WHEN (OLD.active IS DISTINCT FROM NEW.active OR OLD.dimensions IS DISTINCT FROM NEW.dimensions)
    EXECUTE FUNCTION _forget_own_indexes();
