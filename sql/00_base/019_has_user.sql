-- Whether the rows of a table belong to users: it has a column user_id. What purges a user, dumps
-- configuration or makes policies asks this, so that no table is forgotten.
CREATE OR REPLACE FUNCTION _has_user(relation oid) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM pg_attribute AS a
                   WHERE a.attrelid = relation AND a.attname = 'user_id');
