-- Times counted from now that a text names: "yesterday", "last week", "two months ago", "the past 3
-- days", "last Friday", 昨天, 上周五, 三天前, 最近两周. "last year" and 去年 are dates of the calendar. Found and
-- read like those: one regular expression without groups, then word by word.

CREATE OR REPLACE FUNCTION _unit(word text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE word
        WHEN '小时' THEN 'hour' WHEN '天' THEN 'day' WHEN '日' THEN 'day' WHEN '周' THEN 'week'
        WHEN '星期' THEN 'week' WHEN '礼拜' THEN 'week' WHEN '周末' THEN 'weekend'
        WHEN '月' THEN 'month' WHEN '季度' THEN 'quarter' WHEN '年' THEN 'year'
        WHEN '分钟' THEN 'minute'
        ELSE coalesce(('{"min":"minute","hr":"hour","wk":"week","yr":"year","mo":"month",'
                       '"mth":"month"}'::jsonb) ->> rtrim(word, 's'), rtrim(word, 's')) END;

-- lead: since, before, after, until, or '' for none. which: ago, past (up to now), last, this, on
-- (the latest of that weekday). amount to most: of units, as "a few" is 2 to 6; part: of that unit,
-- as in _part; weekday: 1 Monday to 7 Sunday, with unit week if the text says of which week.
CREATE OR REPLACE FUNCTION _times_from_now(content text)
    RETURNS TABLE (
        lead text, which text, amount int, most int, unit text, part text, weekday int)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 2
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    words CONSTANT text := replace(
        '<' || lower(regexp_replace(content, '[^A-Za-z0-9]+', '><', 'g') COLLATE "C") || '>',
        '<the><partx', '<partx');
    weekdays CONSTANT text[] :=
        '{monday,tuesday,wednesday,thursday,friday,saturday,sunday}';
    phrase text;
    parts text[];
BEGIN
    FOR phrase IN
        SELECT f[1] FROM regexp_matches(words, '(?x)
            (?: <the> <day> <before> )? <yesterday> | <today> | <last> <(?: night | evening )>
        |   <this> <(?: morning | afternoon | evening )>
        |   <half> <an?> <(?: hour | month | year )> <ago>
        |   <an?> < (?: hour | day | week | month | year ) > <or> <two> <ago>
        |   (?: < (?: ' || _counts() || ' ) > <(?: to | or )> )?
            < (?: ' || _counts() || ' ) > (?: <of> | <and> <a> <half> )?
            < (?: minute | min | hour | hr | day | night | week | wk | weekend | month | mo | mth
                | quarter | year | yr | decade
                | mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays ) s? >
            (?: <and> <a> <half> )? <ago>
        |   (?: < partx [0-9a-z]+ > )? < (?: last | past | this ) >
            (?: < [0-9a-z]+ > (?: <of> )? )?
            < (?: hour | day | weekend | week | month | quarter | year | decade ) s? >
        |   <the> < (?: weekend | week | month | year ) > <before> <last>
        |   < (?: last | this | past | on | since | after ) >
            < (?: mon | tues | wednes | thurs | fri | satur | sun ) day >', 'g') AS f
        LIMIT 20
    LOOP
        -- The last week of July is not the week before this one, nor is the week before last
        -- summer, or the last weekend before 10 May.
        CONTINUE WHEN left(phrase, 5) IN ('<last', '<this')
                      AND strpos(words, phrase || '<of>') + strpos(words, phrase || '<before>') > 0
                      OR right(phrase, 6) = '<last>' AND words LIKE ANY (ARRAY[
                          '%' || phrase || '<week%', '%' || phrase || '<month>%',
                          '%' || phrase || '<year>%', '%' || phrase || '<summer>%',
                          '%' || phrase || '<winter>%', '%' || phrase || '<spring>%',
                          '%' || phrase || '<fall>%', '%' || phrase || '<autumn>%']);
        lead := coalesce(_word_before(words, phrase), '');
        CONTINUE WHEN lead = 'either';
        parts := string_to_array(btrim(replace(phrase, '><of', ''), '<>'), '><');
        part := NULL;
        IF starts_with(phrase, '<partx') THEN
            part := _part_written(parts[1]);
            parts := parts[2:];
        END IF;
        which := parts[1];
        amount := 1;
        most := NULL;
        unit := _unit(parts[cardinality(parts)]);
        weekday := array_position(weekdays, unit);
        IF weekday IS NOT NULL THEN
            unit := NULL;
            IF which IN ('since', 'after') THEN
                lead := which;
                which := 'on';
            END IF;
        ELSIF unit = 'last' THEN
            which := 'last';
            amount := 2;
            unit := _unit(parts[2]);
        ELSIF unit = 'ago' THEN
            which := 'ago';
            unit := replace(_unit(parts[CASE
                WHEN parts[3] = 'or' OR parts[3] = 'and' THEN 2 ELSE cardinality(parts) - 1 END]),
                'night', 'day');
            weekday := array_position(weekdays, unit);
            amount := CASE WHEN parts[1] IN ('few', 'several') THEN 2 ELSE _number(parts[1]) END;
            most := CASE WHEN parts[1] IN ('few', 'several') THEN 6
                         WHEN parts[3] = 'or' THEN 2
                         WHEN parts[2] IN ('to', 'or') THEN _number(parts[3]) END;
            IF parts[1] = 'half' THEN
                amount := CASE unit WHEN 'year' THEN 6 WHEN 'month' THEN 2 ELSE 30 END;
                unit := CASE unit WHEN 'year' THEN 'month' WHEN 'month' THEN 'week'
                                  ELSE 'minute' END;
            ELSIF 'half' = ANY (parts) AND unit IN ('month', 'year') THEN
                amount := 4 * amount + 2;
                unit := CASE unit WHEN 'year' THEN 'quarter' ELSE 'week' END;
            ELSIF 'half' = ANY (parts) THEN
                most := amount + 1;
            END IF;
            IF weekday IS NOT NULL OR most < amount THEN
                amount := coalesce(most, amount);
            ELSIF unit = 'minute' THEN
                which := 'past';
                amount := 1 + amount / 60;
                most := NULL;
                unit := 'hour';
            END IF;
        ELSIF unit IN ('yesterday', 'today', 'night', 'morning', 'afternoon', 'evening') THEN
            amount := CASE WHEN which = 'the' THEN 2
                           ELSE (unit = 'yesterday' OR which = 'last')::int END;
            which := 'ago';
            unit := 'day';
        ELSIF cardinality(parts) = 3 THEN
            which := 'past';
            amount := _number(parts[2]);
        END IF;
        IF weekday IS NOT NULL THEN
            unit := NULL;
        END IF;
        CONTINUE WHEN amount IS NULL OR unit = 'year' AND which IN ('last', 'this') AND amount = 1;
        IF which = 'this' THEN
            amount := 0;
        END IF;
        most := coalesce(most, amount);
        RETURN NEXT;
    END LOOP;

    IF octet_length(content) = length(content) THEN
        RETURN;
    END IF;
    FOR phrase IN
        SELECT f[1] FROM regexp_matches(content, '(?x)
            (?: 大?前天 | 昨 [天日晚夜] | (?<! 年 | 年的 ) 今 [天日早晚晨] )
            (?: 以来 | 至今 | 起 | 开始 | 为止 | 前或后 | [以之] [前后] )?
        |   (?: 过去 | 最近 | 近 | 这 )? 的? [ ]? (?<! 月 | 月[ ] | [0-9一二两三四五六七八九十] )
            (?: (?: [0-9]{1,2} | [一二两三四五六七八九十]+ ) [-~～—到至] )?
            (?: [0-9]+ | [一二两三四五六七八九十百千]+ | 十?几 ) 多? [ ]? 个? [多半]? [ ]?
            (?: 分钟 | 小时 | 天 | 日 | 周 | 星期 | 礼拜 | 月 | 季度 | 年 ) [多半]? (?: [以之]? 前 (?! [后或] ) )?
        |   (?: 每 | 上+ | 下+ | 这 | 本 )? 个? (?: 周末 | 周 | 星期 | 礼拜 | 月 | 季度 )
            (?: [一二三四五六1-7] | 日 (?! [程常] ) | 天 (?! 气 )
              | (?<= 月 ) (?: (?: [0-9]{1,2} | [一二三四五六七八九十]+ ) [日号] | « [^»]+ » ) )?
            (?: 以来 | 至今 | 起 | 开始 | 为止 | 前或后 | [以之] [前后] )?', 'g') AS f
        LIMIT 20
    LOOP
        -- 三月前 is before March, 三个月前 three months ago.
        CONTINUE WHEN phrase LIKE '%月%前' AND strpos(phrase, '个') = 0
                      AND strpos('0123456789一二三四五六七八九十', left(phrase, 1)) > 0;
        CONTINUE WHEN right(phrase, 2) = '或后';
        part := split_part(split_part(phrase, '«', 2), '»', 1);
        part := CASE WHEN part <> '' THEN _part_of_mark(part) END;
        phrase := translate(split_part(phrase, '«', 1) || split_part(phrase, '»', 2), ' 的个', '');
        lead := CASE WHEN right(phrase, 1) IN ('来', '始', '起') OR right(phrase, 2) = '至今'
                     THEN 'since'
                     WHEN right(phrase, 1) = '止' THEN 'until'
                     WHEN right(phrase, 1) = '后' THEN 'after'
                     WHEN right(phrase, 1) = '前' AND strpos('大昨今上这本周星礼', left(phrase, 1)) > 0
                     THEN 'before'
                     ELSE '' END;
        IF lead <> '' THEN
            phrase := rtrim(phrase, '以来至今起开始为止之前后');
        END IF;
        amount := 1;
        weekday := NULL;
        IF strpos('大前昨今', left(phrase, 1)) > 0 THEN
            which := 'ago';
            amount := CASE left(phrase, 1) WHEN '大' THEN 3 WHEN '前' THEN 2 WHEN '昨' THEN 1
                                          ELSE 0 END;
            most := amount;
            unit := 'day';
            RETURN NEXT;
            CONTINUE;
        END IF;
        parts := regexp_match(
            phrase, '^(过去|最近|近|这)?(?:([0-9]{1,2}|[一二两三四五六七八九十]+)[-~～—到至])?'
                    '([0-9]+|[一二两三四五六七八九十百千几]+)([多半]?)'
                   '(分钟|小时|天|日|周|星期|礼拜|月|季度|年)([多半]?)([以之]?前)?$');
        IF parts IS NOT NULL THEN
            CONTINUE WHEN coalesce(parts[1], parts[7]) IS NULL;
            which := CASE WHEN parts[7] IS NULL THEN 'past' ELSE 'ago' END;
            most := _number(parts[3]);
            amount := least(_number(parts[2]), most);
            IF most IS NULL THEN
                -- 两三天前
                amount := _number(left(parts[3], 1));
                most := _number(substr(parts[3], 2));
                CONTINUE WHEN (amount < most) IS NOT TRUE;
            END IF;
            unit := _unit(parts[5]);
            IF '半' IN (parts[4], parts[6]) AND unit IN ('month', 'year') THEN
                amount := 4 * amount + 2;
                most := amount;
                unit := CASE unit WHEN 'year' THEN 'quarter' ELSE 'week' END;
            ELSIF '半' IN (parts[4], parts[6]) THEN
                most := amount + 1;
            ELSIF unit = 'minute' THEN
                which := 'past';
                amount := 1 + amount / 60;
                most := amount;
                unit := 'hour';
            ELSIF '多' IN (parts[4], parts[6]) THEN
                most := amount + CASE WHEN mod(amount, 10) = 0 THEN 9 ELSE 1 END;
            ELSIF right(parts[3], 1) = '几' AND which = 'ago' THEN
                amount := CASE parts[3] WHEN '几' THEN 2 ELSE 11 END;
                most := CASE parts[3] WHEN '几' THEN 6 ELSE 19 END;
            END IF;
        ELSE
            IF right(phrase, 1) IN ('日', '号') AND strpos(phrase, '月') > 0 THEN
                part := 'day ' || coalesce(_number(rtrim(split_part(phrase, '月', 2), '日号')), 0);
            END IF;
            parts := regexp_match(phrase, '^([每上下这本]*)(周末|周|星期|礼拜|月|季度)(.?)');
            unit := _unit(parts[2]);
            weekday := CASE WHEN unit = 'week' THEN array_position(
                '{一,二,三,四,五,六,日}'::text[],
                translate(parts[3], '天1234567', '日一二三四五六日')) END;
            which := CASE left(parts[1], 1) WHEN '上' THEN 'last' WHEN '这' THEN 'this'
                                            WHEN '本' THEN 'this' WHEN '' THEN 'on' END;
            CONTINUE WHEN which IS NULL OR which = 'on' AND weekday IS NULL;
            amount := CASE which WHEN 'last' THEN length(parts[1]) ELSE 0 END;
            most := amount;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
