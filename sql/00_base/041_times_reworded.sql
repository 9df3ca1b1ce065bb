-- Rewrites times of a question into words that _dates_written and _times_from_now read: 国庆节 and
-- 第三季度 as dates, 先週の金曜日 and 지난주 금요일 as 上周五. Given in simplified characters. Few expressions, each
-- tried only if a word of it is found: a connection keeps 32 of them. If a word may mean something
-- else (李国庆, 先周 in Chinese), its context decides; feasts of the lunar calendar and its months name
-- no day.

-- pairs: a word and its meaning each; a word is there if its mark is.
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

CREATE OR REPLACE FUNCTION _chinese_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    IF content ~ '[农阴旧]历' THEN
        content := regexp_replace(content, '(?x) [农阴旧]历 ([0-9]+年)? 闰?
            [0-9一二三四五六七八九十正腊]+月 (?: 初?[0-9一二三四五六七八九十廿]+ [日号]? )?', '\1', 'g');
    END IF;
    IF content ~ '[-~～—到至][0-9一二三四五六七八九十]+[日号]' THEN
        content := regexp_replace(content, '(?x) ([0-9一二三四五六七八九十]+月)
            ([0-9一二三四五六七八九十]+) [日号]? [-~～—到至] ([0-9一二三四五六七八九十]+) [日号]',
            '\1\2日到\1\3日', 'g');
    END IF;
    IF content ~ '季度|Q[1-4]|半年' THEN
        content := _reworded(
            regexp_replace(content, '(?x)
                (?<! [0-9前近每两几十上下] ) 第? ([一二三四1-4]季)度 | (?<! [A-Za-z0-9] | [0-9][.] )
                Q([1-4]) (?! [.]?[A-Za-z0-9] ) | (?<! [上下大个] ) (半年) (?= [以之]? 前 )
              | (?<= 过去 | 最近 | 近 ) (半年)', '¶\1\2\3\4', 'g'),
            '¶', '{{一季,1月到3月},{1季,1月到3月},{1,1月到3月},{二季,4月到6月},{2季,4月到6月},{2,4月到6月},{三季,7月到9月},'
                 '{3季,7月到9月},{3,7月到9月},{四季,10月到12月},{4季,10月到12月},{4,10月到12月},{半年,6个月}}');
        content := _reworded(content, '', '{{上半年,1月到6月},{下半年,7月到12月}}');
    END IF;
    IF content ~ '[节庆旦诞夜]|五一|六一|双1|双十|前[几些两]天|上一|クリスマス' THEN
        content := _reworded(
            regexp_replace(content, '(?x) (
                元旦 | 平安夜 | 跨年夜 | 情人节 | 妇女节 | 劳动节 | 儿童节 | 教师节 | 万圣节
              | 国庆 (?= 节|假|长假|期间|黄金周 ) | (?<= [去今前0-9]年 | [去今前0-9]年的 ) (?: 国庆|五一 )
              | (?<! [0-9一二三四五六七八九十第周月] )
                (?: 五一 (?= 劳动节|假|长假|小长假|期间|节|[^0-9一-龥]|$ ) | 六一 (?= 儿童节 )
                  | 双 (?: 十[一二] | 1[12] ) (?! [0-9] ) )
              | 圣诞 (?! [老树卡帽歌礼岛红] ) | クリスマス (?! ツリー|カード|ソング )
              | (?<= ^ | [我你他她们，。？！、\s] ) 前 [几些两] 天
              | 上一 (?= 个? (?: 周|星期|礼拜|季度|月 ) ) )', '¶\1', 'g'),
            '¶', '{{元旦,1月1日},{平安夜,12月24日},{跨年夜,12月31日},{情人节,2月14日},{妇女节,3月8日},'
                 '{劳动节,5月1日},{儿童节,6月1日},{教师节,9月10日},{万圣节,10月31日},'
                 '{国庆,10月1日到10月7日},{五一,5月1日到5月5日},{六一,6月1日},{双十一,11月11日},'
                 '{双11,11月11日},{双十二,12月12日},{双12,12月12日},{圣诞,12月25日},'
                 '{クリスマス,12月25日},{前几天,几天前},{前些天,几天前},{前两天,最近两天},{上一,上}}');
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
        '', '{{年から,年以来},{月から,月以来},{周から,周以来},{日から,日以来},{年まで,年为止},{月まで,月为止},{日まで,日为止},'
        '{一昨日,前天},{おととい,前天},{一昨年,前年},{おととし,前年},{昨年,去年},{昨日,昨天},{きのう,昨天},{今日,今天},{今朝,今早},'
        '{先々周,上上周},{先先周,上上周},{先周,上周},{先々月,上上个月},{先先月,上上个月},{先月,上个月},{今周,本周},{今月,本月},{周间,周},'
        '{时间前,小时前},{か月,个月},{カ月,个月},{ヶ月,个月},{ケ月,个月},{月曜日,周一},{火曜日,周二},{水曜日,周三},{木曜日,周四},{金曜日,周五},'
        '{土曜日,周六},{日曜日,周日},{周の周,周},{周の末,周末}}');
END $$;

-- A number of units has a mark between them.
CREATE OR REPLACE FUNCTION _korean_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN _reworded(
        regexp_replace(regexp_replace(content, '(?x) (?<= [년월일] ) 부터 \s?
                           ( [0-9]+ \s? [년월일] (?: \s? [0-9]+ \s? [월일] )? ) (?: 까지 )?', '到\1', 'g'),
                       '(?x) ([0-9]) \s? (개월|시간|년|월|일|주일?|달) \s? (전)?', '\1¶\2\3', 'g'),
        '', '{{¶개월전,个月前},{¶달전,个月前},{¶시간전,小时前},{¶년전,年前},{¶일전,天前},{¶주일전,周前},{¶주전,周前},{¶년,年},{¶월,月},'
            '{¶일,日},{한 달 전,1个月前},{두 달 전,2个月前},{세 달 전,3个月前},{네 달 전,4个月前},{일주일 전,1周前},'
            '{부터,以来},{까지,为止},{이전,之前},{이후,之后},{그저께,前天},{그제,前天},{어제,昨天},{오늘,今天},{지지난주,上上周},'
            '{지지난 주,上上周},{지난주,上周},{지난 주,上周},{지난달,上个月},'
            '{지난 달,上个月},{지난해,去年},{재작년,前年},{작년,去年},{올해,今年},{이번 주,本周},{이번주,本周},{이번 달,本月},{이번달,本月},'
            '{월요일,周一},{화요일,周二},{수요일,周三},{목요일,周四},{금요일,周五},{토요일,周六},{일요일,周日},{上周말,上周末},{周 周,周},'
            '{周周,周}}');
END $$;

CREATE OR REPLACE FUNCTION _times_reworded(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    IF octet_length(content) = length(content) THEN
        RETURN content;
    ELSIF content ~ '[\uac00-\ud7af]' THEN
        content := _korean_times(content);
    ELSIF content ~ '[\u3041-\u30ff]' THEN
        content := _japanese_times(content);
    END IF;
    RETURN _chinese_times(content);
END $$;
