-- Times that a question has in other words, in those _dates_written and _relative_written read:
-- 国庆节 and 第三季度 as dates, 先週の金曜日 and 지난주 금요일 as 上周五. Given in simplified characters.
-- Few expressions, each behind a look for a word of it: a connection keeps 32 of them. Where a word
-- may be another (李国庆, 先周 in Chinese), what stands around it decides; feasts of the moon and the
-- months of its calendar name no day.

-- words and meanings side by side; a word is there with its mark.
CREATE OR REPLACE FUNCTION _reworded(content text, mark text, words text[], meanings text[])
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    FOR i IN 1..cardinality(words) LOOP
        content := replace(content, mark || words[i], meanings[i]);
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
            '¶', '{一季,1季,1,二季,2季,2,三季,3季,3,四季,4季,4,半年}',
            '{1月到3月,1月到3月,1月到3月,4月到6月,4月到6月,4月到6月,7月到9月,7月到9月,7月到9月,'
            '10月到12月,10月到12月,10月到12月,6个月}');
        content := _reworded(content, '', '{上半年,下半年}', '{1月到6月,7月到12月}');
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
            '¶', '{元旦,平安夜,跨年夜,情人节,妇女节,劳动节,儿童节,教师节,万圣节,国庆,五一,六一,双十一,双11,'
                 '双十二,双12,圣诞,クリスマス,前几天,前些天,前两天,上一}',
            '{1月1日,12月24日,12月31日,2月14日,3月8日,5月1日,6月1日,9月10日,10月31日,10月1日到10月7日,'
            '5月1日到5月5日,6月1日,11月11日,11月11日,12月12日,12月12日,12月25日,12月25日,几天前,几天前,'
            '最近两天,上}');
    END IF;
    RETURN content;
END $$;

CREATE OR REPLACE FUNCTION _japanese_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _reworded(
        content, '',
        '{一昨日,おととい,一昨年,おととし,昨年,昨日,きのう,今日,今朝,先々周,先先周,先周,先々月,先先月,先月,今周,'
        '今月,周间,时间前,か月,カ月,ヶ月,ケ月,月曜日,火曜日,水曜日,木曜日,金曜日,土曜日,日曜日,周の周,周の末}',
        '{前天,前天,前年,前年,去年,昨天,昨天,今天,今早,上上周,上上周,上周,上上个月,上上个月,上个月,本周,本月,周,'
        '小时前,个月,个月,个月,个月,周一,周二,周三,周四,周五,周六,周日,周,周末}');
END $$;

-- A number of units has a mark between them.
CREATE OR REPLACE FUNCTION _korean_times(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN _reworded(
        regexp_replace(content, '(?x) ([0-9]) \s? (개월|시간|년|월|일|주일?|달) \s? (전)?', '\1¶\2\3', 'g'),
        '', '{¶개월전,¶달전,¶시간전,¶년전,¶일전,¶주일전,¶주전,¶년,¶월,¶일,한 달 전,두 달 전,세 달 전,네 달 전,'
        '일주일 전,그저께,그제,어제,오늘,지지난주,지지난 주,지난주,지난 주,지난달,지난 달,지난해,재작년,작년,올해,이번 주,'
        '이번주,이번 달,이번달,월요일,화요일,수요일,목요일,금요일,토요일,일요일,上周말,周 周,周周}',
        '{个月前,个月前,小时前,年前,天前,周前,周前,年,月,日,1个月前,2个月前,3个月前,4个月前,'
        '1周前,前天,前天,昨天,今天,上上周,上上周,上周,上周,上个月,上个月,去年,前年,去年,今年,本周,'
        '本周,本月,本月,周一,周二,周三,周四,周五,周六,周日,上周末,周,周}');
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
