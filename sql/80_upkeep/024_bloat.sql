-- How full the index is that recall reads. Memories stored by many users in turn split its pages in
-- the middle, and half of what a recall reads is empty: 2,372 bytes per memory instead of 1,500.

-- Bytes of an index row of trace, from a sample of up to 1,000 rows; NULL if there is none. 12 are
-- its header and its place in the page, 20 are for alignment.
CREATE OR REPLACE FUNCTION _entry_width() RETURNS float8
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    pages CONSTANT bigint := pg_relation_size('trace') / current_setting('block_size')::int;
    width float8;
BEGIN
    -- The columns of trace_scan, read from the catalogue: they are stated once, in the migration.
    EXECUTE format(
        'SELECT avg(32 + %s) FROM (SELECT t.* FROM trace AS t TABLESAMPLE SYSTEM (%s) '
        'WHERE t.active AND NOT t.wide LIMIT 1000) AS t',
        (SELECT string_agg(format('coalesce(pg_column_size(t.%I), 0)', a.attname), ' + ')
         FROM pg_attribute AS a WHERE a.attrelid = 'trace_scan'::regclass AND a.attnum > 0),
        least(100, 50000.0 / greatest(pages, 1)))
    INTO width;
    RETURN width;
END $$;

-- The size of trace_scan, and what it would be if rebuilt: the same while nothing is known of its
-- rows, as after pg_upgrade; both 0 where a restore has lost it. A page is filled to 90 % and then
-- by one more row, if that fits; the last row continues on the next page; two pages are the index's
-- own. For 12,000 memories it says 16.7 MB, and REINDEX makes 17.3.
CREATE OR REPLACE FUNCTION _scan_bloat(OUT bytes bigint, OUT needed bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    page CONSTANT int := current_setting('block_size')::int;
    room CONSTANT float8 := page - 40;
    entries CONSTANT float8 := (SELECT c.reltuples FROM pg_class AS c
                                WHERE c.oid = to_regclass('trace_scan'));
    width CONSTANT float8 := CASE WHEN entries > 0 THEN _entry_width() END;
BEGIN
    bytes := coalesce(pg_relation_size(to_regclass('trace_scan')), 0);
    needed := bytes;
    IF width > 0 THEN
        needed := ceil(entries / greatest(1, least(floor(room / width),
                                                   floor(room * 0.9 / width) + 1) - 1)) * page
                  + 2 * page;
    END IF;
END $$;

-- Whether rebuilding it gains enough to be worth an hour of disk and WAL: a third of its size, and
-- at least 8 MB.
CREATE OR REPLACE FUNCTION _is_bloated(bytes bigint, needed bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN bytes > 1.5 * needed AND bytes - needed > 8 * 1024 * 1024;

-- Copies of trace_scan that a stopped REINDEX left and nobody builds: each slows every insert.
CREATE OR REPLACE FUNCTION _left_over_copies() RETURNS name[]
    LANGUAGE sql STABLE
    RETURN ARRAY(
        SELECT c.relname
        FROM pg_class AS c JOIN pg_index AS i ON i.indexrelid = c.oid
        WHERE i.indrelid = 'trace'::regclass AND NOT i.indisvalid
          AND c.relname ~ '^trace_scan_cc(new|old)[0-9]*$'
          AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index AS b
                          WHERE b.relid = i.indrelid)
        ORDER BY c.relname);
