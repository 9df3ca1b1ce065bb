-- The profile part of a block: what the agent is trying to do and what it can do. Loaded, never
-- searched (D0 1.5). It is built when a goal or a capability changes, so that recall only reads it.

-- Goals and capabilities as they were at a time: for each column that changed since, the oldest
-- replaced value. infinity: as they are, without those that have ended by now.
CREATE OR REPLACE FUNCTION _profile_memories(user_id text, known_until timestamptz)
    RETURNS SETOF memory
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT t.*
    FROM (SELECT m.* FROM memory AS m
          WHERE m.user_id = _profile_memories.user_id AND m.kind IN ('okr', 'capability')
          UNION ALL
          -- Goals and capabilities of that time.
          SELECT m.* FROM memory AS m
          WHERE known_until < 'infinity' AND m.user_id = _profile_memories.user_id
            AND m.kind NOT IN ('okr', 'capability')
            AND m.memory_id IN (
                SELECT r.memory_id FROM revision AS r
                WHERE r.user_id = _profile_memories.user_id AND r.created_at > known_until
                  AND r.old_values ->> 'kind' IN ('okr', 'capability'))) AS m
    CROSS JOIN LATERAL jsonb_populate_record(m::memory, (
        SELECT coalesce(jsonb_object_agg(v.key, v.value), '{}')
        FROM (SELECT DISTINCT ON (e.key) e.key, e.value
              FROM revision AS r, jsonb_each(r.old_values) AS e
              WHERE r.user_id = m.user_id AND r.memory_id = m.memory_id
                AND r.created_at > known_until
              ORDER BY e.key, r.revision_id) AS v)) AS t
    WHERE m.status <> 'forgotten' AND m.created_at <= known_until
      AND t.status = 'active' AND t.kind IN ('okr', 'capability')
      AND (t.valid_until <= CASE WHEN known_until = 'infinity' THEN now() ELSE known_until END)
          IS NOT TRUE;
END $$;

-- in_progress and pending (D0 1.5), and what issue trackers call the same.
CREATE OR REPLACE FUNCTION _is_open(status text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(_lower(btrim(status)), ' -', '__') IN (
        'in_progress', 'pending', 'open', 'active', 'started', 'doing', 'ongoing', 'todo', 'to_do',
        'planned', '进行中', '待办', '待处理', '未开始');

-- A goal or a capability that does not fit the budget is left out; the next one may fit.
CREATE OR REPLACE FUNCTION _profile_snippet(user_id text, known_until timestamptz, budget int,
                                            OUT snippet text, OUT memory_ids bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    goal_limit CONSTANT int := _config('profile_goals');
    token_limit CONSTANT int := _config('profile_tokens');
    entry record;
    added text;
BEGIN
    snippet := '';
    memory_ids := '{}';
    FOR entry IN
        (SELECT m.memory_id, 1 AS part,
                CASE k.heading WHEN 'Goals' THEN 'Current goals' ELSE k.heading END AS heading,
                row_number() OVER goals AS place,
                _line(coalesce(m.data ->> 'title', m.summary, m.content), 200)
                || coalesce(format(' (%s, %s%%)', m.data ->> 'status',
                                   coalesce(_percent(m.data), '0')), '') AS line
         FROM _profile_memories(_profile_snippet.user_id, known_until) AS m
         JOIN kind AS k ON k.name = m.kind
         WHERE m.kind = 'okr' AND _is_open(m.data ->> 'status')
         WINDOW goals AS (ORDER BY _priority(m.data -> 'priority') NULLS LAST,
                                   _json_number(m.data -> 'progress') DESC NULLS LAST,
                                   m.created_at, m.memory_id)
         ORDER BY place LIMIT goal_limit)
        UNION ALL
        (SELECT m.memory_id, 2,
                CASE k.heading WHEN 'Capabilities' THEN 'Main capabilities' ELSE k.heading END,
                row_number() OVER (ORDER BY m.importance DESC, m.created_at DESC, m.memory_id),
                _line(coalesce(m.summary, m.data ->> 'title', m.content), 80)
         FROM _profile_memories(_profile_snippet.user_id, known_until) AS m
         JOIN kind AS k ON k.name = m.kind
         WHERE m.kind = 'capability')
        ORDER BY part, place
    LOOP
        CONTINUE WHEN entry.part = 2
            AND estimate_tokens(snippet || entry.heading || entry.line) + 8 > token_limit;
        added := CASE WHEN strpos(snippet, '## ' || entry.heading || E'\n') = 0
                      THEN '## ' || entry.heading || E'\n' ELSE '' END
            || '- ' || entry.line || E'\n';
        CONTINUE WHEN _token_cost(snippet || added) > budget;
        snippet := snippet || added;
        memory_ids := memory_ids || entry.memory_id;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION _json_number(value jsonb) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN value #>> '{}' ~ '^\s*-?[0-9]{1,15}(\.[0-9]{1,15})?\s*$'
                THEN (value #>> '{}')::float8 END;

-- Lower comes first: a number, the number of a level such as P0, or what a word stands for.
CREATE OR REPLACE FUNCTION _priority(value jsonb) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(
        _json_number(value),
        _json_number(to_jsonb(substring(_lower(value #>> '{}') FROM '^\s*p(\d+)\s*$'))),
        CASE _lower(btrim(value #>> '{}'))
            WHEN 'critical' THEN 0 WHEN 'urgent' THEN 0 WHEN 'highest' THEN 0 WHEN '紧急' THEN 0
            WHEN 'high' THEN 1 WHEN '高' THEN 1
            WHEN 'medium' THEN 2 WHEN 'normal' THEN 2 WHEN '中' THEN 2
            WHEN 'low' THEN 3 WHEN '低' THEN 3
            WHEN 'lowest' THEN 4 END);

CREATE OR REPLACE FUNCTION _refresh_profile(user_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    made record;
BEGIN
    -- Locked before it is read: if two goals are written at once, the second sees the first.
    INSERT INTO profile AS p (user_id) VALUES (_refresh_profile.user_id)
    ON CONFLICT ON CONSTRAINT profile_pkey DO NOTHING;
    PERFORM FROM profile AS p WHERE p.user_id = _refresh_profile.user_id FOR UPDATE;
    made := _profile_snippet(user_id, 'infinity', 2147483647);
    UPDATE profile AS p
    SET snippet = made.snippet, snippet_cost = _token_cost(made.snippet),
        snippet_ids = made.memory_ids, updated_at = now()
    WHERE p.user_id = _refresh_profile.user_id;
END $$;

-- The profile part as a recall of the past would have had it, or as much of it as fits the budget;
-- nothing if the mode has none.
CREATE OR REPLACE FUNCTION _profile_as_of(
    user_id text, mode text, budget int, as_of timestamptz,
    OUT snippet text, OUT cost float8, OUT memory_ids bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    made record;
BEGIN
    snippet := '';
    cost := 0;
    memory_ids := '{}';
    IF EXISTS (SELECT FROM mode AS m WHERE m.name = _profile_as_of.mode AND m.profile) THEN
        made := _profile_snippet(user_id, as_of, budget);
        snippet := made.snippet;
        cost := _token_cost(made.snippet);
        memory_ids := made.memory_ids;
    END IF;
END $$;
