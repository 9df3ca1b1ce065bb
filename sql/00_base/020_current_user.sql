-- Whose memory a call is about: the argument first, then the setting memoir.user_id (SET LOCAL
-- works through a pooler), then 'default'. A role subject to row-level security may name only the
-- user in the setting; otherwise it would be told that a user with memories has none.
--
-- Workers and administrators serve everybody (policy all_rows, sql/95_access). If the roles do not
-- exist, to_regrole is NULL and nobody does.
CREATE OR REPLACE FUNCTION _serves_everybody() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN coalesce(pg_has_role(to_regrole('memoir_worker'), 'USAGE')
                    OR pg_has_role(to_regrole('memoir_admin'), 'USAGE'), false);

-- Whether row-level security shows this role only the rows of memoir.user_id.
CREATE OR REPLACE FUNCTION _sees_one_user() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN row_security_active('trace'::regclass) AND NOT _serves_everybody();

CREATE OR REPLACE FUNCTION _resolve_user(user_id text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    own CONSTANT text := nullif(current_setting('memoir.user_id', true), '');
BEGIN
    user_id := coalesce(user_id, own, 'default');
    IF btrim(user_id, E' \t\r\n') = '' OR length(user_id) > 200 THEN
        RAISE EXCEPTION 'user_id must have 1 to 200 characters, not %',
                CASE WHEN btrim(user_id, E' \t\r\n') = '' THEN 0 ELSE length(user_id) END
            USING ERRCODE = 'ME006',
                  HINT = 'Pass user_id => ''alice'', or SET memoir.user_id = ''alice''.';
    END IF;
    -- After the comparison: a caller who asks for the own user does not pay for it (0.3 µs for the
    -- owner of the tables).
    IF user_id IS DISTINCT FROM own AND _sees_one_user() THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ME006',
            MESSAGE = CASE WHEN own IS NULL THEN format(
                          'role "%s" must say whose memory it is: memoir.user_id is not set',
                          current_user)
                      ELSE format('role "%s" may not use the memory of user "%s" while '
                                  'memoir.user_id is "%s"', current_user, user_id, own) END,
            HINT = format('Pass user_id => set_config(''memoir.user_id'', %1$L, true), or SET '
                          'LOCAL memoir.user_id = %1$L; in the transaction of the call. A role '
                          'that serves all users must be in memoir_worker or memoir_admin.',
                          -- Nobody is meant to share the memory of "default".
                          CASE WHEN user_id = 'default' THEN 'alice' ELSE user_id END);
    END IF;
    RETURN user_id;
END $$;
