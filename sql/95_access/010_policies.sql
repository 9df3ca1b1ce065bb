-- Row-level security on every table with rows of users (_has_user): a role that does not own the
-- tables sees the rows of memoir.user_id, and none without that setting. Other tables are
-- configuration, which everybody may read: an event trigger that secures every new table (managed
-- services offer one) would leave all but the owner without kinds and modes. Which tables a role
-- may read or write at all is in 030_roles.sql.
CREATE OR REPLACE FUNCTION _secure_tables() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_table record;
BEGIN
    FOR found_table IN
        SELECT c.oid::regclass AS owned, c.relrowsecurity AS secured
        FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
          AND _has_user(c.oid)
        ORDER BY c.relname
    LOOP
        IF NOT found_table.secured THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', found_table.owned);
        END IF;
        PERFORM _own_rows(found_table.owned);
    END LOOP;
    FOR found_table IN SELECT h.hidden FROM _hidden_configuration() AS h (hidden) LOOP
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', found_table.hidden);
    END LOOP;
END $$;
