-- Flags of a text for recall: a question that asks when, a memory that says when, a memory that is
-- a question. The last two are computed when a memory is stored, so that recall reads no text.

-- "when I was in Paris" does not ask: a verb must follow, or nothing. Most questions are recognised
-- by words they lack, before the expression is tried.
CREATE OR REPLACE FUNCTION _asks_when(question text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (lower(question COLLATE "C") LIKE ANY ('{%when%,%how long%,%how many%}'::text[])
            OR lower(question COLLATE "C") LIKE ANY ('{%what%,%which%}'::text[])
            AND lower(question COLLATE "C") LIKE ANY (
                '{%date%,%day%,%month%,%year%,%week%,%season%,%time%}'::text[]))
        AND lower(question COLLATE "C") COLLATE "default" ~ '(?x)
            (?<![a-z]) when
            (?: ''s | \s (?: exactly \s | else \s | roughly \s | about \s | in \s \S+ \s )?
                (?: did|do|does|is|are|was|were|am|will|would|has|have|had|should|can|could )
                (?![a-z])
              | [\s?.!]* $ )
          | ^ \s* when \s
            (?! .* (?: , | (?<![a-z]) (?: what|which|who|whom|where|why|how|did|do|does )
                           (?![a-z]) ) )
            .* \? \s* $
          | (?: know|knows|remember|recall|tell\sme|sure|wonder|forget|forgot|since ) \s when
            (?![a-z])
          | (?<![a-z]) (?: what|which ) (?: ''s \s the | \s (?: is|was|were|are ) \s the )? \s
            (?: exact \s | specific \s )?
            (?: date|dates|day|days|month|months|year|years|week|weekend|season|time ) (?![a-z])
            (?! \s of \s (?: work|school|rest) | \s management | \s zone | -)
          | how \s (?: long | many \s (?: hours|days|weeks|months|years ) ) \s ago'
        OR octet_length(question) > length(question)
        AND (question ~ '(?x)
            (?: 什[么麼]|啥 ) (?: [时時][候间間]|日期|日子 ) | 何 [时時日年月曜] | 日期是
          | 哪 一? (?: [年天日月周週] | [个個] (?: 月|星期|周|週|季 ) )
          | [几幾] (?: [号號月日] | 年 (?! [来來级級] ) ) | (?: 周|週|星期|[礼禮]拜 ) [几幾]
          | 多久 [以之]? 前 | (?: [几幾]|多少 ) [个個]? [天周週月年] 前'
            OR question ~ '(?x)
            いつ (?! も | でも | か (?! ら ) ) | 언제 (?! [나든] )
          | 며칠 | 몇 [ ]? (?: 년|월|시 (?! 간 ) )');

-- Tokens of time: those that name one by themselves, spans and times of day, seasons.
CREATE OR REPLACE FUNCTION _times_alone() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{yesterday,today,tonight,tomorrow,nowaday,weekend,ago,monday,tuesday,wednesday,'
        'thursday,friday,saturday,sunday,januari,februari,juli,septemb,octob,novemb,'
        'decemb}'::text[];

CREATE OR REPLACE FUNCTION _times_spans() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{night,day,week,month,quarter,year,morn,afternoon,even}'::text[];

CREATE OR REPLACE FUNCTION _times_seasons() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN '{spring,summer,autumn,fall,winter}'::text[];

-- Whether a token is one that an ASCII text needs to say when, except for 5/8/23: it tells which of
-- the expressions below can match. Of numbers, only those of years.
CREATE OR REPLACE FUNCTION _is_of_time(token text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN token >= '19' COLLATE "C" AND token < '21' COLLATE "C"
        OR token = ANY (_times_alone() || _times_spans() || _times_seasons()
                        || '{march,april,may,june,august,jan,feb,mar,apr,jun,jul,aug,sep,sept,oct,'
                           'nov,dec}'::text[]);

-- Dates, weekdays, months next to a number or a preposition, and time counted from now or in the
-- future. A function that is called, not inlined: only one memory in four needs it (_word_vector),
-- and every statement that stores some would set the expressions up. There are three, and the
-- clues, the tokens of time, tell which can match. As one expression their states multiply, and so
-- do those of the Chinese one, which is two: a connection keeps 32 expressions, and to compile one
-- again, when others have pushed it out, costs more than all its matches. NULL: any may match.
CREATE OR REPLACE FUNCTION _has_time_word(content text, clues text[] DEFAULT NULL) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    flat CONSTANT text COLLATE "default" := lower(left(content, 20000) COLLATE "C");
BEGIN
    RETURN (clues && _times_alone()) IS NOT false
        AND flat ~ '(?x)
            \m (?: yesterday|today|tonight|tomorrow|nowadays|weekend|weekends|ago
                | (?: mon|tues|wednes|thurs|fri|satur|sun ) days?
                | january|february|july|september|october|november|december
            ) \M'
        OR (clues && (_times_spans() || _times_seasons())) IS NOT false
        AND flat ~ '(?x)
            \m (?: (?: last|this|next|past|previous|coming|following|other|every ) \s
                  (?: (?: [0-9]{1,3}|two|three|four|five|six|seven|eight|nine|ten|few|couple ) \s
                      (?: of \s )? )?
                  (?: night|day|week|month|quarter|year|spring|summer|autumn|fall|winter|morning|
                      afternoon|evening ) s?
                | in \s (?: an? | [0-9]{1,3} | two | three | four | five | six | few ) \s
                  (?: days?|weeks?|months?|years? )
            ) \M'
        OR (clues <@ (_times_alone() || _times_spans())
            AND strpos(flat, '/') = 0) IS NOT true
        AND flat ~ '(?x)
            \m (?: (?: in|during|since|until|till|last|early|late|mid|of ) [\s-] (?: the \s )?
                  (?: march|april|may|june|august|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|
                      spring|summer|autumn|fall|winter )
                | (?: [0-9]{1,2} (?: st|nd|rd|th )? \s (?: of \s )? )
                  (?: march|april|may|june|august|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec )
                | (?: march|april|may|june|august|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec )
                  \.? ,? \s (?: the \s )? [0-9]{1,4} (?: st|nd|rd|th )?
                | (?: 19|20 ) [0-9]{2} (?: s | -[0-9]{1,2} (?: -[0-9]{1,2} )? )?
                | [0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}
            ) \M'
        OR octet_length(content) > length(content)
        AND (flat ~ '(?x)
            [昨今明] [天日晚早晨年] | 前天 | [后後]天 | 去年 | 前年 | [后後]年
          | [上下这這本] [个個]? (?: 周|週|星期|[礼禮]拜|月|季度 ) | [周週]末
          | (?: 周|週|星期|[礼禮]拜 ) [一二三四五六日天]
          | [0-9一二两兩三四五六七八九十几幾] [ \n\u00a0\u3000]? [个個]?
            (?: 小[时時]|天|日|周|週|星期|月|年 ) [以之]? [前后後]
          | [春夏秋冬] [天季] | 元旦 | [国國][庆慶][节節假] | [春中][节節秋] | 除夕 | 圣诞 | 聖誕
          | 曜日 | [先来] [週月] | 어제 | 오늘 | 내일 | 요일 | (?: 지난|다음 ) [ \n]? [주달해] | [0-9] [ \n]? [년월일]'
            OR flat ~ '(?x)
            [0-9一二三四五六七八九十〇零] [ \n\u00a0\u3000]?
            (?: 年 (?! [级級] ) | 月 (?! [饼餅] ) | [号號] (?! [楼樓线線门門] ) )');
END $$;

-- The end decides, before closing quotes, brackets, emoji and spaces; in Chinese 吗 and 呢 ask too.
CREATE OR REPLACE FUNCTION _is_question(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN right(content, 40) ~ '(?x)
        [?？吗嗎呢]
        [\s"''”’»」』）)\]*_~`.。…!！\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]* $';
