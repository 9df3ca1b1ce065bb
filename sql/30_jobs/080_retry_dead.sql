-- Wakes jobs that failed too often, once the cause is gone.
-- They start again with as many attempts as a new job has.
CREATE OR REPLACE FUNCTION retry_dead(kind text DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    number int;
BEGIN
    PERFORM _resolve_user(user_id) WHERE user_id IS NOT NULL;
    PERFORM _check_job_kind(kind) WHERE kind IS NOT NULL;
    UPDATE job AS j
    SET status = 'waiting', attempts = 0, run_at = now()
    WHERE j.status = 'dead' AND (retry_dead.user_id IS NULL OR j.user_id = retry_dead.user_id)
      AND (retry_dead.kind IS NULL OR j.kind = retry_dead.kind);
    GET DIAGNOSTICS number = ROW_COUNT;
    RETURN number;
END $$;

COMMENT ON FUNCTION retry_dead(text, text) IS
    'Puts dead jobs back into the queue, with all their attempts again, and returns how many. '
    'kind: only of this kind. user_id: only of this user; NULL: of everybody the caller may see. '
    'Errors: ME002 kind, ME006 user.';
