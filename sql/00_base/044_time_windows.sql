-- The spans of time a question names, to recall what was said then. Days are those of the session's
-- time zone (date_trunc and make_timestamptz use it): a reader in Shanghai means days in Shanghai.
-- Weeks begin on Monday. Most questions name none, so a quick check comes first.

-- The days of a feast that has several, or other dates each year. For those a letter for each year
-- from 1980 to 2059 counts the days after the first date possible: A is 0, a is 26.
CREATE OR REPLACE FUNCTION _feast(name text, year int) RETURNS tstzrange
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT tstzrange(d.first, d.first + d.days * interval '1 day')
    FROM (
        SELECT make_timestamptz(year, f.month, f.day, 0, 0, 0) + interval '1 day' * CASE
                   WHEN m.letters IS NULL THEN 0
                   ELSE strpos('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijk',
                               nullif(substr(m.letters, year - 1979, 1), '')) - 1 END,
               f.days
        FROM (VALUES
            ('{国庆}'::text[], 10, 1, 7, ''), ('{五一}', 5, 1, 5, ''),
            ('{春节,newyear}', 1, 20, 7, 'newyear'), ('{除夕}', 1, 19, 1, 'newyear'),
            ('{元宵}', 2, 3, 1, 'newyear'), ('{端午,boat}', 5, 25, 1, 'boat'),
            ('{中秋,moon}', 9, 5, 1, 'moon'), ('{七夕}', 7, 31, 1, 'qixi'),
            ('{复活,easter}', 3, 20, 1, 'easter'),
            ('{感恩,thanksgiving}', 11, 22, 1, 'thanksgiving'),
            ('{黑五,blackfriday}', 11, 23, 1, 'thanksgiving'),
            ('{goodfriday}', 3, 18, 1, 'easter'), ('{eastermonday}', 3, 21, 1, 'easter'),
            ('{清明}', 4, 4, 3, ''), ('{暑假}', 7, 1, 62, ''), ('{寒假}', 1, 15, 36, '')
        ) AS f (names, month, day, days, moves)
        LEFT JOIN (VALUES
            ('newyear',
             'bQFYNfUJcRHaPDVLeSIbQEXMCUJdSGZODVLeTIbQFXMCVJcRGYODWLeTIaPEXMCVKcRGZNDWMeTIaPEX'),
            ('boat',
             'XMfVKcRGYODWLeTIaPFYMfVKcRGZODWMdSIaPFYNfUJcQGZPDWLeSHaQFYNCUJcRGZOEVKdTHaQFXMfU'),
            ('moon',
             'SHaQFYNgUJcRGZPEWLeTHaQGXNfUJcRHZODWKdTIaQFYMfUKcRHaODWLdTIbPFXMeUKdRGZOCVLeTIbQ'),
            ('qixi',
             'RGZPDWMeSIaQFYNCUJcRGZPEWLATHaQGXNCUJcRHZOEWKdTIaQFYMBUKcRHaODWLATIbQFXMBUKdRGZO'),
            ('easter',
             'ReWOhSKeOGaLeWObSKXPiaLfWHbTDXPjTLfQHbMgXPcULfQIbMgYIcUFYQkVMgRJcUFZQdVNgRJdNhZK'),
            ('thanksgiving',
             'FEDCAGFECBAGEDCBGFEDBAGFDCBAFEDCAGFECBAGEDCBGFEDBAGFDCBAFEDCAGFECBAGEDCBGFEDBAGF')
        ) AS m (moves, letters) USING (moves)
        WHERE _feast.name = ANY (f.names)
    ) AS d (first, days)
    WHERE d.first IS NOT NULL;
END;

-- A part of a span: its first week, its last Friday (9 is the last), its day 8, its second third.
-- week 0 and weekend 0 are those of a day; decade 0 is that of its first year.
CREATE OR REPLACE FUNCTION _part(span tstzrange, part text) RETURNS tstzrange
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    unit CONSTANT text := split_part(part, ' ', 1);
    number CONSTANT int := least(split_part(part, ' ', 2)::int, 31);
    pieces CONSTANT int := array_position('{half,third,quarter}'::text[], unit) + 1;
    weekday CONSTANT int := array_position(
        '{monday,tuesday,wednesday,thursday,friday,saturday,sunday}'::text[],
        replace(unit, 'weekend', 'saturday'));
    days CONSTANT int := round(date_part('epoch', upper(span) - lower(span)) / 86400);
    months CONSTANT int := round(days / 30.4);
    length CONSTANT interval := CASE
        WHEN pieces IS NULL THEN CASE unit WHEN 'week' THEN '7 days' WHEN 'weekend' THEN '2 days'
                                           WHEN 'decade' THEN '10 years' ELSE '1 day' END
        WHEN months > 0 AND months % pieces = 0 THEN format('%s months', months / pieces)
        ELSE format('%s days', days / pieces) END;
    step CONSTANT interval := CASE WHEN unit = 'day' THEN '1 day' ELSE '7 days' END;
    start timestamptz := lower(span);
BEGIN
    IF number = 0 AND days > 7 THEN
        RETURN CASE WHEN unit = 'decade' THEN tstzrange(start, start + length) ELSE span END;
    ELSIF pieces IS NOT NULL THEN
        start := start + (least(number, pieces) - 1) * length;
        RETURN tstzrange(start, CASE WHEN number < pieces THEN start + length
                                     ELSE upper(span) END);
    ELSIF number = 0 THEN
        start := CASE unit WHEN 'weekend' THEN
                     date_trunc('week', start - interval '2 days') + interval '5 days'
                           ELSE date_trunc('week', start) END;
    ELSE
        start := start + (number - 1) * step
                 + coalesce(mod(weekday - date_part('isodow', start)::int + 7, 7), 0)
                   * interval '1 day';
        WHILE start + length > upper(span) LOOP
            start := start - CASE WHEN weekday IS NULL THEN interval '1 day' ELSE step END;
        END LOOP;
    END IF;
    RETURN tstzrange(start, start + length);
END $$;

-- A year, a month, a day, a season (of the northern hemisphere) or a feast, or a part of it; NULL
-- if it does not exist.
CREATE OR REPLACE FUNCTION _calendar_span(year int, month int, day int, season text, part text)
    RETURNS tstzrange
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    start timestamptz;
BEGIN
    IF (year BETWEEN 1900 AND 2199 AND coalesce(month, 1) BETWEEN 1 AND 12
        AND coalesce(day, 1) BETWEEN 1 AND 31) IS NOT TRUE
    THEN
        RETURN NULL;
    ELSIF part IS NOT NULL THEN
        RETURN _part(_calendar_span(year, month, day, season, NULL), part);
    ELSIF season NOT IN ('spring', 'summer', 'fall', 'winter') THEN
        RETURN _feast(season, year);
    END IF;
    start := make_timestamptz(
        year, coalesce(month, 3 * array_position('{spring,summer,fall,winter}'::text[], season), 1),
        1, 0, 0, 0);
    IF day IS NULL THEN
        RETURN tstzrange(start, start + CASE
            WHEN season IS NOT NULL THEN interval '3 months'
            WHEN month IS NOT NULL THEN interval '1 month'
            ELSE interval '1 year' END);
    END IF;
    start := start + (day - 1) * interval '1 day';
    RETURN CASE WHEN date_part('month', start) = month
                THEN tstzrange(start, start + interval '1 day') END;
END $$;

-- One side of a time: since it began, before it, after it, until it is over. What happened two
-- weeks before a day may also be told on that day.
CREATE OR REPLACE FUNCTION _beside(span tstzrange, lead text, at timestamptz) RETURNS tstzrange
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN lead LIKE 'since%' THEN tstzrange(lower(span), greatest(at, lower(span)), '[]')
        WHEN lead LIKE 'after%' THEN tstzrange(upper(span), greatest(at, upper(span)), '[]')
        WHEN lead LIKE ANY ('{before%,until%,till%}'::text[]) THEN tstzrange(
            least(make_timestamptz(1900, 1, 1, 0, 0, 0), lower(span)),
            CASE WHEN lead LIKE 'before%' THEN lower(span) ELSE upper(span) END)
        WHEN lead LIKE '% before' THEN tstzrange(
            lower(span) - left(lead, -7)::interval, upper(span))
        WHEN lead LIKE '% after' THEN tstzrange(
            lower(span), least(upper(span) + left(lead, -6)::interval, greatest(at, upper(span))))
        ELSE span END;

-- A month or day without a year is in the years the question names elsewhere, otherwise in the ten
-- years up to now as far as they have begun; with "last", "since" or "after", and of a quarter, the
-- latest.
CREATE OR REPLACE FUNCTION _calendar_spans(question text, at timestamptz) RETURNS tstzmultirange
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    this_year CONSTANT int := date_part('year', at);
    open CONSTANT text[] := '{since,after,before,until,till}';
    leads text[];
    years int[];
    months int[];
    days int[];
    seasons text[];
    parts text[];
    named int[];
    without_year boolean;
    closes boolean[];
    newest int;
    of_years int[];
    of_year int;
    span tstzrange;
    from_span tstzrange;
    spans tstzmultirange := '{}';
BEGIN
    SELECT array_agg(d.lead), array_agg(d.year), array_agg(d.month), array_agg(d.day),
           array_agg(d.season), array_agg(d.part),
           array_agg(d.year) FILTER (WHERE d.year IS NOT NULL
                                           AND split_part(d.lead, ' ', 1) <> ALL (open)),
           bool_or(d.year IS NULL AND d.lead NOT IN ('this', 'last', 'since', 'after', '上')
                   AND d.lead NOT LIKE '% last'),
           array_agg(d.lead IN ('到', '至') OR d.lead IN ('to', 'and', 'until', 'till', 'through')
                                              AND d.lead_before IN ('from', 'between', '从', '自'))
    INTO leads, years, months, days, seasons, parts, named, without_year, closes
    FROM (SELECT w.*, lag(w.lead, 1, '') OVER () AS lead_before
          FROM _dates_written(question, this_year) AS w) AS d;

    FOR i IN 1..coalesce(cardinality(leads), 0) LOOP
        -- The year of "in 2022, in June", and the first end of "from May to July".
        CONTINUE WHEN without_year AND coalesce(months[i]::text, seasons[i], parts[i]) IS NULL
                      AND split_part(leads[i], ' ', 1) <> ALL (open) OR closes[i + 1];
        newest := this_year - coalesce((seasons[i] = 'winter')::int, 0);
        of_years := CASE
            WHEN years[i] IS NOT NULL THEN ARRAY[years[i]]
            WHEN leads[i] IN ('last', '上') OR leads[i] LIKE '% last' THEN ARRAY[
                newest - (upper(_calendar_span(newest, months[i], days[i], seasons[i], parts[i]))
                          > at)::int]
            WHEN leads[i] IN ('this', '这') THEN ARRAY[
                CASE WHEN date_part('month', at) < 3 THEN newest ELSE this_year END]
            WHEN leads[i] IN ('since', 'after')
                 OR named IS NULL AND coalesce(months[i]::text, seasons[i]) IS NULL THEN ARRAY[
                this_year - (lower(_calendar_span(
                    this_year, months[i], days[i], seasons[i], parts[i])) > at)::int]
            ELSE coalesce(named, ARRAY(SELECT generate_series(this_year - 9, this_year))) END;
        FOREACH of_year IN ARRAY of_years LOOP
            span := _calendar_span(of_year, months[i], days[i], seasons[i], parts[i]);
            CONTINUE WHEN span IS NULL OR years[i] IS NULL AND lower(span) > at;
            IF closes[i] THEN
                from_span := _calendar_span(
                    coalesce(years[i - 1], of_year - coalesce((months[i - 1] > months[i])::int, 0)),
                    months[i - 1], days[i - 1], seasons[i - 1], parts[i - 1]);
                IF lower(from_span) < upper(span) THEN
                    span := tstzrange(lower(from_span), upper(span));
                END IF;
            ELSE
                -- Before the end of May is until it is over.
                span := _beside(span, CASE WHEN leads[i] = 'before' AND parts[i] = 'third 3'
                                           THEN 'until' ELSE leads[i] END, at);
            END IF;
            spans := spans + tstzmultirange(span);
        END LOOP;
    END LOOP;
    RETURN spans;
END $$;

CREATE OR REPLACE FUNCTION _relative_spans(question text, at timestamptz) RETURNS tstzmultirange
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    today CONSTANT timestamptz := date_trunc('day', at);
    this_week CONSTANT timestamptz := date_trunc('week', at);
    written record;
    step interval;
    start timestamptz;
    until timestamptz;
    span tstzrange;
    spans tstzmultirange := '{}';
BEGIN
    FOR written IN SELECT r.* FROM _times_from_now(question) AS r
                   WHERE r.most < CASE r.unit WHEN 'decade' THEN 100 ELSE 1000 END LOOP
        step := CASE written.unit WHEN 'quarter' THEN interval '3 months'
                                  WHEN 'weekend' THEN interval '1 week'
                                  ELSE ('1 ' || written.unit)::interval END;
        until := NULL;
        CASE
            WHEN written.which = 'past' AND written.unit IS NOT NULL THEN
                start := at - written.most * step;
                IF written.unit <> 'hour' THEN
                    start := date_trunc('day', start);
                END IF;
                until := at;
            WHEN written.weekday IS NOT NULL THEN
                start := CASE
                    WHEN written.which = 'this' THEN
                        this_week + (written.weekday - 1) * interval '1 day'
                    WHEN written.unit = 'week' AND written.which = 'last' THEN
                        this_week + (written.weekday - 1 - 7 * written.amount) * interval '1 day'
                    WHEN written.which = 'on' THEN
                        today - mod(date_part('isodow', at)::int - written.weekday + 7, 7)
                                * interval '1 day'
                    ELSE today - (mod(date_part('isodow', at)::int - written.weekday + 6, 7) + 1
                                  + 7 * (written.amount - 1)) * interval '1 day' END;
                until := start + interval '1 day';
            ELSE
                start := date_trunc(replace(written.unit, 'weekend', 'week'), at);
                IF written.unit = 'weekend' THEN
                    start := start + interval '5 days';
                END IF;
                until := start - written.amount * step
                         + CASE written.unit WHEN 'weekend' THEN interval '2 days' ELSE step END;
                start := start - written.most * step;
        END CASE;
        IF start < until THEN
            span := tstzrange(start, until);
            IF written.part IS NOT NULL THEN
                span := _part(span, written.part);
            END IF;
            spans := spans + tstzmultirange(_beside(span, written.lead, at));
        END IF;
    END LOOP;
    RETURN spans;
END $$;

-- "two years ago in May", "a year ago today" and 三年前的春节 with the year in digits.
CREATE OR REPLACE FUNCTION _years_ago(question text, at timestamptz) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    said text[];
    day timestamptz;
BEGIN
    FOR said IN SELECT regexp_matches(question, '(?xi)
        (?<! \m (?: since|until|till|before|after|half ) [ ] ) \m ( (this [ ] time [ ])?
        (?: last [ ] year (?<= time [ ] last [ ] year )
          | ([1-9][0-9]?|an?|one|two|three|four|five|six|seven|eight|nine|ten)
            [ ] years? [ ] ago
            (?: [ ] (today|this [ ] (?: week|month )) \M
              | (?= [ ] (?: in|on|at|over|during|around|last ) \M )
              | (?<= (?: this [ ] time | [0-9] (?: st|nd|rd|th )? | day|eve|christmas|easter
                         |halloween|thanksgiving|spring|summer|fall|autumn|winter
                         |' || _month_names() || ' )
                    [ ] [a-z0-9]{1,5} [ ] years? [ ] ago ) ) ) )', 'g')
    LOOP
        day := at - coalesce(_number(said[3]), 1) * interval '1 year';
        question := replace(question, said[1], CASE lower(said[4] COLLATE "C")
            WHEN 'today' THEN 'on ' || to_char(day, 'FMMonth FMDD YYYY')
            WHEN 'this week' THEN 'the week of ' || to_char(day, 'YYYY-MM-DD')
            ELSE 'in ' || to_char(day, CASE WHEN said[2] <> '' OR said[4] <> ''
                                            THEN 'FMMonth YYYY' ELSE 'YYYY' END) END);
    END LOOP;
    FOR said IN SELECT regexp_matches(question, '(?x)
        ( (?: 去年 | (?<! 大 ) (前)年
            | (?<! [0-9一二两三四五六七八九十几多] ) ([1-9][0-9]?|[一二两三四五六七八九十]) 年[以之]?前 ) 的?
          (?: (这个?时候? | 同期 | 此时 | 这个月) | (今天 | 这一?天)
            | (?<= 前 的? ) (?= [0-9一二三四五六七八九十]+ 月 | [春夏秋冬][天季] | [暑寒]假
                              | [春中][节秋] | 国庆 | 五一 | 元旦 | 圣诞 ) ) )', 'g')
    LOOP
        day := at - CASE WHEN said[3] <> '' THEN _number(said[3])
                         WHEN said[2] <> '' THEN 2 ELSE 1 END * interval '1 year';
        question := replace(question, said[1], to_char(day, CASE
            WHEN said[5] <> '' THEN 'YYYY年FMMM月FMDD日'
            WHEN said[4] <> '' THEN 'YYYY年FMMM月' ELSE 'YYYY年' END));
    END LOOP;
    RETURN question;
END $$;

-- Weeks by their number in the year (ISO), as the week of their Monday; without a year the latest
-- that has begun. KW, CW and "calendar week", or a year beside it: "week 20" alone may be another.
CREATE OR REPLACE FUNCTION _numbered_weeks(question text, at timestamptz) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    said text[];
    number int;
    monday date;
BEGIN
    FOR said IN SELECT regexp_matches(question, '(?x)
        ( \m (?: KW | CW | [Cc]alendar [ ] week ) [ ]? ([0-9]{1,2})
              (?: [ ]? (?: /|of|in )? [ ]? ((?:19|20)[0-9]{2}) )? \M
        | \m [Ww]eek [ ] ([0-9]{1,2}) [ ] (?: (?: of|in ) [ ] )? ((?:19|20)[0-9]{2}) \M
        | \m ((?:19|20)[0-9]{2}) (?: -W | 年第 (?= [0-9]+周 ) ) ([0-9]{1,2}) (?: 周 | \M ) )',
        'g')
    LOOP
        number := coalesce(said[2], said[4], said[7]);
        CONTINUE WHEN number NOT BETWEEN 1 AND 53;
        monday := to_date(concat(coalesce(said[3], said[5], said[6], to_char(at, 'IYYY')),
                                 '-', number), 'IYYY-IW');
        IF coalesce(said[3], said[5], said[6]) IS NULL AND monday > at THEN
            monday := to_date(concat(to_char(at, 'IYYY')::int - 1, '-', number), 'IYYY-IW');
        END IF;
        CONTINUE WHEN to_char(monday, 'FMIW')::int <> number;
        question := replace(question, said[1], to_char(monday, '" week of "YYYY-MM-DD" "'));
    END LOOP;
    RETURN question;
END $$;

-- Times that depend on the day of the question, in words of the calendar: "two summers ago" is the
-- summer of a year, "on the 8th" the latest day 8 up to now, "this time last year" this month then,
-- "over the weekend" the last one if the question is about the past.
CREATE OR REPLACE FUNCTION _seen_from(question text, at timestamptz) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    flat text := lower(question COLLATE "C");
    said text[];
    number int;
BEGIN
    IF flat LIKE ANY ('{%ers ago%,%ings ago%,%lls ago%,%mns ago%,%r before last%,%g before last%,'
                      '%l before last%,%n before last%}')
    THEN
        question := regexp_replace(question, '(?xi)
            \m (?: the [ ] )? (summer|winter|spring|fall|autumn) [ ] before [ ] last
            (?= [ ]? [,.;?!] | $ )', 'two \1s ago', 'g');
        flat := lower(question COLLATE "C");
        FOR said IN SELECT regexp_matches(flat, '(?x)
            \m (two|three|four|five|six|[2-9]) [ ]
            (spring|summer|fall|autumn|winter) s [ ] ago \M', 'g')
        LOOP
            number := date_part('year', at) + 1 - _number(said[1]) - (
                date_part('month', at) < 3 * array_position(
                    '{spring,summer,fall,winter}'::text[],
                    replace(said[2], 'autumn', 'fall')))::int;
            question := replace(lower(question COLLATE "C"), concat(said[1], ' ', said[2], 's ago'),
                                format('in the %s of %s', said[2], number));
        END LOOP;
    END IF;
    IF flat LIKE ANY ('{%year% ago%,%this time last year%,%ago today%}')
       OR octet_length(question) > length(question)
          AND question LIKE ANY ('{%去年%,%前年%,%年前%,%年以前%,%年之前%}')
    THEN
        question := regexp_replace(_years_ago(question, at), ' ago today', ' ago', 'gi');
    END IF;
    IF flat LIKE ANY ('{%kw%,%cw%,%week _%,%-w%,%年第%}') THEN
        question := _numbered_weeks(question, at);
    END IF;
    IF flat LIKE ANY ('{%r the weekend%,%g the weekend%,%t the weekend%,%n the weekend%}')
       AND flat ~ '\m(?:did|was|were|had|has|have|what happened)\M'
    THEN
        question := replace(lower(question COLLATE "C"), 'the weekend', 'last weekend');
    END IF;
    IF flat LIKE ANY ('{% the _th%,% the __th%,% the _st%,% the __st%,% the _nd%,% the __nd%,'
                      '% the _rd%,% the __rd%}')
    THEN
        FOR said IN SELECT regexp_matches(flat, '(?x)
            \m (on|since|until|till|before|after|by|of) [ ] the [ ]
            ( (?: [1-9] | [12][0-9] | 3[01] ) (?:st|nd|rd|th) )
            (?= [ ]* (?: [?!.;] | $ ) | [ ]* , (?! [ ]* (?: ' || _month_names() || '|[0-9] ) )
              | [ ] (?: did|was|were|is|we|i|you|he|she|they|and|at|about|with|for ) \M )', 'g')
        LOOP
            number := rtrim(said[2], 'stndrh');
            question := replace(
                lower(question COLLATE "C"), concat(said[1], ' the ', said[2]),
                format('%s partx%sx %s month', said[1], said[2],
                       CASE WHEN number > date_part('day', at) THEN 'last' ELSE 'this' END));
        END LOOP;
    END IF;
    IF strpos(question, '号') > 0 THEN
        FOR said IN SELECT regexp_matches(question, '(?x)
            (?<= ^ | [^0-9A-Za-z月到至~～—-] ) (?<! [日号] [和与及、] ) ( [1-9] | [12][0-9] | 3[01] ) 号
            (?= 那天 | 当天 | [的说有] | 晚 | 早 | 上午 | 下午 | 我 | 你 | 他 | 她 | [，。？?, ] | $ )', 'g')
        LOOP
            question := regexp_replace(question, '(?<![0-9])' || said[1] || '号', format(
                '%s月%s号', CASE WHEN said[1]::int > date_part('day', at) THEN '上个' ELSE '这个' END,
                said[1]));
        END LOOP;
    END IF;
    RETURN question;
END $$;

-- Full-width digits and traditional characters count. Only the first 2,000 characters of a question
-- and the first 20 dates of each kind (_dates_written) are read, which bounds the work. Which kind
-- an English text can have is looked at first, because to look for one takes 25 µs.
CREATE OR REPLACE FUNCTION _named_spans(question text, at timestamptz) RETURNS tstzmultirange
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    head CONSTANT text := _one_line(left(question, 2000));
    flat text;
    other boolean;
BEGIN
    IF at >= '1910-01-01' AND at < '2190-01-01' THEN
        flat := _times_reworded(_seen_from(
            CASE WHEN octet_length(head) = length(head) THEN head
                 ELSE _simplified(normalize(head, NFKC)) END, at));
        other := octet_length(flat) > length(flat);
        RETURN nullif(
            CASE WHEN other OR flat ~ '[0-9]' OR lower(flat COLLATE "C") LIKE ANY (
                          '{%jan%,%feb%,%mar%,%apr%,%may%,%jun%,%jul%,%aug%,%sep%,%oct%,%nov%,'
                          '%dec%,%spring%,%summer%,%autumn%,%fall%,%winter%,%feastx%,%year%}')
                 THEN _calendar_spans(flat, at) ELSE '{}' END
            + CASE WHEN other OR lower(flat COLLATE "C") LIKE ANY (
                            '{%day%,%last%,%past%,%this%,%ago%}')
                   THEN _relative_spans(flat, at) ELSE '{}' END, '{}');
    END IF;
    RETURN NULL;
END $$;

-- The quick check: LIKE over a list takes half as long as one regular expression of these words,
-- and a fiftieth of what a text that passes takes.
CREATE OR REPLACE FUNCTION _time_windows(question text, at timestamptz) RETURNS tstzmultirange
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN question ~ '[0-9]'
             OR octet_length(question) > length(question)
             AND question ~ ('[０-９年月周週昨今曜节節旦诞誕夕]|星期|[礼禮]拜|季度|前[天晚几幾些两兩]|'
                             '[天日时時钟鐘][以之前]|中秋|端午|清明|黑五|十一[假长長期]|[刚剛]才|'
                             '[春夏秋冬暑寒][天季假]|[近去这這的][一二两兩三四五六七八九十几幾]|[国國][庆慶]|五一|[双雙]十|'
                             '平安夜|大晦|四半期|クリスマス|ハロウィン|バレンタイン|어제|그제|오늘|그[저끄]|지난|저번|'
                             '이번 ?[주달]|작년|올해|요일|[일달월년주흘칠틀] ?전|추석|설날|크리스마스|할로윈|발렌타인|[상하]반기')
             OR lower(question COLLATE "C") LIKE ANY (
                '{%uary%,%march%,%april%,%may%,%june%,%july%,%august%,%tember%,%october%,%vember%,'
                '%cember%,%summer%,%winter%,%spring%,%utumn%,%fall%,%last%,%past%,%this%,'
                '%day%,% ago%,%quarter%,%christmas%,%easter%,%new year%,%hallow%,%thanksg%,'
                '%e nineties%,%e eighties%,%boat fest%,%other week%,%e weekend%,'
                '%of the month%,%of the year%,%xmas%}'::text[])
        THEN _named_spans(question, at) END;
