-- How many scored candidates go on to selection: the number of the mode, and more for a large
-- budget. If half of them are in the block and a tenth of the budget is left (not _enough), lines
-- are short, and recall asks again for _more_candidates. This depends only on the memories, so a
-- recall can be repeated.
CREATE OR REPLACE FUNCTION _candidate_limit(candidate_limit int, budget int) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN greatest(candidate_limit, budget / 20);

CREATE OR REPLACE FUNCTION _more_candidates(candidate_limit int) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN least(4 * candidate_limit, 1000);

CREATE OR REPLACE FUNCTION _enough(
    candidates int, candidate_limit int, lines int, line_limit int, spent float8, budget float8)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN spent >= 0.9::float8 * budget OR 2 * lines < candidate_limit OR lines >= line_limit
        OR coalesce(candidates, 0) < candidate_limit OR candidate_limit >= 1000;
