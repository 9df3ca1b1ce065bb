-- Undoes 0013_sources.sql. First the functions made for attached tables, with their triggers: one
-- that is left without what it calls would refuse the application's writes.
DO $$
DECLARE
    made regprocedure;
BEGIN
    FOR made IN
        SELECT p.oid FROM pg_proc AS p
        WHERE p.pronamespace = current_schema()::regnamespace
          AND p.proname ~ '^_source_[0-9]+_(write|empty|read|log)$'
    LOOP
        EXECUTE format('DROP FUNCTION %s CASCADE', made);
    END LOOP;
END $$;
DELETE FROM setting WHERE name IN ('source_batch', 'source_attempts', 'source_overlap_seconds');
DROP TABLE source_error;
DROP TYPE source_row;
