-- Rebuilds what triggers derive from the configuration: on a cluster configuration has no triggers,
-- and elsewhere it repairs what a restore without triggers left behind.
CREATE OR REPLACE FUNCTION compile_configuration() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _refresh_redaction();
    PERFORM _refresh_constants();
    PERFORM _refresh_expansions();
    PERFORM _refresh_modes();
END $$;

COMMENT ON FUNCTION compile_configuration() IS
    'Rebuilds what recall and writes read of the configuration: of setting, mode, mode_weight, '
    'kind, synonym, redaction_rule and embedding_model. Triggers do that when a row changes; on a '
    'cluster, which has none there, call it after a change. Calling it once more changes nothing. '
    'Needs the owner of the functions. Error: ME008 redaction rules that cannot be used together.';
