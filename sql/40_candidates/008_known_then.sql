-- The active and archived memories whose start or end was told after a time, with those they had
-- then: also of a row of a source. What was stored after that time itself, with an earlier
-- created_at, has those of today: when they were told is not known. A change of the status is left
-- to retired_at.
CREATE OR REPLACE FUNCTION _moved_since(user_id text, as_of timestamptz)
    RETURNS TABLE (memory_id bigint, valid_from timestamptz, valid_until timestamptz)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT m.memory_id, was.valid_from, was.valid_until
    FROM (SELECT v.memory_id, jsonb_object_agg(v.key, v.value) AS had
          FROM (SELECT DISTINCT ON (r.memory_id, e.key) r.memory_id, e.key, e.value
                FROM revision AS r, jsonb_each(r.old_values) AS e
                WHERE r.user_id = _moved_since.user_id AND r.created_at > as_of
                  AND r.old_values ?| '{valid_from,valid_until}' AND NOT r.old_values ? 'status'
                  AND e.key IN ('valid_from', 'valid_until')
                ORDER BY r.memory_id, e.key, r.revision_id) AS v
          GROUP BY v.memory_id) AS c,
         LATERAL (SELECT o.* FROM memory AS o
                  WHERE o.user_id = _moved_since.user_id AND o.memory_id = c.memory_id
                  OFFSET 0) AS m,
         LATERAL jsonb_populate_record(m::memory, c.had) AS was
    WHERE m.status IN ('active', 'archived') AND m.recorded_at <= as_of;
END $$;

-- The traces of a user as they were known at a time. They include what was superseded or archived
-- since; what was rewritten since has the text and vector of then (no vector if another model made
-- it) and the importance of then. Forgotten memories are not included: they take part in no recall
-- (SPEC 4.2). Nor is what took the place of several memories later, though it is as old as the
-- newest of them: then there were those. pool: of the active ones only these; NULL: all.
CREATE OR REPLACE FUNCTION _known_then(
    user_id text, model smallint, as_of timestamptz, pool bigint[]) RETURNS SETOF trace
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH known AS NOT MATERIALIZED (
        SELECT t.* FROM trace AS t
        WHERE pool IS NULL AND t.user_id = _known_then.user_id AND t.model = _known_then.model
          AND t.active AND t.created_at <= as_of
        UNION ALL
        SELECT t.* FROM trace AS t
        WHERE t.user_id = _known_then.user_id AND t.memory_id = ANY (pool)
          AND t.model = _known_then.model AND t.active AND t.created_at <= as_of
        UNION ALL
        SELECT t.* FROM memory AS m
        JOIN trace AS t ON t.user_id = m.user_id AND t.memory_id = m.memory_id
                       AND t.model = _known_then.model
        WHERE m.user_id = _known_then.user_id AND m.retired_at > as_of AND m.created_at <= as_of
          -- The end of a superseded memory was not known yet; an end of its own it already had.
          AND (m.status = 'superseded'
               OR m.status = 'archived'
                  AND ((m.valid_until <= as_of) IS NOT TRUE OR m.memory_id IN (
                      SELECT c.memory_id FROM _moved_since(_known_then.user_id, as_of) AS c)))
    ), before AS MATERIALIZED (
        -- The oldest replaced value of each column that changed since.
        SELECT v.memory_id, jsonb_object_agg(v.key, v.value) AS had
        FROM (SELECT DISTINCT ON (r.memory_id, e.key) r.memory_id, e.key,
                     CASE WHEN e.key = 'embedding' AND r.model <> _known_then.model
                          THEN 'null' ELSE e.value END AS value
              FROM revision AS r, jsonb_each(r.old_values) AS e
              WHERE r.user_id = _known_then.user_id AND r.created_at > as_of
                AND r.old_values ?| '{content,data,embedding,importance,kind,subject,summary}'
              ORDER BY r.memory_id, e.key, r.revision_id) AS v
        GROUP BY v.memory_id
    ), merged AS MATERIALIZED (
        SELECT l.from_id AS memory_id
        FROM memory AS m
        JOIN relation AS l ON l.user_id = m.user_id AND l.to_id = m.memory_id
                          AND l.type = 'derived_from'
        JOIN revision AS r ON r.user_id = m.user_id AND r.memory_id = m.memory_id
                          AND r.change_id = l.change_id AND r.action = 'MERGE'
        WHERE m.user_id = _known_then.user_id AND m.status = 'archived' AND m.retired_at > as_of
    )
    SELECT k.user_id, k.memory_id, k.model,
           coalesce((SELECT d.kind_id FROM kind AS d WHERE d.name = b.had ->> 'kind'), k.kind),
           k.created_at, coalesce((b.had ->> 'importance')::float8, k.importance),
           k.session, k.position, coalesce(w.asks, k.asks), k.derived,
           coalesce(w.details, k.details),
           CASE WHEN l.line IS NULL THEN k.cost ELSE _cost_of_line(l.line) END,
           CASE WHEN l.line IS NULL THEN k.brief_cost ELSE _cost_of_line(l.brief) END,
           coalesce(w.term_count, k.term_count), coalesce(w.terms, k.terms),
           CASE WHEN b.had ? 'embedding' THEN (b.had ->> 'embedding')::halfvec
                ELSE k.embedding END,
           coalesce(l.line, k.line), CASE WHEN l.line IS NULL THEN k.brief ELSE l.brief END,
           k.active, k.wide
    -- OFFSET 0: for a memory that was not rewritten, no text is looked up and no words are counted.
    FROM known AS k
    LEFT JOIN before AS b ON b.memory_id = k.memory_id
    LEFT JOIN LATERAL (
        SELECT t.content, t.subject, t.speaker, p.line,
               _brief(s.said, t.summary, p.line) AS brief,
               (SELECT string_agg(n.name, ' ' ORDER BY n.entity_id)
                FROM mention AS o
                JOIN entity AS n ON n.user_id = o.user_id AND n.entity_id = o.entity_id
                WHERE o.user_id = _known_then.user_id AND o.memory_id = k.memory_id) AS mentioned
        FROM memory AS m, LATERAL jsonb_populate_record(m, b.had) AS t,
             LATERAL (SELECT _with_speaker(t.content, t.speaker, t.position) AS said OFFSET 0) AS s,
             LATERAL (SELECT _line_of(s.said, t.kind = 'okr', t.data) AS line OFFSET 0) AS p
        WHERE (b.had ?| '{content,subject,summary}'
               OR b.had ?| '{data,kind}' AND (k.kind = 4::smallint OR b.had ->> 'kind' = 'okr'))
          AND m.user_id = _known_then.user_id AND m.memory_id = k.memory_id
        OFFSET 0) AS l ON true
    LEFT JOIN LATERAL (
        SELECT v.* FROM _word_vector(l.content, _searched_text(l.content, l.subject),
                                     _names(l.speaker, l.subject, l.mentioned)) AS v
        WHERE l.line IS NOT NULL
        OFFSET 0) AS w ON true
    WHERE k.memory_id NOT IN (SELECT g.memory_id FROM merged AS g);
END $$;
