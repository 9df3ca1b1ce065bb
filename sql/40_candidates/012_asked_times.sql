-- The times a question names (_time_windows), widened: what happened is told a little later, and
-- what is told then counts half. The widths are settings of a mode (mode.time_before and the
-- columns after it).
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

CREATE OR REPLACE FUNCTION _timely(
    created_at timestamptz, named tstzmultirange, around tstzmultirange, boost float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN created_at <@ around
                THEN boost * CASE WHEN created_at <@ named THEN 1 ELSE 0.5::float8 END
                ELSE 0 END;
