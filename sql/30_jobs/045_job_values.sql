-- The values that fill the prompt of a job, one function per kind. Each returns the values by name.
-- Beside them: listed, the ids it shows the model, which are all that the answer may name;
-- replaces, the hash of a text that the answer replaces; since and said_at, when the first and the
-- last of a conversation was said, and when a summary was asked for. NULL if nothing is left to do:
-- the memory is gone, the session is empty, memory is off. Days and times are those of the
-- session's time zone, as in a block: "yesterday" is the day before it was said there.

-- Active memories as a model reads them, in the order of the ids, without those that have ended.
-- One that is too long to be shown whole is left out if the answer may replace it, because the part
-- that was not shown would be lost. Otherwise its beginning is shown.
CREATE OR REPLACE FUNCTION _memories_told(
    user_id text, memory_ids bigint[], whole boolean DEFAULT true) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'id', m.memory_id::text, 'kind', m.kind,
                   'date', m.valid_from::date, 'until', m.valid_until::date,
                   'subject', m.subject, 'importance', m.importance,
                   'content', left(m.content, CASE WHEN whole THEN 4000 ELSE 1000 END)))
                   ORDER BY i.place)
        FROM unnest(memory_ids) WITH ORDINALITY AS i (id, place), LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = _memories_told.user_id AND m.memory_id = i.id
              AND m.status = 'active' AND (m.valid_until <= now()) IS NOT TRUE
              AND (length(m.content) <= 4000 OR NOT whole)
            OFFSET 0) AS m);
END $$;

CREATE OR REPLACE FUNCTION _listed(told jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(jsonb_path_query_array(told, '$[*].id'), '[]');

-- The language of the material: the text around it does not count, or short Chinese texts would be
-- taken for English.
CREATE OR REPLACE FUNCTION _language_told(told jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _language_of(jsonb_path_query_array(told, '$[*].content')::text);

-- The input and output of tools, besides their text, may be megabytes: 2,000 characters of a
-- message are shown, and these count as well.
CREATE OR REPLACE FUNCTION _data_told(data jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN length(data::text) > 2000 THEN to_jsonb(left(data::text, 2000) || '…')
                ELSE nullif(data, '{}') END;

-- The beginning and the end, because a command fails on its last lines. Of a text that is longer
-- five characters a token are enough: each costs .21 or more.
CREATE OR REPLACE FUNCTION _shortened(content text, max_tokens int) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    ending CONSTANT int := max_tokens / 3;
    beginning CONSTANT int := max_tokens - ending;
BEGIN
    RETURN _cut_to_tokens(left(content, 5 * beginning), beginning)
        || reverse(_cut_to_tokens(reverse(right(content, 5 * ending)), ending));
END $$;

-- The newest messages of a session, within a number of tokens. Long ones are shortened, the longest
-- first and none to less than 200 tokens: else what one tool said would hide what the user said
-- before it.
CREATE OR REPLACE FUNCTION _conversation(
    user_id text, payload jsonb, max_messages int, max_tokens int) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT int := coalesce(max_tokens, _config('extract_tokens')::int);
BEGIN
    RETURN (
        WITH said AS (
            SELECT s.turn, s.role, s.speaker, s.created_at, s.content, s.tokens, d.data,
                   estimate_tokens(d.data::text) AS data_tokens
            FROM session_window(payload ->> 'session_id', max_messages, 1000000, user_id,
                                (payload ->> 'until_turn')::int) AS s,
                 LATERAL (SELECT _data_told(s.data) AS data OFFSET 0) AS d
            WHERE NOT EXISTS (SELECT FROM message AS m
                              WHERE m.user_id = _conversation.user_id AND m.position = s.turn
                                AND m.session_id = payload ->> 'session_id' AND m.private)
        ), level AS (
            -- If the shorter ones are shown whole, each of the others has a share of the rest.
            SELECT least(most, greatest(200, max((most - p.before) / p.others)))::int AS tokens
            FROM (SELECT sum(c.tokens) OVER shorter - c.tokens AS before,
                         count(*) OVER () - row_number() OVER shorter + 1 AS others
                  FROM (SELECT s.tokens FROM said AS s
                        UNION ALL
                        SELECT s.data_tokens FROM said AS s WHERE s.data IS NOT NULL) AS c
                  WINDOW shorter AS (ORDER BY c.tokens ROWS UNBOUNDED PRECEDING)) AS p
        )
        SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'turn', w.turn, 'role', w.role, 'speaker', w.speaker,
                   'time', to_char(w.created_at, 'Dy YYYY-MM-DD HH24:MI'),
                   'content', CASE WHEN w.tokens > w.level THEN _shortened(w.content, w.level)
                                   ELSE w.content END,
                   'data', CASE WHEN w.data_tokens > w.level
                                THEN to_jsonb(_shortened(w.data #>> '{}', w.level))
                                ELSE w.data END,
                   'said_at', w.created_at)) ORDER BY w.turn)
        FROM (
            SELECT s.*, l.tokens AS level, row_number() OVER newer AS number,
                   sum(least(s.tokens, l.tokens) + least(coalesce(s.data_tokens, 0), l.tokens))
                       OVER newer AS total
            FROM said AS s, level AS l
            WINDOW newer AS (ORDER BY s.turn DESC)
        ) AS w
        WHERE w.number = 1 OR w.total <= most);
END $$;

-- What a model is shown of a conversation, and what the job records of it.
CREATE OR REPLACE FUNCTION _conversation_told(said jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN jsonb_build_object(
        'conversation', _material_lines((
            SELECT jsonb_agg(s.message - 'said_at' ORDER BY s.place)
            FROM jsonb_array_elements(said) WITH ORDINALITY AS s (message, place))),
        'since', said #> '{0,said_at}', 'said_at', said #> '{-1,said_at}',
        'language', _language_told(said));

CREATE OR REPLACE FUNCTION _keywords_values(user_id text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT jsonb_build_object(
                   'memory', _material(jsonb_strip_nulls(jsonb_build_object(
                       'kind', m.kind, 'summary', m.summary, 'content', left(m.content, 8000)))),
                   'listed', jsonb_build_array(m.memory_id::text),
                   'language', _language_of(m.content))
        FROM memory AS m
        WHERE m.user_id = _keywords_values.user_id
          AND m.memory_id = (payload ->> 'memory_id')::bigint AND m.status = 'active');
END $$;

-- Memories like what a conversation is about, found by its words: one part of what the user said
-- after the other, the best of each first, so that a long text in it does not drown the rest. Parts
-- overlap by 200 characters. If there is room the newest follow, which may say the same in other
-- words.
CREATE OR REPLACE FUNCTION _like_conversation(user_id text, said jsonb, most int) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    asked CONSTANT text := (
        SELECT coalesce(string_agg(c.content, E'\n') FILTER (WHERE c.role = 'user'),
                        string_agg(c.content, E'\n'), '')
        FROM jsonb_to_recordset(said) AS c (role text, content text));
    size CONSTANT int := greatest(1000, length(asked) / 8);
    kinds CONSTANT smallint[] := ARRAY(SELECT k.kind_id FROM kind AS k WHERE k.name <> 'turn');
    settings CONSTANT mode := _search_settings('semantic', false);
BEGIN
    RETURN ARRAY(
        SELECT f.id
        FROM (
            SELECT r.key::bigint AS id, r.ordinality AS place, r.relevance
            FROM generate_series(1, length(asked), size) AS p (start),
                 LATERAL substr(asked, p.start, size + 200) AS t (part),
                 LATERAL _search_rows(_search(_like_conversation.user_id, settings, t.part, NULL,
                                              '{}', kinds, NULL, NULL, most, 0))
                     WITH ORDINALITY AS r
            WHERE t.part ~ '[^[:space:]]'
            UNION ALL
            SELECT n.id, most + n.place, 0
            FROM unnest(_summarised(user_id)) WITH ORDINALITY AS n (id, place)
        ) AS f
        GROUP BY f.id
        ORDER BY min(f.place), max(f.relevance) DESC, f.id
        LIMIT most);
END $$;

-- The slots in use, by kind, so that a new value is given the slot of the one it ends: without them
-- a model says home_city where it said city before. with_values: with the first 60 characters of
-- what each holds, so that it is not told again, and its end can be told. Of more than most slots,
-- those of memories like the conversation, and then the newest.
CREATE OR REPLACE FUNCTION _slots_told(
    user_id text, said jsonb, most int, with_values boolean) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    slots bigint[] := ARRAY(
        SELECT m.memory_id FROM memory AS m
        WHERE m.user_id = _slots_told.user_id AND m.subject IS NOT NULL
          AND m.position IS NULL AND m.source IS NULL AND m.status = 'active'
        ORDER BY m.valid_from DESC, m.memory_id);
BEGIN
    IF cardinality(slots) > most THEN
        slots := ARRAY(
            SELECT s.id
            FROM unnest(slots) WITH ORDINALITY AS s (id, place)
            LEFT JOIN unnest(_like_conversation(user_id, said, most))
                      WITH ORDINALITY AS l (id, place) ON l.id = s.id
            ORDER BY l.place, s.place
            LIMIT most);
    END IF;
    RETURN coalesce((
        SELECT _material(jsonb_object_agg(k.kind, k.slots))
        FROM (SELECT m.kind,
                     CASE WHEN with_values
                          THEN jsonb_object_agg(m.subject, left(m.content, 60))
                          ELSE jsonb_agg(m.subject ORDER BY m.subject COLLATE "C") END AS slots
              FROM memory AS m
              WHERE m.user_id = _slots_told.user_id AND m.memory_id = ANY (slots)
              GROUP BY m.kind) AS k), '{}');
END $$;

-- Ten messages are five rounds. Tool calls and results between them are shown but not counted;
-- otherwise most of what the user of an agent with tools said would be in no window.
CREATE OR REPLACE FUNCTION _extract_values(user_id text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT int := _config('extract_messages');
    number CONSTANT bigint := (
        SELECT count(*)
        FROM (SELECT count(*) FILTER (WHERE m.role <> 'tool' AND m.content <> '') OVER newer AS said
              FROM (SELECT m.* FROM message AS m
                    WHERE m.user_id = _extract_values.user_id
                      AND m.session_id = payload ->> 'session_id'
                      AND m.position <= coalesce((payload ->> 'until_turn')::int, 2147483647)
                    ORDER BY m.position DESC LIMIT 1000) AS m
              WINDOW newer AS (ORDER BY m.position DESC
                               ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)) AS newer
        WHERE newer.said < most);
    said CONSTANT jsonb := _conversation(user_id, payload, greatest(number, 1)::int, NULL);
BEGIN
    RETURN CASE WHEN said IS NOT NULL THEN
        _conversation_told(said)
        || jsonb_build_object('slots', _slots_told(user_id, said, 50, true)) END;
END $$;

CREATE OR REPLACE FUNCTION _reflect_values(user_id text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    said CONSTANT jsonb := _conversation(
        user_id, payload, 1000, _config('reflect_tokens')::int);
    told jsonb;
BEGIN
    IF said IS NULL THEN
        RETURN NULL;
    END IF;
    told := coalesce(_memories_told(user_id, _like_conversation(
        user_id, said, _config('similar_memories')::int)), '[]');
    RETURN _conversation_told(said) || jsonb_build_object(
        'memories', _material_lines(told), 'listed', _listed(told),
        'slots', _slots_told(user_id, said, 100, false));
END $$;

CREATE OR REPLACE FUNCTION _consolidate_values(user_id text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    told CONSTANT jsonb := _memories_told(user_id, _payload_ids(payload));
BEGIN
    RETURN CASE WHEN jsonb_array_length(told) = 2 THEN
        jsonb_build_object('older', _material(told -> 0), 'newer', _material(told -> 1),
                           'listed', _listed(told),
                           'language', _language_told(told)) END;
END $$;

CREATE OR REPLACE FUNCTION _compress_values(user_id text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    told CONSTANT jsonb := _memories_told(user_id, _payload_ids(payload));
BEGIN
    RETURN CASE WHEN jsonb_array_length(told) >= _config('compress_least') THEN
        jsonb_build_object('memories', _material_lines(told),
                           'listed', _listed(told),
                           'language', _language_told(told)) END;
END $$;

CREATE OR REPLACE FUNCTION _archived_events(user_id text, payload jsonb) RETURNS SETOF event
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT e.* FROM event AS e
    WHERE e.user_id = _archived_events.user_id
      AND e.event_id = ANY (ARRAY(
          SELECT i.id::bigint
          FROM jsonb_array_elements_text(_archived_events.payload -> 'event_ids') AS i (id)));
END $$;

-- All of them in 60,000 characters: a hundred payloads of 2,000 are more than many models can read.
CREATE OR REPLACE FUNCTION _archive_values(user_id text, payload jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    told CONSTANT jsonb := (
        SELECT jsonb_agg(jsonb_build_object(
                   'time', to_char(e.created_at, 'YYYY-MM-DD HH24:MI'),
                   'type', e.type,
                   'payload', left(e.payload::text, least(2000, 60000 / e.number)::int))
               ORDER BY e.created_at, e.event_id)
        FROM (SELECT a.*, count(*) OVER () AS number
              FROM _archived_events(user_id, _archive_values.payload) AS a) AS e);
BEGIN
    RETURN CASE WHEN told IS NOT NULL THEN
        jsonb_build_object('events', _material_lines(told),
                           'language', _language_of(told::text)) END;
END $$;

-- The memories a rolling summary is made of: the newest that are true.
CREATE OR REPLACE FUNCTION _summarised(user_id text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT m.memory_id
        FROM memory AS m
        WHERE m.user_id = _summarised.user_id AND m.status = 'active' AND m.kind <> 'turn'
          AND (m.valid_until <= now()) IS NOT TRUE AND m.created_at > '-infinity'
        ORDER BY m.created_at DESC, m.memory_id DESC
        LIMIT _config('summary_memories')::int);
END $$;

-- What was true at the last summary, which may still mention it, and no longer is: texts that have
-- since been forgotten, superseded or corrected, or have expired; except those that are shown.
CREATE OR REPLACE FUNCTION _no_longer_true(user_id text, told jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    since CONSTANT timestamptz := (
        SELECT p.summarised_at FROM profile AS p WHERE p.user_id = _no_longer_true.user_id);
BEGIN
    RETURN (
        SELECT coalesce(jsonb_agg(g.content ORDER BY g.at DESC, g.content), '[]')
        FROM (
            SELECT left(f.content, 1000) AS content, max(f.at) AS at
            FROM (
                SELECT coalesce(r.old_values ->> 'content', m.content) AS content,
                       r.created_at AS at
                FROM revision AS r
                JOIN memory AS m ON m.user_id = r.user_id AND m.memory_id = r.memory_id
                WHERE r.user_id = _no_longer_true.user_id AND r.created_at > since
                  AND m.kind <> 'turn'
                  AND (m.status IN ('forgotten', 'superseded')
                       AND r.old_values ->> 'status' = 'active'
                       OR m.status = 'active'
                       AND (_decide(r.old_values ->> 'content', m.content)).action <> 'UPDATE')
                UNION ALL
                SELECT m.content, m.valid_until
                FROM memory AS m
                WHERE m.user_id = _no_longer_true.user_id AND m.status = 'active'
                  AND m.kind <> 'turn'
                  AND m.valid_until > since AND m.valid_until <= now()
            ) AS f
            WHERE (told @> jsonb_build_array(jsonb_build_object('content', f.content)))
                  IS NOT TRUE
            GROUP BY f.content
            ORDER BY at DESC, content
            LIMIT _config('summary_memories')::int
        ) AS g);
END $$;

CREATE OR REPLACE FUNCTION _rolling_summary_values(user_id text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    told CONSTANT jsonb := _memories_told(user_id, _summarised(user_id), false);
    gone CONSTANT jsonb := _no_longer_true(user_id, told);
    before CONSTANT text := coalesce((SELECT p.rolling_summary FROM profile AS p
                                      WHERE p.user_id = _rolling_summary_values.user_id), '');
BEGIN
    RETURN CASE WHEN told IS NOT NULL OR gone <> '[]' THEN
        jsonb_build_object(
            'memories', _material_lines(told), 'no_longer', _material_lines(gone),
            'language', _language_told(told), 'listed', _listed(told),
            'summary', _material(to_jsonb(before)), 'replaces', md5(before), 'said_at', now()) END;
END $$;

CREATE OR REPLACE FUNCTION _job_values(claimed job) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF claimed.kind <> 'expand'
       AND _writing_refused(claimed.user_id, claimed.payload ->> 'session_id') IS NOT NULL
    THEN
        RETURN NULL;
    END IF;
    RETURN CASE claimed.kind
        WHEN 'keywords' THEN _keywords_values(claimed.user_id, claimed.payload)
        WHEN 'extract' THEN _extract_values(claimed.user_id, claimed.payload)
        WHEN 'reflect' THEN _reflect_values(claimed.user_id, claimed.payload)
        WHEN 'consolidate' THEN _consolidate_values(claimed.user_id, claimed.payload)
        WHEN 'compress' THEN _compress_values(claimed.user_id, claimed.payload)
        WHEN 'archive' THEN _archive_values(claimed.user_id, claimed.payload)
        WHEN 'rolling_summary' THEN _rolling_summary_values(claimed.user_id)
        WHEN 'expand' THEN jsonb_build_object(
            'query', _material(to_jsonb(_redact(claimed.payload ->> 'query'))),
            'language', _language_of(claimed.payload ->> 'query'))
    END;
END $$;
