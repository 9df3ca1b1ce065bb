-- The words of a question that are to match keywords: found by the rule that finds the keywords of
-- a memory, and of those the ones that are a keyword (or begin one, or have a synonym) of some
-- memory: any other says nothing about this memory or that. With none the signal is missing.
CREATE OR REPLACE FUNCTION _asked_keywords(user_id text, query_text text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT k.keyword FROM _keywords(query_text) AS k
        WHERE EXISTS (SELECT FROM _keyword_match(_asked_keywords.user_id, ARRAY[k.keyword])));
END $$;
