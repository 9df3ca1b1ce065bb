-- Decisions as they will be applied: in the words of decision_schema(), checked against it, and
-- with the memories they name in a state that allows it. Nothing here writes: an error in any of
-- them is raised before the first is applied.

-- In our words, and without null or empty values. D1 says merged_content, D3 id, salience and
-- category; a merge means its merged_content even if the new text stands beside it.
CREATE OR REPLACE FUNCTION _decision_in_words(decision jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (
        SELECT CASE upper(decision ->> 'action') WHEN 'MERGE' THEN w.ours || w.theirs
                                                 ELSE w.theirs || w.ours END
               || CASE jsonb_typeof(decision -> 'action')
                  WHEN 'string' THEN jsonb_build_object('action', upper(decision ->> 'action'))
                  ELSE '{}' END
        FROM (
            SELECT coalesce(jsonb_object_agg(e.key, e.value) FILTER (WHERE o.ours IS NULL), '{}')
                       AS ours,
                   coalesce(jsonb_object_agg(o.ours, e.value) FILTER (WHERE o.ours <> ''), '{}')
                       AS theirs
            FROM jsonb_each(decision) AS e
            LEFT JOIN (VALUES ('merged_content', 'content'), ('id', 'memory_id'),
                              ('salience', 'importance'), ('category', 'kind')) AS o (theirs, ours)
              ON o.theirs = e.key
            WHERE _trimmed(e.value #>> '{}') <> ''
        ) AS w);

CREATE OR REPLACE FUNCTION _decisions_in_words(decisions jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE jsonb_typeof(decisions) WHEN 'array' THEN (
        SELECT coalesce(jsonb_agg(CASE jsonb_typeof(d.decision)
                                  WHEN 'object' THEN _decision_in_words(d.decision)
                                  ELSE d.decision END ORDER BY d.place), '[]')
        FROM jsonb_array_elements(decisions) WITH ORDINALITY AS d (decision, place))
    ELSE decisions END;

-- What a decision lacks for its action, or has too much; NULL: nothing.
CREATE OR REPLACE FUNCTION _decision_fault(decision jsonb, targets int) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN decision ->> 'action' IN ('ADD', 'REPLACE', 'MERGE', 'KEEP_BOTH')
             AND NOT decision ? 'content' THEN 'lacks content'
        WHEN decision ->> 'action' = 'ADD' AND targets > 0 THEN 'must not name a stored memory'
        WHEN decision ->> 'action' IN ('DELETE', 'SUPERSEDE', 'MERGE', 'KEEP_BOTH')
             AND targets = 0 THEN 'lacks memory_id'
        WHEN decision ->> 'action' IN ('UPDATE', 'REPLACE')
             AND targets <> 1 THEN 'must name one memory_id'
        WHEN decision ->> 'action' = 'UPDATE'
             AND NOT decision ?| '{content,summary,data,subject,importance,confidence,lifetime,'
                                 'valid_from,valid_until}' THEN 'changes nothing'
        WHEN decision ->> 'action' = 'SUPERSEDE'
             AND decision ? 'content' = decision ? 'by' THEN 'must have either content or by'
        WHEN decision ->> 'action' <> 'SUPERSEDE' AND decision ? 'by' THEN 'must not have by'
    END;

CREATE OR REPLACE FUNCTION _check_decisions(decisions jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    bad record;
BEGIN
    PERFORM _check_json(decisions, decision_schema(), 'decisions');
    SELECT d.place, d.decision ->> 'action' AS action, f.fault INTO bad
    FROM jsonb_array_elements(decisions) WITH ORDINALITY AS d (decision, place),
         _decision_fault(
             d.decision, (d.decision ? 'memory_id')::int
                         + coalesce(jsonb_array_length(d.decision -> 'memory_ids'), 0)) AS f (fault)
    WHERE f.fault IS NOT NULL
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'decisions[%] %', bad.place - 1, bad.fault
            USING ERRCODE = 'ME015',
                  DETAIL = format('Its action is %s.', bad.action),
                  HINT = 'SELECT memoir.decision_schema() tells what each action needs.';
    END IF;
END $$;

-- An id as models write it: 12, "12" or 12.0; NULL if it cannot be one of ours.
CREATE OR REPLACE FUNCTION _said_id(said jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN said #>> '{}' ~ '^[0-9]{1,18}([.]0+)?$'
                THEN (said #>> '{}')::numeric::bigint END;

-- Every memory that decisions name, and as what: target of the action, successor (by) or source.
CREATE OR REPLACE FUNCTION _named_memories(decisions jsonb)
    RETURNS TABLE (place int, role text, said text, memory_id bigint, changes boolean)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT d.place::int, n.role, n.id #>> '{}', _said_id(n.id),
           n.role = 'target' AND d.decision ->> 'action' NOT IN ('NOOP', 'KEEP_BOTH')
    FROM jsonb_array_elements(decisions) WITH ORDINALITY AS d (decision, place),
         LATERAL (
             SELECT 'target' AS role, d.decision -> 'memory_id' AS id, 0 AS number
             UNION ALL
             SELECT 'target', t.id, t.number
             FROM jsonb_array_elements(d.decision -> 'memory_ids') WITH ORDINALITY AS t (id, number)
             UNION ALL
             SELECT 'successor', d.decision -> 'by', 0
             UNION ALL
             SELECT 'source', s.id, 0 FROM jsonb_array_elements(d.decision -> 'sources') AS s (id)
         ) AS n
    WHERE n.id IS NOT NULL
    ORDER BY d.place, n.number;
END $$;

-- Memories that decisions name must be the user's, and one that a decision changes must not be
-- named by another, because the result would depend on their order. A source may be named freely.
CREATE OR REPLACE FUNCTION _check_named(user_id text, decisions jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    bad record;
BEGIN
    SELECT n.place - 1 AS index, left(n.said, 40) AS said, m.memory_id IS NULL AS missing INTO bad
    FROM (
        SELECT a.*, a.role <> 'source' AND bool_or(a.changes) OVER same
                    AND count(*) FILTER (WHERE a.role <> 'source') OVER same > 1 AS twice
        FROM _named_memories(decisions) AS a
        WINDOW same AS (PARTITION BY a.memory_id)
    ) AS n
    LEFT JOIN LATERAL (
        SELECT m.memory_id FROM memory AS m
        WHERE m.user_id = _check_named.user_id AND m.memory_id = n.memory_id OFFSET 0) AS m ON true
    WHERE n.twice OR m.memory_id IS NULL
    ORDER BY n.place
    LIMIT 1;
    IF bad.missing THEN
        RAISE EXCEPTION 'decisions[%]: user "%" has no memory "%"', bad.index, user_id, bad.said
            USING ERRCODE = 'ME012',
                  HINT = 'Decide about memories that recall() or search_memories() returned.';
    ELSIF FOUND THEN
        RAISE EXCEPTION 'decisions[%]: memory % is named twice', bad.index, bad.said
            USING ERRCODE = 'ME014',
                  HINT = 'Combine them into one, or apply them in separate calls.';
    END IF;
END $$;
