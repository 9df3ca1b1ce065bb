-- Time decay, D0 1.2: 0.5 ^ (age / half-life), written with the rate ln 2 / half-life.
-- Clamped: exp(-800) would raise an underflow error, and a memory from the future counts as new.
CREATE OR REPLACE FUNCTION _decay(rate float8, age_seconds float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN rate = 0 THEN 1::float8
                ELSE exp(-least(rate * greatest(age_seconds, 0::float8), 500::float8)) END;
