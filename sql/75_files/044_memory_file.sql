-- memory.json: what it may hold (D3 2.1), and how its entries are printed. An entry is printed as
-- it was written while its memory is the same as when the file was read; if it differs, only the
-- fields that differ are printed anew.
CREATE OR REPLACE FUNCTION _memory_file_schema() RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    categories CONSTANT jsonb := (
        SELECT jsonb_agg(w.word ORDER BY w.place, w.word)
        FROM (SELECT c.word, min(c.place) AS place
              FROM kind AS k, LATERAL (
                  SELECT k.category AS word, 1 AS place UNION SELECT k.name, 2
                  UNION SELECT a, 3 FROM unnest(k.aliases) AS a) AS c
              WHERE k.category IS NOT NULL
              GROUP BY c.word) AS w);
BEGIN
    RETURN jsonb_build_object(
        'type', 'object', 'required', '["version", "memories"]'::jsonb, 'properties',
        '{"version": {"const": 2}, "last_updated": {"type": ["string", "null"]},
          "rolling_summary": {"type": ["string", "null"]}}'::jsonb || jsonb_build_object(
            'memories', jsonb_build_object('type', 'array', 'items', jsonb_build_object(
                'type', 'object', 'required', '["id", "category", "content"]'::jsonb,
                'properties',
                '{"id": {"type": "string", "minLength": 1, "maxLength": 200},
                  "content": {"type": "string", "minLength": 1},
                  "salience": {"type": "number", "minimum": 0, "maximum": 1},
                  "created_at": {"type": ["string", "null"]},
                  "last_accessed": {"type": ["string", "null"]},
                  "access_count": {"type": "integer", "minimum": 0, "maximum": 2147483647},
                  "source": {"type": ["string", "null"], "maxLength": 200},
                  "context": {"type": ["object", "null"]}}'::jsonb
                || jsonb_build_object('category', jsonb_build_object(
                    'type', 'string', 'enum', categories))))));
END $$;

-- The fields of an entry besides those of D3: kept in the data of the memory, with its context.
CREATE OR REPLACE FUNCTION _entry_extras(entry jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN entry - '{id,category,content,salience,created_at,last_accessed,access_count,source,'
                   'context}'::text[];

CREATE OR REPLACE FUNCTION _entry_data(entry jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _entry_extras(entry)
           || CASE WHEN jsonb_typeof(entry -> 'context') = 'object' THEN entry -> 'context'
                   ELSE '{}' END;

CREATE OR REPLACE FUNCTION _entry_digest(
    kind text, content text, importance float8, data jsonb, origin text, count int,
    last_at timestamptz) RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    SET extra_float_digits = 1
    RETURN md5(jsonb_build_array(kind, content, importance, data, origin, coalesce(count, 0),
                                 _microseconds(last_at))::text)::uuid;

-- The id in the file of a memory that did not come from one. If two of a user have equal beginnings
-- (1 % chance among 10,000), each has the longer form. recorded_at tells databases apart.
CREATE OR REPLACE FUNCTION _entry_hash(memory_id bigint, recorded_at timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN left(md5(memory_id || ':' || _microseconds(recorded_at)::bigint), 16);

-- An entry in the form of D3: there a share is a number with a point, and a memory that the user
-- said or a model found has a source of its own.
CREATE OR REPLACE FUNCTION _entry_of(
    entry_id text, category text, content text, importance float8, created_at timestamptz,
    last_at timestamptz, count int, origin text, context jsonb) RETURNS json
    LANGUAGE sql STABLE PARALLEL SAFE
    SET extra_float_digits = 1
    RETURN format(
        '{"id": %s, "category": %s, "content": %s, "salience": %s, "created_at": "%s", '
        '"last_accessed": "%s", "access_count": %s, "source": %s%s}',
        to_json(entry_id), to_json(category), to_json(content),
        importance || CASE WHEN importance IN (0, 1) THEN '.0' ELSE '' END,
        _utc_text(created_at), _utc_text(coalesce(last_at, created_at)), coalesce(count, 0),
        to_json(CASE origin WHEN 'user' THEN 'user_explicit' WHEN 'model' THEN 'auto_reflection'
                            ELSE origin END), ', "context": ' || nullif(context, '{}')::text)::json;

-- An entry as it was written, except for fields that have changed; missing ones come at its end.
-- When and by whom something was made does not change.
CREATE OR REPLACE FUNCTION _merge_entry(
    written json, now_is json, kind text, data jsonb, zone text) RETURNS json
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    before CONSTANT jsonb := written;
    extras CONSTANT jsonb := _entry_extras(before);
    same_data CONSTANT boolean := data = _entry_data(before);
    rest CONSTANT jsonb := data - ARRAY(SELECT jsonb_object_keys(extras));
BEGIN
    RETURN (
        SELECT '{' || string_agg(to_json(f.key) || ': ' || f.value, ', ' ORDER BY f.place) || '}'
        FROM (
            SELECT w.place, w.key, CASE
                WHEN w.key IN ('id', 'created_at', 'source')
                     OR w.value #>> '{}' = n.value #>> '{}' THEN w.value
                WHEN w.key = 'content' THEN n.value
                WHEN w.key = 'category' THEN
                    CASE WHEN (_check_kind(before ->> 'category')).name = kind THEN w.value
                         ELSE n.value END
                WHEN w.key IN ('salience', 'access_count') THEN
                    CASE WHEN (w.value #>> '{}')::float8 = (n.value #>> '{}')::float8 THEN w.value
                         ELSE n.value END
                WHEN w.key = 'last_accessed' THEN
                    CASE WHEN _utc_text(_file_time(w.value #>> '{}', zone)) = n.value #>> '{}'
                         THEN w.value ELSE n.value END
                WHEN same_data THEN w.value
                WHEN w.key = 'context' THEN rest::json
                ELSE (data -> w.key)::json END AS value
            FROM json_each(written) WITH ORDINALITY AS w (key, value, place)
            LEFT JOIN json_each(now_is) AS n (key, value) USING (key)
            UNION ALL
            SELECT 1000 + n.place, n.key,
                   CASE WHEN n.key = 'context' THEN nullif(rest, '{}')::json ELSE n.value END
            FROM json_each(now_is) WITH ORDINALITY AS n (key, value, place)
            WHERE NOT before ? n.key
        ) AS f
        WHERE f.value IS NOT NULL
    )::json;
END $$;
