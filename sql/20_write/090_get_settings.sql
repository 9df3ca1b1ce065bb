-- What a user decided about memory (SPEC 8, D4 4.4). Unset values have their default; profile
-- computes the same for readers of a single one.
CREATE OR REPLACE FUNCTION _default_settings() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{"memory": true, "auto_extract": true, "confirm": false, "show_references": false}'
           ::jsonb;

CREATE OR REPLACE FUNCTION get_settings(user_id text DEFAULT NULL) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    RETURN _default_settings()
        || coalesce((SELECT p.settings FROM profile AS p WHERE p.user_id = owner), '{}');
END $$;

COMMENT ON FUNCTION get_settings(text) IS
    'All settings of a user as an object of booleans. memory (default true): whether memory is '
    'read and written at all. auto_extract (true): whether memories are drawn from conversations '
    'without asking. confirm (false): whether what an agent or a model adds waits for confirm(). '
    'show_references (false): whether blocks name the ids of their memories. Errors: ME006 user. '
    'Source: D4 4.4, 8.3.';
