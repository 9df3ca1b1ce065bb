-- The times a question names (_time_windows), widened: what happened is told a little later.
-- The widths are settings of a mode (mode.time_before and the columns after it).
CREATE OR REPLACE FUNCTION _asked_times(
    named tstzmultirange, before interval, after interval, after_day interval)
    RETURNS tstzmultirange
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT range_agg(tstzrange(
        lower(w) - before,
        upper(w) + CASE WHEN upper(w) - lower(w) <= interval '25 hours' THEN after_day
                        ELSE after END))
    FROM unnest(named) AS w;
END;
