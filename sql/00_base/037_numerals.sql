-- Chinese numerals as digits, in stored text and in questions: 二十五岁 is 25岁, 三楼 3楼, 十一月 11月,
-- 二〇二三年 2023年. Those below 10,000, and a single one only before a word that it counts or
-- numbers; not in 一点, 三天, 三万, 五一 or 一五一十.

-- 五, 十, 二十三: 1 to 99; NULL for anything else.
CREATE OR REPLACE FUNCTION _below_100(word text) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN length(word) = 1 OR word LIKE ANY ('{十_,_十,_十_}'::text[]) THEN nullif(
            10 * CASE strpos(word, '十') WHEN 0 THEN 0 WHEN 1 THEN 1
                                         ELSE nullif(strpos('一二三四五六七八九', left(word, 1)), 0) END
            + strpos('一二三四五六七八九', right(word, 1)), 0) END;

-- 一百零五, 二〇二三; NULL for what is no number of two characters or more.
CREATE OR REPLACE FUNCTION _numeral(word text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN translate(word, '〇零一二三四五六七八九', '') = '' THEN
            CASE WHEN word ~ '[〇零]|^一九..$'
                 THEN translate(word, '〇零一二三四五六七八九', '00123456789') END
        WHEN word ~ '(?x) ^ ([^〇零十百千]千)? (零? [^〇零十百千]百)?
                          (零? [^〇零十百千]? 十 [^〇零十百千]? | 零 [^〇零十百千])? $'
        THEN (SELECT sum(strpos('一二三四五六七八九', translate(digit, '两', '二'))
                         * CASE unit WHEN '千' THEN 1000 WHEN '百' THEN 100 WHEN '十' THEN 10
                                     ELSE 1 END)::text
              FROM (SELECT d.digit, lead(d.digit) OVER () AS unit
                    FROM string_to_table(
                        regexp_replace(word, '^十|(?<=零)十', '一十'), NULL) AS d (digit)) AS c)
        END;

-- Whether a text has such a numeral: 0.6 µs.
CREATE OR REPLACE FUNCTION _has_numeral(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN content ~ '[十百千〇零][一二三四五六七八九]|[一二三四五六七八九两][十百千]|一九'
        '|[一二三四五六七八九十两][楼层岁号月日点班室栋章期]';

CREATE OR REPLACE FUNCTION _with_digits(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    piece text;
    is_numeral boolean := false;
    replaced text := '';
BEGIN
    FOREACH piece IN ARRAY string_to_array(
        regexp_replace(translate(content, '¦', ' '), '(?x)
            ( (?<! [万亿一二三四五六七八九十百千〇零两] )
              (?: [一二三四五六七八九十百千〇零两]{2,} (?! [万亿一二三四五六七八九十百千〇零两] )
                | [一二三四五六七八九十两] (?= [楼层岁号月日班室栋章期] )
                | [二三四五六七八九十两] (?= 点 ) ) )', '¦\1¦', 'g'), '¦')
    LOOP
        replaced := replaced || CASE
            WHEN is_numeral THEN coalesce(_below_100(translate(piece, '两', '二'))::text,
                                          _numeral(piece), piece)
            ELSE piece END;
        is_numeral := NOT is_numeral;
    END LOOP;
    RETURN replaced;
END $$;
