-- A text whose white space is plain spaces, for expressions about words: in an expression [ ] says
-- so. A class such as \s makes those with Chinese characters take up to five times as long to
-- compile, and means other characters in other locales. chr() and not E'\u0085': CREATE EXTENSION
-- reads the whole script before its first line can tell that the database is not in UTF8.
CREATE OR REPLACE FUNCTION _one_line(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(
        content,
        E'\t\n\u000b\f\r' || chr(133) || chr(160) || chr(8232) || chr(8233) || chr(12288),
        '          ');
