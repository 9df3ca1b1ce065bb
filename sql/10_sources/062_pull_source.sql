-- Reads what changed. Of a query: rows newer than the last one read, or all rows if no column says
-- when they changed. Of a table, which triggers follow: the rows that failed. A row from the future
-- counts as of when it was read: no other one may be newer for years.
CREATE OR REPLACE FUNCTION pull_source(
    name text, most int DEFAULT NULL,
    OUT read_rows int, OUT written int, OUT waiting bigint, OUT complete boolean)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    s CONSTANT source := _known_source(name, true);
    batch CONSTANT int := _check_number(
        coalesce(most, _config('source_batch')::int), 'most', 100000);
    tried int := 0;
    taken int := 0;
BEGIN
    IF NOT s.follows AND s.complete AND s.checking IS NULL THEN
        -- First, so that none is tried twice: what is newer may not hold them.
        SELECT a.* INTO tried, taken FROM _try_again(s, NULL, batch) AS a;
        UPDATE source AS o
        SET complete = false,
            read_up_to = CASE WHEN s.mapping ? 'changed_at' AND s.read_up_to ->> 0 <> '-infinity'
                              THEN jsonb_build_array('since', CASE s.read_up_to ->> 0
                                  WHEN 'since' THEN s.read_up_to ->> 1
                                  ELSE (least((s.read_up_to ->> 0)::timestamptz, s.last_read)
                                        - make_interval(secs => _config('source_overlap_seconds'))
                                       )::text END)
                         END,
            checking = CASE WHEN NOT s.mapping ? 'changed_at' THEN '["", ""]'::jsonb END
        WHERE o.name = name;
    END IF;
    SELECT f.* INTO read_rows, written, waiting, complete FROM fill_source(name, batch) AS f;
    read_rows := read_rows + tried;
    written := written + taken;
END $$;

COMMENT ON FUNCTION pull_source(text, int) IS
    'Takes in what changed in an attached query or view since it was last read, and rows that '
    'failed. With changed_at '
    'in the mapping it reads from some minutes before the newest row (setting '
    'source_overlap_seconds), and read_source(name, anew => true) finds rows that are gone; '
    'without, it reads all rows and finds those too. For a table it only tries failed rows. '
    'most, the result and the errors are those of fill_source(): call it until complete. The '
    'query runs read-only, with the rights of who attached it; a statement_timeout of the caller '
    'ends it.';
