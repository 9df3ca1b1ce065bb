-- Whether this session loads a dump: pg_dump has both set before any row, and nobody else does.
-- Into tables that are there already (a dump of data alone, or the extension road, where CREATE
-- EXTENSION makes them) rows come through the triggers, and some must not act on them. Functions of
-- memoir have their own search path: what they write is not what the dump writes.
CREATE OR REPLACE FUNCTION _restoring() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('search_path') = ''
       AND current_setting('check_function_bodies') = 'off';
