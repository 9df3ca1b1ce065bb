-- The spans of time a question names, to recall what was said then. Days are those of the session's
-- time zone (date_trunc and make_timestamptz use it): a reader in Shanghai means days in Shanghai.
-- Weeks begin on Monday. Most questions name none, so a quick check comes first.

-- A year, a month, a day or a season (of the northern hemisphere); NULL if it does not exist.
CREATE OR REPLACE FUNCTION _calendar_span(year int, month int, day int, season int)
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
    END IF;
    start := make_timestamptz(year, coalesce(month, 3 * season, 1), 1, 0, 0, 0);
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
            make_timestamptz(1900, 1, 1, 0, 0, 0),
            CASE WHEN lead LIKE 'before%' THEN lower(span) ELSE upper(span) END)
        WHEN lead LIKE '% before' THEN tstzrange(
            lower(span) - left(lead, -7)::interval, upper(span))
        WHEN lead LIKE '% after' THEN tstzrange(
            lower(span), least(upper(span) + left(lead, -6)::interval, greatest(at, upper(span))))
        ELSE span END;

-- A month or day without a year is in the years the question names elsewhere, otherwise in the ten
-- years up to now as far as they have begun; with "last", "since" or "after", the latest.
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
    seasons int[];
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
           array_agg(d.season),
           array_agg(d.year) FILTER (WHERE d.year IS NOT NULL
                                           AND split_part(d.lead, ' ', 1) <> ALL (open)),
           bool_or(d.year IS NULL AND d.lead NOT IN ('this', 'last', 'since', 'after', '上')
                   AND d.lead NOT LIKE '% last'),
           array_agg(d.lead IN ('到', '至') OR d.lead IN ('to', 'and', 'until', 'till', 'through')
                                              AND d.lead_before IN ('from', 'between', '从', '自'))
    INTO leads, years, months, days, seasons, named, without_year, closes
    FROM (SELECT w.*, lag(w.lead, 1, '') OVER () AS lead_before
          FROM _dates_written(question, this_year) AS w) AS d;

    FOR i IN 1..coalesce(cardinality(leads), 0) LOOP
        -- The year of "in 2022, in June", and the first end of "from May to July".
        CONTINUE WHEN without_year AND months[i] IS NULL AND seasons[i] IS NULL
                      AND split_part(leads[i], ' ', 1) <> ALL (open) OR closes[i + 1];
        newest := this_year - coalesce((seasons[i] = 4)::int, 0);
        of_years := CASE
            WHEN years[i] IS NOT NULL THEN ARRAY[years[i]]
            WHEN leads[i] IN ('last', '上') OR leads[i] LIKE '% last' THEN ARRAY[
                newest - (upper(_calendar_span(newest, months[i], days[i], seasons[i])) > at)::int]
            WHEN leads[i] IN ('this', '这') THEN ARRAY[
                CASE WHEN date_part('month', at) < 3 THEN newest ELSE this_year END]
            WHEN leads[i] IN ('since', 'after') THEN ARRAY[
                this_year - (lower(_calendar_span(this_year, months[i], days[i], seasons[i]))
                             > at)::int]
            ELSE coalesce(named, ARRAY(SELECT generate_series(this_year - 9, this_year))) END;
        FOREACH of_year IN ARRAY of_years LOOP
            span := _calendar_span(of_year, months[i], days[i], seasons[i]);
            CONTINUE WHEN span IS NULL OR years[i] IS NULL AND lower(span) > at;
            IF closes[i] THEN
                from_span := _calendar_span(
                    coalesce(years[i - 1], of_year - (months[i - 1] > months[i])::int),
                    months[i - 1], days[i - 1], seasons[i - 1]);
                IF lower(from_span) < upper(span) THEN
                    span := tstzrange(lower(from_span), upper(span));
                END IF;
            ELSE
                span := _beside(span, leads[i], at);
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
    spans tstzmultirange := '{}';
BEGIN
    FOR written IN SELECT r.* FROM _times_from_now(question) AS r WHERE r.amount < 1000 LOOP
        step := CASE written.unit WHEN 'quarter' THEN interval '3 months'
                                  WHEN 'weekend' THEN interval '1 week'
                                  ELSE ('1 ' || written.unit)::interval END;
        until := NULL;
        CASE
            WHEN written.which = 'ago' THEN
                start := date_trunc(written.unit, at - written.amount * step);
                until := start + step;
            WHEN written.which = 'few' THEN
                start := date_trunc(written.unit, at - 6 * step);
                until := date_trunc(written.unit, at - 2 * step) + step;
            WHEN written.which = 'past' AND written.unit IS NOT NULL THEN
                start := at - written.amount * step;
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
                    ELSE today - (mod(date_part('isodow', at)::int - written.weekday + 6, 7) + 1)
                                 * interval '1 day' END;
                until := start + interval '1 day';
            ELSE
                start := CASE WHEN written.unit = 'weekend' THEN this_week + interval '5 days'
                              ELSE date_trunc(written.unit, at) END
                         - CASE WHEN written.which = 'last' THEN written.amount
                                ELSE 0 END * step;
                until := start + CASE WHEN written.unit = 'weekend' THEN interval '2 days'
                                      ELSE step END;
        END CASE;
        IF start < until THEN
            spans := spans + tstzmultirange(_beside(tstzrange(start, until), written.lead, at));
        END IF;
    END LOOP;
    RETURN spans;
END $$;

-- Full-width digits and traditional characters count. Only the first 2,000 characters of a question
-- and the first 20 dates of each kind (_dates_written) are read, which bounds the work.
CREATE OR REPLACE FUNCTION _named_spans(question text, at timestamptz) RETURNS tstzmultirange
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    flat CONSTANT text := _times_reworded(_simplified(normalize(left(question, 2000), NFKC)));
BEGIN
    IF at >= '1910-01-01' AND at < '2190-01-01' THEN
        RETURN nullif(_calendar_spans(flat, at) + _relative_spans(flat, at), '{}');
    END IF;
    RETURN NULL;
END $$;

-- The quick check: 3 µs for 67 characters that name no time. LIKE over a list, because one regular
-- expression of these words takes 7 µs; a text that passes takes 60 to 260 µs, with a feast 400.
CREATE OR REPLACE FUNCTION _time_windows(question text, at timestamptz) RETURNS tstzmultirange
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN question ~ '[0-9]'
             OR octet_length(question) > length(question)
             AND question ~ ('[０-９年月周週昨今曜节節旦诞誕]|星期|[礼禮]拜|季度|前[天几幾些两兩]|[天日时時][以之前]|'
                             '[春夏秋冬][天季]|[近去这這的][一二两兩三四五六七八九十几幾]|[国國][庆慶]|五一|[双雙]十|'
                             '平安夜|クリスマス|어제|그제|오늘|그저께|지난|이번 ?[주달]|작년|올해|요일|[일달월년주] ?전')
             OR lower(question COLLATE "C") LIKE ANY (
                '{%uary%,%march%,%april%,%may%,%june%,%july%,%august%,%tember%,%october%,%vember%,'
                '%cember%,%summer%,%winter%,%spring%,%utumn%,%fall%,%last%,%past%,%this%,'
                '%day%,% ago%}'::text[])
        THEN _named_spans(question, at) END;
