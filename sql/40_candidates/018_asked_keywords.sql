-- The words of a question that are to match keywords: those that the rule finds in it that finds
-- the keywords of a memory, if some memory has one that is, begins with or means the same; and any
-- other word that is a keyword as it stands, such as a short tag. A word that no memory has says
-- nothing about this one or that.
CREATE OR REPLACE FUNCTION _asked_keywords(user_id text, query_text text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT k.keyword FROM _keywords(query_text) AS k
        WHERE EXISTS (
            SELECT FROM _keyword_forms(ARRAY[k.keyword]) AS f, LATERAL (
                -- One probe of the index for each form, however many memories have it.
                SELECT FROM keyword AS h
                WHERE h.user_id = _asked_keywords.user_id
                  AND h.keyword >= f.low COLLATE "C" AND h.keyword <= f.high COLLATE "C"
                LIMIT 1) AS h)
        UNION
        SELECT w.word
        FROM (SELECT regexp_split_to_table(lower(query_text), '[^[:alnum:]]+')
              UNION
              SELECT unnest(tokens(query_text))
              LIMIT 400) AS w (word)
        WHERE EXISTS (SELECT FROM keyword AS k
                      WHERE k.user_id = _asked_keywords.user_id AND k.keyword = w.word)
        ORDER BY 1 LIMIT 200);
END $$;
