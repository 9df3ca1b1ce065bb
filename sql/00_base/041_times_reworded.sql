-- Rewrites times of a question into words that _dates_written and _times_from_now read: Christmas
-- Eve as a date, 第三季度 as «quarter 三», 先週の金曜日 and 지난주 금요일 as 上周五. Given in simplified characters.
-- Few expressions, each tried only if a word of it is found: a connection keeps 32 of them. If a
-- word may mean something else (Christmas tree, 李国庆, 先周 in Chinese), its context decides; months of
-- the lunar calendar name no day.

-- mark: what stands before a word in the content. pairs: words, each with what it becomes, without
-- the mark.
CREATE OR REPLACE FUNCTION _reworded(content text, mark text, pairs text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    pair text[];
BEGIN
    FOREACH pair SLICE 1 IN ARRAY pairs LOOP
        content := replace(content, mark || pair[1], pair[2]);
    END LOOP;
    RETURN content;
END $$;

-- A feast counts after a preposition or before a year. A text with any of these words becomes lower
-- case.
CREATE OR REPLACE FUNCTION _english_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    feast CONSTANT text := '( christmas (?: [ ] eve | [ ] day )? | boxing [ ] day | halloween
        | (?: chinese [ ] | lunar [ ] )? new [ ] years? (?: [ ] eve | [ ] day )?
        | valentines (?: [ ] day )? | thanksgiving (?: [ ] day )?
        | easter (?: [ ] (?: sunday|monday ) )? | good [ ] friday
        | (?: mothers|fathers|labor|memorial|veterans|patricks|april [ ] fools ) [ ] day
        | black [ ] friday )';
BEGIN
    content := _reworded(translate(lower(content COLLATE "C"), '’', ''''), '',
        '{{''s day,s day},{''s eve,s eve},{s'' day,s day},{first quarter,q1},{second quarter,q2},'
        '{third quarter,q3},{fourth quarter,q4},{1st quarter,q1},{2nd quarter,q2},'
        '{3rd quarter,q3},{4th quarter,q4},{fourth of july,july 4},'
        '{half of the year,half of this year},{start of the year,start of this year},'
        '{beginning of the year,start of this year},{start of the month,start of this month},'
        '{beginning of the month,start of this month},{xmas,christmas},'
        '{st. patrick,patrick},{st patrick,patrick},'
        '{the other day,a few days ago},{the other night,a few days ago},'
        '{the other week,a few weeks ago},{fortnight,2 weeks},{this past weekend,last weekend},'
        '{this past spring,last spring},{this past summer,last summer},'
        '{this past fall,last fall},{this past winter,last winter},'
        '{spring festival,feastxnewyear},{mid-autumn festival,feastxmoon},'
        '{dragon boat festival,feastxboat},{before or after,either},{before and after,either},'
        '{after or before,either}}');
    -- What is bought or planned for a feast comes before it.
    IF content LIKE '%for %' AND content ~ '\m(?:did|was|were|had|went|made)\M'
       AND content !~ '\m(?:buy|bought|g[eo]t|order|plan|prepare|present|gift|want|need)'
    THEN
        content := regexp_replace(content, '(?x) \m for (?= [ ] ' || feast || ' \M )', 'at', 'g');
    END IF;
    IF content LIKE ANY ('{%giving week%,%christmas week%,%easter week%}') THEN
        content := regexp_replace(content, '(?x) (?: \m (?: over|during|on|at|in ) [ ] (?= last ) )?
            ( (?: last [ ] )? (?: thanksgiving|christmas|easter ) ) [ ] ( week (?: end )? ) \M',
            '\2 of \1', 'g');
    END IF;
    RETURN _reworded(
        regexp_replace(content, '(?x)
            (?<= \m (?: on|at|over|during|since|until|till|before|after|around|by|last|this |
                        week [ ] of ) [ ] )
            ' || feast || ' \M (?! [ ] (?: tree|card|gift|present|part|shop|decor ) )
          | \m ' || feast || ' (?= [ ] (?: (?: of|in ) [ ] )?
                                  (?: (?:19|20)[0-9]{2} | last [ ] year ) )
          | \m ( (?: christmas | new [ ] years? ) [ ] (?: eve|day ) ) \M
          | (?<= \m the [ ] (?: early [ ] | mid[ -] | late [ ] )? )
            ( [5-9]0s | eighties | nineties ) \M', '¶\1\2\3\4', 'g'),
        '¶', '{{christmas eve,december 24},{christmas day,december 25},{christmas,december 25},'
             '{boxing day,december 26},{halloween,october 31},{chinese new year,feastxnewyear},'
             '{lunar new year,feastxnewyear},{new years eve,december 31},'
             '{new year eve,december 31},{new years day,january 1},{new year day,january 1},'
             '{new years,january 1},{new year,january 1},{valentines day,february 14},'
             '{valentines,february 14},{thanksgiving day,feastxthanksgiving},'
             '{thanksgiving,feastxthanksgiving},{easter sunday,feastxeaster},'
             '{easter monday,feastxeastermonday},{easter,feastxeaster},'
             '{good friday,feastxgoodfriday},{black friday,feastxblackfriday},'
             '{mothers day,2nd sunday of may},'
             '{fathers day,3rd sunday of june},{labor day,1st monday of september},'
             '{memorial day,last monday of may},'
             '{veterans day,november 11},{patricks day,march 17},{april fools day,april 1},'
             '{eighties,1980s},{nineties,1990s},{5,195},'
             '{6,196},{7,197},{8,198},{9,199}}');
END $$;

CREATE OR REPLACE FUNCTION _month_names() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'january|february|march|april|may|june|july|august|september|october|november|december'
        '|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec';

-- Words for a part of a time, before it, as one word: "early" is partxearlyx, "the first week of"
-- the partxfirstxweek.
CREATE OR REPLACE FUNCTION _parts_marked(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(content, '(?xi) \m (?:
        (early|start|beginning|mid|middle|late|end | month (?= [ ] of \M ) )
            (?: [ ] of \M (?: [ ] the \M )? | - | (?= [ ] ) )
      | (first|second|third|fourth|fifth|last | [1-5](?:st|nd|rd|th) ) [ ]
        (half|quarter|week|weekend | (?:mon|tues|wednes|thurs|fri|satur|sun)day ) [ ]
        (?: of \M (?: [ ] the \M )?
          | in (?= [ ] (?: (?:19|20)[0-9]{2} | ' || _month_names() || ' ) \M ) )
      | (week|weekend) [ ] of \M
      | ([0-9]{1,2}(?:st|nd|rd|th)) [ ] of (?= [ ] (?: last|this ) [ ] month )
        )', 'partx\1\2\4\5x\3 ', 'g');

-- Ranges, and times that are open to one side, in words that have an end: "3 to 5 May" is May 3-5,
-- "from May to now" since May, "the last week" the past one. A month keeps its capital: "may" is
-- mostly the verb.
CREATE OR REPLACE FUNCTION _english_ranges(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    flat CONSTANT text := lower(content COLLATE "C");
    day CONSTANT text := '([1-9]|[12][0-9]|3[01]) (?: st|nd|rd|th )?';
    until CONSTANT text := '[ ]? (?: [-–] | (?<= [ ] ) (?: to|and|until|till|through ) (?= [ ] ) )
        [ ]? (?: the [ ] )?';
BEGIN
    IF flat LIKE ANY ('{% to %,% and %,% until %,% till %,% through %,%-%,%–%}')
       AND flat ~ '[0-9]'
    THEN
        content := regexp_replace(regexp_replace(content, '(?xi)
                (?<! [-/.:0-9] | (?: ' || _month_names() || ' ) [ ] ) \m
                ' || day || until || day || ' [ ] (?: of [ ] )? (' || _month_names() || ') \M',
                '\3 \1-\2', 'g'),
            '(?xi) \m (' || _month_names() || ') [ ] (?: the [ ] )?
            ' || day || until || day || ' \M (?! : | - | [ ] (?: ' || _month_names() || ' ) \M )',
            '\1 \2-\3', 'g');
        content := regexp_replace(content, '(?xi) \m (q[1-4]) [ ]? (?: [-–] | to | through ) [ ]?
            (q[1-4]) \M', 'from \1 to \2', 'g');
    END IF;
    IF flat LIKE ANY ('{% now%,% today%,% present%}') THEN
        content := regexp_replace(content, '(?xi) \m (?: from|between|since ) [ ]
            ([^,.;?!]{3,40}?) [ ] (?: up [ ] )? (?: to|and|until|till|through ) [ ]
            (?: now | today (?! ['']s ) | the [ ] present ) \M', 'since \1', 'g');
    END IF;
    IF flat LIKE '%from % on%' THEN
        content := regexp_replace(content, '(?xi) \m from [ ] ([^,.;?!]{3,30}?) [ ] on
            (?= [ ]? [,.;?!] | $ )', 'since \1', 'g');
    END IF;
    IF flat LIKE ANY ('{%prior to %,%up to %}') THEN
        content := regexp_replace(
            regexp_replace(content, '\m[Pp]rior to\M', 'before', 'g'),
            '\m[Uu]p to(?= (?:the end of )?(?:' || initcap(_month_names()) || ')\M)', 'until', 'g');
    END IF;
    IF flat LIKE ANY ('{%the last week%,%the last month%,%the last year%,%the last decade%,'
                      '%this last %,%this past %}')
    THEN
        content := regexp_replace(content, '(?xi)
            (?<! \m of [ ] ) \m (?: the|this ) [ ] (?: last|past )
            (?= [ ] (?: week|month|year|decade ) \M (?! ['']s | [ ] (?:
                of|in|on|at|with|before|until|till|that|when|i|we|you|he|she|they ) \M ) )',
            'the past', 'g');
    END IF;
    IF flat LIKE ANY ('{%night before last%,%day before last%,%s back%}') THEN
        content := regexp_replace(regexp_replace(content,
            '(?i)\mthe (night|[a-z]+day) before last(?= ?[,.;?!]|$)', 'two \1s ago', 'g'),
            '(?<=\m(?:days|weeks|months|years)) back(?= ?[,.;?!]|$)', ' ago', 'g');
    END IF;
    IF flat LIKE ANY ('{%_-_ %s ago%,%_-__ %s ago%,%_–_ %s ago%,%_–__ %s ago%}') THEN
        content := regexp_replace(
            content, '(?<![-–.0-9])([1-9][0-9]?)[-–](?=[1-9][0-9]? [a-z]+s ago\M)', '\1 to ', 'gi');
    END IF;
    IF flat LIKE ANY ('{%week commencing %,%week beginning %,%week ending %}') THEN
        content := regexp_replace(content, '(?i)\mweek (?:commencing|beginning|ending)(?: on)?\M',
                                  'week of', 'g');
    END IF;
    RETURN content;
END $$;

CREATE OR REPLACE FUNCTION _chinese_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    IF strpos(content, '历') > 0 THEN
        content := regexp_replace(content, '(?x) [农阴旧]历 ([0-9]+年)? 闰?
            [0-9一二三四五六七八九十正腊]+月 (?: 初?[0-9一二三四五六七八九十廿]+ [日号]? )?', '\1', 'g');
    END IF;
    IF content LIKE ANY ('{%19__%__年%,%20__%20__年%}') THEN
        content := regexp_replace(content, '(?x) (?<! [0-9] ) ((?:19|20)[0-9]{2}) [-~～—到至]
            (?= (?:19|20)[0-9]{2}年 )', '\1年到', 'g');
    END IF;
    IF content LIKE ANY ('{%以来%,%到现在%,%至现在%,%到今%,%到目前%,%至目前%,%到如今%}') THEN
        content := regexp_replace(content, '(?x)
            (?<! [近这去年月0-9〇零一二两三四五六七八九十] )
            ( (?: [0-9]{1,2} | [一二两三四五六七八九十几]+ )
              (?: 个? (?: 小时 | 星期 | 礼拜 ) | 个月 | [天周] | (?<! [0-9]{2} ) 年 ) )
            (?: 以来 | [以之]? 前 (?: 以来 | [到至] (?: 现在 | 今[天日] | 目前 | 如今 ) ) )', '近\1', 'g');
        content := regexp_replace(content, '(?x)
            (?<= [年月日号周天夏冬春秋节假旬初底末期一二三四五六] ) [到至]
            (?: 现在 | 今[天日] (?! 的 ) | 目前 | 如今 )', '以来', 'g');
    END IF;
    IF content LIKE ANY ('{%周_到%,%周_至%,%周_-%,%期_到%,%期_至%,%拜_到%,%日%周%,%号%周%,%日%星期%,'
                        '%号%星期%}')
    THEN
        content := regexp_replace(regexp_replace(content, '(?x)
                ( (?: 上+ | 这 | 本 ) 个? (?: 周|星期|礼拜 ) ) [一二三四五六日天] [到至~～—-]
                (?: 周|星期|礼拜 ) [一二三四五六日天]', '\1', 'g'),
            '(?<=[日号]) ?\(?(?:周|星期|礼拜)[一二三四五六日天]\)?', '', 'g');
    END IF;
    IF content LIKE ANY ('{%号和%,%号、%,%号与%,%日和%,%日、%,%日与%}') THEN
        content := regexp_replace(content, '(?x) ([0-9一二三四五六七八九十]+月) ([0-9]+[日号]) ([和与及、])
            (?= [0-9]+[日号] )', '\1\2\3\1', 'g');
    END IF;
    IF content ~ '[-~～—到至][0-9一二三四五六七八九十]+[日号]' THEN
        content := regexp_replace(content, '(?x) ([0-9一二三四五六七八九十]+月)
            ([0-9一二三四五六七八九十]+) [日号]? [-~～—到至] ([0-9一二三四五六七八九十]+) [日号]',
            '\1\2日到\1\3日', 'g');
    END IF;
    IF content LIKE ANY ('{%季度%,%Q%}') THEN
        content := regexp_replace(
            content, '(?<![0-9A-Za-z.])(2[0-9])(?=Q[1-4](?![.]?[0-9A-Za-z]))', '20\1年', 'g');
        content := regexp_replace(content, '(?x)
            (?<! [0-9前近每两几十上下] ) 第? ([一二三四1-4]) 季度
          | (?<! [A-Za-z0-9] | [0-9][.] ) Q([1-4]) (?! [.]?[A-Za-z0-9] | [ ] (?:19|20)[0-9]{2} )',
            '«quarter \1\2»', 'g');
    END IF;
    IF content LIKE ANY ('{%半年%,%半月%,%半个月%,%半小时%,%半个小时%,%刚才%}') THEN
        content := _reworded(
            regexp_replace(content, '(?x) (?<! [年上下大个] ) (半年|半个?月|半个?小时) (?= [以之]? 前 )
                                    | (刚才)
                                    | (?<= 过去 | 最近 | 近 | 这 ) (半年)', '¶\1\2\3', 'g'),
            '', '{{¶半小时,30分钟},{¶半个小时,30分钟},{¶刚才,30分钟前},{¶半年,6个月},{¶半个月,2周},{¶半月,2周},'
                '{上半年,«half 1»},{下半年,«half 2»}}');
    END IF;
    IF strpos(content, '年代') > 0 THEN
        content := regexp_replace(content, '(?x) (?<! [0-9一二三四五六七八九] ) (?: 上个?世纪 | 20世纪 )?
            ([5-9五六七八九]) [0十] (?= 年代 )', '19\10', 'g');
    END IF;
    IF strpos(content, '年初') > 0 THEN
        content := regexp_replace(content, '(?x)
            (?<= ^ | [^0-9〇零一二三四五六七八九去今前明后来每隔次翌新大年] ) 年初
            (?! [一二三四五六七八九十] )', '今年初', 'g');
    END IF;
    IF strpos(content, '月初') > 0 THEN
        content := regexp_replace(content, '(?x)
            (?<= ^ | [^0-9〇零一二三四五六七八九十个上下本这每当明次隔数正腊年闰] ) 月初
            (?! [一二三四五六七八九十] )', '本月初', 'g');
    END IF;
    IF content LIKE ANY ('{%暑假%,%寒假%,%周末%}') THEN
        content := regexp_replace(regexp_replace(content, '(?x)
                (?<! [放个今去前年的每下这上] ) ( [暑寒]假 )
                (?= 期间 | 的?时候? | [里那] | (?! [到来快要了作] | 结束 ) [^，。？?!！]{0,12} [了过] )',
                '在\1', 'g'),
            '(?x) (?<! [上下这本个每近周] ) 周末 (?= (?! [到来快要了] ) [^，。？?!！]{0,12} [了过] )',
            '上周末', 'g');
    END IF;
    IF content LIKE ANY ('{%初%,%底%,%末%,%年中%,%旬%}') THEN
        content := _reworded(
            regexp_replace(content, '(?x) (?<= [年月] ) 的?
                ( 年? 初 (?! [0-9一二三四五六七八九十中高级次恋步] ) | 年? [底末] (?! [层日班] )
                | 年中 (?! [国文学] ) | [上中下]旬 )', '¶\1', 'g'),
            '¶', '{{年初,«third 1»},{初,«third 1»},{上旬,«third 1»},{年中,«third 2»},{中旬,«third 2»},'
                 '{年底,«third 3»},{年末,«third 3»},{底,«third 3»},{末,«third 3»},{下旬,«third 3»}}');
    END IF;
    IF content LIKE ANY ('{%月第%,%月的第%,%月最后%,%月的最后%}') THEN
        content := replace(regexp_replace(content, '(?x) (?<= 月 ) 的? (?: 第 ([一二三四五1-5]) | 最(后)一? )
            个? (?: 周|星期|礼拜 ) (末?) (?! [一二三四五六日天] )', '«week\3 \1\2»', 'g'), 'week末', 'weekend');
    END IF;
    IF content LIKE ANY ('{%前还是%,%前或%,%前和%,%前与%}') THEN
        content := regexp_replace(
            content, '[以之]?前(?:还是|或者?|和|与)(?:在|是)?[以之]?后', '前或后', 'g');
    END IF;
    IF strpos(content, '前几') > 0 THEN
        content := regexp_replace(content, '(?x) (?<= ^ | [我你他她们，。？！、 ] ) 前
            ( 几 个? (?: 天|周|星期|月|年 ) )', '\1前', 'g');
    END IF;
    IF content LIKE ANY ('{%节%,%庆%,%旦%,%诞%,%夜%,%夕%,%五一%,%六一%,%双1%,%双十%,%中秋%,%端午%,%大年%,'
                        '%前些%,%前两%,%前晚%,%上一%,%清明%,%黑五%,%黑色星%,%十一%,%过年%,%昨儿%,%クリスマス%}') THEN
        content := _reworded(
            regexp_replace(content, '(?x) (
                元旦 | 平安夜 | 跨年夜 | 情人节 | 妇女节 | 劳动节 | 儿童节 | 教师节 | 万圣节 | 愚人节 | 光棍节
              | 清明 (?= 节|假|小长假|期间|扫墓|[的那]|回 ) | 黑五 | 黑色星期五 | 昨儿
              | (?<! [0-9〇零一二三四五六七八九十第周月双] ) 十一 (?= 假|长假|小长假|期间|黄金周 )
              | (?<= ^ | [去今前]年 | [，。？！、 我你他她们] ) 过年
                (?= 的?时 | 期间 | 那 | 回 | 前 | 后 | 去 | 在 | 吃 | 我 | 你 )
              | 春节 (?! 联欢|晚会 ) | 除夕 | 七夕 | 大年 (?: 三十 | 初一 ) | 元宵节 | 端午 | 中秋 | 感恩节 | 母亲节 | 父亲节
              | 复活节 (?! 岛 )
              | 国庆 (?= 节|假|长假|期间|黄金周 ) | (?<= [去今前0-9]年 | [去今前0-9]年的 ) (?: 国庆|五一 )
              | (?<! [0-9一二三四五六七八九十第周月] )
                (?: 五一 (?: 劳动节 )? (?= 假|长假|小长假|期间|节|[^0-9一-龥]|$ ) | 五一劳动节 | 六一 (?= 儿童节 )
                  | 双 (?: 十[一二] | 1[12] ) (?! [0-9] ) )
              | 圣诞 (?! [老树卡帽歌礼岛红] ) | クリスマスイブ | クリスマス (?! ツリー|カード|ソング )
              | (?<= ^ | [我你他她们，。？！、 ] ) 前 (?: [些两] 天 | 晚 )
              | 上一 (?= 个? (?: 周|星期|礼拜|季度|月 ) | 年 ) )', '¶\1', 'g'),
            '¶', '{{元旦,1月1日},{平安夜,12月24日},{跨年夜,12月31日},{情人节,2月14日},{妇女节,3月8日},{劳动节,5月1日},'
                 '{儿童节,6月1日},{教师节,9月10日},{万圣节,10月31日},{清明,«清明»},{愚人节,4月1日},{光棍节,11月11日},'
                 '{黑色星期五,«黑五»},{黑五,«黑五»},{十一,«国庆»},{过年,«春节»},{昨儿,昨天},{国庆,«国庆»},{五一劳动节,«五一»},'
                 '{五一,«五一»},{春节,«春节»},{大年初一,«春节»},{除夕,«除夕»},{七夕,«七夕»},'
                 '{大年三十,«除夕»},{元宵节,«元宵»},{端午,«端午»},{中秋,«中秋»},{复活节,«复活»},{感恩节,«感恩»},'
                 '{母亲节,5月«sunday 2»},'
                 '{父亲节,6月«sunday 3»},{六一,6月1日},{双十一,11月11日},{双11,11月11日},{双十二,12月12日},'
                 '{双12,12月12日},{圣诞节,12月25日},{圣诞,12月25日},{クリスマスイブ,12月24日},{クリスマス,12月25日},'
                 '{前些天,几天前},{前两天,最近两天},{前晚,前天晚上},{上一年,去年},{上一,上}}');
        content := regexp_replace(content, '»(节?(?:小?长?假期?|期间|黄金周)?)', '»');
    END IF;
    RETURN content;
END $$;

CREATE OR REPLACE FUNCTION _japanese_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN _reworded(
        regexp_replace(content, '(?<=[年月日])から([0-9]+[年月日](?:[0-9]+[月日])?)(?:まで)?', '到\1', 'g'),
        '', '{{年から,年以来},{月から,月以来},{周から,周以来},{日から,日以来},{年まで,年为止},{月まで,月为止},{日まで,日为止},{一昨日,前天},'
            '{おととい,前天},{一昨年,前年},{おととし,前年},{昨年,去年},{昨日,昨天},{きのう,昨天},{今日,今天},{今朝,今早},{先々周,上上周},'
            '{先先周,上上周},{先周,上周},{先々月,上上个月},{先先月,上上个月},{先月,上个月},{今周,本周},{今月,本月},{周间,周},{数日前,几天前},'
            '{时间前,小时前},{か月,个月},{カ月,个月},{ヶ月,个月},{ケ月,个月},{数周,几周},{数个月,几个月},{数年前,几年前},{四半期,季度},'
            '{正月,1月1日},{大晦日,12月31日},{ハロウィン,万圣节},{バレンタイン,情人节},{月曜日,周一},{火曜日,周二},{水曜日,周三},'
            '{木曜日,周四},{金曜日,周五},{土曜日,周六},{日曜日,周日},{周の周,周},{周の末,周末},{年の,年},{月の,月}}');
END $$;

-- A number of units has a mark between them.
CREATE OR REPLACE FUNCTION _korean_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN _reworded(
        regexp_replace(regexp_replace(content, '(?x) (?<= [년월일] ) 부터 [ ]?
                           ( [0-9]+ [ ]? [년월일] (?: [ ]? [0-9]+ [ ]? [월일] )? )
                           (?: 까지 )?', '到\1', 'g'),
                       '(?x) ([0-9]) [ ]? (개월|시간|년|월|일|주일?|달) [ ]? (전)?', '\1¶\2\3', 'g'),
        '', '{{¶개월전,个月前},{¶달전,个月前},{¶시간전,小时前},{¶년전,年前},{¶일전,天前},{¶주일전,周前},{¶주전,周前},{¶년,年},'
            '{¶월,月},{¶일,日},{한 달 전,1个月前},{두 달 전,2个月前},{세 달 전,3个月前},{네 달 전,4个月前},{일주일 전,1周前},'
            '{저번,지난},{부터,以来},{까지,为止},{이전,之前},{이후,之后},{그끄저께,大前天},{그저께,前天},{그제,前天},{어제,昨天},'
            '{오늘,今天},{지지난주,上上周},{지지난 주,上上周},{지난주,上周},{지난 주,上周},{지지난달,上上个月},{지난달,上个月},'
            '{지난 달,上个月},{지난해,去年},{지난 분기,上季度},{재작년,前年},{작년,去年},{올해,今年},{이번 주,本周},{이번주,本周},'
            '{이번 달,本月},{이번달,本月},{월요일,周一},{화요일,周二},{수요일,周三},{목요일,周四},{금요일,周五},{토요일,周六},{일요일,周日},'
            '{上周말,上周末},{周 周,周},{周周,周},{이틀 전,2天前},{사흘 전,3天前},{열흘 전,10天前},{며칠 전,几天前},{몇 주 전,几周前},'
            '{몇 달 전,几个月前},{몇 년 전,几年前},{반년 전,半年前},{年 말,年末},{年 초,年初},{年대,年代},{月 말,月末},{月 초,月初},'
            '{상반기,上半年},{하반기,下半年},{분기,季度},{여름,夏天},{가을,秋天},{겨울,冬天},{크리스마스,圣诞节},{추석,中秋节},{설날,春节},'
            '{할로윈,万圣节},{발렌타인데이,情人节}}');
END $$;

CREATE OR REPLACE FUNCTION _times_reworded(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    flat text COLLATE "C" := lower(content COLLATE "C");
BEGIN
    IF content LIKE ANY ('{%.__.%,%._.%}') THEN
        content := regexp_replace(regexp_replace(content, '(?x)
                (?: (?<! [A-Za-z] | [A-Za-z] [ ] | [0-9.] )
                  | (?<! [0-9.] ) (?= .{4} [.][0-9]{2} [.][0-9]{2} ) )
                ((?:19|20)[0-9]{2}) [.] ([0-9]{1,2}) [.] ([0-9]{1,2}) (?! [.]?[0-9] )',
                '\1-\2-\3', 'g'),
            '(?<![0-9.])([0-9]{1,2})[.]([0-9]{1,2})[.]((?:19|20)[0-9]{2})(?![.]?[0-9])',
            '\3-\2-\1', 'g');
    END IF;
    IF content LIKE ANY ('{% ''__%,% ’__%}') THEN
        content := regexp_replace(regexp_replace(content,
            '(?<=[A-Za-z] |\m[HQ][1-4] )[''’](?=[0-4][0-9]\M)', '20', 'g'),
            '(?<=[A-Za-z] )[''’](?=[5-9][0-9]s?\M)', '19', 'g');
    END IF;
    IF content LIKE ANY ('{%20__Q%,%20___Q%,%Q_/20%,%Q_-20%}') THEN
        content := regexp_replace(content, '(?<=\mQ[1-4])[/-](?=20[0-9]{2}\M)', ' ', 'g');
        content := regexp_replace(content, '(?x) (?<! [0-9] ) (20[0-9]{2}) [ /-]? (Q[1-4])',
            CASE WHEN octet_length(content) > length(content) THEN '\1年\2' ELSE '\2 \1' END, 'g');
    END IF;
    IF flat LIKE ANY (
            '{% now%,% today%,% present%,%from % on%,%prior to %,%up to %,%e last week%,'
            '%e last month%,%e last year%,%e last decade%,%s last %,%s past %,% before last%,'
            '%s back%,%week commencing%,%week beginning%,%week ending%}'::text[])
       OR flat LIKE ANY ('{% to %,% and %,% until %,% till %,% through %,%-%,%–%}')
          AND flat ~ '[0-9]'
    THEN
        content := _english_ranges(content);
        flat := lower(content COLLATE "C");
    END IF;
    IF flat LIKE ANY (
        '{%christmas%,%new year%,%halloween%,%thanksg%,%easter%,%s day%,%boxing%,%quarter%,%_0s%,'
        '%eties%,%hties%,%of july%,%the other%,%fortnight%,%this past%,%festival%,%r after%,'
        '%d after%,%r before%,%half of the year%,%start of the%,%beginning of the%,%xmas%,'
        '%k friday%,%d friday%,%labor day%,%memorial day%,%s'' day%}'::text[])
    THEN
        content := _english_times(content);
        flat := content;
    END IF;
    IF flat LIKE ANY (
        '{%early %,%late %,%mid%,%end %,%start %,%beginning %,%k of %,%y of %,%f of %,%r of %,'
        '%h of %,%t of %,%d of %,%day in%}'::text[])
    THEN
        content := _parts_marked(content);
    END IF;
    IF octet_length(content) = length(content) THEN
        RETURN content;
    ELSIF content ~ '[\uac00-\ud7af]' THEN
        content := _korean_times(content);
    ELSIF content ~ '[\u3005\u3041-\u30ff]' THEN
        content := _japanese_times(content);
    END IF;
    RETURN _chinese_times(content);
END $$;
