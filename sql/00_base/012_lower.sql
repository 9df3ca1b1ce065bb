-- Lower case for comparing words: English letters by English rules in any locale, the others by
-- those of the database's. In a Turkish one lower('ID') is no id.
CREATE OR REPLACE FUNCTION _lower(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(lower(content COLLATE "C") COLLATE "default");
