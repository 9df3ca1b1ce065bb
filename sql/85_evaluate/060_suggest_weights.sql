-- Weights of kinds according to feedback (mark_used). It only suggests: each row has a statement
-- that a person may run. A weight moves as far as the feedback proves and no further: to the end of
-- the 95 % interval of the kind's hit rate that is nearer to the hit rate of the mode, so that ten
-- recalls move it little and chance does not move it at all.
CREATE OR REPLACE FUNCTION suggest_weights(
    since timestamptz DEFAULT NULL, user_id text DEFAULT NULL, minimum int DEFAULT 20,
    max_change float8 DEFAULT 0.5)
    RETURNS TABLE (mode text, kind text, weight float8, suggested float8, shown int, used int,
                   hit_rate float8, hit_rate_low float8, hit_rate_high float8, statement text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    PERFORM _check_time(since, 'since');
    IF minimum IS NULL OR minimum < 1 THEN
        RAISE EXCEPTION 'minimum must be 1 or more lines, not %', coalesce(minimum::text, 'NULL')
            USING ERRCODE = 'ME008', HINT = 'Leave it out for 20.';
    END IF;
    IF NOT coalesce(max_change > 0 AND max_change <= 10, false) THEN
        RAISE EXCEPTION 'max_change must be above 0 and at most 10, not %',
                coalesce(max_change::text, 'NULL')
            USING ERRCODE = 'ME008', HINT = '0.5 lets a weight become 1.5 times as large or small.';
    END IF;
    IF pg_is_in_recovery() THEN
        RETURN;  -- a standby has only the part of the log that is folded into events
    END IF;
    RETURN QUERY
    WITH line AS (
        SELECT l.payload ->> 'mode' AS mode,
               l.payload -> 'injected_sources' ->> (i.place - 1)::int AS kind,
               l.payload -> 'used' ? (i.item ->> 'memory_id') AS used
        FROM _all_recalls AS l,
             jsonb_path_query(l.payload, '$.injected[*]') WITH ORDINALITY AS i (item, place)
        WHERE l.user_id = owner AND l.created_at >= coalesce(since, '-infinity')
          AND jsonb_typeof(l.payload -> 'used') = 'array' AND i.item ? 'memory_id'
    ), counted AS (
        SELECT l.mode, l.kind, count(*)::int AS shown, (count(*) FILTER (WHERE l.used))::int AS used
        FROM line AS l
        GROUP BY l.mode, l.kind
    ), rated AS (
        SELECT c.*, coalesce(w.weight, 1) AS weight, c.used / c.shown::float8 AS hit_rate,
               _wilson(c.used, c.shown, -1) AS low, _wilson(c.used, c.shown, 1) AS high,
               sum(c.used) OVER m / (sum(c.shown) OVER m)::float8 AS of_mode
        FROM counted AS c
        LEFT JOIN mode_weight AS w ON w.mode = c.mode AND w.kind = c.kind
        WINDOW m AS (PARTITION BY c.mode)
    ), moved AS (
        SELECT r.*, CASE
                   WHEN r.of_mode = 0 THEN 1
                   WHEN r.low > r.of_mode THEN least(r.low / r.of_mode, 1 + max_change)
                   WHEN r.high < r.of_mode THEN greatest(r.high / r.of_mode, 1 / (1 + max_change))
                   ELSE 1
               END AS factor
        FROM rated AS r
    ), suggested AS (
        SELECT m.*, CASE
                   WHEN m.shown < minimum THEN NULL
                   WHEN m.factor = 1 THEN m.weight
                   ELSE round((m.weight * m.factor)::numeric, 2)::float8
               END AS suggested
        FROM moved AS m
    )
    SELECT s.mode, s.kind, s.weight, s.suggested, s.shown, s.used, s.hit_rate, s.low, s.high,
           CASE WHEN s.suggested <> s.weight THEN
               format('INSERT INTO memoir.mode_weight (mode, kind, weight) VALUES (%L, %L, %s) '
                      'ON CONFLICT (mode, kind) DO UPDATE SET weight = EXCLUDED.weight;',
                      s.mode, s.kind, s.suggested) END
    FROM suggested AS s
    ORDER BY s.mode COLLATE "C", s.kind COLLATE "C";
END $$;

COMMENT ON FUNCTION suggest_weights(timestamptz, text, int, float8) IS
    'Suggests weights of kinds in modes from the feedback of one user. It counts the memories '
    'shown in recalls with mark_used() from since on (NULL: all): shown, used, hit_rate = used / '
    'shown with its 95 % Wilson interval (hit_rate_low, hit_rate_high). suggested: where that '
    'interval lies above or below the hit rate of all memories shown in the mode, the present '
    'weight times (nearer end of the interval / hit rate of the mode), at most 1 + max_change '
    'times larger or smaller; elsewhere the present weight; NULL below minimum (lines shown, '
    'default 20). statement sets the suggested weight, for every user; NULL without a change. '
    'Changes nothing; on a standby, which has no log, no rows. Errors: ME006 user, ME008 minimum '
    'below 1 or max_change not above 0 to 10, ME011 since. Source: D0 3.3.';

-- An end of the Wilson score interval of a share: side -1 the lower, 1 the upper; 95 %.
CREATE OR REPLACE FUNCTION _wilson(used int, shown int, side int) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (used + 1.9208::float8
            + side * 1.96::float8 * sqrt(used * (shown - used) / shown::float8 + 0.9604::float8))
           / (shown + 3.8416::float8);
