-- Whose memory a call is about.
-- The argument wins, then the setting memoir.user_id (SET LOCAL works through a pooler), then
-- 'default'.
CREATE OR REPLACE FUNCTION _resolve_user(user_id text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    user_id := coalesce(user_id, nullif(current_setting('memoir.user_id', true), ''), 'default');
    IF btrim(user_id) = '' OR length(user_id) > 200 THEN
        RAISE EXCEPTION 'user_id must have 1 to 200 characters, not %', length(user_id)
            USING ERRCODE = 'ME006',
                  HINT = 'Pass user_id => ''alice'', or SET memoir.user_id = ''alice''.';
    END IF;
    RETURN user_id;
END $$;
