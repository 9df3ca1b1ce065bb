-- The rolling summary of a user: written by jobs of that kind, replaced by anyone who knows better.
-- The next job starts from it, so that a correction of the user stays.
CREATE OR REPLACE FUNCTION set_rolling_summary(summary text, user_id text DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    given CONSTANT text := _trimmed(_redact(summary));
    most CONSTANT int := _config('summary_length');
BEGIN
    IF length(given) > most THEN
        RAISE EXCEPTION 'the summary has % characters, the limit is %', length(given), most
            USING ERRCODE = 'ME007', HINT = 'Shorten it, or raise setting summary_length.';
    END IF;
    INSERT INTO profile (user_id, rolling_summary, summarised_at) VALUES (owner, given, now())
    ON CONFLICT (user_id) DO UPDATE
    SET rolling_summary = excluded.rolling_summary, summarised_at = now(), updated_at = now();
END $$;

COMMENT ON FUNCTION set_rolling_summary(text, text) IS
    'Replaces the rolling summary of a user, which summary() returns; NULL or empty: none. At most '
    'setting summary_length characters. Errors: ME006 user, ME007 summary. Source: D3 2.1.';
