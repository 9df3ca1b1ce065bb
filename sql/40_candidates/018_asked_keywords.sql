-- The words of a question that are to match keywords. These are the words found by the rule that
-- also finds the keywords of a memory, and shorter words that have a synonym (db, k8s), if some
-- memory has a keyword that equals, begins with or means the same; and any other word that is
-- itself a keyword, such as a short tag. A word that no memory has does not tell one memory from
-- another; nor, in a recall of the past (known_until), does a word that only later memories have.
CREATE OR REPLACE FUNCTION _asked_keywords(user_id text, query_text text, known_until timestamptz)
    RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    short CONSTANT text[] := ARRAY(
        SELECT t FROM unnest(tokens(query_text)) AS t
        WHERE octet_length(t) <= 3 AND EXISTS (SELECT FROM expansion AS e WHERE e.lead = _term(t)));
BEGIN
    RETURN ARRAY(
        SELECT k.keyword
        FROM (SELECT f.keyword FROM _keywords(query_text) AS f
              UNION ALL
              SELECT unnest(short)) AS k
        WHERE EXISTS (
            SELECT FROM _keyword_forms(ARRAY[k.keyword]) AS f, LATERAL (
                -- One probe of the index for each form, however many memories have it.
                SELECT FROM keyword AS h
                WHERE h.user_id = _asked_keywords.user_id
                  AND h.keyword >= f.low COLLATE "C" AND h.keyword <= f.high COLLATE "C"
                  AND (known_until = 'infinity' OR EXISTS (
                      SELECT FROM memory AS m
                      WHERE m.user_id = _asked_keywords.user_id AND m.memory_id = h.memory_id
                        AND m.created_at <= known_until))
                LIMIT 1) AS h)
        UNION
        SELECT w.word
        FROM (SELECT regexp_split_to_table(_lower(query_text), '[^[:alnum:]]+')
              UNION
              SELECT unnest(_written_tokens(query_text))
              LIMIT 400) AS w (word)
        WHERE EXISTS (SELECT FROM keyword AS k
                      WHERE k.user_id = _asked_keywords.user_id AND k.keyword = w.word
                        AND (known_until = 'infinity' OR EXISTS (
                            SELECT FROM memory AS m
                            WHERE m.user_id = _asked_keywords.user_id AND m.memory_id = k.memory_id
                              AND m.created_at <= known_until)))
        ORDER BY 1 LIMIT 200);
END $$;
