-- Groups lines under their day if the question asks for a time: "last Saturday" is an answer only
-- next to a date. A heading per day costs 11 tokens, and a tenth of a point of evidence at 800
-- tokens in questions that ask for a time. For all questions it costs one point, and a date before
-- every line 1.5 (scripts/bench/locomo.py).

-- Whether a question wants this: in a mode with day_headings 'always', or 'asked' if it asks when
-- or names a time. recall already knows both and does not call this.
CREATE OR REPLACE FUNCTION _wants_days(day_headings text, question text, at timestamptz)
    RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE day_headings
        WHEN 'always' THEN true
        WHEN 'asked' THEN coalesce(_asks_when(question) OR _time_windows(question, at) IS NOT NULL,
                                   false)
        ELSE false END;

-- The number of each candidate's heading among headings, with what the headings cost. These are the
-- headings of kinds. By day, the days of the candidates are appended in order, and only events keep
-- the heading of their kind.
-- Days are those of the session's time zone, as in _time_windows.
CREATE OR REPLACE FUNCTION _line_groups(
    user_id text, model smallint, by_day boolean, ids bigint[], kinds smallint[],
    INOUT headings text[], INOUT costs float8[], OUT groups smallint[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    kind_count CONSTANT int := cardinality(headings);
    days text[];
BEGIN
    groups := kinds;
    IF NOT by_day THEN
        RETURN;
    END IF;
    SELECT array_agg('## ' || to_char(t.created_at, 'YYYY-MM-DD') ORDER BY c.place) INTO days
    FROM unnest(ids) WITH ORDINALITY AS c (id, place)
    LEFT JOIN trace AS t
        ON t.user_id = _line_groups.user_id AND t.memory_id = c.id AND t.model = _line_groups.model;
    headings := headings || ARRAY(
        SELECT DISTINCT d COLLATE "C" AS day FROM unnest(days) AS d WHERE d IS NOT NULL
        ORDER BY day);
    -- Every day costs the same.
    costs := costs || array_fill(_token_cost('## 2025-01-01' || E'\n'),
                                 ARRAY[cardinality(headings) - kind_count]);
    groups := ARRAY(
        SELECT coalesce(array_position(headings, c.day, kind_count + 1), c.kind)
        FROM unnest(days, kinds) WITH ORDINALITY AS c (day, kind, place)
        ORDER BY c.place);
END $$;
