-- The days that have a log: those for which export_day_log() gives a document. A client writes a
-- file for each of them, and none for the others.
CREATE OR REPLACE FUNCTION log_days(user_id text DEFAULT NULL, zone text DEFAULT 'UTC')
    RETURNS TABLE (day date, entries bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_zone CONSTANT text := _check_zone(zone);
BEGIN
    RETURN QUERY
    SELECT (e.created_at AT TIME ZONE in_zone)::date, count(*)
    FROM event AS e
    WHERE e.user_id = owner AND NOT _is_log(e.type)
    GROUP BY 1
    ORDER BY 1;
END $$;

COMMENT ON FUNCTION log_days(text, text) IS
    'The days on which something happened, oldest first: day, and how many entries its log has. '
    'Recalls and deletions, which pgmemoir notes for itself, do not count. zone: where the days '
    'are; default UTC. Errors: ME006 user, ME008 zone. Source: D3 2.2, 9.';
