-- The parts of the score that only the modes of D1, D2 and D3 use. Recency falls from 1 to
-- floor with the days since a time. Past e^-100 everything is equally old (a smaller
-- product would be an underflow error).
CREATE OR REPLACE FUNCTION _recency(
    rate float8, floor float8, whole_days boolean, at timestamptz, since timestamptz)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN floor + (1 - floor) * exp(-least(
        rate * greatest(CASE WHEN whole_days THEN date_part('day', at - since)
                             ELSE date_part('epoch', at - since) / 86400::float8 END, 0::float8),
        100::float8));

-- What relevance is multiplied by: importance ^ power x recency ^ power (D3 4.3: both 1).
-- Below 1e-60 it is 0.
CREATE OR REPLACE FUNCTION _multiplier(
    importance float8, importance_power float8, recency float8, recency_power float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN importance_power = 0 AND recency_power = 0 THEN 1::float8
        WHEN importance_power > 0 AND importance < 1e-15::float8 THEN 0::float8
        WHEN power(importance, importance_power) * power(recency, recency_power) < 1e-60::float8
            THEN 0::float8
        ELSE power(importance, importance_power) * power(recency, recency_power)
    END;

-- How much a memory is in use (D2 3.3.2), 0 to 1: how often it was recalled, and when last.
CREATE OR REPLACE FUNCTION _interaction(count int, recency_of_last float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(count / (1::float8 + count) * recency_of_last, 0::float8);
