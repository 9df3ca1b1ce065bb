-- A set of words as a sparse vector: position = hash of the word (28 bits of sha256, the same on
-- every machine). One inner product with it counts shared words, sums their weights or tells which
-- they are, exactly and in 70 ns a row (int4[] and bit(512) signatures: DESIGN 5).
CREATE OR REPLACE FUNCTION _term(word text) RETURNS int
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ('x' || encode(substr(sha256(convert_to(word, 'UTF8')), 1, 4), 'hex'))::bit(28)::int + 1;

-- The terms of a word of table synonym.
CREATE OR REPLACE FUNCTION _spelled_terms(word text) RETURNS int[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT _term(t.token) AS term
                 FROM (SELECT tokens(_spelled_terms.word) AS words OFFSET 0) AS w,
                      unnest(w.words) AS t (token)
                 WHERE _spells(t.token, w.words) ORDER BY term);
END $$;

-- The terms of a text in the order of their hashes: the first n are an even sample of a long text.
CREATE OR REPLACE FUNCTION _terms(content text) RETURNS int[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT DISTINCT _term(word) AS term FROM unnest(tokens(content)) AS word ORDER BY term);
END $$;
