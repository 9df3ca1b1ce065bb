-- How relevant each memory still is, by the formula of D4 6.1, and what follows from it. Days count
-- from the last access, or from when the memory was made if it was never shown. A change, a
-- confirmation or a restore counts as an access; otherwise what a user restored today would be
-- forgotten again tonight.
CREATE OR REPLACE FUNCTION _forgetting(
    OUT rate float8, OUT forget_below float8, OUT fade_below float8, OUT active_above float8,
    OUT working float8, OUT temporary float8, OUT lower_by float8, OUT lower_to float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    rate := _config('forget_rate');
    forget_below := _config('forget_below');
    fade_below := _config('fade_below');
    active_above := _config('active_above');
    working := _config('working_days');
    temporary := _config('temporary_days');
    lower_by := _config('lower_by');
    lower_to := _config('lower_to');
END $$;

-- D4 6.1. exp() of less than -700 would raise an underflow error: that counts as 0.
CREATE OR REPLACE FUNCTION _lasting_relevance(
    rate float8, days float8, accesses int, importance float8) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN exp(-least(rate * greatest(days, 0), 700)) * (1 + ln(1 + accesses::float8)) * importance;

-- Of one user or all (NULL), at most this many (most) after the given one (after). With core false
-- only those that can be forgotten, which have an index of their own, and the plan must know that.
-- over: why it is to be forgotten.
CREATE OR REPLACE FUNCTION _relevances(
    only_user text, at timestamptz, core boolean DEFAULT true,
    after bigint DEFAULT 0, most int DEFAULT NULL)
    RETURNS TABLE (user_id text, memory_id bigint, kind text, lifetime text, importance float8,
                   accesses int, last_use timestamptz, lowered_at timestamptz, relevance float8,
                   state text, over text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    rules CONSTANT record := _forgetting();
BEGIN
    RETURN QUERY
    SELECT u.user_id, u.memory_id, u.kind, u.lifetime, u.importance, u.accesses, u.last_use,
           u.lowered_at, u.relevance,
           CASE WHEN u.over IS NOT NULL THEN 'forgettable'
                WHEN u.relevance > rules.active_above THEN 'active'
                WHEN u.relevance >= rules.fade_below THEN 'steady'
                WHEN u.lifetime = 'core' THEN 'kept'
                ELSE 'fading' END,
           u.over
    FROM (
        SELECT r.*, CASE
                   WHEN r.lifetime = 'core' THEN NULL
                   WHEN r.lifetime = 'working' AND r.days >= rules.working
                   THEN 'a working memory not used for ' || rules.working || ' days'
                   WHEN r.lifetime = 'temporary' AND r.days >= rules.temporary
                   THEN 'a temporary memory not used for ' || rules.temporary || ' days'
                   WHEN r.relevance < rules.forget_below
                   THEN 'its relevance is below ' || rules.forget_below END AS over
        FROM (
            SELECT m.user_id, m.memory_id, m.kind, m.lifetime, m.importance,
                   coalesce(a.count, 0) AS accesses, g.last_use, v.lowered_at, d.days,
                   _lasting_relevance(rules.rate, d.days, coalesce(a.count, 0), m.importance)
                       AS relevance
            FROM memory AS m
            LEFT JOIN access AS a ON a.user_id = m.user_id AND a.memory_id = m.memory_id
            CROSS JOIN LATERAL (
                SELECT max(r.created_at) FILTER (WHERE r.action = 'LOWER') AS lowered_at,
                       max(r.created_at) FILTER (WHERE r.action IN (
                           'UPDATE', 'MERGE', 'RESTORE', 'CONFIRM', 'NOOP', 'UNDO')) AS changed_at
                FROM (SELECT r.action, r.created_at FROM revision AS r
                      WHERE r.user_id = m.user_id
                        AND r.memory_id BETWEEN m.memory_id AND m.memory_id
                      ORDER BY r.memory_id OFFSET 0) AS r) AS v
            CROSS JOIN LATERAL (
                SELECT greatest(coalesce(a.last_at, m.created_at), v.changed_at) AS last_use) AS g
            CROSS JOIN LATERAL (
                SELECT date_part('epoch', at - g.last_use) / 86400 AS days) AS d
            WHERE (only_user IS NULL OR m.user_id = only_user) AND m.status = 'active'
              AND (core OR m.lifetime <> 'core') AND m.memory_id > after
            ORDER BY m.memory_id
            LIMIT most
        ) AS r
    ) AS u;
END $$;

CREATE OR REPLACE FUNCTION memory_relevance(
    user_id text DEFAULT NULL, at timestamptz DEFAULT NULL)
    RETURNS TABLE (memory_id bigint, kind text, lifetime text, importance float8, accesses int,
                   last_use timestamptz, relevance float8, state text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    RETURN QUERY
    SELECT r.memory_id, r.kind, r.lifetime, r.importance, r.accesses, r.last_use, r.relevance,
           r.state
    FROM _relevances(owner, coalesce(_check_moment(at), now())) AS r
    ORDER BY r.relevance DESC, r.memory_id;
END $$;

COMMENT ON FUNCTION memory_relevance(text, timestamptz) IS
    'How relevant each active memory still is, the most relevant first: exp(-0.01 x days) x (1 + '
    'ln(1 + accesses)) x importance. days: since last_use, the last time it was shown to an agent '
    '(as maintain has counted it), changed, confirmed or restored, else since it was made. state: '
    'active (above 0.7), steady, fading (below 0.3: maintain lowers its importance), forgettable '
    '(below 0.1, or its lifetime is over: maintain forgets it), kept (below 0.3, but its lifetime '
    'is core: neither lowered nor forgotten). The numbers are rows of table setting. at: as of '
    'when (NULL: now), up to a hundred years ahead. Changes nothing. Errors: ME006 user, ME011 at. '
    'Source: D4 6.1, 3.3.';
