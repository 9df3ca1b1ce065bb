-- How many scored candidates go on to selection: at least the mode's, and lines for one and a half
-- budgets (some are near-duplicates, some do not fit). 15 tokens a line until refresh_statistics
-- knows this user's mean; at most 1,000.
CREATE OR REPLACE FUNCTION _candidate_limit(candidate_limit int, budget int, mean_cost float8)
    RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(
        candidate_limit,
        least(1.5::float8 * budget / greatest(coalesce(mean_cost, 15), 1), 1000)::int);
