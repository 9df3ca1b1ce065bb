-- The one entry point for decisions: what a model, a person or a rule decided about memories is
-- carried out here, all of it or nothing. Text is never an action: an instruction hidden in it is
-- at most stored. No decision loses a row or a text, and each leaves a revision of its run.

CREATE OR REPLACE FUNCTION _said_time(decision jsonb, key text) RETURNS timestamptz
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF NOT _is_clear_time(decision ->> key) THEN
        RAISE EXCEPTION '% "%" is not a time such as 2026-03-01', key, left(decision ->> key, 40)
            USING ERRCODE = 'ME011', HINT = 'Write 2026-03-01 or 2026-03-01T09:30:00Z.';
    END IF;
    RETURN (decision ->> key)::timestamptz;
END $$;

-- The memories a decision is about, as one: the first, with the greatest importance, the mean of
-- the confidences, the slot that one of them fills and the time of the newest. All NULL if there is
-- none.
CREATE OR REPLACE FUNCTION _followed(user_id text, memory_ids bigint[]) RETURNS memory
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    stored memory;
BEGIN
    SELECT m.* INTO stored
    FROM memory AS m
    WHERE m.user_id = _followed.user_id AND m.memory_id = memory_ids[1];
    IF cardinality(memory_ids) > 1 THEN
        SELECT max(m.importance), avg(m.confidence), coalesce(stored.subject, min(m.subject)),
               max(m.created_at)
        INTO stored.importance, stored.confidence, stored.subject, stored.created_at
        FROM unnest(memory_ids) AS i (id), LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = _followed.user_id AND m.memory_id = i.id OFFSET 0) AS m;
    END IF;
    RETURN stored;
END $$;

-- The new memory of a decision. Values that it does not give come from the memory that it follows,
-- except the slot of a memory that stays.
CREATE OR REPLACE FUNCTION _decided_memory(
    model embedding_model, decision jsonb, stored memory, embedding halfvec, author text,
    session_id text, at timestamptz) RETURNS new_memory
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    of_kind CONSTANT kind := _check_kind(coalesce(decision ->> 'kind', stored.kind, 'general'));
    given new_memory := _new_memory(
        of_kind, decision ->> 'content',
        coalesce(decision ->> 'subject',
                 CASE WHEN decision ->> 'action' <> 'KEEP_BOTH' AND of_kind.name = stored.kind
                      THEN stored.subject END),
        coalesce((decision -> 'importance')::float8, stored.importance), decision -> 'data',
        decision ->> 'summary', _check_vector(embedding, model.dimensions), at, session_id, NULL,
        coalesce(decision ->> 'speaker', stored.speaker), author,
        coalesce((decision -> 'confidence')::float8, stored.confidence),
        _said_time(decision, 'valid_from'), _said_time(decision, 'valid_until'));
BEGIN
    given.lifetime := coalesce(decision ->> 'lifetime', stored.lifetime, given.lifetime);
    RETURN given;
END $$;

-- Stores it, however similar it is to others: that was decided. A slot is still filled, and the
-- same text is stored once.
CREATE OR REPLACE FUNCTION _add_decided(
    user_id text, model embedding_model, given new_memory, reason text, run_id bigint,
    change_id bigint) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    known bigint[];
    confirmed outcome;
BEGIN
    IF _has_slot(given) THEN
        RETURN _fill_slot(user_id, model, given, reason, run_id, change_id);
    END IF;
    known := _store(user_id, model, ARRAY[given], run_id, change_id);
    IF known IS NOT NULL THEN
        IF given.status = 'active' THEN
            confirmed := _confirm_said(user_id, known[1], run_id, change_id, true);
            IF confirmed.action IS NOT NULL THEN
                RETURN confirmed;
            END IF;
        END IF;
        RETURN _outcome('NOOP', known[1], 'the same memory is stored already');
    END IF;
    PERFORM _record_added(user_id, ARRAY[given.memory_id], given.origin, reason, run_id, change_id);
    RETURN CASE given.status
        WHEN 'pending' THEN _outcome('PENDING', given.memory_id, 'it waits to be confirmed')
        ELSE _outcome('ADD', given.memory_id, coalesce(reason, 'new')) END;
END $$;

-- Memories are superseded by another, unless it turned out to be history itself.
CREATE OR REPLACE FUNCTION _supersede_all(
    user_id text, memory_ids bigint[], by_id bigint, at timestamptz, author text, reason text,
    run_id bigint, change_id bigint) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    newer memory;
BEGIN
    IF by_id = ANY (memory_ids) THEN
        RAISE EXCEPTION 'memory % cannot supersede itself', by_id
            USING ERRCODE = 'ME014', HINT = 'Say what is true now in other words, or NOOP.';
    END IF;
    SELECT m.* INTO STRICT newer
    FROM memory AS m
    WHERE m.user_id = _supersede_all.user_id AND m.memory_id = by_id;
    IF newer.status <> 'active' THEN
        RETURN _outcome('ADD', by_id, 'what is true now is newer', memory_ids);
    END IF;
    PERFORM _supersede(user_id, o.older, newer, at, author, reason, run_id, change_id)
    FROM unnest(memory_ids) AS i (id), LATERAL (
        SELECT m AS older FROM memory AS m
        WHERE m.user_id = _supersede_all.user_id AND m.memory_id = i.id OFFSET 0) AS o;
    RETURN _outcome('SUPERSEDE', by_id, coalesce(reason, 'it was decided'), memory_ids);
END $$;

-- The values a decision gives a stored memory. A summary of the old text goes with it.
CREATE OR REPLACE FUNCTION _decided_values(
    model embedding_model, decision jsonb, stored memory, embedding halfvec) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    said jsonb := (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
                   FROM jsonb_each(decision) AS e
                   WHERE e.key IN ('summary', 'data', 'importance', 'confidence', 'lifetime'));
BEGIN
    IF decision ? 'content' THEN
        said := '{"summary": null}' || said || jsonb_build_object(
            'content', _check_text(decision ->> 'content', 'the memory'));
    END IF;
    IF embedding IS NOT NULL THEN
        said := said || jsonb_build_object(
            'embedding', _check_vector(embedding, model.dimensions)::text);
    END IF;
    IF decision ? 'subject' THEN
        said := said || jsonb_build_object('subject', _check_subject(decision ->> 'subject'));
    END IF;
    IF decision ?| '{valid_from,valid_until}' THEN
        said := said || jsonb_build_object(
            'valid_from', coalesce(_check_time(_said_time(decision, 'valid_from'), 'valid_from'),
                                   stored.valid_from),
            'valid_until', _check_until(
                coalesce(_said_time(decision, 'valid_until'), stored.valid_until, 'infinity'),
                coalesce(_said_time(decision, 'valid_from'), stored.valid_from)));
    END IF;
    RETURN said;
END $$;

-- Changes nothing; a revision keeps that it was said again, and why nothing was done.
CREATE OR REPLACE FUNCTION _record_noop(
    user_id text, decision jsonb, targets bigint[], author text, run_id bigint, change_id bigint)
    RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, run_id, change_id)
    SELECT user_id, t, 'NOOP', author,
           concat_ws('; ', decision ->> 'reason', 'said again: ' || (decision ->> 'content')),
           '{}', run_id, change_id
    FROM unnest(targets) AS t;
    RETURN _outcome('NOOP', targets[1], coalesce(decision ->> 'reason', 'it was decided'));
END $$;

-- What a decision relates a memory to that was stored before. A revision stands for it, so that an
-- undo takes it back.
CREATE OR REPLACE FUNCTION _relate_stored(
    user_id text, from_id bigint, to_ids bigint[], type text, strength float8, author text,
    reason text, run_id bigint, change_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    missing CONSTANT bigint[] := ARRAY(
        SELECT i FROM unnest(to_ids) AS i
        WHERE i <> from_id
          AND NOT EXISTS (SELECT FROM relation AS r
                          WHERE r.user_id = user_id AND r.from_id = from_id AND r.to_id = i
                            AND r.type = type));
    number CONSTANT int := cardinality(missing);
BEGIN
    IF number > 0 THEN
        PERFORM _link(user_id, array_fill(from_id, ARRAY[number]), missing, type, strength,
                      array_fill(change_id, ARRAY[number]));
        INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, run_id,
                              change_id)
        VALUES (user_id, from_id, 'RELATE', author, reason, '{}', run_id, change_id);
    END IF;
END $$;

-- The user's tags stay tags in the memory that replaces it.
CREATE OR REPLACE FUNCTION _hand_tags_on(user_id text, from_ids bigint[], to_id bigint)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
DECLARE
    tags text[];
    weights float8[];
BEGIN
    SELECT array_agg(k.keyword), array_agg(k.weight) INTO tags, weights
    FROM unnest(from_ids) AS f (id), LATERAL (
        SELECT k.keyword, k.weight FROM keyword AS k
        WHERE k.user_id = _hand_tags_on.user_id AND k.memory_id BETWEEN f.id AND f.id
          AND k.origin = 'user_tag'
        ORDER BY k.memory_id OFFSET 0) AS k;
    IF tags IS NOT NULL THEN
        PERFORM _write_keywords(user_id, array_fill(to_id, ARRAY[cardinality(tags)]), tags,
                                weights, 'user_tag');
    END IF;
END $$;

-- What waits for the user: a new memory that will supersede the ones it is about once it is
-- confirmed, or the one that waits with this text already. A change without a text of its own
-- cannot wait, and is not made.
CREATE OR REPLACE FUNCTION _propose(
    user_id text, model embedding_model, given new_memory, decision jsonb, targets bigint[],
    run_id bigint, change_id bigint) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    type CONSTANT text := CASE decision ->> 'action' WHEN 'KEEP_BOTH' THEN 'related'
                                                     ELSE 'supersedes' END;
    known bigint;
    result outcome;
BEGIN
    given.status := 'pending';
    known := _proposed_already(user_id, given);
    result := CASE WHEN known IS NULL
                   THEN _add_decided(user_id, model, given, decision ->> 'reason', run_id,
                                     change_id)
                   ELSE _outcome('NOOP', known, 'the same memory is stored already') END;
    IF result.action = 'PENDING' THEN
        PERFORM _link(user_id, array_fill(given.memory_id, ARRAY[cardinality(targets)]), targets,
                      type, 1);
    ELSIF (SELECT m.status = 'pending' FROM memory AS m
           WHERE m.user_id = _propose.user_id AND m.memory_id = result.memory_id) THEN
        PERFORM _relate_stored(user_id, result.memory_id, targets, type, 1, given.origin,
                               decision ->> 'reason', run_id, change_id);
    ELSE
        RETURN result;
    END IF;
    result.other_ids := targets;
    -- Like a change that does not wait, it keeps them, unlike a memory that makes way.
    IF decision ->> 'action' IN ('UPDATE', 'REPLACE', 'MERGE') THEN
        PERFORM _hand_tags_on(user_id, targets, result.memory_id);
    END IF;
    RETURN result;
END $$;

-- Adds the new memory of a decision, and does what it says with those it is about.
CREATE OR REPLACE FUNCTION _apply_new(
    user_id text, model embedding_model, given new_memory, decision jsonb, targets bigint[],
    at timestamptz, run_id bigint, change_id bigint) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    action CONSTANT text := decision ->> 'action';
    reason CONSTANT text := decision ->> 'reason';
    changes CONSTANT bigint[] := array_fill(change_id, ARRAY[cardinality(targets)]);
    result outcome;
BEGIN
    IF action = 'MERGE' THEN
        PERFORM _retire(user_id, targets, 'archived', 'MERGE', given.origin,
                        coalesce(reason, 'merged'), at, run_id, change_id);
    END IF;
    result := _add_decided(user_id, model, given, reason, run_id, change_id);
    CASE action
        WHEN 'ADD' THEN
            NULL;
        WHEN 'KEEP_BOTH' THEN
            IF result.action = 'NOOP' THEN
                PERFORM _relate_stored(user_id, result.memory_id, targets, 'related', 0.9,
                                       given.origin, reason, run_id, change_id);
            ELSE
                PERFORM _link(user_id, array_fill(result.memory_id, ARRAY[cardinality(targets)]),
                              targets, 'related', 0.9, changes);
            END IF;
            result.other_ids := targets;
        WHEN 'MERGE' THEN
            PERFORM _derive(user_id, array_fill(result.memory_id, ARRAY[cardinality(targets)]),
                            targets, changes);
            PERFORM _hand_tags_on(user_id, targets, result.memory_id);
            result := _outcome('MERGE', result.memory_id, coalesce(reason, 'merged'), targets);
        ELSE
            result := _supersede_all(user_id, targets, result.memory_id, at, given.origin, reason,
                                     run_id, change_id);
    END CASE;
    RETURN result;
END $$;

-- Changes what is stored, without a new memory.
CREATE OR REPLACE FUNCTION _apply_change(
    user_id text, model embedding_model, decision jsonb, targets bigint[], stored memory,
    embedding halfvec, author text, at timestamptz, run_id bigint, change_id bigint)
    RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    reason CONSTANT text := coalesce(decision ->> 'reason', 'it was decided');
    action text := decision ->> 'action';
    changed bigint[];
BEGIN
    IF action = 'SUPERSEDE' THEN
        RETURN _supersede_all(user_id, targets, _said_id(decision -> 'by'), at, author, reason,
                              run_id, change_id);
    ELSIF action = 'DELETE' THEN
        PERFORM _retire(user_id, targets, 'forgotten', 'FORGET', author, reason, at, run_id,
                        change_id);
        PERFORM _renew_summary(user_id);
        RETURN _outcome('FORGET', targets[1], reason, targets[2:]);
    END IF;
    action := CASE action WHEN 'MERGE' THEN 'MERGE' ELSE 'UPDATE' END;
    changed := _revise(
        user_id, targets, ARRAY[_decided_values(model, decision, stored, embedding)],
        action, author, reason, run_id, change_id);
    RETURN CASE WHEN changed = '{}' THEN _outcome('NOOP', targets[1], 'it is so already')
                ELSE _outcome(action, targets[1], reason) END;
END $$;

-- The keywords and sources a decision gives the memory that results from it.
CREATE OR REPLACE FUNCTION _tag_decided(
    user_id text, memory_id bigint, decision jsonb, author text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _tag(
        user_id, memory_id,
        _check_keywords(ARRAY(
            SELECT k FROM jsonb_array_elements_text(decision -> 'keywords') AS k), 50),
        ARRAY(SELECT _said_id(s.id) FROM jsonb_array_elements(decision -> 'sources') AS s (id)),
        CASE author WHEN 'user' THEN 'user_tag' ELSE 'llm' END, false);
END $$;

-- Whether another memory already has the text that a decision gives this one: it takes its place.
CREATE OR REPLACE FUNCTION _is_text_of_another(user_id text, stored memory, decision jsonb)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    -- In the condition it would be made for each memory, because to check a subject may fail.
    given_hash CONSTANT bytea := _content_hash(
        stored.kind, CASE WHEN decision ? 'subject' THEN _check_subject(decision ->> 'subject')
                          ELSE stored.subject END,
        stored.session_id, NULL, decision ->> 'content');
BEGIN
    RETURN stored.source IS NULL AND stored.position IS NULL AND EXISTS (
        SELECT FROM memory AS m
        WHERE m.user_id = _is_text_of_another.user_id AND m.memory_id <> stored.memory_id
          AND m.content_hash = given_hash
          AND m.status IN ('active', 'pending') AND m.source IS NULL);
END $$;

-- Carries out one decision. waits: the user confirms what this author adds, so nothing stored may
-- change before that.
CREATE OR REPLACE FUNCTION _apply_decision(
    user_id text, model embedding_model, decision jsonb, embedding halfvec, author text,
    session_id text, at timestamptz, run_id bigint, waits boolean) RETURNS outcome
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    targets CONSTANT bigint[] := ARRAY(
        SELECT n.memory_id FROM _named_memories(jsonb_build_array(decision)) AS n
        WHERE n.role = 'target');
    change CONSTANT bigint := _next_change();
    stored CONSTANT memory := _followed(user_id, targets);
    in_place CONSTANT boolean := NOT waits AND (
        NOT decision ? 'content' OR decision ->> 'action' IN ('UPDATE', 'REPLACE')
        OR decision ->> 'action' = 'MERGE' AND cardinality(targets) = 1);
    given new_memory;
    result outcome;
BEGIN
    PERFORM _check_status(user_id, i, '{active}', 'decided about')
    FROM unnest(targets || _said_id(decision -> 'by')) AS i WHERE i IS NOT NULL;
    IF decision ->> 'action' = 'NOOP' THEN
        RETURN _record_noop(user_id, decision, targets, author, run_id, change);
    ELSIF waits AND NOT decision ? 'content' THEN
        RETURN _outcome('NOOP', targets[1], 'nothing is changed before the user confirms it');
    END IF;
    -- A merge takes the mean of both confidences (D1 4.1).
    IF decision ->> 'action' = 'MERGE' AND decision ? 'confidence' THEN
        decision := decision || jsonb_build_object(
            'confidence', (stored.confidence + (decision -> 'confidence')::float8) / 2);
    END IF;
    IF in_place AND decision ? 'content' AND _is_text_of_another(user_id, stored, decision) THEN
        result := _apply_new(
            user_id, model,
            _decided_memory(model, decision - 'kind', stored, embedding, author, stored.session_id,
                            at), decision, targets, at, run_id, change);
    ELSIF in_place THEN
        result := _apply_change(user_id, model, decision, targets, stored, embedding, author, at,
                                run_id, change);
    ELSE
        -- What several say together was known when the newest of them was: a merge is not news. One
        -- that waits replaces them, when it is confirmed, from when it was proposed.
        given := _decided_memory(
            model, decision, stored, embedding, author, session_id,
            CASE WHEN decision ->> 'action' = 'MERGE' AND cardinality(targets) > 1 AND NOT waits
                 THEN greatest(stored.created_at, '1970-01-01 00:00:00+00') ELSE at END);
        result := CASE WHEN waits
            THEN _propose(user_id, model, given, decision, targets, run_id, change)
            ELSE _apply_new(user_id, model, given, decision, targets, at, run_id, change) END;
    END IF;
    IF result.action NOT IN ('NOOP', 'FORGET') THEN
        PERFORM _tag_decided(user_id, result.memory_id, decision, author);
    END IF;
    RETURN result;
END $$;

CREATE OR REPLACE FUNCTION apply_decisions(
    decisions jsonb, user_id text DEFAULT NULL, author text DEFAULT 'model',
    embeddings halfvec[] DEFAULT NULL, session_id text DEFAULT NULL,
    at timestamptz DEFAULT NULL)
    RETURNS TABLE (place int, action text, memory_id bigint, other_ids bigint[], reason text,
                   run_id bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    said CONSTANT jsonb := _redact_json(_decisions_in_words(_json_given(decisions)));
    moment CONSTANT timestamptz := coalesce(_check_time(at, 'at'), now());
    model embedding_model;
    waits boolean;
    refusal text;
    results outcome[] := '{}';
    code text;
    message text;
    explanation text;
    advice text;
BEGIN
    author := coalesce(_check_author(author), 'model');
    PERFORM _check_decisions(said);
    PERFORM _check_vectors(embeddings, jsonb_array_length(said), 'decisions');
    PERFORM _check_session(session_id);
    model := _admitting_model((SELECT e FROM unnest(embeddings) AS e WHERE e IS NOT NULL LIMIT 1));
    PERFORM _lock_user(owner);
    PERFORM _check_named(owner, said);
    PERFORM _keep_memory(owner, n.memory_id) FROM _named_memories(said) AS n;
    refusal := _writing_refused(owner, session_id);
    IF refusal IS NOT NULL THEN
        RETURN QUERY
        SELECT p::int, 'NOOP', NULL::bigint, '{}'::bigint[], refusal, NULL::bigint
        FROM generate_series(1, jsonb_array_length(said)) AS p;
        RETURN;
    END IF;
    waits := _is_automatic(author)
             AND (SELECT p.confirm FROM profile AS p WHERE p.user_id = owner);
    PERFORM _open_sessions(owner, array_remove(ARRAY[session_id], NULL), ARRAY[moment]);
    run_id := _next_run();
    place := 0;
    WHILE place < jsonb_array_length(said) LOOP
        results := results || _apply_decision(
            owner, model, said -> place, embeddings[place + 1], author, session_id, moment,
            run_id, waits);
        place := place + 1;
    END LOOP;
    place := NULL;
    IF EXISTS (SELECT FROM unnest(results) AS r
               CROSS JOIN LATERAL (
                   SELECT m.kind FROM memory AS m
                   WHERE m.user_id = owner AND m.memory_id = r.memory_id OFFSET 0) AS m
               JOIN kind AS k ON k.name = m.kind AND k.layer = 'profile') THEN
        PERFORM _refresh_profile(owner);
    END IF;
    PERFORM _notify(owner, 'created', ARRAY(
        SELECT DISTINCT a.memory_id
        FROM (SELECT r.memory_id FROM revision AS r
              WHERE r.user_id = owner AND r.action = 'ADD'
                AND r.run_id BETWEEN apply_decisions.run_id AND apply_decisions.run_id
              ORDER BY r.run_id OFFSET 0) AS a));
    RETURN QUERY
    SELECT r.place::int, r.action, r.memory_id, r.other_ids, r.reason, apply_decisions.run_id
    FROM unnest(results) WITH ORDINALITY AS r (action, memory_id, reason, other_ids, place);
EXCEPTION WHEN OTHERS THEN
    IF place IS NULL THEN
        RAISE;
    END IF;
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        explanation = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    RAISE EXCEPTION 'decisions[%]: %', place, message
        USING ERRCODE = code,
              DETAIL = coalesce(nullif(explanation, ''), left((said -> place)::text, 200)),
              HINT = coalesce(nullif(advice, ''), 'Nothing of this call was applied.');
END $$;

COMMENT ON FUNCTION apply_decisions(jsonb, text, text, halfvec[], text, timestamptz) IS
    'Applies decisions about memories, in their order, all or none, and returns a row each. '
    'decisions: an array that satisfies decision_schema(): ADD, UPDATE, DELETE, NOOP (D3), '
    'REPLACE, MERGE, KEEP_BOTH (D1), SUPERSEDE (D4), in upper or lower case; ids are numbers or '
    'text; merged_content, id, salience and category are understood. author: who decided; where '
    'the user confirms first, agent and model change nothing: what they add, or would change, '
    'waits as a new pending memory, which supersedes when it is confirmed. embeddings: vectors of '
    'the contents in the same order, NULL for one without. session_id: the conversation they are '
    'from. at: when that became known (default now). Returns place (from 1); action: what was '
    'done, ADD, UPDATE, SUPERSEDE, MERGE, FORGET, PENDING or NOOP; memory_id: the memory that '
    'holds it now, NULL where memory is off or the session temporary; other_ids: the memories it '
    'superseded, merged or relates to; reason; run_id: of all changes, for undo_run(). A merge of '
    'several is as old as the newest and has the keywords the user tagged them with. What would '
    'get the text of another memory is superseded by that one. Nothing is deleted: DELETE forgets, '
    'or with content supersedes. '
    'Errors name the place (decisions[0] is the first): ME015 the schema, ME012 no such memory of '
    'this user, ME014 a memory that is not active or is named twice, ME008 the author or the '
    'number of embeddings, and those of remember(). Source: D1 4.1, D3 4.2, D4 5.8.';
