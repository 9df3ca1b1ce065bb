-- Tells channel memoir what a write did to memories, when the transaction commits (SPEC 8). At most
-- 100 ids per message: with a user_id of 200 characters that is 3.6 kB of the 8 kB a payload may
-- have. PostgreSQL commits only one transaction with a notification at a time, so that many writers
-- store half as much: setting notify switches it off, and view outbox tells the same when polled.
CREATE OR REPLACE FUNCTION _notify(user_id text, event text, memory_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF _notifies() THEN
        FOR place IN 1 .. coalesce(cardinality(memory_ids), 0) BY 100 LOOP
            PERFORM pg_notify('memoir', jsonb_build_object(
                'event', event, 'user_id', user_id,
                'memory_ids', memory_ids[place : place + 99]::text[])::text);
        END LOOP;
    END IF;
END $$;
