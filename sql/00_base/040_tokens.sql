-- The words of a text: English stems without stop words, and bigrams of Chinese, Japanese and
-- Korean runs: without a dictionary, a Chinese word in a sentence is found by its character pairs.
-- Plain ASCII takes the short way (9 µs a question); only the first 20,000 characters count.
CREATE OR REPLACE FUNCTION _tokens_unicode(content text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    cjk CONSTANT text := '[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+';
    not_word CONSTANT text := '[^[:alnum:]\u00aa-\u1fff\u2c00-\u2fff\u3040-\U0010ffff]+';
    head CONSTANT text := normalize(left(content, 20000), NFKC);
BEGIN
    RETURN tsvector_to_array(to_tsvector(
               'pg_catalog.english',
               regexp_replace(regexp_replace(head, cjk, ' ', 'g'), not_word, ' ', 'g')))
        || ARRAY(
               SELECT DISTINCT substr(run[1], i, 2)
               FROM regexp_matches(head, cjk, 'g') AS run,
                    generate_series(1, greatest(length(run[1]) - 1, 1)) AS i);
END $$;

CREATE OR REPLACE FUNCTION tokens(content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN octet_length(content) > length(content) THEN _tokens_unicode(content)
        ELSE tsvector_to_array(to_tsvector(
            'pg_catalog.english', regexp_replace(left(content, 20000), '[^A-Za-z0-9]+', ' ', 'g')))
    END;

COMMENT ON FUNCTION tokens(text) IS
    'Words of a text as recall compares them: English stems, numbers, and character bigrams of '
    'Chinese, Japanese and Korean. Array of text, each once; empty for a text without words.';
