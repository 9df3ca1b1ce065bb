-- Says what is wrong with the arguments of a recall.
-- It is called only if something is, so that a good call does not pay for the words.
CREATE OR REPLACE FUNCTION _check_recall(
    mode text, budget int, query halfvec, dimensions int, at timestamptz)
    RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM mode AS m WHERE m.name = _check_recall.mode) THEN
        RAISE EXCEPTION USING
                  ERRCODE = 'ME001',
                  MESSAGE = coalesce('unknown mode "' || nullif(mode, '') || '"',
                                     'the mode is NULL or empty'),
                  DETAIL = 'Modes: ' || coalesce(
                      (SELECT string_agg(m.name, ', ' ORDER BY m.name) FROM mode AS m), 'none'),
                  HINT = 'SELECT name, description FROM memoir.mode lists them.';
    END IF;
    IF budget NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION 'budget must be 1 to 100000 tokens, not %',
                coalesce(nullif(budget, -2147483648)::text, 'NULL')
            USING ERRCODE = 'ME005', HINT = 'Leave it out for 800.';
    END IF;
    IF NOT (isfinite(at) AND at >= '1970-01-01 00:00:00+00') THEN
        RAISE EXCEPTION 'as_of % is out of range', at
            USING ERRCODE = 'ME011', HINT = 'Use a time from 1970 on; without one it is now.';
    END IF;
    PERFORM _check_vector(query, coalesce(dimensions, vector_dims(query)));
END $$;
