-- fill_source() until nothing is left, with a commit after each batch, and for the rows that failed
-- as long as that helps; then the keywords. From psql, pg_cron or any client. A procedure with a
-- SET clause cannot commit, so this one names its schema, as maintain_all() does.
DO $install$
BEGIN
    EXECUTE format($format$
CREATE OR REPLACE PROCEDURE read_source(name text, anew boolean DEFAULT false)
    LANGUAGE plpgsql
AS $procedure$
DECLARE
    complete boolean := false;
    first boolean := anew;
    owner text;
    after bigint;
BEGIN
    COMMIT;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    WHILE NOT complete LOOP
        complete := (SELECT f.complete FROM %1$I.fill_source(name, NULL, first) AS f);
        first := false;
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END LOOP;
    WHILE (SELECT f.written > 0 AND f.waiting > 0 FROM %1$I.fill_source(name) AS f) LOOP
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END LOOP;
    FOR owner IN SELECT u FROM %1$I._source_users(name) AS u LOOP
        after := 0;
        WHILE after IS NOT NULL LOOP
            after := (SELECT k.last_id FROM %1$I._source_keywords(owner, after, 1000) AS k);
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END LOOP;
    END LOOP;
END $procedure$
$format$, current_schema());
END $install$;

COMMENT ON PROCEDURE read_source(text, boolean) IS
    'Calls fill_source() until it is complete, then finds the keywords of the new memories, and '
    'commits after each batch (setting source_batch): CALL memoir.read_source(''tasks''), outside '
    'a transaction. anew: as of fill_source(). If it is stopped at any point, the next call '
    'continues. Errors: ME016 no such source.';
