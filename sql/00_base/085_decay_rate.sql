-- The rate of decay for a half-life: ln 2 / half-life, per second; 0 for a kind that never decays.
-- Compiled modes and the retrieval log use it, so that both mean the same decay.
CREATE OR REPLACE FUNCTION _decay_rate(half_life_days float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(ln(2::float8) / (half_life_days * 86400), 0);
