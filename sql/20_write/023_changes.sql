-- The one way in which a stored memory changes: its values, what recall reads of it, and a revision
-- with the old values, together. The caller holds _lock_user, except for the rows of attached
-- tables: the application's own transaction changes those and must not keep a user's other changes
-- waiting. So every memory is locked by itself, too. How rows are selected: sql/README.md.

-- The names of the entities a memory mentions.
CREATE OR REPLACE FUNCTION _mentioned(user_id text, memory_id bigint) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    RETURN (
        SELECT string_agg(n.name, ' ' ORDER BY o.entity_id)
        FROM mention AS o
        CROSS JOIN LATERAL (
            SELECT e.name FROM entity AS e
            WHERE e.user_id = _mentioned.user_id
              AND e.entity_id BETWEEN o.entity_id AND o.entity_id
            ORDER BY e.entity_id OFFSET 0) AS n
        WHERE o.user_id = _mentioned.user_id AND o.memory_id = _mentioned.memory_id);
END $$;

-- The traces of memories whose text, names or line have changed, with all that is made from them.
-- memory_ids: sorted.
CREATE OR REPLACE FUNCTION _reproject(user_id text, memory_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    -- Before the UPDATE: on a cluster a statement on rows calls no function that reads rows.
    mentioned CONSTANT text[] := ARRAY(SELECT _mentioned(user_id, i) FROM unnest(memory_ids) AS i);
    part bigint[];
BEGIN
    FOR low IN 1 .. cardinality(memory_ids) BY 25 LOOP
        part := memory_ids[low : low + 24];
        UPDATE trace AS t
        SET line = p.line, brief = p.brief, asks = w.asks, details = w.details,
            terms = w.terms, term_count = w.term_count, cost = _cost_of_line(p.line),
            brief_cost = _cost_of_line(p.brief),
            wide = _is_wide(t.embedding, w.term_count, p.line, t.user_id)
        FROM memory AS m
        CROSS JOIN LATERAL (
            SELECT _with_speaker(m.content, m.speaker, m.position) AS said OFFSET 0) AS s
        CROSS JOIN LATERAL (
            SELECT _line_of(s.said, m.kind = 'okr', m.data) AS line OFFSET 0) AS l
        CROSS JOIN LATERAL (
            SELECT l.line, _brief(s.said, m.summary, l.line) AS brief OFFSET 0) AS p
        CROSS JOIN LATERAL _word_vector(
            m.content, _searched_text(m.content, m.subject),
            _names(m.speaker, m.subject,
                   mentioned[low - 1 + array_position(part, m.memory_id)])) AS w
        WHERE m.user_id = _reproject.user_id AND m.memory_id = ANY (part)
          AND m.memory_id BETWEEN part[1] AND part[cardinality(part)]
          AND t.user_id = m.user_id AND t.memory_id = m.memory_id
          AND t.memory_id = ANY (part)
          AND t.memory_id BETWEEN part[1] AND part[cardinality(part)];
    END LOOP;
END $$;

-- New keywords for memories whose text has changed; the user's tags stay. memory_ids: sorted.
CREATE OR REPLACE FUNCTION _replace_keywords(user_id text, memory_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    changed bigint;
BEGIN
    -- For several memories at once, all keywords of the user are read in the order of the words.
    FOREACH changed IN ARRAY memory_ids LOOP
        DELETE FROM keyword AS k
        WHERE k.user_id = _replace_keywords.user_id AND k.memory_id = changed
          AND k.keyword = ANY (ARRAY(
              SELECT o.keyword FROM keyword AS o
              WHERE o.user_id = _replace_keywords.user_id
                AND o.memory_id BETWEEN changed AND changed AND o.origin <> 'user_tag'
              ORDER BY o.memory_id));
    END LOOP;
    INSERT INTO keyword (user_id, keyword, memory_id, weight, origin)
    SELECT m.user_id, k.keyword, m.memory_id, k.weight, 'system'
    FROM memory AS m, LATERAL _keywords(m.content) AS k
    WHERE m.user_id = _replace_keywords.user_id AND m.memory_id = ANY (memory_ids)
      AND m.memory_id BETWEEN memory_ids[1] AND memory_ids[cardinality(memory_ids)]
    ORDER BY m.memory_id, k.keyword COLLATE "C"
    ON CONFLICT DO NOTHING;
END $$;

-- A memory may become active, or get another text or time, only if no other conflicts with it: one
-- with the same text, or one of its slot that is also active, or true at the same time. Each of the
-- three is looked up in an index of its own: memory_content, memory_subject, memory_slot.
CREATE OR REPLACE FUNCTION _check_free(user_id text, changed memory[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    ids CONSTANT bigint[] := ARRAY(SELECT c.memory_id FROM unnest(changed) AS c);
    taken record;
BEGIN
    SELECT c.memory_id, m.memory_id AS other_id, m.same, m.subject
    INTO taken
    FROM unnest(changed) AS c, LATERAL (
        SELECT m.memory_id, true AS same, m.subject
        FROM memory AS m
        WHERE m.user_id = _check_free.user_id AND m.memory_id <> ALL (ids)
          AND m.content_hash = c.content_hash
          AND m.source IS NULL AND c.source IS NULL
          AND m.status IN ('active', 'pending') AND c.status IN ('active', 'pending')
        UNION ALL
        SELECT m.memory_id, false, m.subject
        FROM memory AS m
        WHERE m.user_id = _check_free.user_id AND m.memory_id <> ALL (ids)
          AND m.kind = c.kind AND m.subject = c.subject
          AND m.position IS NULL AND c.position IS NULL
          AND m.source IS NULL AND c.source IS NULL
          AND m.status IN ('active', 'superseded') AND c.status IN ('active', 'superseded')
          AND tstzrange(m.valid_from, m.valid_until) && tstzrange(c.valid_from, c.valid_until)
          -- Stored memories of a slot do not overlap, so of those that begin no later than this one
          -- only the last can be true with it.
          AND m.valid_from >= coalesce((
              SELECT max(h.valid_from) FROM memory AS h
              WHERE h.user_id = _check_free.user_id AND h.memory_id <> ALL (ids)
                AND h.kind = c.kind AND h.subject = c.subject
                AND h.position IS NULL AND h.source IS NULL
                AND h.status IN ('active', 'superseded') AND h.valid_from <= c.valid_from),
              '-infinity')
          AND m.valid_from < coalesce(c.valid_until, 'infinity')
        UNION ALL
        SELECT m.memory_id, false, m.subject
        FROM memory AS m
        WHERE m.user_id = _check_free.user_id AND m.memory_id <> ALL (ids)
          AND m.kind = c.kind AND m.subject = c.subject
          AND m.position IS NULL AND c.position IS NULL
          AND m.source IS NULL AND c.source IS NULL
          AND m.status = 'active' AND c.status = 'active'
    ) AS m
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'memory % is in the way of memory %', taken.other_id, taken.memory_id
            USING ERRCODE = 'ME014',
                  DETAIL = CASE WHEN taken.same THEN 'It has the same text.'
                                ELSE format('It fills subject "%s".', taken.subject) END,
                  HINT = format('SELECT * FROM memoir.history(%1$s, user_id => %2$L) shows how it '
                                'got there; memoir.forget(%1$s, user_id => %2$L) removes it.',
                                taken.other_id, user_id);
    END IF;
END $$;

-- The vector of a trace after a change. That of a model that is not in use is removed when the text
-- changes: given is by the model in use.
CREATE OR REPLACE FUNCTION _changed_vector(
    stored halfvec, in_use boolean, old jsonb, given halfvec) RETURNS halfvec
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN NOT in_use AND old ? 'content' THEN NULL
                WHEN in_use AND old ?| '{content,embedding}' THEN given
                ELSE stored END;

-- Brings what recall reads of changed memories up to date: traces, keywords, the profile. olds: the
-- old values; embeddings: the new vectors, by model, where the old values have one. A new vector
-- may make a trace too large for an index entry: wide is set in the same statement.
CREATE OR REPLACE FUNCTION _update_traces(
    user_id text, model smallint, memory_ids bigint[], olds jsonb[], embeddings halfvec[])
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    with_new_text CONSTANT bigint[] := ARRAY(
        SELECT c.id FROM unnest(memory_ids, olds) AS c (id, old) WHERE c.old ? 'content');
    with_new_line CONSTANT bigint[] := ARRAY(
        SELECT c.id FROM unnest(memory_ids, olds) AS c (id, old)
        WHERE NOT c.old ? 'content'
          AND (c.old ?| '{summary,subject}' OR c.old ->> 'kind' = 'okr'
               OR c.old ?| '{data,kind}' AND EXISTS (
                   SELECT FROM memory AS m
                   WHERE m.user_id = _update_traces.user_id AND m.memory_id = c.id
                     AND m.kind = 'okr')));
    part bigint[];
BEGIN
    FOR low IN 1 .. cardinality(memory_ids) BY 25 LOOP
        part := memory_ids[low : low + 24];
        UPDATE trace AS t
        SET active = m.status = 'active', importance = m.importance, kind = k.kind_id,
            embedding = _changed_vector(t.embedding, t.model = _update_traces.model, c.old,
                                        c.embedding),
            wide = _is_wide(_changed_vector(t.embedding, t.model = _update_traces.model, c.old,
                                            c.embedding), t.term_count, t.line, t.user_id)
        FROM unnest(part, olds[low : low + 24], embeddings[low : low + 24])
             AS c (id, old, embedding), LATERAL (
            SELECT m.status, m.importance, m.kind FROM memory AS m
            WHERE m.user_id = _update_traces.user_id AND m.memory_id = c.id OFFSET 0) AS m,
             kind AS k
        WHERE k.name = m.kind
          AND t.user_id = _update_traces.user_id AND t.memory_id = c.id
          AND t.memory_id = ANY (part) AND t.memory_id BETWEEN part[1] AND part[cardinality(part)];
    END LOOP;
    IF with_new_text <> '{}' THEN
        PERFORM _reproject(user_id, with_new_text);
        PERFORM _replace_keywords(user_id, with_new_text);
    END IF;
    IF with_new_line <> '{}' THEN
        PERFORM _reproject(user_id, with_new_line);
    END IF;
    IF EXISTS (SELECT FROM unnest(memory_ids) AS i (id)
               CROSS JOIN LATERAL (
                   SELECT m.kind FROM memory AS m
                   WHERE m.user_id = _update_traces.user_id AND m.memory_id = i.id OFFSET 0) AS m
               JOIN kind AS k ON k.name = m.kind AND k.layer = 'profile')
       OR EXISTS (SELECT FROM unnest(olds) AS o (old)
                  JOIN kind AS k ON k.name = o.old ->> 'kind' AND k.layer = 'profile')
    THEN
        PERFORM _refresh_profile(user_id);
    END IF;
END $$;

-- What listeners are told of a change; old_status NULL: it has not changed.
CREATE OR REPLACE FUNCTION _event_of(status text, old_status text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN old_status IS NULL THEN 'updated'
                WHEN status = 'superseded' THEN 'superseded'
                WHEN status IN ('forgotten', 'archived') THEN 'forgotten'
                WHEN old_status = 'pending' THEN 'updated'
                ELSE 'restored' END;

-- Sets values of memories (an object of columns for each) and writes their revisions; a memory that
-- already has the values is left alone. embedding stands for that of the trace: a new text without
-- one has none. change_id NULL: every memory is a change of its own. undoes: for each, the change
-- that is taken back. More than 1,000 are changed in parts: an entry of an array is found by
-- passing those before it. Returns the ids of those that changed.
CREATE OR REPLACE FUNCTION _revise(
    user_id text, memory_ids bigint[], new_values jsonb[], action text, author text, reason text,
    run_id bigint, change_id bigint, undoes bigint[] DEFAULT NULL) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET extra_float_digits = 1 SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    in_model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    who CONSTANT text := coalesce(_check_author(author), 'user');
    why CONSTANT text := _redact(reason);
    changed memory[];
    olds jsonb[];
    ids bigint[];
    undone bigint[];
    embeddings halfvec[];
    events text[];
    part bigint[];
BEGIN
    PERFORM FROM (SELECT i FROM unnest(memory_ids) AS i ORDER BY i) AS i (id), LATERAL (
        SELECT FROM memory AS m
        WHERE m.user_id = _revise.user_id AND m.memory_id = i.id FOR NO KEY UPDATE) AS m;
    IF cardinality(memory_ids) > 1000 THEN
        FOR low IN 1 .. cardinality(memory_ids) BY 1000 LOOP
            ids := ids || _revise(
                user_id, memory_ids[low : low + 999], new_values[low : low + 999], action, author,
                reason, run_id, change_id, undoes[low : low + 999]);
        END LOOP;
        RETURN ids;
    END IF;
    SELECT array_agg(w.row), array_agg(w.old), array_agg(w.memory_id), array_agg(w.undone),
           array_agg(w.embedding)::halfvec[], array_agg(w.event)
    INTO changed, olds, ids, undone, embeddings, events
    FROM (
        SELECT n.memory_id, n.undone, g.old, n.asked ->> 'embedding' AS embedding,
               _event_of((p.row).status, g.old ->> 'status') AS event, jsonb_populate_record(
                   p.row, jsonb_build_object('content_hash', CASE
                       WHEN (p.row).source IS NULL
                       THEN _content_hash((p.row).kind, (p.row).subject, (p.row).session_id,
                                          (p.row).position, (p.row).content)
                       ELSE _row_hash((p.row).source, (p.row).source_key) END)) AS row
        FROM unnest(memory_ids, new_values, undoes) AS n (memory_id, asked, undone)
        CROSS JOIN LATERAL (
            SELECT m AS row FROM memory AS m
            WHERE m.user_id = _revise.user_id AND m.memory_id = n.memory_id OFFSET 0) AS s
        LEFT JOIN LATERAL (
            SELECT t.embedding FROM trace AS t
            WHERE t.user_id = _revise.user_id AND t.memory_id = n.memory_id
              AND t.model = in_model OFFSET 0) AS t ON n.asked ?| '{content,embedding}'
        CROSS JOIN LATERAL (
            SELECT CASE WHEN n.asked ->> 'content' <> (s.row).content AND NOT n.asked ? 'embedding'
                        THEN n.asked || '{"embedding": null}' ELSE n.asked END AS new,
                   to_jsonb(s.row) || jsonb_build_object('embedding', t.embedding::text) AS stored
            OFFSET 0) AS v
        CROSS JOIN LATERAL (
            SELECT jsonb_object_agg(e.key, v.stored -> e.key) AS old
            FROM jsonb_each(v.new) AS e
            WHERE v.stored -> e.key IS DISTINCT FROM e.value
               OR e.key = 'embedding' AND e.value <> 'null'
                  AND v.new ->> 'content' <> (s.row).content
        ) AS g
        CROSS JOIN LATERAL (SELECT jsonb_populate_record(s.row, v.new) AS row OFFSET 0) AS p
        WHERE g.old IS NOT NULL
        ORDER BY n.memory_id
    ) AS w;
    IF ids IS NULL THEN
        RETURN '{}';
    END IF;
    PERFORM _check_free(user_id, changed);
    BEGIN
        FOR low IN 1 .. cardinality(ids) BY 25 LOOP
            part := ids[low : low + 24];
            UPDATE memory AS m
            SET kind = c.kind, content = c.content, summary = c.summary, data = c.data,
                subject = c.subject, importance = c.importance, confidence = c.confidence,
                lifetime = c.lifetime, valid_from = c.valid_from, valid_until = c.valid_until,
                status = c.status, retired_at = c.retired_at, content_hash = c.content_hash,
                updated_at = now()
            FROM unnest(changed[low : low + 24]) AS c
            WHERE m.user_id = _revise.user_id AND m.memory_id = c.memory_id
              AND m.memory_id = ANY (part)
              AND m.memory_id BETWEEN part[1] AND part[cardinality(part)];
        END LOOP;
    EXCEPTION WHEN unique_violation THEN
        RAISE EXCEPTION 'another connection stored the same memory at this moment'
            USING ERRCODE = 'serialization_failure', HINT = 'Nothing was changed: try again.';
    WHEN foreign_key_violation OR check_violation THEN
        -- What it was before may be a kind that was removed or renamed since, or, in a file of
        -- somebody else's, anything.
        PERFORM _check_kind(c.kind), _check_until(c.valid_until, c.valid_from)
        FROM unnest(changed) AS c;
        RAISE;
    END;
    INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, model,
                          change_id, run_id, undoes)
    SELECT _revise.user_id, o.memory_id, _revise.action, who, why, o.old,
           CASE WHEN o.old ? 'embedding' THEN in_model END,
           coalesce(_revise.change_id, _next_change()), _revise.run_id, o.undone
    FROM unnest(ids, olds, undone) AS o (memory_id, old, undone);
    PERFORM _update_traces(user_id, in_model, ids, olds, embeddings);
    -- The application knows what its own rows say, and a notification makes its commits queue up.
    IF who <> 'source' THEN
        PERFORM _notify(user_id, e.event, array_agg(e.memory_id))
        FROM unnest(ids, events) AS e (memory_id, event)
        GROUP BY e.event;
    END IF;
    RETURN ids;
END $$;

-- The values of a memory that is taken out of recall.
CREATE OR REPLACE FUNCTION _retired(status text, at timestamptz) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN jsonb_build_object('status', status, 'retired_at', at);

-- Takes memories out of recall: forgotten, archived or superseded.
CREATE OR REPLACE FUNCTION _retire(
    user_id text, memory_ids bigint[], status text, action text, author text, reason text,
    at timestamptz, run_id bigint, change_id bigint DEFAULT NULL) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    leaving CONSTANT text[] := CASE status
        WHEN 'superseded' THEN '{active}'
        WHEN 'archived' THEN '{active,pending,superseded}'
        ELSE '{active,pending,superseded,archived}' END;
    ids CONSTANT bigint[] := ARRAY(
        SELECT DISTINCT i.id FROM unnest(memory_ids) AS i (id)
        CROSS JOIN LATERAL (
            SELECT m.status FROM memory AS m
            WHERE m.user_id = _retire.user_id AND m.memory_id = i.id OFFSET 0) AS m
        WHERE m.status = ANY (leaving)
        ORDER BY i.id);
BEGIN
    RETURN _revise(user_id, ids, array_fill(_retired(status, at), ARRAY[cardinality(ids)]),
                   action, author, reason, run_id, change_id);
END $$;
