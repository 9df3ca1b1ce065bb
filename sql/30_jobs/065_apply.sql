-- Applies the answer of a chat model, one function per kind of job. They run in a subtransaction of
-- finish(): an error undoes all of it and is the reason why the attempt failed. Memories change
-- only through remember_many() and apply_decisions(), which delete nothing and keep earlier states.

-- {"key": ..., "value": ...} pairs as an object: a strict schema allows no object with free keys.
CREATE OR REPLACE FUNCTION _pairs(pairs jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(p.pair ->> 'key', p.pair ->> 'value')
            FROM jsonb_array_elements(pairs) AS p (pair));

-- All changes of an answer are one run, whose number is stored in the job: undo_run() undoes it.
CREATE OR REPLACE FUNCTION _note_run(finished job, run_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE job AS j
    SET payload = j.payload || jsonb_build_object('run_id', _note_run.run_id::text)
    WHERE j.user_id = finished.user_id AND j.job_id = finished.job_id;
END $$;

-- When the last part of an answer's material was said: a model may be asked days later, and
-- anything told since, even in the same session, is newer. NULL: it does not come from a
-- conversation.
CREATE OR REPLACE FUNCTION _said_at(finished job) RETURNS timestamptz
    LANGUAGE sql STABLE
    RETURN (finished.payload ->> 'said_at')::timestamptz;

-- Whether somebody, not a model, gave the memory another text since the conversation began.
CREATE OR REPLACE FUNCTION _corrected_since(finished job, memory_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM revision AS r
        WHERE r.user_id = finished.user_id AND r.memory_id = _corrected_since.memory_id
          AND r.created_at >= (finished.payload ->> 'since')::timestamptz
          AND r.old_values ? 'content' AND r.author NOT IN ('model', 'maintain'));
END $$;

-- Whether a conversation says something that was forgotten, ended, merged or corrected since it
-- began: that does not come back from there, only when it is said again. What undo() took away may
-- come back, and in a slot time decides.
CREATE OR REPLACE FUNCTION _was_retracted(finished job, subject text, content text)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    since CONSTANT timestamptz := finished.payload ->> 'since';
    slot CONSTANT text := _check_subject(subject);
BEGIN
    RETURN EXISTS (
        SELECT FROM memory AS m
        WHERE m.user_id = finished.user_id AND m.retired_at >= since
          AND CASE m.status
                  WHEN 'forgotten' THEN (
                      SELECT r.action IN ('FORGET', 'REJECT') FROM revision AS r
                      WHERE r.user_id = m.user_id
                        AND r.memory_id BETWEEN m.memory_id AND m.memory_id
                      ORDER BY r.memory_id DESC, r.revision_id DESC LIMIT 1)
                  WHEN 'superseded' THEN (m.subject = slot) IS NOT TRUE
                  ELSE m.status = 'archived' END
          AND (_decide(m.content, _was_retracted.content)).action = 'NOOP'
    ) OR EXISTS (
        SELECT FROM revision AS r
        WHERE r.user_id = finished.user_id AND r.created_at >= since
          AND r.old_values ? 'content' AND r.author NOT IN ('model', 'maintain')
          AND (_decide(r.old_values ->> 'content', _was_retracted.content)).action = 'NOOP'
    ) OR EXISTS (
        SELECT FROM memory AS m
        WHERE m.user_id = finished.user_id AND m.subject = slot AND m.status = 'active'
          AND m.position IS NULL AND m.source IS NULL
          AND _corrected_since(finished, m.memory_id));
END $$;

-- The memories that turns of a conversation were stored as, which the answer says it drew a memory
-- from: its sources, or {} if there are none. Where the application numbers turns otherwise, or
-- has another text at that place, it is not that turn; a number that was not shown is none.
CREATE OR REPLACE FUNCTION _source_turns(finished job, turns jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    RETURN coalesce((
        SELECT jsonb_build_object('sources', jsonb_agg(m.memory_id::text ORDER BY m.memory_id))
        FROM message AS s
        JOIN memory AS m ON m.user_id = s.user_id AND m.session_id = s.session_id
                        AND m.position = s.position AND m.content = s.content
                        AND m.status = 'active'
        WHERE s.user_id = finished.user_id AND s.session_id = finished.payload ->> 'session_id'
          AND s.position = ANY (ARRAY(
              SELECT _said_id(t.turn) FROM jsonb_array_elements(nullif(turns, 'null')) AS t (turn)
              LIMIT 100))
          AND s.created_at BETWEEN (finished.payload ->> 'since')::timestamptz
                               AND (finished.payload ->> 'said_at')::timestamptz
        HAVING count(*) > 0), '{}');
END $$;

CREATE OR REPLACE FUNCTION _decide_all(finished job, decisions jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_array_length(decisions) > 0 THEN
        PERFORM _note_run(finished, min(d.run_id))
        FROM apply_decisions(decisions, user_id => finished.user_id, author => 'model',
                             session_id => finished.payload ->> 'session_id',
                             at => _said_at(finished)) AS d;
    END IF;
END $$;

-- New memories about which nothing was decided are stored by remember(), whose rules know what was
-- said before. The revisions that say they are new get their numbers first, because what follows
-- from one of them in the same answer must be undone before it.
CREATE OR REPLACE FUNCTION _remember_all(finished job, memories jsonb, learned_at timestamptz)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    run CONSTANT bigint := _next_run();
    numbers CONSTANT bigint[] := ARRAY(
        SELECT nextval('revision_revision_id_seq')
        FROM jsonb_array_elements(memories) AS m);
    added bigint[];
BEGIN
    IF numbers = '{}' THEN
        RETURN;
    END IF;
    added := ARRAY(
        SELECT r.memory_id
        FROM remember_many((
            SELECT jsonb_agg(m.memory || jsonb_build_object(
                       'source', 'model', 'session_id', finished.payload -> 'session_id',
                       'created_at', learned_at) ORDER BY m.place)
            FROM jsonb_array_elements(memories) WITH ORDINALITY AS m (memory, place)),
            user_id => finished.user_id) AS r
        WHERE r.action IN ('ADD', 'PENDING'));
    UPDATE revision AS r SET run_id = run
    WHERE r.user_id = finished.user_id AND r.revision_id > numbers[1] AND r.author = 'model'
      AND r.run_id IS NULL AND r.created_at = now();
    INSERT INTO revision (user_id, revision_id, memory_id, action, author, change_id, run_id)
    SELECT finished.user_id, n.number, n.memory_id, 'ADD', 'model', _next_change(), run
    FROM unnest(added, numbers) AS n (memory_id, number)
    WHERE n.memory_id IS NOT NULL
      AND 'ADD' NOT IN (
          SELECT r.action FROM revision AS r
          WHERE r.user_id = finished.user_id AND r.memory_id BETWEEN n.memory_id AND n.memory_id
          ORDER BY r.memory_id OFFSET 0);
    PERFORM _note_run(finished, run);
END $$;

-- An answer may name only memories it was shown, because the material may have suggested an id, and
-- only if their text is still the same: it must not replace what somebody has corrected meanwhile.
CREATE OR REPLACE FUNCTION _check_listed(finished job, ids jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    unknown CONSTANT text := (
        SELECT min(i.id) FROM jsonb_array_elements_text(ids) AS i (id)
        WHERE NOT finished.payload -> 'listed' ? i.id);
    corrected text;
BEGIN
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'the answer names memory %, which it was not shown', left(unknown, 40)
            USING ERRCODE = 'ME012', HINT = 'Name only ids that are in the messages.';
    END IF;
    SELECT min(i.id) INTO corrected
    FROM jsonb_array_elements_text(ids) AS i (id)
    JOIN memory AS m ON m.user_id = finished.user_id AND m.memory_id = i.id::bigint
    WHERE md5(m.content) <> finished.payload -> 'shown' ->> i.id;
    IF corrected IS NOT NULL THEN
        RAISE EXCEPTION 'memory % was changed meanwhile', corrected
            USING ERRCODE = 'ME014', HINT = 'The next attempt is shown its current text.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _apply_keywords(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_listed(finished, finished.payload -> 'listed');
    PERFORM set_keywords((finished.payload ->> 'memory_id')::bigint, array_agg(k.word), 'llm',
                         finished.user_id, array_agg(k.weight))
    FROM jsonb_to_recordset(answer -> 'keywords') AS k (word text, weight float8)
    WHERE k.weight >= _config('keyword_weight_least')
    HAVING count(*) > 0;
END $$;

CREATE OR REPLACE FUNCTION _apply_extract(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _remember_all(finished, (
        SELECT jsonb_agg((m.memory - 'turns')
                         || jsonb_build_object('data', _pairs(m.memory -> 'data'))
                         || _source_turns(finished, m.memory -> 'turns') ORDER BY m.place)
        FROM jsonb_array_elements(answer -> 'memories') WITH ORDINALITY AS m (memory, place)
        WHERE NOT _was_retracted(finished, m.memory ->> 'subject', m.memory ->> 'content')),
        _said_at(finished));
END $$;

-- A decision keeps only the values that its action knows. The model was not shown the data of a
-- stored memory, so its data is added to it: a goal keeps its title and status.
CREATE OR REPLACE FUNCTION _apply_reflect(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_listed(finished, jsonb_path_query_array(
        answer, '$.decisions[*] ? (@.action != "ADD").memory_id'));
    PERFORM _decide_all(finished, (
        SELECT jsonb_agg((CASE d.decision ->> 'action'
                              WHEN 'ADD' THEN d.decision - 'memory_id'
                              WHEN 'NOOP' THEN
                                  d.decision - '{kind,content,subject,importance}'::text[]
                              ELSE d.decision - 'kind' END
                          - '{data,turns}'::text[])
                         || CASE d.decision ->> 'action'
                                WHEN 'NOOP' THEN '{}'
                                ELSE _source_turns(finished, d.decision -> 'turns')
                                     || jsonb_build_object('data', coalesce(m.data, '{}')
                                                           || _pairs(d.decision -> 'data')) END
                         ORDER BY d.place)
        FROM jsonb_array_elements(answer -> 'decisions') WITH ORDINALITY AS d (decision, place)
        LEFT JOIN memory AS m
            ON m.user_id = finished.user_id
               AND m.memory_id = CASE d.decision ->> 'action'
                                     WHEN 'UPDATE' THEN (d.decision ->> 'memory_id')::bigint END
        WHERE d.decision ->> 'action' = 'NOOP'
           OR NOT (_corrected_since(finished, _said_id(d.decision -> 'memory_id'))
                   OR _was_retracted(finished, d.decision ->> 'subject',
                                     d.decision ->> 'content'))));
END $$;

CREATE OR REPLACE FUNCTION _apply_consolidate(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    older CONSTANT text := finished.payload #>> '{memory_ids,0}';
    newer CONSTANT text := finished.payload #>> '{memory_ids,1}';
BEGIN
    PERFORM _check_listed(finished, finished.payload -> 'memory_ids');
    PERFORM _decide_all(finished, jsonb_build_array(
        CASE answer ->> 'action'
            WHEN 'replace' THEN jsonb_build_object(
                'action', 'SUPERSEDE', 'memory_id', older, 'by', newer)
            WHEN 'merge' THEN jsonb_build_object(
                'action', 'MERGE', 'memory_ids', jsonb_build_array(older, newer),
                'content', answer -> 'content')
            WHEN 'noop' THEN jsonb_build_object(
                'action', 'SUPERSEDE', 'memory_id', newer, 'by', older)
            ELSE jsonb_build_object('action', 'NOOP', 'memory_id', newer) END
        || jsonb_build_object('reason', answer -> 'reason')));
END $$;

CREATE OR REPLACE FUNCTION _left_out(finished job, answer jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'action', 'NOOP', 'memory_id', l.id, 'reason', 'not compressed')), '[]')
        FROM jsonb_array_elements_text(finished.payload -> 'listed') AS l (id)
        JOIN memory AS m ON m.user_id = finished.user_id AND m.memory_id = l.id::bigint
                        AND m.status = 'active'
        WHERE NOT jsonb_path_query_array(answer, '$.memories[*].source_ids[*]') ? l.id);
END $$;

-- A merge archives its sources and links to them. A memory that the answer leaves out stays as it
-- is; that is recorded, so that it is asked about again only after the same time has passed.
CREATE OR REPLACE FUNCTION _apply_compress(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    made CONSTANT int := jsonb_array_length(answer -> 'memories');
BEGIN
    IF made NOT BETWEEN 1 AND 3 THEN
        RAISE EXCEPTION 'compressed to % memories', made
            USING ERRCODE = 'ME015', HINT = 'Answer with one to three.';
    END IF;
    PERFORM _check_listed(finished, jsonb_path_query_array(
        answer, '$.memories[*].source_ids[*]'));
    PERFORM _decide_all(finished, _left_out(finished, answer) || (
        SELECT jsonb_agg(jsonb_build_object(
                   'action', 'MERGE', 'memory_ids', m.memory -> 'source_ids',
                   'content', m.memory -> 'content', 'reason', 'compressed',
                   'importance', greatest((m.memory ->> 'importance')::float8, s.importance))
               ORDER BY m.place)
        FROM jsonb_array_elements(answer -> 'memories') WITH ORDINALITY AS m (memory, place),
             LATERAL (SELECT max(o.importance) AS importance
                      FROM memory AS o
                      WHERE o.user_id = finished.user_id
                        AND m.memory -> 'source_ids' ? o.memory_id::text) AS s));
END $$;

-- What is kept of old events was learned when they happened.
CREATE OR REPLACE FUNCTION _apply_archive(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    first_at timestamptz;
    last_at timestamptz;
BEGIN
    SELECT min(e.created_at), max(e.created_at) INTO first_at, last_at
    FROM _archived_events(finished.user_id, finished.payload) AS e;
    PERFORM _remember_all(
        finished,
        jsonb_build_array(jsonb_build_object(
            'kind', 'general', 'content', answer -> 'summary',
            'data', jsonb_strip_nulls(jsonb_build_object(
                'summary_of', 'events', 'from', first_at, 'until', last_at))))
        || (answer -> 'memories'),
        last_at);
END $$;

-- The previous summary is kept nowhere. So an answer without a summary must not remove it, nor one
-- made before the user corrected it; and none may mention what was purged or forgotten since.
CREATE OR REPLACE FUNCTION _apply_rolling_summary(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF finished.payload ->> 'replaces' <> md5(coalesce((
           SELECT p.rolling_summary FROM profile AS p WHERE p.user_id = finished.user_id), ''))
       OR EXISTS (SELECT FROM jsonb_array_elements_text(finished.payload -> 'listed') AS l (id)
                  WHERE NOT EXISTS (SELECT FROM memory AS m
                                    WHERE m.user_id = finished.user_id
                                      AND m.memory_id = l.id::bigint
                                      AND m.status <> 'forgotten'))
    THEN
        RAISE EXCEPTION 'what the summary is made of was changed meanwhile'
            USING ERRCODE = 'ME014', HINT = 'The next attempt starts from what there is now.';
    END IF;
    PERFORM set_rolling_summary(_check_text(answer ->> 'summary', 'the summary'), finished.user_id);
    -- As of what the model was shown: anything that ended while it worked is for the next summary.
    UPDATE profile AS p SET summarised_at = _said_at(finished) WHERE p.user_id = finished.user_id;
END $$;

-- One of the words a schema lists, said in other letters or, of a kind, by another of its names, as
-- remember() takes it: "Preference", "preferences", "偏好". NULL: it is none of them.
CREATE OR REPLACE FUNCTION _schema_word(said text, words jsonb) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT w.word
        FROM jsonb_array_elements_text(words) AS w (word)
        LEFT JOIN kind AS k ON k.name = w.word, _lower(_trimmed(said)) AS s (said)
        WHERE s.said = _lower(w.word) OR s.said = ANY (k.aliases)
        LIMIT 1);
END $$;

-- An answer in the types and words of its schema. Small models, and servers that do not enforce a
-- schema, write 7 for "7" and "0.8" for 0.8, and omit what is null or empty inside an item.
CREATE OR REPLACE FUNCTION _fit_to_schema(value jsonb, schema jsonb, is_item boolean DEFAULT false)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    types CONSTANT jsonb := schema -> 'type';
BEGIN
    RETURN CASE
        WHEN jsonb_typeof(value) = 'object' AND types ? 'object' THEN (
            SELECT coalesce(jsonb_object_agg(
                       p.key, CASE WHEN p.schema -> 'type' ? 'null' THEN 'null'::jsonb
                                   ELSE '[]' END)
                       FILTER (WHERE p.schema -> 'type' ?| '{"null",array}' AND is_item), '{}')
            FROM jsonb_each(schema -> 'properties') AS p (key, schema)
        ) || (
            SELECT coalesce(jsonb_object_agg(
                       e.key, coalesce(_fit_to_schema(e.value, schema -> 'properties' -> e.key),
                                       e.value)), '{}')
            FROM jsonb_each(value) AS e)
        WHEN jsonb_typeof(value) = 'array' AND types ? 'array' THEN (
            SELECT coalesce(jsonb_agg(_fit_to_schema(i.item, schema -> 'items', true)
                                      ORDER BY i.place), '[]')
            FROM jsonb_array_elements(value) WITH ORDINALITY AS i (item, place))
        WHEN jsonb_typeof(value) = 'number' AND types ? 'string' AND NOT types ? 'number'
        THEN to_jsonb(value #>> '{}')
        WHEN jsonb_typeof(value) IN ('number', 'string') AND types ? 'array'
        THEN _fit_to_schema(jsonb_build_array(value), schema)
        WHEN jsonb_typeof(value) = 'string' AND types ?| '{number,integer}' AND NOT types ? 'string'
        THEN coalesce(to_jsonb(_json_number(value)), value)
        WHEN jsonb_typeof(value) = 'string' AND NOT schema -> 'enum' @> value
        THEN coalesce(to_jsonb(_schema_word(value #>> '{}', schema -> 'enum')), value)
        ELSE value END;
END $$;

-- A model that runs away, or obeys a text that tells it to, must not fill the memory.
CREATE OR REPLACE FUNCTION _check_length(answer jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    most CONSTANT int := _config('answer_limit');
    number CONSTANT int := jsonb_array_length(
        jsonb_path_query_array(answer, '$.*[*]'));
BEGIN
    IF number > most THEN
        RAISE EXCEPTION 'the answer has % items, the limit is %', number, most
            USING ERRCODE = 'ME015', HINT = 'The limit is setting answer_limit.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _apply_answer(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_length(answer);
    answer := _fit_to_schema(answer, _answer_schema(finished));
    PERFORM _check_json(answer, _answer_schema(finished), 'the answer');
    CASE finished.kind
        WHEN 'keywords' THEN PERFORM _apply_keywords(finished, answer);
        WHEN 'extract' THEN PERFORM _apply_extract(finished, answer);
        WHEN 'reflect' THEN PERFORM _apply_reflect(finished, answer);
        WHEN 'consolidate' THEN PERFORM _apply_consolidate(finished, answer);
        WHEN 'compress' THEN PERFORM _apply_compress(finished, answer);
        WHEN 'archive' THEN PERFORM _apply_archive(finished, answer);
        WHEN 'rolling_summary' THEN PERFORM _apply_rolling_summary(finished, answer);
        WHEN 'expand' THEN PERFORM _apply_expand(finished, answer);
    END CASE;
END $$;
