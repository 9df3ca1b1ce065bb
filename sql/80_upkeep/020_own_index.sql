-- Which users have indexes of their own. A user with many memories gets one index by vector and
-- one by words for himself alone: that beats an index shared by users (filtered afterwards, 0.4 ms
-- for each 1 / share of it) and, from about 4,500 memories on, comparing all. No row is changed by
-- it; everybody's inserts pay 2 µs for each such user.

-- Expected milliseconds of the search itself (DESIGN 3): all compared, or through his own indexes.
CREATE OR REPLACE FUNCTION _exact_cost(memories bigint) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 0.1::float8 + 0.0004::float8 * memories;

CREATE OR REPLACE FUNCTION _indexed_cost(memories bigint) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 0.5::float8 + 0.1::float8 * ln(greatest(memories, 1000) / 1000::float8);

-- Memory the build of an index by vector wants (maintenance_work_mem), up to 4 GB or what is set: a
-- graph that does not fit is built many times as slowly.
CREATE OR REPLACE FUNCTION _build_memory(memories bigint) RETURNS text
    LANGUAGE sql STABLE
    RETURN (
        SELECT greatest(
                   pg_size_bytes(current_setting('maintenance_work_mem')) / 1024,
                   least(memories * (2 * coalesce(e.dimensions, 0) + 800) / 1024, 4194304)) || 'kB'
        FROM embedding_model AS e WHERE e.active);

-- The names of the indexes with a number that are there and complete; an interrupted CONCURRENTLY
-- leaves an invalid one.
CREATE OR REPLACE FUNCTION _own_indexes(number int, only_valid boolean) RETURNS name[]
    LANGUAGE sql STABLE
    RETURN ARRAY(
        SELECT c.relname
        FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
        WHERE i.indrelid = 'trace'::regclass
          AND c.relname IN ('trace_near_' || number, 'trace_words_' || number)
          AND (i.indisvalid OR NOT only_valid)
        ORDER BY c.relname);

-- The smallest number that no user and no index has.
CREATE OR REPLACE FUNCTION _free_number() RETURNS int
    LANGUAGE sql STABLE
    RETURN (
        SELECT n FROM generate_series(1, 32767) AS n
        WHERE NOT EXISTS (SELECT FROM profile AS p WHERE p.ann = n)
          AND _own_indexes(n, false) = '{}'
        LIMIT 1);

-- From here on recall of the user takes his indexes. They must be there, valid and his.
CREATE OR REPLACE FUNCTION _use_own_index(user_id text, number int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF number > 0 AND cardinality(_own_indexes(number, true)) <> 2 THEN
        RAISE EXCEPTION 'the indexes trace_near_% and trace_words_% are not both there and valid',
                number, number
            USING ERRCODE = 'ME013', HINT = 'memoir maintain builds them.';
    END IF;
    INSERT INTO profile AS p (user_id, ann) VALUES (_use_own_index.user_id, number)
    ON CONFLICT ON CONSTRAINT profile_pkey DO UPDATE SET ann = excluded.ann, updated_at = now();
    PERFORM _compile_near_rows();
END $$;

-- Builds the indexes of a user at once; whoever writes memories waits until it commits.
CREATE OR REPLACE FUNCTION _build_own_index(user_id text, memories bigint) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    before CONSTANT text := current_setting('maintenance_work_mem');
    number int;
    statement text;
BEGIN
    -- One builds at a time, so that no number is given twice.
    LOCK TABLE trace IN SHARE MODE;
    number := _free_number();
    PERFORM set_config('maintenance_work_mem', _build_memory(memories), true);
    FOREACH statement IN ARRAY _index_statements(user_id, number) LOOP
        EXECUTE statement;
    END LOOP;
    PERFORM set_config('maintenance_work_mem', before, true);
    PERFORM _use_own_index(user_id, number);
    RETURN number;
END $$;

CREATE OR REPLACE FUNCTION _drop_own_index(user_id text, number int) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    index_name name;
BEGIN
    -- Without indexes recall wants statistics of exactly what is there.
    UPDATE profile AS p SET ann = 0, counted = 0, counted_up_to = 0, updated_at = now()
    WHERE p.user_id = _drop_own_index.user_id AND p.ann = number;
    PERFORM _compile_near_rows();
    FOREACH index_name IN ARRAY _own_indexes(number, false) LOOP
        EXECUTE format('DROP INDEX %I', index_name);
    END LOOP;
END $$;
