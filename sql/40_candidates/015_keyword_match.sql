-- Which memories have the keywords of a question (D2 3.3.1). A prefix is a range of the primary key
-- of table keyword, whose order is that of bytes: no pattern, so % and .* are plain characters.

-- Synonyms of a word with their similarity, in any form of the word: deployments and the stem of
-- it have those of deploy.
CREATE OR REPLACE FUNCTION _synonyms(word text)
    RETURNS TABLE (synonym text, similarity float8)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.synonym, max(s.similarity)
    FROM (
        SELECT unnest(e.spellings) AS synonym, e.similarity
        FROM (SELECT _terms(word) AS terms, _term(word) AS itself OFFSET 0) AS t, expansion AS e
        WHERE e.lead = ANY (t.terms || t.itself)
          AND coalesce(e.needs, ARRAY[e.need]) IN (t.terms, ARRAY[t.itself])
    ) AS s
    GROUP BY s.synonym;
END;

-- The score of a memory: for each word the best of match x weight of the keyword, averaged over the
-- words; match is 1.0 for the word itself, 0.8 for a keyword that begins with it or with its stem
-- (3 characters or more, 2 of Chinese, Japanese or Korean), 0.7 for a synonym.
CREATE OR REPLACE FUNCTION _keyword_match(user_id text, words text[])
    RETURNS TABLE (memory_id bigint, score float8, matched text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    asked CONSTANT text[] := ARRAY(
        SELECT DISTINCT lower(btrim(w, E' \t\r\n')) FROM unnest(words) AS w
        WHERE btrim(w, E' \t\r\n') <> '' LIMIT 200);
BEGIN
    RETURN QUERY
    WITH form AS MATERIALIZED (
        SELECT w AS word, w COLLATE "C" AS low, w COLLATE "C" AS high, 1.0::float8 AS match
        FROM unnest(asked) AS w
        UNION ALL
        SELECT w, p.prefix, p.prefix || U&'\+10FFFF', 0.8::float8
        FROM unnest(asked) AS w,
             LATERAL (SELECT w UNION SELECT t FROM unnest(tokens(w)) AS t
                      WHERE w ~ '^[[:alpha:]]+$' AND starts_with(w, t)) AS p (prefix)
        WHERE length(p.prefix) >= CASE WHEN octet_length(p.prefix) > length(p.prefix)
                                       THEN 2 ELSE 3 END
        UNION ALL
        SELECT w, s.synonym, s.synonym, 0.7::float8
        FROM unnest(asked) AS w, LATERAL (SELECT s.synonym FROM _synonyms(w) AS s) AS s
    ), best AS (
        SELECT f.word, k.memory_id, max(f.match * k.weight) AS value,
               array_agg(DISTINCT k.keyword) AS matched
        FROM form AS f
        JOIN keyword AS k ON k.user_id = _keyword_match.user_id
                         AND k.keyword >= f.low AND k.keyword <= f.high
        GROUP BY f.word, k.memory_id
    )
    SELECT b.memory_id, sum(b.value) / cardinality(asked),
           ARRAY(SELECT DISTINCT m::text FROM unnest(string_to_array(
               string_agg(array_to_string(b.matched, E'\n'), E'\n'), E'\n')) AS m ORDER BY 1)
    FROM best AS b
    GROUP BY b.memory_id;
END $$;
