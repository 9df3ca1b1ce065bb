-- The version of the installed SQL code. Clients compare it with their own, so that an old client
-- and a new database are noticed at once.
CREATE OR REPLACE FUNCTION pgmemoir_version() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN '0.1.0';

COMMENT ON FUNCTION pgmemoir_version() IS
    'Version of the installed pgmemoir SQL code, as text such as 0.1.0.';
