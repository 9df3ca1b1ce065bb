-- The words that tell a memory from others, found at once by rule, without a model: at most five.
-- Identifiers weigh most, then CODES, Names and long words, at most three. From Chinese text come
-- the words that table synonym knows, otherwise the runs between function characters. Only the
-- first 1,000 characters are read. Stop words are looked up only among the ten longest words.
CREATE OR REPLACE FUNCTION _long_words(words text)
    RETURNS TABLE (keyword text, weight float8)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT w.word, 0.2::float8 + 0.05::float8 * least(w.size, 14)
    FROM (
        SELECT lower(l.word COLLATE "C") AS word, max(l.size) AS size
        FROM (
            SELECT s.word,
                   length(s.word)
                   + CASE WHEN s.word > '_' COLLATE "C" THEN 0
                          WHEN s.word ~ '[a-z][A-Z]|[A-Z][A-Z0-9][A-Z0-9]' THEN 4
                          ELSE 2 END AS size
            FROM string_to_table(words, ' ') AS s (word)
            WHERE length(s.word) BETWEEN 3 AND 40
            ORDER BY size DESC, s.word COLLATE "C"
            LIMIT 10
        ) AS l
        WHERE l.size > 3
        GROUP BY 1
    ) AS w
    WHERE w.word NOT IN (
        'about', 'above', 'after', 'again', 'also', 'and', 'because', 'been', 'before', 'being',
        'below', 'between', 'both', 'but', 'could', 'does', 'doing', 'down', 'during', 'each',
        'ever', 'every', 'for', 'from', 'further', 'have', 'having', 'here', 'himself', 'how',
        'into', 'its', 'just', 'like', 'more', 'most', 'much', 'myself', 'not', 'only', 'other',
        'our', 'over', 'really', 'same', 'she', 'should', 'some', 'something', 'such', 'than',
        'that', 'the', 'their', 'them', 'then', 'there', 'these', 'they', 'thing', 'things', 'this',
        'those', 'through', 'under', 'until', 'very', 'want', 'was', 'well', 'were', 'what', 'when',
        'where', 'which', 'while', 'who', 'why', 'will', 'with', 'would', 'yes', 'you', 'your')
    ORDER BY w.size DESC, w.word COLLATE "C"
    LIMIT 3;
END;

CREATE OR REPLACE FUNCTION _mixed_keywords(head text)
    RETURNS TABLE (keyword text, weight float8)
    LANGUAGE plpgsql STABLE STRICT ROWS 5
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    ascii CONSTANT boolean := octet_length(head) = length(head);
    identifiers text[] := '{}';
BEGIN
    head := CASE WHEN ascii THEN head ELSE normalize(head, NFKC) END;
    IF _has_identifier(head) THEN
        identifiers := _identifiers(CASE WHEN ascii THEN head ELSE _unaccented(head) END);
    END IF;
    RETURN QUERY
    SELECT f.keyword, max(f.weight)
    FROM (
        SELECT i AS keyword, 1::float8 AS weight FROM unnest(identifiers) AS i
        UNION ALL
        SELECT _lower(k.keyword), k.weight
        FROM _long_words(CASE WHEN ascii THEN _words_apart(head) ELSE _spaced_words(head) END) AS k
        UNION ALL
        SELECT k.keyword, k.weight FROM _keywords_cjk(head) AS k WHERE NOT ascii
    ) AS f
    WHERE length(f.keyword) BETWEEN 1 AND 100
    GROUP BY f.keyword
    ORDER BY max(f.weight) DESC, length(f.keyword) DESC, f.keyword COLLATE "C"
    LIMIT 5;
END $$;

-- Plain prose takes a shortcut. What stands for a secret, [redacted:kind], is no word of the text.
-- This function is inlined into the query that calls it.
CREATE OR REPLACE FUNCTION _keywords(content text)
    RETURNS TABLE (keyword text, weight float8)
    LANGUAGE sql STABLE ROWS 3
BEGIN ATOMIC
    SELECT k.keyword, k.weight
    FROM (SELECT b.head, octet_length(b.head) = length(b.head) AND NOT _has_identifier(b.head)
                         AS prose
          FROM (SELECT CASE WHEN strpos(c.head, '[redacted:') > 0
                            THEN regexp_replace(c.head, '[[]redacted:[a-z0-9_]+[]]', ' ', 'g')
                            ELSE c.head END AS head
                FROM (SELECT CASE WHEN octet_length(content) > 1000 THEN left(content, 1000)
                                  ELSE content END AS head) AS c
                OFFSET 0) AS b
          OFFSET 0) AS h,
         LATERAL (
             SELECT l.keyword, l.weight FROM _long_words(_words_apart(h.head)) AS l WHERE h.prose
             UNION ALL
             SELECT m.keyword, m.weight FROM _mixed_keywords(h.head) AS m WHERE NOT h.prose
         ) AS k;
END;

-- A keyword as it is stored.
CREATE OR REPLACE FUNCTION _folded_keyword(keyword text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN _lower(btrim(_redact(keyword), E' \t\r\n'));

-- Keywords as they are stored, each once.
CREATE OR REPLACE FUNCTION _check_keywords(keywords text[], most int) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    folded text[];
    bad text;
BEGIN
    IF keywords IS NULL THEN
        RETURN '{}';
    END IF;
    folded := ARRAY(SELECT DISTINCT _folded_keyword(k) FROM unnest(keywords) AS k);
    SELECT coalesce(k, 'NULL') INTO bad
    FROM unnest(folded) AS k WHERE coalesce(length(k) NOT BETWEEN 1 AND 100, true) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a keyword must have 1 to 100 characters, not % ("%")',
                length(nullif(bad, 'NULL')), left(bad, 40)
            USING ERRCODE = 'ME008', HINT = 'A keyword is a word or two: deploy, blue green.';
    END IF;
    IF cardinality(folded) > most THEN
        RAISE EXCEPTION '% keywords, at most % are taken', cardinality(folded), most
            USING ERRCODE = 'ME008', HINT = 'Pass the ones that tell this memory from others.';
    END IF;
    RETURN folded;
END $$;

-- A word may be a keyword for more than one reason: the user's outranks the model's, and the
-- model's the rule's. The arrays run in parallel: a memory, a keyword of it, and its weight.
CREATE OR REPLACE FUNCTION _write_keywords(
    user_id text, memory_ids bigint[], keywords text[], weights float8[], origin text)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO keyword AS k (user_id, keyword, memory_id, weight, origin)
    SELECT user_id, u.keyword, u.memory_id, max(coalesce(u.weight, 1)), origin
    FROM unnest(memory_ids, keywords, weights) AS u (memory_id, keyword, weight)
    GROUP BY u.memory_id, u.keyword
    ORDER BY u.memory_id, u.keyword COLLATE "C"
    ON CONFLICT ON CONSTRAINT keyword_pkey DO UPDATE
    SET weight = excluded.weight, origin = excluded.origin
    WHERE excluded.origin = 'user_tag' OR k.origin <> 'user_tag';
END $$;
