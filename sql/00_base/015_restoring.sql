-- Whether this session loads a dump: pg_dump has set both of these before any row, and nobody else
-- does. In existing tables (a dump of data alone, or a database with the extension, where CREATE
-- EXTENSION makes them) rows pass through the triggers, and some of these must not act on them.
-- Functions of memoir have their own search path: what they write is not what the dump writes.
CREATE OR REPLACE FUNCTION _restoring() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('search_path') = ''
       AND current_setting('check_function_bodies') = 'off';
