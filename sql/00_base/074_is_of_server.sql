-- Whether an error means that the server could not do it (a deadlock, lock_timeout, a full disk, a
-- shutdown, another server that does not answer), not that the input is wrong. Code that records
-- errors of a job or a row lets it through: nothing is done then, no attempt is counted, and the
-- next call does it.
CREATE OR REPLACE FUNCTION _is_of_server(code text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(code, 2) IN ('08', '40', '53', '57', '58', 'XX') OR code = '55P03';
