-- The times a question names, widened: what happened is told a little later. Empty for none.
-- Widths are settings of a mode (mode.time_before and its siblings).
CREATE OR REPLACE FUNCTION _asked_times(
    query_text text, at timestamptz, before interval, after interval, after_day interval)
    RETURNS tstzmultirange
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT range_agg(tstzrange(
        lower(w) - before,
        upper(w) + CASE WHEN upper(w) - lower(w) <= interval '25 hours' THEN after_day
                        ELSE after END))
    FROM unnest(_time_windows(query_text, at)) AS w;
END;
