-- Whether this session loads a dump: pg_dump and pg_restore set both before any row, nobody else does.
-- Into tables that are there already (a dump of data alone, or the extension road, where CREATE
-- EXTENSION makes them) rows come through the triggers, and some must not act on them.
CREATE OR REPLACE FUNCTION _restoring() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN current_setting('check_function_bodies') = 'off'
       AND current_setting('row_security') = 'off';
