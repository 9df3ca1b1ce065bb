-- A number from table setting, read on each call: an UPDATE takes effect at once. What every write
-- needs is a constant instead (016_constants).
CREATE OR REPLACE FUNCTION _config(name text) RETURNS float8
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT s.value::float8 FROM setting AS s WHERE s.name = _config.name);
END $$;

-- A number of days, as so many times 24 hours.
CREATE OR REPLACE FUNCTION _days(name text) RETURNS interval
    LANGUAGE sql STABLE
    RETURN _config(name) * interval '24 hours';

-- The trigger of a configuration table: rebuilds what is derived from it, by the function it names.
CREATE OR REPLACE FUNCTION _compile() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    EXECUTE format('SELECT %I()', TG_ARGV[0]);
    RETURN NULL;
END $$;
