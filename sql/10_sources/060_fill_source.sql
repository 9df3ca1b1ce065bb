-- Reads what is already in an attached table, one batch per call, so that the caller can commit in
-- between. If it is stopped at any point, the next call goes on.
CREATE OR REPLACE FUNCTION fill_source(
    name text, most int DEFAULT NULL, anew boolean DEFAULT false,
    OUT read_rows int, OUT written int, OUT waiting bigint, OUT complete boolean)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    s source := _known_source(name, true);
    batch CONSTANT int := _check_number(
        coalesce(most, _config('source_batch')::int), 'most', 100000);
BEGIN
    IF anew OR s.last_read IS NULL THEN
        UPDATE source AS o
        SET read_up_to = NULL, complete = false, last_read = now(),
            checking = CASE WHEN EXISTS (SELECT FROM _source_users(name)) THEN '["", ""]'::jsonb END
        WHERE o.name = s.name
        RETURNING o.* INTO s;
        -- What the application holds is just being written, so nothing of it is due. Of some rows
        -- nothing is known, not even the key: whichever they were, they are read now.
        WITH free AS MATERIALIZED (
            SELECT e.user_id, e.error_id FROM source_error AS e
            WHERE e.source = s.name FOR UPDATE SKIP LOCKED
        ), again AS (
            UPDATE source_error AS e SET attempts = 0
            FROM free AS f
            WHERE e.user_id = f.user_id AND e.error_id = f.error_id AND e.attempts > 0
              AND NOT (e.user_id = '' AND e.source_key = '' OR coalesce(e.place = '[]', false))
        )
        DELETE FROM source_error AS e
        USING free AS f
        WHERE e.user_id = f.user_id AND e.error_id = f.error_id
          AND (e.user_id = '' AND e.source_key = '' OR e.place = '[]');
    END IF;
    IF NOT s.complete THEN
        SELECT r.read_rows, r.written, r.at_end AND s.checking IS NULL
        INTO read_rows, written, complete FROM _read_next(s, batch) AS r;
    ELSIF s.checking IS NOT NULL THEN
        SELECT 0, g.* INTO read_rows, written, complete FROM _check_gone(s, batch) AS g;
    ELSE
        SELECT a.*, true INTO read_rows, written, complete FROM _try_again(s, NULL, batch) AS a;
    END IF;
    waiting := (SELECT count(*) FROM source_error AS e WHERE e.source = s.name);
END $$;

COMMENT ON FUNCTION fill_source(text, int, boolean) IS
    'Takes the rows of an attached table or query into memory, from where the last call ended: '
    'CALL memoir.read_source(name) calls it until it is complete. most: how many rows at most, 1 '
    'to 100000, default setting source_batch. anew: begins again with the first row; this and the '
    'calls without anew that follow also take what was changed without a trigger, bring back '
    'memories that were purged, and in the end forget those whose rows are gone. Returns '
    'read_rows, written (how many memories changed), waiting (rows that could not be taken: '
    'source_error tells why; once complete, each call tries them again) and complete: nothing is '
    'left to read. Writers of the rows of one batch wait until it commits. Where a user has '
    'switched memory off nothing is stored; beginning anew catches up. Errors: ME008 most, ME016 '
    'no such source.';
