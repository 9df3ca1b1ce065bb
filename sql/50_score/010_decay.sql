-- Time decay, D0 1.2: 0.5 ^ (age / half-life), written with the rate ln 2 / half-life.
-- A memory from the future counts as new, and past e^-50 (2e-22) everything is equally old: a
-- smaller score would be an underflow error, in a conversation (where scores are float4) one below
-- 1e-45.
CREATE OR REPLACE FUNCTION _decay(rate float8, age_seconds float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN rate = 0 THEN 1::float8
                ELSE exp(-least(rate * greatest(age_seconds, 0::float8), 50::float8)) END;
