-- What is made between migrations, when nobody reads warnings, is for its owner alone: others may
-- have got rights on it by ALTER DEFAULT PRIVILEGES, and PUBLIC may call every new function.
-- object: as REVOKE names it.
CREATE OR REPLACE FUNCTION _keep_to_owner(object text, rights aclitem[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    others CONSTANT text := (
        SELECT string_agg(DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC'
                                   ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ')
        FROM aclexplode(rights) AS a WHERE a.grantee <> a.grantor);
BEGIN
    IF others IS NOT NULL THEN
        EXECUTE format('REVOKE ALL ON %s FROM %s', object, others);
    END IF;
END $$;
