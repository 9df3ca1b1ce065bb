-- Lower case for comparing words: English letters by English rules in any locale, other letters by
-- those of the database. In a Turkish one lower('ID') is not id.
CREATE OR REPLACE FUNCTION _lower(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(lower(content COLLATE "C") COLLATE "default");
