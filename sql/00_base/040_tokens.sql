-- The words of a text: English stems without stop words, identifiers whole and in parts, and pairs
-- of Chinese, Japanese and Korean characters: without a dictionary, a Chinese word in a sentence is
-- found by its pairs. Plain prose takes a shortcut: 1 µs shows that it has no identifier. Only the
-- first 20,000 characters count.

-- What identifiers have and prose rarely has: a capital inside a word, or -_./\@ between two of its
-- characters; or a comma inside a number.
CREATE OR REPLACE FUNCTION _has_identifier(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN content ~ ('[a-z]{2}[A-Z][A-Za-z]|[A-Z]{2}[a-z]{2}|[A-Za-z0-9_][-_./\\@][A-Za-z0-9_]'
                      '|[0-9],[0-9]{3}');

-- An ASCII text with everything but its words blanked, with at least one space between them. Common
-- signs are replaced one by one in 1 µs. Each match of an expression takes another, so it does not
-- match spaces.
CREATE OR REPLACE FUNCTION _words_apart(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(replace(replace(replace(replace(replace(replace(replace(
        content, ',', ' '), '.', ' '), '''', ' '), '?', ' '), '!', ' '), ':', ' '), '-', ' '),
        '[^A-Za-z0-9 ]+', ' ', 'g');

-- The stems of a text's words, each once. Lower case first, by English rules: in a Turkish locale
-- to_tsvector makes different words of FAIL and fail. 0.1 µs.
CREATE OR REPLACE FUNCTION _stems(content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN tsvector_to_array(to_tsvector('pg_catalog.english', lower(content COLLATE "C")));

-- The identifiers of a text in lower case, as they are written: snake_case, kebab-case, a.b.c,
-- versions, paths and the file names in them. Not and/or, e.g, 3:30 or 2024-05-01: their parts are
-- already words. A version is the same with and without its v.
CREATE OR REPLACE FUNCTION _identifiers(content text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN ARRAY(
        WITH run AS MATERIALIZED (
            SELECT DISTINCT translate(lower(m[1] COLLATE "C"), '\', '/') AS run
            FROM regexp_matches(
                content, '[A-Za-z0-9]+(?:(?:_*[-./\\@]_*|_+)[A-Za-z0-9]+)+', 'g') AS m
        )
        SELECT r.run FROM run AS r WHERE r.run ~ '^[^a-z]*[a-z].*/' AND r.run ~ '/.*[-_./@0-9]'
        UNION
        SELECT p.part
        FROM run AS r, unnest(string_to_array(r.run, '/')) AS s (segment),
             LATERAL (VALUES (ltrim(s.segment, '_')),
                             (substring(s.segment, '^v([0-9]+\..+)$'))) AS p (part)
        WHERE translate(p.part, '-_.@', '') <> p.part AND p.part ~ '[a-z]|^[0-9.]+$'
          AND NOT (p.part LIKE '_._' AND translate(p.part, '0123456789', '') = p.part));
END $$;

-- The parts of camelCase, PascalCase and HTTPServer as separate words. A part of two letters counts
-- between others (getById, OutOfMemoryError), not at the start of a name (MySQLConnection). What is
-- longer than a name is encoded data: its parts are no words, and the lookbehind reads all that
-- stands before each of them.
CREATE OR REPLACE FUNCTION _camel_parts(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT string_agg(regexp_replace(regexp_replace(
               m[1], '(?<=([a-z]{2}|[a-z][A-Z][a-z])[0-9]?)(?=[A-Z][A-Za-z])', ' ', 'g'),
               '([A-Z])(?=[A-Z][a-z]{2})', '\1 ', 'g'), ' ')
    FROM regexp_matches(
        content, '[A-Za-z0-9]*(?:[a-z]{2}[A-Z][A-Za-z]|[A-Z]{2}[a-z]{2})[A-Za-z0-9]*', 'g')
        AS m
    WHERE length(m[1]) <= 200;
END;

-- 1,500 as 1500. Its parts stay words: 80,443 may be two ports.
CREATE OR REPLACE FUNCTION _grouped_numbers(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
BEGIN ATOMIC
    SELECT string_agg(replace(m[1], ',', ''), ' ')
    FROM regexp_matches(
        content, '(?<![A-Za-z0-9,.])[0-9]{1,3}(?:,[0-9]{3})+(?![A-Za-z0-9])', 'g') AS m;
END;

-- The words of a text with identifiers; plain is the text with everything but words blanked.
CREATE OR REPLACE FUNCTION _tokens_identifiers(content text, plain text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _stems(concat_ws(
               ' ', plain, _camel_parts(content),
               CASE WHEN content ~ '[0-9],[0-9]{3}' THEN _grouped_numbers(content) END))
           || _identifiers(content);
END $$;

-- A run of Chinese, Japanese or Korean characters.
CREATE OR REPLACE FUNCTION _cjk_run() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '[\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff'
        '\U00020000-\U0003ffff]+';

-- A text of any script with everything blanked except words between spaces or signs, so text
-- without spaces between its words is blanked too. The signs of other scripts and emoji are left
-- out of the ranges by name: to a database whose LC_CTYPE is C they would be letters, and «Bremen»
-- another word than Bremen.
CREATE OR REPLACE FUNCTION _spaced_words(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(
        regexp_replace(content, _cjk_run(), ' ', 'g'),
        '[^ [:alnum:]\u00aa\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02c1\u02c6-\u02d1\u0300-\u0374'
        '\u0376-\u037d\u037f-\u0386\u0388-\u0559\u0560-\u0588\u0590-\u05bd\u05bf\u05c1-\u05c2'
        '\u05c4-\u05c5\u05c7-\u05f2\u0610-\u061a\u0620-\u0669\u066e-\u06d3\u06d5-\u06fc\u06ff'
        '\u0710-\u0963\u0966-\u096f\u0971-\u0df3\u0df5-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59'
        '\u0e5c-\u0f00\u0f18-\u1049\u1050-\u135f\u1369-\u17d3\u17dc-\u17ff\u180b-\u1fff'
        '\u2c00-\u2dff\u3040-\ud7ff\uf900-\ufd3d\ufd50-\ufdff\ufe10-\ufffb\U00010000-\U0001efff'
        '\U00020000-\U0010ffff]+',
        ' ', 'g');

-- Single characters that are words and seldom mean something else inside a longer one: a question
-- about 我家猫 means the 猫 of 一只猫. All characters as words would lose as many questions as they find.
CREATE OR REPLACE FUNCTION _short_nouns() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '[猫狗犬鱼鸟兔猪羊牛马鸡鸭鹅虾蟹蛇鼠虫茶酒奶粥饭面米菜肉蛋糖盐醋汤饼果瓜豆车船伞鞋袜帽裤裙衣包'
           '表钟灯床门窗桌椅碗杯刀锅书笔琴棋球药钱卡票锁花草树雨雪风山河湖海手脚腿头眼耳鼻牙嘴脸腰背胃爸'
           '妈哥姐弟妹爷叔姨家店楼屋房病梦]';

-- Pairs of characters are words, except those with a purely grammatical character: they are the 是什
-- and 的数 of a question, and would outweigh its words. In Japanese a particle after Chinese
-- characters or katakana is not part of the word: 車を and 車は are 車. Lists are constants in the
-- statement: a pair is looked up by its hash, in a fifth of the time. No expression where translate
-- does: a connection keeps 32, and English and Chinese texts and questions need more already.
CREATE OR REPLACE FUNCTION _character_pairs(content text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    IF content ~ '[\u3041-\u3096]' THEN
        content := regexp_replace(
            content, '(?<=[\u30a1-\u30fc\u3400-\u9fff])[はがをのにへともでや]', ' ', 'g');
    END IF;
    RETURN ARRAY(
        SELECT pair
        FROM regexp_matches(content, _cjk_run(), 'g') AS run,
             string_to_array(run[1], NULL) AS chars,
             unnest(chars, chars[2:]) AS p (first, second),
             LATERAL (SELECT p.first || coalesce(p.second, '')) AS c (pair)
        WHERE (p.second IS NOT NULL OR cardinality(chars) = 1)
          AND (translate(pair, '的吗呢吧啊呀嘛么们我你您她它这那哪谁怎什是很', '') = pair
               AND right(pair, 1) <> '了'
               OR pair IN ('目的', '自我', '刹那', '完了', '終了', '终了'))
          AND pair NOT IN (
              '如何', '为何', '多少', '几个', '一个', '一些', '一下', '可以', '已经', '因为', '所以', '但',
              '以及', '或者', '并且', '而且', '还有', '时候', '之前', '之后', '关于', '对于', '请问', 'です',
              'ます', 'すか', 'でし', 'まし', 'した', 'ませ', 'せん', '니다', '습니', '입니', '합니', '니까',
              '어요', '아요', '해요', '예요', '에요')
        UNION
        SELECT noun[1] FROM regexp_matches(content, _short_nouns(), 'g') AS noun);
END $$;

-- English with dashes and curly quotes, as models and phones write it, is read as ASCII.
CREATE OR REPLACE FUNCTION _tokens_unicode(content text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    -- Without invisible characters: a soft hyphen, or a zero-width space that came with copied
    -- text.
    head text := translate(left(content, 20000), E'\u00ad\u200b\u2060\ufeff', '');
    blanked CONSTANT text := translate(head, '–—‘’“”…•', '        ');
    words text[];
BEGIN
    IF octet_length(blanked) = length(blanked) THEN
        RETURN tokens(blanked);
    END IF;
    IF _has_accents(head) THEN
        words := _accented_stop_words(head);
        head := _unaccented(head);
    ELSE
        head := normalize(head, NFKC);
    END IF;
    IF head ~ _cjk_run() THEN
        head := _simplified(head);
        IF _has_numeral(head) THEN
            head := _with_digits(head);
        END IF;
        words := words || _character_pairs(head);
    END IF;
    RETURN words || CASE WHEN octet_length(head) = length(head) THEN _tokens_ascii(head)
                         WHEN _has_identifier(head)
                         THEN _tokens_identifiers(head, _spaced_words(head))
                         ELSE _stems(_spaced_words(head)) END;
END $$;

-- ASCII prose, of any number of lines, without identifiers and without signs that the parser of
-- to_tsvector takes for parts of numbers, hosts or tags: its words are found without changes. In
-- LoCoMo this holds for 94 % of the questions and 65 % of the turns; 27 % more turns have only
-- signs like " - " and [...]. Blanking the signs first takes 14 µs of a recall.
CREATE OR REPLACE FUNCTION _is_plain(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN content !~ '[A-Za-z][A-Z]|[^A-Za-z0-9 \n,;?!''"():.\[\]-]|[.:-][^ \n]|[0-9],[0-9]{3}'
        AND octet_length(content) <= 20000;

-- An ASCII text with identifiers or other signs. A separate function, because few texts need it:
-- inline, its setup takes 7 µs of every statement that asks for words.
CREATE OR REPLACE FUNCTION _tokens_ascii(content text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    head CONSTANT text := left(content, 20000);
    plain CONSTANT text := _words_apart(head);
BEGIN
    RETURN CASE WHEN _has_identifier(head) THEN _tokens_identifiers(head, plain)
                ELSE _stems(plain) END;
END $$;

CREATE OR REPLACE FUNCTION tokens(content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN _is_plain(content) THEN _stems(content)
                WHEN octet_length(content) > length(content) THEN _tokens_unicode(content)
                ELSE _tokens_ascii(content) END;

COMMENT ON FUNCTION tokens(text) IS
    'Words of a text as recall compares them: English stems and numbers; identifiers, versions, '
    'paths and error codes whole (lower case) besides their parts; character bigrams of Chinese, '
    'Japanese and Korean, and nouns of one character. Full-width forms equal plain ones, letters '
    'with accents those without, Chinese numerals digits; 1,500 is 1500 besides. Array of text, '
    'each once; empty for a text without words. Source: SPEC 2.5.';

-- Whether a word of table synonym, whose words are these, is known by this one of them: by its
-- pairs, not by a character of its own. STABLE as format is: called IMMUTABLE it is not inlined.
CREATE OR REPLACE FUNCTION _spells(token text, words text[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN length(token) > 1 OR token !~ _short_nouns()
        OR array_to_string(words, ' ') !~ format('[^ ]%1$s|%1$s[^ ]', token);

-- The words by which a word of table synonym is known.
CREATE OR REPLACE FUNCTION _spelled(word text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce(array_agg(t.token), '{}')
    FROM (SELECT tokens(word) AS words OFFSET 0) AS w, unnest(w.words) AS t (token)
    WHERE _spells(t.token, w.words);
END;

-- The parts of a text that may be keywords, as they were written.
CREATE OR REPLACE FUNCTION _written_tokens(content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(content) > length(content)
                THEN tokens(content) || _character_pairs(left(content, 20000))
                     || CASE WHEN _has_accents(content)
                             THEN _stems(_spaced_words(normalize(left(content, 20000), NFKC)))
                             ELSE '{}' END
                ELSE tokens(content) END;
