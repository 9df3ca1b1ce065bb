-- The dates a text gives in words of the calendar: "in May 2023", "the 8th of May", "May 8th,
-- 2023", "2023-05-08", "05/08/2023", "last summer", "since 2019", 2023年5月8日, 去年夏天. A regular
-- expression without groups finds each as a whole (16 µs per question; with groups 250 µs per
-- date), then its few words are read one by one. English is matched with every word in brackets,
-- '<in><May><2023>', which needs no look-behind either.

-- The number a word stands for: digits, 五, 二十三, 二〇二三, three, a, few, March; else NULL.
CREATE OR REPLACE FUNCTION _number(word text) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN word = '' THEN NULL
        WHEN translate(word, '0123456789', '') = '' THEN left(word, 8)::int
        WHEN length(word) = 4 AND translate(word, '〇零一二三四五六七八九', '') = '' THEN
            translate(word, '〇零一二三四五六七八九', '00123456789')::int
        WHEN octet_length(word) > length(word) THEN _below_100(translate(word, '两几', '二四'))
        ELSE coalesce(
            array_position('{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'::text[],
                           left(lower(word COLLATE "C"), 3)),
            array_position(
                '{one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,'
                'fifteen,sixteen,seventeen,eighteen,nineteen,twenty}'::text[],
                lower(word COLLATE "C")),
            CASE lower(word COLLATE "C")
                WHEN 'a' THEN 1 WHEN 'an' THEN 1 WHEN 'couple' THEN 2 WHEN 'few' THEN 4
                WHEN 'several' THEN 4 WHEN 'thirty' THEN 30 END)
    END;

-- How a text says how many, for expressions.
CREATE OR REPLACE FUNCTION _counts() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '[1-9][0-9]{0,2}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve'
        '|fifteen|twenty|thirty|couple|few|several';

-- Which part of a time a word of _parts_marked names, in the form of _part; NULL for all of it.
CREATE OR REPLACE FUNCTION _part_written(word text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE
        WHEN w[2] IN ('early', 'start', 'beginning') THEN 'third 1'
        WHEN w[2] IN ('mid', 'middle') THEN 'third 2'
        WHEN w[2] IN ('late', 'end') THEN 'third 3'
        WHEN w[2] IN ('week', 'weekend') THEN w[2] || ' 0'
        WHEN w[2] < ':' COLLATE "C" AND w[3] = '' THEN 'day ' || _number(rtrim(w[2], 'stndrh'))
        WHEN w[2] = 'last' THEN w[3] || ' 9'
        ELSE w[3] || ' ' || 1 + mod(array_position(
            '{first,second,third,fourth,fifth,1st,2nd,3rd,4th,5th}'::text[], w[2]) - 1, 5) END
    FROM string_to_array(word, 'x') AS w;
END;

-- The same for what stands between the marks of _chinese_times: quarter 三, weekend 后.
CREATE OR REPLACE FUNCTION _part_of_mark(mark text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN split_part(mark, ' ', 1) || ' ' || coalesce(_number(split_part(mark, ' ', 2)), 9);

-- Which of the words that extend a time to one side stands before this phrase.
CREATE OR REPLACE FUNCTION _word_before(words text, phrase text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN strpos(words, '<either>' || phrase) > 0 THEN 'either'
                WHEN strpos(words, '<since>' || phrase) > 0 THEN 'since'
                WHEN strpos(words, '<before>' || phrase) > 0 THEN 'before'
                WHEN strpos(words, '<after>' || phrase) > 0 THEN 'after'
                WHEN strpos(words, '<until>' || phrase) + strpos(words, '<till>' || phrase) > 0
                THEN 'until' END;

-- lead: the word before the date, in lower case (since, last, 从), '' for none; also for a word
-- after it: 以来 is since, 之前 before. Two words for "since last summer", and "2 week before" with a
-- number; 到 also for the hyphen of "May 8-10". season: also a feast, as in _feast; part: as in
-- _part. What the text leaves open is NULL; 31 February is not rejected here.
CREATE OR REPLACE FUNCTION _dates_written(content text, this_year int)
    RETURNS TABLE (lead text, year int, month int, day int, season text, part text)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 2
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    words text :=
        '<' || regexp_replace(content, '[^A-Za-z0-9/:%$#_-]+', '><', 'g') || '>';
    phrase text;
    word text COLLATE "C";
    before text;
    name text;
    numbers int[];
    counted boolean;
    year_word text;
BEGIN
    -- May to July, 2020-2022: the same with a "from".
    IF (strpos(words, '<to>') + strpos(words, '<through>') + strpos(words, '-') > 0)
       AND words ~ '(<to>|<through>|-)(><)?<?(partx|Ja|Fe|Ma|Ap|Ju|Au|Se|Oc|No|De|19|20)' THEN
        words := regexp_replace(words, '(?xi) <
            ( (?: partx[0-9a-z]+ >< )? (?: ' || _month_names() || ' )
              (?: >< [0-9]{1,2} (?: st|nd|rd|th )? )? (?: >< (?:19|20)[0-9]{2} )?
            | (?:19|20)[0-9]{2} )
            (?: - | ><->< | ><to>< | ><through>< )
            (?= (?: (?: partx[0-9a-z]+ >< )? (?: ' || _month_names() || ' )
                  | (?:19|20)[0-9]{2} ) > )
            ', '<from><\1><to><', 'g');
    END IF;
    -- Two weeks before, the Sunday after: one word.
    IF strpos(words, '><before><') + strpos(words, '><after><') > 0 THEN
        words := regexp_replace(words, '(?xi) <
            (?: ( ' || _counts() || ' ) >< (?: of>< )? )?
            (?: ( day | week | month | year ) s? | weekend | [a-z]+ day ) >< ( before|after ) >',
            '<_\1_\2_\3>', 'g');
    END IF;
    FOR phrase IN SELECT f[1] FROM regexp_matches(words, '(?xi)
        (?: < (?: in|on|of|since|during|until|till|by|before|after|around|from|between|and|to|
                  through|last|this|past|the|year|at|over|either | _[0-9a-z_]+ ) > )?
        (?: <the> )?
        < (?: partx[0-9a-z]+ >< )? (?: (?: last|this ) >< )?
        (?:
            (?: [0-9]{1,2} (?: st|nd|rd|th )? (?: ><of )? (?: >< | - ) )?
            (?: ' || _month_names() || ' |spring|summer|autumn|fall|winter|
                feastx[a-z]+ | h[12] | q[1-4] )
            (?: (?: >< | - ) (?: the>< )? [0-9]{1,2} (?: st|nd|rd|th )?
                (?: - [0-9]{1,2} (?: st|nd|rd|th )? )? )?
            (?: (?: >< | - ) (?: (?:of|in) >< )?
                (?: (?:19|20)[0-9]{2} | (?:last|this) >< year ) )?
        |   (?: (?:19|20)[0-9]{2} s? | (?:last|this) >< year )
            (?: >< (?: ms|[km]b|px|seconds|minutes|hours|days|users|people|rows|lines|files|items|
                       tokens|words|times|steps|points|bytes|dollars|miles|meters|km|m |
                       euros|pounds|yuan|usd|eur|characters|chars|requests|records|messages|
                       entries|calories|kcal|kg|g ) )?
        |   (?:19|20)[0-9]{2} [-/] [0-9]{1,2} (?: [-/] [0-9]{1,2} (?: t[0-9:]+z? )? )?
        |   [0-9]{1,2} / (?: [0-9]{1,2} / (?: 19|20 )? [0-9]{2} | (?:19|20)[0-9]{2} )
        ) >', 'g') AS f
        LIMIT 20
    LOOP
        lead := '';
        year := NULL;
        before := NULL;
        name := NULL;
        part := NULL;
        numbers := '{}';
        counted := false;
        FOREACH word IN ARRAY string_to_array(
            translate(lower(btrim(phrase, '<>') COLLATE "C"), '<>/-', '    '), ' ', '')
        LOOP
            CONTINUE WHEN word IS NULL;
            IF length(word) = 4 AND word BETWEEN '1900' AND '2099' AND strpos(word, 't') = 0 THEN
                year := word::int;
            ELSIF word LIKE '____s' AND word BETWEEN '1910s' AND '2090s' THEN
                year := left(word, 4)::int;
                part := 'decade 0';
            ELSIF word < ':' THEN
                numbers := numbers || rtrim(split_part(word, 't', 1), 'sndrh')::int;
            ELSIF word = 'year' AND before IN ('last', 'this') THEN
                year := this_year - (before = 'last')::int;
            ELSIF left(word, 1) = '_' THEN
                lead := concat_ws(' ', coalesce(_number(split_part(word, '_', 2)), 1),
                                  coalesce(nullif(split_part(word, '_', 3), ''), 'week'),
                                  split_part(word, '_', 4));
            ELSIF word IN ('spring', 'summer', 'autumn', 'fall', 'winter')
                  OR _number(word) IS NOT NULL
            THEN
                name := word;
            ELSIF word LIKE 'partx%' THEN
                part := _part_written(word);
            ELSIF word LIKE 'feastx%' THEN
                name := substr(word, 7);
            ELSIF word IN ('h1', 'h2', 'q1', 'q2', 'q3', 'q4') THEN
                part := CASE left(word, 1) WHEN 'h' THEN 'half ' ELSE 'quarter ' END
                    || right(word, 1);
            ELSIF before IS NULL OR word IN ('last', 'this') AND lead = '' THEN
                lead := word;
            ELSE
                counted := counted OR year IS NOT NULL;
            END IF;
            before := word;
        END LOOP;
        IF lead = 'last' AND year IS NULL THEN
            lead := coalesce(_word_before(lower(words COLLATE "C"), lower(phrase COLLATE "C"))
                             || ' last', lead);
        ELSIF lead = 'from' AND strpos(words, phrase || '<onward') > 0 THEN
            lead := 'since';
        END IF;
        season := CASE WHEN _number(name) IS NULL THEN replace(name, 'autumn', 'fall') END;
        month := CASE WHEN season IS NULL THEN _number(name) END;
        day := numbers[1];
        IF name IS NULL AND numbers <> '{}' THEN
            month := numbers[1];
            day := numbers[2];
            IF year IS NULL OR phrase LIKE '%/' || year || '>' THEN
                year := coalesce(year, 2000 + numbers[3]);
                IF month > 12 AND day IS NOT NULL THEN
                    month := numbers[2];
                    day := numbers[1];
                END IF;
            END IF;
        END IF;
        IF lead = 'by' AND part LIKE 'third%' THEN
            part := NULL;
        END IF;
        -- Not dates: 2000 users, "may" the verb, a season or a month that is a name.
        CONTINUE WHEN counted OR lead LIKE 'either%' OR CASE
            WHEN year IS NOT NULL THEN month IS NULL AND season IS NULL AND part IS NULL
                                       AND (lead IN ('', 'past')
                                            OR lead IN ('at', 'over') AND before <> 'year')
            WHEN name IS NULL AND part LIKE ANY ('{quarter%,half%}') THEN
                numbers <> '{}' OR part LIKE 'half%'
                OR lead IN ('', 'on', 'the', 'at', 'year', 'past')
                OR lead IN ('and', 'to') AND words !~* '<(from|between)>'
                OR strpos(words, phrase || '<of>') > 0
            WHEN day IS NOT NULL THEN name = 'may' AND lead = '' AND phrase NOT LIKE '%May%'
            WHEN season IS NOT NULL THEN
                lead IN ('', 'by', 'to', 'the', 'and', 'from') AND part IS NULL
            WHEN name IN ('january', 'february', 'july', 'september', 'october', 'november',
                          'december') THEN false
            WHEN lead IN ('and', 'to') THEN words !~* '<(from|between)>'
            WHEN name IN ('may', 'mar', 'march') AND phrase NOT LIKE '%Ma%' THEN
                lead NOT IN ('in', 'of', 'since', 'during', 'until', 'last', 'from', 'between',
                             'before', 'after') AND (part IS NULL OR part LIKE 'third%' AND
                                  phrase ILIKE ANY ('{%xearlyx%,%xmidx%,%xlatex%}'))
            ELSE lead IN ('', 'on', 'the', 'year', 'past', 'at', 'over') AND part IS NULL END;
        RETURN NEXT;
        IF name IS NOT NULL AND phrase LIKE '%-%' AND numbers[2] IS NOT NULL THEN
            lead := '到';
            day := numbers[2];
            RETURN NEXT;
        END IF;
    END LOOP;

    IF octet_length(content) = length(content) THEN
        RETURN;
    END IF;
    FOR phrase IN SELECT f[1] FROM regexp_matches(content, '(?x)
        (?: 从|自|到|至|在|上|这 )? 个? [ ]?
        (?: (?: (?: [0-9]+ [ ]? 年 | [〇零一二三四五六七八九]{4}年 | 去年 | 今年 | 大?前年 ) [ ]? 的? [ ]? )?
            (?: (?: (?: [0-9]+ | [一二三四五六七八九十]+ ) [ ]? 月 (?! [饼球亮光租薪] ) 份?
                    (?: [ ]? (?: [0-9]{1,2} | [一二三四五六七八九十]+ ) [ ]? [日号] )?
                  | [春夏秋冬] [天季] | [暑寒]假 )
                (?: « [^»]+ » )?
              | « (?! week|third ) [^»]+ » )
        |   (?: [0-9]+ [ ]? 年 | [〇零一二三四五六七八九]{4}年 | 去年 | 今年 | 大?前年 )
            (?: [春夏秋冬] (?= $ | [^一-龥] | [我你他她去在] ) | « [^»]+ » | (?! [度级代] ) )
        |   19 [0-9五六七八九] 0年代 | 20[0-9]0年代 )
        (?: [ ]? (?: 以来 | 以降 | 至今 | 开始 | 起 (?! [诉草因来点] ) | 为止 | 前或后
                 | [以之] [前后] (?! [0-9一二两三几] )
                 | 前 (?! [0-9一二三四五六七八九十两几半后线端台者] ) | 后 (?! [半台端来期者] ) ) )?', 'g') AS f
        LIMIT 20
    LOOP
        CONTINUE WHEN right(phrase, 2) = '或后';
        name := split_part(split_part(phrase, '«', 2), '»', 1);
        part := CASE WHEN strpos(name, ' ') > 0 THEN _part_of_mark(name) END;
        season := CASE WHEN part IS NULL THEN nullif(name, '') END;
        phrase := translate(split_part(phrase, '«', 1) || split_part(phrase, '»', 2), ' 的份个', '');
        lead := CASE WHEN right(phrase, 1) IN ('来', '降', '今', '始', '起') THEN 'since'
                     WHEN right(phrase, 1) = '止' THEN 'until'
                     WHEN right(phrase, 1) = '前' THEN 'before'
                     WHEN right(phrase, 1) = '后' THEN 'after'
                     WHEN strpos('从自到至在上这', left(phrase, 1)) > 0 THEN left(phrase, 1)
                     ELSE '' END;
        phrase := rtrim(ltrim(phrase, '从自到至在上这'), '以来降至今开始起为止之前后');
        year_word := CASE WHEN strpos(phrase, '年') > 0 THEN split_part(phrase, '年', 1) END;
        phrase := split_part('年' || phrase, '年', CASE WHEN year_word IS NULL THEN 2 ELSE 3 END);
        year := CASE year_word
            WHEN '今' THEN this_year WHEN '去' THEN this_year - 1 WHEN '前' THEN this_year - 2
            WHEN '大前' THEN this_year - 3
            ELSE _number(CASE WHEN phrase = '代' THEN translate(year_word, '五六七八九', '56789')
                              ELSE year_word END) END;
        IF phrase = '代' THEN
            part := 'decade 0';
            phrase := '';
        ELSIF year < 100 AND (phrase <> '' OR name <> '') THEN
            year := year + 2000;
        END IF;
        IF strpos('春夏秋冬暑寒', left(phrase, 1)) > 0 AND phrase <> '' THEN
            season := ('{spring,summer,fall,winter,暑假,寒假}'::text[])[
                strpos('春夏秋冬暑寒', left(phrase, 1))];
            CONTINUE WHEN year IS NULL AND lead = '';
            phrase := '';
        END IF;
        month := CASE WHEN phrase <> '' THEN coalesce(_number(split_part(phrase, '月', 1)), 0) END;
        day := _number(rtrim(split_part(phrase, '月', 2), '日号'));
        CONTINUE WHEN year < 1900;
        RETURN NEXT;
    END LOOP;
END $$;
