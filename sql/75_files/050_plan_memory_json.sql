-- What a memory.json means for the memories, entry by entry, without changing any: a dry run is
-- this and no more. The file is right about itself: no entry is merged because it is similar to
-- another. What differs from the last version of the file was changed there, and is taken over;
-- anything else stays as memory has it, whatever happened to it since.

-- The first thing in an entry that its schema does not allow.
CREATE OR REPLACE FUNCTION _check_entries(entries json[], zone text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    latest CONSTANT timestamptz := now() + interval '1 day';
    fault record;
BEGIN
    SELECT c.place, c.fault INTO fault
    FROM (
        SELECT s.place, CASE
            WHEN _key_twice(s.entry) IS NOT NULL THEN _key_twice(s.entry)
            WHEN s.first_place < s.place THEN
                format('.id "%s" stands at [%s] already', left(s.entry ->> 'id', 40), s.first_place)
            WHEN s.entry ->> 'id' !~ '[^[:space:]]' THEN '.id is empty'
            WHEN NOT _is_visible(s.entry ->> 'content') THEN '.content is empty'
            WHEN octet_length(s.entry ->> 'content') > _text_limit() THEN
                format('.content has %s bytes, the limit is %s (setting text_limit)',
                       octet_length(s.entry ->> 'content'), _text_limit())
            ELSE (
                SELECT format(CASE WHEN t.at IS NULL
                                   THEN '.%s "%s" is not a time such as 2026-02-21T10:30:00Z'
                                   ELSE '.%s "%s" is before 1970 or more than a day ahead' END,
                              t.field, left(t.said, 40))
                FROM (SELECT g.field, g.said, _file_time(g.said, zone) AS at
                      FROM (VALUES ('created_at', s.entry ->> 'created_at'),
                                   ('last_accessed', s.entry ->> 'last_accessed'))
                           AS g (field, said)
                      WHERE g.said IS NOT NULL) AS t
                WHERE (t.at >= '1970-01-01 00:00:00+00' AND t.at <= latest) IS NOT TRUE
                LIMIT 1) END AS fault
        FROM (SELECT e.entry, e.place - 1 AS place,
                     min(e.place) OVER (PARTITION BY e.entry ->> 'id') - 1 AS first_place
              FROM unnest(entries) WITH ORDINALITY AS e (entry, place)) AS s
    ) AS c
    WHERE c.fault IS NOT NULL
    ORDER BY c.place
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'memory.json.memories[%]%', fault.place, fault.fault
            USING ERRCODE = 'ME015', HINT = 'Nothing of it was stored. Correct the file.';
    END IF;
END $$;

-- later: changes since are later than the file.
CREATE OR REPLACE FUNCTION _plan_entries(
    user_id text, entries json[], zone text, later timestamptz) RETURNS SETOF file_change
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH category AS MATERIALIZED (
        SELECT c.name AS category, _check_kind(c.name) AS kind
        FROM (SELECT DISTINCT e.entry ->> 'category' AS name FROM unnest(entries) AS e (entry)) AS c
    ), said AS MATERIALIZED (
        SELECT (e.place - 1)::int AS place, e.entry ->> 'id' AS entry_id, e.entry AS written,
               e.entry::jsonb AS entry, c.category, c.kind, e.entry ->> 'content' AS content,
               round((e.entry ->> 'salience')::numeric, 300)::float8 AS importance,
               (e.entry ->> 'access_count')::numeric::int AS count,
               _file_time(e.entry ->> 'created_at', zone) AS created_at,
               _file_time(e.entry ->> 'last_accessed', zone) AS last_at,
               _content_hash((c.kind).name, NULL, NULL, NULL, e.entry ->> 'content') AS hash
        FROM unnest(entries) WITH ORDINALITY AS e (entry, place)
        JOIN category AS c ON c.category = e.entry ->> 'category'
    -- A memory without an entry is recognised by the id it is exported with, and when it was made:
    -- those of one second are read together, because there may be a thousand.
    ), unknown AS MATERIALIZED (
        SELECT s.place, s.entry_id, date_trunc('second', s.created_at) AS second
        FROM said AS s
        WHERE NOT EXISTS (SELECT FROM file_entry AS f
                          WHERE f.user_id = _plan_entries.user_id AND f.entry_id = s.entry_id)
    ), made AS MATERIALIZED (
        SELECT w.second, left(m.hash, l.size) AS entry_id, m.memory_id
        FROM (SELECT DISTINCT length(u.entry_id) AS size FROM unknown AS u) AS l
        CROSS JOIN (SELECT DISTINCT u.second FROM unknown AS u) AS w
        CROSS JOIN LATERAL (
            SELECT m.memory_id, _entry_hash(m.memory_id, m.recorded_at) AS hash
            FROM memory AS m
            WHERE m.user_id = _plan_entries.user_id AND m.source IS NULL
              AND m.created_at > '-infinity' AND m.created_at >= w.second
              AND m.created_at < w.second + interval '1 second'
              AND NOT EXISTS (SELECT FROM file_entry AS f
                              WHERE f.user_id = m.user_id AND f.memory_id = m.memory_id)
            ORDER BY m.created_at OFFSET 0) AS m
    ), named AS MATERIALIZED (
        SELECT u.place, min(m.memory_id) AS memory_id
        FROM unknown AS u JOIN made AS m USING (second, entry_id)
        GROUP BY u.place
    -- Nobody recorded the file's version of it (an export on a standby, or one that was killed).
    -- Then text that the memory itself had before a later change is not new. The time is compared
    -- so that no index on it serves: that one finds the changes of all memories for each of them.
    ), past AS MATERIALIZED (
        SELECT n.place, jsonb_object_agg(o.field, o.value) AS base
        FROM named AS n, LATERAL (
            SELECT DISTINCT ON (e.key) v.field, e.value
            FROM revision AS r, jsonb_each(r.old_values) AS e
            JOIN (VALUES ('content', 'content'), ('importance', 'salience')) AS v (key, field)
                ON v.key = e.key
            WHERE r.user_id = _plan_entries.user_id
              AND r.memory_id BETWEEN n.memory_id AND n.memory_id AND r.created_at - later >= '0'
            ORDER BY e.key, r.revision_id) AS o
        GROUP BY n.place
    -- The memory of the entry, and whether the entry says something different now.
    ), known AS MATERIALIZED (
        SELECT s.*, coalesce(f.written::jsonb, p.base) AS base, f.digest, m.memory_id AS own_id,
               CASE WHEN (m.valid_until > now()) IS NOT FALSE THEN m.status END AS own_status,
               CASE WHEN f.written IS NOT NULL
                    THEN (f.written::jsonb -> 'content', f.written::jsonb -> 'category')
                         <> (s.entry -> 'content', s.entry -> 'category')
                    ELSE m.content <> s.content
                         AND (p.base ->> 'content' = s.content) IS NOT TRUE END AS edited
        FROM said AS s
        LEFT JOIN LATERAL (SELECT f.memory_id, f.written, f.digest
                           FROM file_entry AS f
                           WHERE f.user_id = _plan_entries.user_id AND f.entry_id = s.entry_id
                           OFFSET 0) AS f ON true
        LEFT JOIN named AS n ON n.place = s.place
        LEFT JOIN past AS p ON p.place = s.place
        LEFT JOIN LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = _plan_entries.user_id
              AND m.memory_id = coalesce(f.memory_id, n.memory_id)
            OFFSET 0) AS m ON true
    -- A new or edited entry may say what another memory says.
    ), told AS MATERIALIZED (
        SELECT k.*, t.memory_id AS told_id,
               -- Of entries with the same memory one keeps it, preferably one that was not edited.
               row_number() OVER (PARTITION BY k.own_id
                                  ORDER BY k.edited, t.memory_id IS NOT NULL, k.place) AS turn
        FROM known AS k
        LEFT JOIN LATERAL (
            SELECT m.memory_id FROM memory AS m
            WHERE m.user_id = _plan_entries.user_id AND m.content_hash = k.hash
              AND m.status IN ('active', 'pending') AND m.source IS NULL
              AND (m.valid_until > coalesce(k.created_at, now())) IS NOT FALSE
              AND k.edited IS NOT FALSE
            OFFSET 0) AS t ON true
    -- An edited entry keeps its memory, unless another entry now says what that memory says.
    ), aimed AS MATERIALIZED (
        SELECT t.*, CASE
                   WHEN NOT t.edited THEN t.own_id
                   WHEN t.told_id IS NOT NULL THEN t.told_id
                   WHEN t.own_status = 'active' AND t.turn = 1
                        AND NOT EXISTS (SELECT FROM told AS o WHERE o.told_id = t.own_id)
                   THEN t.own_id END AS target_id,
               CASE WHEN t.edited IS NOT FALSE
                    THEN min(t.place) OVER (PARTITION BY t.edited IS NOT FALSE, t.hash)
                    ELSE t.place END AS first_place
        FROM told AS t
    )
    SELECT a.place, a.entry_id, d.action, d.reason,
           CASE WHEN a.first_place = a.place THEN a.target_id END,
           nullif(a.first_place, a.place), a.written, (a.kind).name, a.content, a.importance,
           _entry_data(a.entry), a.entry ->> 'source', a.created_at, d.new_values, d.accesses,
           d.last_access, CASE
               WHEN a.base IS NULL OR a.own_id IS DISTINCT FROM a.target_id
               THEN (coalesce(d.accesses, c.count, 0) > a.count) IS NOT TRUE
               ELSE a.digest = _entry_digest(m.kind, m.content, m.importance, m.data, m.origin,
                                             c.count, c.last_at) END
    FROM aimed AS a
    LEFT JOIN LATERAL (SELECT m.* FROM memory AS m
                       WHERE m.user_id = _plan_entries.user_id AND m.memory_id = a.target_id
                       OFFSET 0) AS m ON a.first_place = a.place
    LEFT JOIN LATERAL (SELECT c.* FROM access AS c
                       WHERE c.user_id = m.user_id AND c.memory_id = m.memory_id
                       OFFSET 0) AS c ON true
    CROSS JOIN LATERAL _judge_entry(
        a.entry, CASE WHEN a.own_id = a.target_id THEN a.base END, a.kind, a.importance,
        a.last_at, a.count, a.first_place <> a.place, m, c) AS d;
END $$;

-- What to do about an entry and its memory (NULL: it is new). base: the entry in the last version
-- of the file; NULL: the file has it for the first time, and everything in it is new.
CREATE OR REPLACE FUNCTION _judge_entry(
    entry jsonb, base jsonb, of_kind kind, importance float8, last_at timestamptz, count int,
    again boolean, stored memory, shown access,
    OUT action text, OUT reason text, OUT new_values jsonb, OUT accesses int,
    OUT last_access timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    news jsonb;
    given_data jsonb;
    base_data jsonb;
    counted int;
    shown_at timestamptz;
BEGIN
    action := 'NOOP';
    new_values := '{}';
    IF again THEN
        reason := 'an entry above says the same';
        RETURN;
    ELSIF stored.memory_id IS NULL THEN
        action := 'ADD';
        reason := 'new';
        IF count > 0 OR _utc_text(last_at) <> entry ->> 'created_at' THEN
            accesses := coalesce(count, 0);
            last_access := last_at;
        END IF;
        RETURN;
    ELSIF stored.status NOT IN ('active', 'pending') THEN
        reason := 'it is ' || stored.status;
        RETURN;
    ELSIF entry = base THEN
        reason := 'as the file had it';
        RETURN;
    END IF;
    news := entry - ARRAY(SELECT b.key FROM jsonb_each(base) AS b WHERE entry -> b.key = b.value);
    given_data := _entry_data(entry);
    base_data := _entry_data(coalesce(base, '{}'));
    new_values := jsonb_strip_nulls(jsonb_build_object(
        'status', CASE WHEN stored.status = 'pending' THEN 'active' END,
        'content', CASE WHEN news ? 'content'
                        THEN nullif(entry ->> 'content', stored.content) END,
        'kind', CASE WHEN news ? 'category' AND of_kind.name <> stored.kind
                          AND NOT EXISTS (SELECT FROM kind AS k
                                          WHERE k.name = stored.kind
                                            AND k.category = entry ->> 'category')
                     THEN of_kind.name END,
        'importance', CASE WHEN news ? 'salience'
                           THEN nullif(importance, stored.importance) END));
    IF given_data <> base_data THEN
        given_data := stored.data - ARRAY(SELECT jsonb_object_keys(base_data)) || given_data;
        new_values := new_values || CASE WHEN given_data = stored.data THEN '{}'
                                         ELSE jsonb_build_object('data', given_data) END;
    END IF;
    counted := coalesce(shown.count, 0);
    shown_at := coalesce(shown.last_at, stored.created_at);
    -- In the file for the first time: it may have been used here, too.
    IF (base ? 'access_count') IS NOT TRUE THEN
        count := greatest(count, counted);
        last_at := greatest(last_at, shown_at);
    END IF;
    IF news ?| '{access_count,last_accessed}'
       AND (coalesce(count, counted), _utc_text(coalesce(last_at, shown_at)))
           <> (counted, _utc_text(shown_at))
    THEN
        accesses := coalesce(count, counted);
        last_access := coalesce(last_at, shown_at);
    END IF;
    reason := concat_ws(', ', CASE WHEN new_values ? 'content' THEN 'content' END,
                        CASE WHEN new_values ? 'kind' THEN 'category' END,
                        CASE WHEN new_values ? 'importance' THEN 'salience' END,
                        CASE WHEN new_values ? 'data' THEN 'context' END,
                        CASE WHEN accesses IS NOT NULL THEN 'accesses' END);
    IF new_values ? 'status' THEN
        action := 'UPDATE';
        reason := 'it waited to be confirmed';
    ELSIF reason = '' THEN
        reason := 'as it is stored';
    ELSE
        action := 'UPDATE';
        reason := 'changed in the file: ' || reason;
    END IF;
END $$;

-- The whole plan. Missing: entries the file once had and has no more, unless their memory was
-- brought back after the file was written (to the second), because then it could not contain it.
-- Lost: what no entry says any more since its own entry says something else.
CREATE OR REPLACE FUNCTION _plan_memory_json(
    user_id text, document json, zone text, delete_missing boolean) RETURNS file_change[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    entries CONSTANT json[] := ARRAY(
        SELECT _redact_written(e.entry)
        FROM json_array_elements(document -> 'memories') WITH ORDINALITY AS e (entry, place)
        ORDER BY e.place);
    later CONSTANT timestamptz :=
        _file_time(document ->> 'last_updated', zone) + interval '1 second';
    plan file_change[];
    gone file_change[];
BEGIN
    PERFORM _check_entries(entries, zone);
    plan := ARRAY(SELECT p FROM _plan_entries(user_id, entries, zone, later) AS p ORDER BY p.place);
    gone := ARRAY(
        SELECT ROW(NULL, f.entry_id, 'FORGET', CASE WHEN s.entry_id IS NULL
                       THEN 'no longer in the file' ELSE 'its entry says something else now' END,
                   f.memory_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                   NULL, NULL)::file_change
        FROM file_entry AS f
        JOIN memory AS m ON m.user_id = f.user_id AND m.memory_id = f.memory_id
        LEFT JOIN unnest(plan) AS s ON s.entry_id = f.entry_id
        LEFT JOIN unnest(plan) AS p ON p.memory_id = f.memory_id
        WHERE f.user_id = _plan_memory_json.user_id AND m.status = 'active'
          AND (m.valid_until > now()) IS NOT FALSE  -- an export leaves out what has ended
          AND p.memory_id IS NULL
          AND (s.entry_id IS NOT NULL OR delete_missing AND NOT EXISTS (
              SELECT FROM revision AS r
              WHERE r.user_id = f.user_id AND r.memory_id BETWEEN f.memory_id AND f.memory_id
                AND r.old_values ? 'status' AND r.created_at - later >= '0'))
        ORDER BY f.place);
    RETURN plan || gone;
END $$;
