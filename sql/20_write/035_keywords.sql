-- The words that tell a memory from others, found by rule at once, without a model: at most five.
-- Identifiers weigh most, then CODES, Names and long words, three at most; of Chinese the words
-- that table synonym knows, else the runs between function characters. The first 1,000 characters
-- are read. A loop that keeps the best three: as one query it takes twice as long.
CREATE OR REPLACE FUNCTION _keywords(content text)
    RETURNS TABLE (keyword text, weight float8)
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    stop_words CONSTANT text[] := '{about,above,after,again,also,and,been,before,being,below,both,'
        'but,could,does,doing,down,during,each,ever,every,for,from,further,have,having,here,'
        'himself,how,into,its,just,like,more,most,much,myself,not,only,other,our,over,really,same,'
        'she,should,some,such,than,that,the,their,them,then,there,these,they,this,those,through,'
        'under,until,very,want,was,well,were,what,when,where,which,while,who,why,will,with,would,'
        'yes,you,your}';
    head text := left(content, 1000);
    words text[] := ARRAY['', '', ''];
    points int[] := '{3,3,3}';
    word text;
    point int;
BEGIN
    IF octet_length(head) > length(head) THEN
        head := normalize(head, NFKC);
    END IF;
    FOREACH word IN ARRAY
        string_to_array(regexp_replace(head, '[^A-Za-z0-9]+', ' ', 'g'), ' ')
    LOOP
        point := octet_length(word);
        IF word < '_' COLLATE "C" THEN
            point := point + CASE WHEN word ~ '[a-z][A-Z]|[A-Z][A-Z0-9][A-Z0-9]' THEN 6 ELSE 2 END;
        END IF;
        CONTINUE WHEN point <= points[3];
        word := lower(word);
        CONTINUE WHEN word = ANY (words) OR word = ANY (stop_words)
            OR octet_length(word) NOT BETWEEN 3 AND 40;
        IF point > points[1] THEN
            words := ARRAY[word, words[1], words[2]];
            points := ARRAY[point, points[1], points[2]];
        ELSIF point > points[2] THEN
            words := ARRAY[words[1], word, words[2]];
            points := ARRAY[points[1], point, points[2]];
        ELSE
            words := ARRAY[words[1], words[2], word];
            points := ARRAY[points[1], points[2], point];
        END IF;
    END LOOP;
    IF octet_length(head) = length(head) AND NOT _has_identifier(head) THEN
        FOR i IN 1..3 LOOP
            EXIT WHEN words[i] = '';
            keyword := words[i];
            weight := 0.2::float8 + 0.05::float8 * least(points[i], 14);
            RETURN NEXT;
        END LOOP;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT f.keyword, max(f.weight)
    FROM (
        SELECT i AS keyword, 1::float8 AS weight FROM unnest(_identifiers(head)) AS i
        UNION ALL
        SELECT u.word, 0.2::float8 + 0.05::float8 * least(u.point, 14)
        FROM unnest(words, points) AS u (word, point)
        UNION ALL
        SELECT k.keyword, k.weight FROM _keywords_cjk(head) AS k
    ) AS f
    WHERE length(f.keyword) BETWEEN 1 AND 100
    GROUP BY f.keyword
    ORDER BY max(f.weight) DESC, length(f.keyword) DESC, f.keyword
    LIMIT 5;
END $$;

-- Keywords as they are stored: trimmed, in lower case, each once.
CREATE OR REPLACE FUNCTION _check_keywords(keywords text[], most int) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    folded text[];
    bad text;
BEGIN
    IF keywords IS NULL THEN
        RETURN '{}';
    END IF;
    folded := ARRAY(SELECT DISTINCT lower(btrim(k, E' \t\r\n')) FROM unnest(keywords) AS k);
    SELECT coalesce(k, 'NULL') INTO bad
    FROM unnest(folded) AS k WHERE coalesce(length(k) NOT BETWEEN 1 AND 100, true) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a keyword must have 1 to 100 characters, not % ("%")',
                length(nullif(bad, 'NULL')), left(bad, 40)
            USING ERRCODE = 'ME008', HINT = 'keywords => ARRAY[''deploy'', ''blue green''].';
    END IF;
    IF cardinality(folded) > most THEN
        RAISE EXCEPTION '% keywords, at most % are taken', cardinality(folded), most
            USING ERRCODE = 'ME008', HINT = 'Pass the ones that tell this memory from others.';
    END IF;
    RETURN folded;
END $$;

CREATE OR REPLACE FUNCTION _check_memories(user_id text, memory_ids bigint[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    missing text;
BEGIN
    SELECT coalesce(a.id::text, 'NULL') INTO missing
    FROM unnest(memory_ids) AS a (id)
    WHERE NOT EXISTS (SELECT FROM memory AS m
                      WHERE m.user_id = _check_memories.user_id AND m.memory_id = a.id)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'no memory %', missing
            USING ERRCODE = 'ME012',
                  HINT = 'Pass ids of memories of this user, such as remember() returns.';
    END IF;
END $$;

-- A word may be a keyword for more than one reason: the user's counts before the model's, the
-- model's before the rule's.
CREATE OR REPLACE FUNCTION _write_keywords(
    user_id text, memory_id bigint, keywords text[], weights float8[], origin text)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO keyword AS k (user_id, keyword, memory_id, weight, origin)
    SELECT user_id, u.keyword, memory_id, coalesce(u.weight, 1), origin
    FROM unnest(keywords, weights) AS u (keyword, weight)
    ON CONFLICT ON CONSTRAINT keyword_pkey DO UPDATE
    SET weight = excluded.weight, origin = excluded.origin
    WHERE excluded.origin = 'user_tag' OR k.origin <> 'user_tag';
END $$;
