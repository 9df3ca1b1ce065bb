-- Changes what a user decided about memory; what is not named stays. An unknown name is refused: a
-- switch that does nothing would be believed.
CREATE OR REPLACE FUNCTION _check_settings(settings jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    wrong text;
BEGIN
    IF coalesce(jsonb_typeof(settings) <> 'object', true) THEN
        wrong := format('settings must be a JSON object, not %s', coalesce(settings::text, 'NULL'));
    ELSE
        SELECT CASE WHEN _default_settings() ? s.name
                    THEN format('setting "%s" must be true or false, not %s', s.name, s.value)
                    ELSE format('unknown setting "%s"', s.name) END
        INTO wrong
        FROM jsonb_each(settings) AS s (name, value)
        WHERE NOT (_default_settings() ? s.name AND jsonb_typeof(s.value) = 'boolean')
        ORDER BY s.name
        LIMIT 1;
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', left(wrong, 200)
            USING ERRCODE = 'ME008',
                  DETAIL = (SELECT 'Settings: ' || string_agg(name, ', ')
                            FROM jsonb_object_keys(_default_settings()) AS k (name)),
                  HINT = 'SELECT memoir.set_settings(''{"memory": false}'');';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION set_settings(settings jsonb, user_id text DEFAULT NULL) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    settings := _json_given(settings);
    PERFORM _check_settings(settings);
    PERFORM _lock_user(owner);
    INSERT INTO profile AS p (user_id, settings) VALUES (owner, set_settings.settings)
    ON CONFLICT (user_id) DO UPDATE
    SET settings = p.settings || excluded.settings, updated_at = now()
    WHERE p.settings || excluded.settings <> p.settings;
    RETURN get_settings(owner);
END $$;

COMMENT ON FUNCTION set_settings(jsonb, text) IS
    'Changes settings of a user and returns all of them, as get_settings() does. settings: an '
    'object of booleans under the names memory, auto_extract, confirm, show_references; one that '
    'is left out stays as it was. It counts from the next call on, in open sessions too. Errors: '
    'ME006 user, ME008 not an object, an unknown name or no boolean. Source: D4 4.4, 8.3.';
