-- Changes the memory of one row of an attached table, with its revision and its traces. It does
-- what _revise (20_write/023_changes) does for many memories of any kind, in less than half the
-- time, because the application waits for it. A row conflicts with no other: its hash is that of
-- its key and it fills no slot. Nobody is notified: the application knows what its rows say.
-- Keywords of the old text are removed; those of the new text, which would be two fifths of the
-- time, are found later, as for a new row (_source_keywords).

-- The old values of the columns that differ; NULL if none does.
CREATE OR REPLACE FUNCTION _replaced_values(stored memory, changed memory) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT jsonb_object_agg(v.name, v.old)
        FROM (VALUES
            ('content', to_jsonb(stored.content), to_jsonb(changed.content)),
            ('summary', to_jsonb(stored.summary), to_jsonb(changed.summary)),
            ('data', stored.data, changed.data),
            ('subject', to_jsonb(stored.subject), to_jsonb(changed.subject)),
            ('importance', to_jsonb(stored.importance), to_jsonb(changed.importance)),
            ('valid_from', to_jsonb(stored.valid_from), to_jsonb(changed.valid_from)),
            ('valid_until', to_jsonb(stored.valid_until), to_jsonb(changed.valid_until)),
            ('status', to_jsonb(stored.status), to_jsonb(changed.status)),
            ('retired_at', to_jsonb(stored.retired_at), to_jsonb(changed.retired_at))
        ) AS v (name, old, new)
        WHERE v.old IS DISTINCT FROM v.new);
END $$;

-- New traces for a memory whose text or names have changed. The vector belongs to the old text, and
-- so do the keywords, except for the user's tags.
CREATE OR REPLACE FUNCTION _update_row_traces(changed memory, of_kind kind, retold boolean)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    new_line CONSTANT text := _line_of(changed.content, changed.kind = 'okr', changed.data);
    new_brief CONSTANT text := _brief(changed.content, changed.summary, new_line);
    searched_text CONSTANT text := _searched_text(changed.content, changed.subject);
    names CONSTANT text := _names(changed.speaker, changed.subject,
                                   _mentioned(changed.user_id, changed.memory_id));
BEGIN
    UPDATE trace AS t
    SET active = changed.status = 'active', importance = changed.importance,
        kind = of_kind.kind_id, embedding = CASE WHEN NOT retold THEN t.embedding END,
        line = new_line, brief = new_brief, asks = w.asks, details = w.details,
        terms = w.terms, term_count = w.term_count, cost = _cost_of_line(new_line),
        brief_cost = _cost_of_line(new_brief),
        wide = _is_wide(CASE WHEN NOT retold THEN t.embedding END, w.term_count, new_line,
                        t.user_id)
    FROM _word_vector(changed.content, searched_text, names) AS w
    WHERE t.user_id = changed.user_id AND t.memory_id = changed.memory_id;
    IF retold THEN
        DELETE FROM keyword AS k
        WHERE k.user_id = changed.user_id AND k.memory_id = changed.memory_id
          AND k.origin <> 'user_tag';
    END IF;
END $$;

-- At REPEATABLE READ a transaction does not see, and so would not remove, keywords that a fill or
-- maintain() has found for the old text since it began. Their unique key tells of them (40001), and
-- the row waits. Keywords that this puts in are of the old text, too.
CREATE OR REPLACE FUNCTION _refuse_unseen_keywords(stored memory) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO keyword (user_id, keyword, memory_id, weight, origin)
    SELECT stored.user_id, k.keyword, stored.memory_id, k.weight, 'system'
    FROM _keywords(stored.content) AS k
    ON CONFLICT DO NOTHING;
END $$;

-- Returns whether anything changed. The caller has locked the row of the memory.
CREATE OR REPLACE FUNCTION _revise_row(
    stored memory, changed memory, of_kind kind, action text, reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    retold CONSTANT boolean := changed.content <> stored.content;
    replaced jsonb := _replaced_values(stored, changed);
    in_model smallint;
    vector text;
BEGIN
    IF replaced IS NULL THEN
        RETURN false;
    END IF;
    UPDATE memory AS m
    SET content = changed.content, summary = changed.summary, data = changed.data,
        subject = changed.subject, importance = changed.importance,
        valid_from = changed.valid_from, valid_until = changed.valid_until,
        status = changed.status, retired_at = changed.retired_at, updated_at = now()
    WHERE m.user_id = stored.user_id AND m.memory_id = stored.memory_id;
    IF retold THEN
        SELECT t.model, t.embedding::text INTO in_model, vector
        FROM trace AS t JOIN embedding_model AS e ON e.model_id = t.model AND e.active
        WHERE t.user_id = stored.user_id AND t.memory_id = stored.memory_id
          AND t.embedding IS NOT NULL;
        IF FOUND THEN
            replaced := replaced || jsonb_build_object('embedding', vector);
        END IF;
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            PERFORM _refuse_unseen_keywords(stored);
        END IF;
    END IF;
    INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, model, change_id)
    VALUES (stored.user_id, stored.memory_id, _revise_row.action, 'source',
            _redact(_revise_row.reason), replaced, in_model, _next_change());
    IF replaced ?| '{content,summary,subject}' OR replaced ? 'data' AND changed.kind = 'okr' THEN
        PERFORM _update_row_traces(changed, of_kind, retold);
    ELSIF replaced ?| '{status,importance}' THEN
        UPDATE trace AS t
        SET active = changed.status = 'active', importance = changed.importance
        WHERE t.user_id = stored.user_id AND t.memory_id = stored.memory_id;
    END IF;
    IF of_kind.layer = 'profile' THEN
        PERFORM _refresh_profile(stored.user_id);
    END IF;
    RETURN true;
END $$;
