-- Changes of the configuration take turns. What is derived from it is made of several tables and
-- written to one row a mode, so two statements that lock rows first and then wait for each other's
-- would be a deadlock. Each waits before it has locked anything, until the other is committed.
CREATE OR REPLACE FUNCTION _lock_configuration() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('memoir.configuration', 0));
END $$;

CREATE OR REPLACE FUNCTION _take_turns() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    PERFORM _lock_configuration();
    RETURN NULL;
END $$;

DO $$
DECLARE
    changed name;
BEGIN
    FOREACH changed IN ARRAY
        '{embedding_model,kind,mode,mode_weight,redaction_rule,setting,synonym}'::name[]
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER take_turns '
                       'BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I '
                       'FOR EACH STATEMENT EXECUTE FUNCTION _take_turns()', changed);
    END LOOP;
END $$;
