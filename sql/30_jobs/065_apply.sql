-- What the answer of a chat model does, one function a kind of job. They run in a subtransaction of
-- finish(): an error undoes all of it and is the reason why the attempt failed. Memories change
-- through apply_decisions() alone, which deletes nothing and keeps what was before.

-- {"key": ..., "value": ...} pairs as an object: a strict schema knows no object of free keys.
CREATE OR REPLACE FUNCTION _pairs(pairs jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(p.pair ->> 'key', p.pair ->> 'value')
            FROM jsonb_array_elements(pairs) AS p (pair));

-- Decisions of a job; each keeps of its values only those that its action knows.
CREATE OR REPLACE FUNCTION _decide_all(finished job, decisions jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_array_length(decisions) > 0 THEN
        PERFORM apply_decisions(
            decisions, user_id => finished.user_id, author => 'model',
            session_id => finished.payload ->> 'session_id');
    END IF;
END $$;

-- The answer speaks only of memories it was shown: an id may have been suggested by the material.
CREATE OR REPLACE FUNCTION _check_listed(finished job, ids jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    unknown CONSTANT text := (
        SELECT min(i.id) FROM jsonb_array_elements_text(ids) AS i (id)
        WHERE NOT finished.payload -> 'listed' ? i.id);
BEGIN
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'the answer names memory %, which it was not shown', left(unknown, 40)
            USING ERRCODE = 'ME012', HINT = 'Only ids that stand in the messages may be named.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _apply_keywords(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM set_keywords((finished.payload ->> 'memory_id')::bigint, array_agg(k.word), 'llm',
                         finished.user_id, array_agg(k.weight))
    FROM jsonb_to_recordset(answer -> 'keywords') AS k (word text, weight float8)
    HAVING count(*) > 0;
END $$;

CREATE OR REPLACE FUNCTION _apply_extract(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _decide_all(finished, (
        SELECT jsonb_agg(m.memory || jsonb_build_object(
                   'action', 'ADD', 'data', _pairs(m.memory -> 'data')) ORDER BY m.place)
        FROM jsonb_array_elements(answer -> 'memories') WITH ORDINALITY AS m (memory, place)));
END $$;

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
                              WHEN 'UPDATE' THEN d.decision - 'kind'
                              ELSE d.decision - '{kind,content,subject,importance}'::text[] END
                          - 'data')
                         || CASE d.decision ->> 'action' WHEN 'NOOP' THEN '{}' ELSE
                                jsonb_build_object('data', _pairs(d.decision -> 'data')) END
                         ORDER BY d.place)
        FROM jsonb_array_elements(answer -> 'decisions') WITH ORDINALITY AS d (decision, place)));
END $$;

CREATE OR REPLACE FUNCTION _apply_consolidate(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    older CONSTANT text := finished.payload #>> '{memory_ids,0}';
    newer CONSTANT text := finished.payload #>> '{memory_ids,1}';
BEGIN
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

-- The sources are archived before what was made of them is stored: it must not be taken for one of
-- them said again. A source that the answer leaves out stays as it is.
CREATE OR REPLACE FUNCTION _apply_compress(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    made CONSTANT int := jsonb_array_length(answer -> 'memories');
    named CONSTANT jsonb := jsonb_path_query_array(answer, '$.memories[*].source_ids[*]');
    ids CONSTANT bigint[] := ARRAY(
        SELECT DISTINCT i.id::bigint FROM jsonb_array_elements_text(named) AS i (id));
BEGIN
    PERFORM _check_listed(finished, named);
    IF made NOT BETWEEN 1 AND 3 OR cardinality(ids) <> jsonb_array_length(named)
       OR jsonb_path_exists(answer, '$.memories[*] ? (@.source_ids.size() == 0)') THEN
        RAISE EXCEPTION '% memories made of % sources, named % times', made, cardinality(ids),
                jsonb_array_length(named)
            USING ERRCODE = 'ME015',
                  HINT = 'One to three memories, each with sources, a source in one of them.';
    END IF;
    PERFORM _retire(finished.user_id, ids, 'archived', 'ARCHIVE', 'model', 'compressed', now(),
                    _next_run());
    PERFORM _decide_all(finished, (
        SELECT jsonb_agg(jsonb_build_object(
                   'action', 'ADD', 'content', m.memory -> 'content',
                   'sources', m.memory -> 'source_ids', 'kind', s.kind,
                   'importance', greatest((m.memory ->> 'importance')::float8, s.importance),
                   'reason', 'compressed') ORDER BY m.place)
        FROM jsonb_array_elements(answer -> 'memories') WITH ORDINALITY AS m (memory, place),
             LATERAL (SELECT min(o.kind) AS kind, max(o.importance) AS importance
                      FROM memory AS o
                      WHERE o.user_id = finished.user_id
                        AND m.memory -> 'source_ids' ? o.memory_id::text) AS s));
END $$;

CREATE OR REPLACE FUNCTION _apply_archive(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _decide_all(finished, jsonb_build_array(jsonb_build_object(
        'action', 'ADD', 'kind', 'general', 'content', answer -> 'summary',
        'data', finished.payload - '{event_ids,listed,prompt}'::text[]
                || '{"summary_of": "events"}')) || (
        SELECT coalesce(jsonb_agg(m.memory || '{"action": "ADD"}' ORDER BY m.place), '[]')
        FROM jsonb_array_elements(answer -> 'memories') WITH ORDINALITY AS m (memory, place)));
END $$;

CREATE OR REPLACE FUNCTION _apply_answer(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_json(answer, _answer_schema(finished), 'the answer');
    CASE finished.kind
        WHEN 'keywords' THEN PERFORM _apply_keywords(finished, answer);
        WHEN 'extract' THEN PERFORM _apply_extract(finished, answer);
        WHEN 'reflect' THEN PERFORM _apply_reflect(finished, answer);
        WHEN 'consolidate' THEN PERFORM _apply_consolidate(finished, answer);
        WHEN 'compress' THEN PERFORM _apply_compress(finished, answer);
        WHEN 'archive' THEN PERFORM _apply_archive(finished, answer);
        WHEN 'rolling_summary' THEN
            PERFORM set_rolling_summary(answer ->> 'summary', finished.user_id);
        WHEN 'expand' THEN PERFORM _apply_expand(finished, answer);
    END CASE;
END $$;
