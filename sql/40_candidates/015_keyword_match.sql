-- Which memories have the keywords of a question (D2 3.3.1). A prefix is a range of the primary key
-- of table keyword, whose order is that of bytes: no pattern, so % and .* are plain characters.

-- Synonyms of a word with their similarity, in any form of the word: deployments and its stem have
-- the synonyms of deploy.
CREATE OR REPLACE FUNCTION _synonyms(word text)
    RETURNS TABLE (synonym text, similarity float8)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.synonym, max(s.similarity)
    FROM (
        SELECT unnest(e.spellings) AS synonym, e.similarity
        FROM (SELECT _spelled_terms(word) AS terms, _term(word) AS itself OFFSET 0) AS t,
             expansion AS e
        WHERE e.lead = ANY (t.terms || t.itself)
          AND coalesce(e.needs, ARRAY[e.need]) IN (t.terms, ARRAY[t.itself])
    ) AS s
    GROUP BY s.synonym;
END;

-- The ranges of keywords that a word matches: match is 1.0 for the word itself, also in simplified
-- characters or without accents, 0.8 for a keyword that begins with it or with its stem (3
-- characters or more, 2 of Chinese, Japanese or Korean), 0.7 for a synonym.
CREATE OR REPLACE FUNCTION _keyword_forms(words text[])
    RETURNS TABLE (word text, low text, high text, match float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT w, w, w, 1.0::float8
    FROM unnest(words) AS w
    UNION ALL
    SELECT w, s, s, 1.0::float8
    FROM unnest(words) AS w, unnest(ARRAY[_simplified(w), _unaccented(w)]) AS s
    WHERE octet_length(w) > length(w) AND s <> w
    UNION ALL
    SELECT w, p.prefix, p.prefix || U&'\+10FFFF', 0.8::float8
    FROM unnest(words) AS w,
         LATERAL (SELECT w UNION SELECT _simplified(w) WHERE octet_length(w) > length(w)
                  UNION SELECT t FROM unnest(_written_tokens(w)) AS t
                  WHERE w ~ '^[[:alpha:]]+$' AND starts_with(w, t)) AS p (prefix)
    WHERE length(p.prefix) >= CASE WHEN octet_length(p.prefix) > length(p.prefix)
                                   THEN 2 ELSE 3 END
    UNION ALL
    SELECT w, s.synonym, s.synonym, 0.7::float8
    FROM unnest(words) AS w, _synonyms(w) AS s;
END $$;

-- The score of a memory: for each word the best of match x weight of the keyword, averaged over the
-- words. For users with indexes of their own: per_form, at most so many memories of each form, of
-- the word itself the newest; or pool, only these memories.
CREATE OR REPLACE FUNCTION _keyword_match(
    user_id text, words text[], per_form int DEFAULT NULL, pool bigint[] DEFAULT NULL)
    RETURNS TABLE (memory_id bigint, score float8, matched text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    asked CONSTANT text[] := ARRAY(
        SELECT DISTINCT _lower(btrim(w, E' \t\r\n')) FROM unnest(words) AS w
        WHERE btrim(w, E' \t\r\n') <> '' LIMIT 200);
BEGIN
    RETURN QUERY
    WITH form AS MATERIALIZED (
        SELECT f.word, f.low COLLATE "C" AS low, f.high COLLATE "C" AS high, f.match
        FROM _keyword_forms(asked) AS f
    ), hit AS (
        SELECT f.word, f.match, k.memory_id, k.keyword, k.weight
        FROM form AS f
        JOIN keyword AS k ON k.user_id = _keyword_match.user_id
                         AND k.keyword >= f.low AND k.keyword <= f.high
        WHERE pool IS NULL AND per_form IS NULL
        UNION ALL
        SELECT f.word, f.match, k.memory_id, k.keyword, k.weight
        FROM form AS f, LATERAL (
            SELECT k.memory_id, k.keyword, k.weight FROM keyword AS k
            WHERE k.user_id = _keyword_match.user_id
              AND k.keyword >= f.low AND k.keyword <= f.high
            ORDER BY k.keyword DESC, k.memory_id DESC
            LIMIT per_form) AS k
        WHERE pool IS NULL AND per_form IS NOT NULL
        UNION ALL
        SELECT f.word, f.match, k.memory_id, k.keyword, k.weight
        FROM form AS f
        JOIN (SELECT k.memory_id, k.keyword, k.weight FROM keyword AS k
              WHERE k.user_id = _keyword_match.user_id AND k.memory_id = ANY (pool)
              OFFSET 0) AS k ON k.keyword >= f.low AND k.keyword <= f.high
        WHERE pool IS NOT NULL
    ), best AS (
        SELECT h.word, h.memory_id, max(h.match * h.weight) AS value,
               array_agg(DISTINCT h.keyword) AS matched
        FROM hit AS h
        GROUP BY h.word, h.memory_id
    )
    SELECT b.memory_id, sum(b.value) / cardinality(asked),
           ARRAY(SELECT DISTINCT m::text FROM unnest(string_to_array(
               string_agg(array_to_string(b.matched, E'\n'), E'\n'), E'\n')) AS m ORDER BY 1)
    FROM best AS b
    GROUP BY b.memory_id;
END $$;
