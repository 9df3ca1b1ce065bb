-- A text whose white space is plain spaces, for expressions about words: in an expression [ ] says
-- so. A class such as \s makes those with Chinese characters take up to five times as long to
-- compile, and means other characters in other locales.
CREATE OR REPLACE FUNCTION _one_line(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(content, E'\t\n\u000b\f\r\u0085\u00a0\u2028\u2029\u3000', '          ');
