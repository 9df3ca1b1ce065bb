-- Rebuilds what triggers derive from the configuration: on a cluster configuration has no triggers,
-- and elsewhere it repairs what a restore without triggers, or of an older version, left behind.
CREATE OR REPLACE FUNCTION compile_configuration() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    -- As a statement that changes a mode does.
    LOCK TABLE mode IN ROW EXCLUSIVE MODE;
    PERFORM _lock_configuration();
    PERFORM _refresh_redaction();
    PERFORM _refresh_constants();
    PERFORM _refresh_expansions();
    PERFORM _refresh_modes();
    PERFORM _compile_sources();
END $$;

COMMENT ON FUNCTION compile_configuration() IS
    'Rebuilds what recall and writes read of the configuration: of setting, mode, mode_weight, '
    'kind, synonym, redaction_rule and embedding_model, and the functions of attached tables. '
    'Triggers and upgrades do that; on a cluster, which has no such triggers, call it after a '
    'change, and where a dump was restored into a newer extension. Calling it once more changes '
    'nothing. '
    'Needs the owner of the functions. Error: ME008 redaction rules that cannot be used together.';
