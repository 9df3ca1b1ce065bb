-- The memories of a user as a person looks through them (SPEC 8, D4 4.1): filtered, sorted, page by
-- page. Keyset paging, see _cursor. The plan is made for the arguments of each call: what is not
-- asked for vanishes from it, and the remaining sort is a plain column. The newest come from index
-- memory_created (of rows after -infinity, which is all); other sorts read all of the user's, as
-- does a search for a word or data that none has.
CREATE OR REPLACE FUNCTION _check_statuses(status text[]) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    known CONSTANT text[] := '{pending,active,superseded,archived,forgotten}';
    wrong text;
BEGIN
    SELECT coalesce(s.name, 'NULL') INTO wrong
    FROM unnest(status) AS s (name) WHERE coalesce(s.name <> ALL (known), true) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'unknown status "%"', left(wrong, 40)
            USING ERRCODE = 'ME008', DETAIL = 'Status: ' || array_to_string(known, ', '),
                  HINT = 'Pass one or more of these; the default is active.';
    END IF;
    RETURN nullif(status, '{}');
END $$;

-- Every word of a search as a pattern for LIKE.
CREATE OR REPLACE FUNCTION _patterns(search text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT '%' || regexp_replace(w.word, '([\\%_])', '\\\1', 'g') || '%'
                 FROM regexp_split_to_table(btrim(search, E' \t\r\n'), '\s+') AS w (word)
                 WHERE w.word <> '');

CREATE OR REPLACE FUNCTION _check_sort(sort text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF sort IN ('created', 'updated', 'importance', 'accessed') THEN
        RETURN sort;
    END IF;
    RAISE EXCEPTION 'unknown sort "%"', left(sort, 40)
        USING ERRCODE = 'ME008', DETAIL = 'Sorts: created, updated, importance, accessed',
              HINT = 'Leave it out for created.';
END $$;

CREATE OR REPLACE FUNCTION list_memories(
    kinds text[] DEFAULT NULL, status text[] DEFAULT '{active}', since timestamptz DEFAULT NULL,
    until timestamptz DEFAULT NULL, search text DEFAULT NULL, subject text DEFAULT NULL,
    session_id text DEFAULT NULL, data jsonb DEFAULT NULL, sort text DEFAULT 'created',
    page_size int DEFAULT 50, after text DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS SETOF listed_memory
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_custom_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    row_limit CONSTANT int := _check_number(coalesce(page_size, 50), 'page_size', 1000);
    sorted_by CONSTANT text := _check_sort(coalesce(sort, 'created'));
    came CONSTANT record := _read_cursor(after, sorted_by);
    after_time CONSTANT timestamptz := _time_of(CASE WHEN sorted_by <> 'importance'
                                                     THEN came.key END);
    only_status CONSTANT text[] := _check_statuses(status);
    only_kinds CONSTANT text[] := (
        SELECT array_agg((_check_kind(k.name)).name) FROM unnest(kinds) AS k (name));
    -- As it is stored.
    only_subject CONSTANT text := _lower(_trimmed(subject));
    patterns CONSTANT text[] := nullif(_patterns(search), '{}');
BEGIN
    PERFORM _check_data(data);
    IF since > until THEN
        RAISE EXCEPTION 'since % is after until %', since, until
            USING ERRCODE = 'ME011', HINT = 'Swap them, or leave one out.';
    END IF;
    RETURN QUERY
    SELECT l.memory_id::text, l.kind, _line(l.content, 200), l.content, l.summary, l.data,
           l.importance, l.confidence, l.status, l.subject, l.origin, l.session_id, l.position,
           l.created_at, l.updated_at, l.valid_from, l.valid_until, coalesce(a.count, 0), a.last_at,
           _cursor(sorted_by, coalesce(l.number, _microseconds(l.at)), l.memory_id)
    FROM (
        SELECT s.*
        FROM (
            SELECT m.*,
                   CASE sorted_by WHEN 'created' THEN m.created_at
                                  WHEN 'updated' THEN m.updated_at
                                  WHEN 'accessed' THEN coalesce(c.last_at, _time_of(0)) END AS at,
                   CASE sorted_by WHEN 'importance' THEN m.importance END AS number
            FROM memory AS m
            LEFT JOIN access AS c ON c.user_id = owner AND c.memory_id = m.memory_id
            WHERE m.user_id = owner AND m.created_at > '-infinity'
        ) AS s
        WHERE (only_status IS NULL OR s.status = ANY (only_status))
          AND (only_kinds IS NULL OR s.kind = ANY (only_kinds))
          AND (since IS NULL OR s.created_at >= since)
          AND (until IS NULL OR s.created_at <= until)
          AND (list_memories.subject IS NULL OR s.subject = only_subject)
          AND (list_memories.session_id IS NULL OR s.session_id = list_memories.session_id)
          AND (list_memories.data IS NULL OR s.data @> list_memories.data)
          AND (patterns IS NULL
               OR concat_ws(E'\n', s.content, s.summary, s.subject) ILIKE ALL (patterns))
          AND CASE WHEN after IS NULL THEN true
                   WHEN sorted_by = 'importance' THEN (s.number, s.memory_id) < (came.key, came.id)
                   ELSE (s.at, s.memory_id) < (after_time, came.id) END
        ORDER BY s.at DESC, s.number DESC, s.memory_id DESC
        LIMIT row_limit
    ) AS l
    LEFT JOIN access AS a ON a.user_id = owner AND a.memory_id = l.memory_id
    ORDER BY l.at DESC, l.number DESC, l.memory_id DESC;
END $$;

COMMENT ON FUNCTION list_memories(text[], text[], timestamptz, timestamptz, text, text, text, jsonb,
                                  text, int, text, text) IS
    'Lists memories of a user, whole and with their state; the type listed_memory tells the '
    'columns. kinds: only these; NULL: all. status: of pending, active, superseded, archived, '
    'forgotten; default active, NULL: all. since, until: created in this time, both included. '
    'search: every word of it is part of content, summary or subject, in upper or lower case; to '
    'find by meaning use search_memories(). subject, session_id: exactly this one. data: only '
    'memories whose data contains this object, as @> has it. sort: created (default), updated, '
    'importance or accessed (last recalled), the greatest first. page_size: 1 to 1000, default 50. '
    'after: next of the last row of the page before, with the same sort and filters; NULL: from '
    'the beginning. A memory stored between two pages neither repeats nor hides another. Errors: '
    'ME002 kind, ME006 user, ME008 status, data, sort, page_size or after, ME011 since after '
    'until. Source: D4 4.1, 4.3, 5.6.';
