-- Memories related to one memory, in every way there is: relations, shared entities, the turns
-- around it, and likeness (how relevant a memory would be if this one were the question). One row
-- per memory; of several reasons the strongest counts.
CREATE OR REPLACE FUNCTION related(
    memory_id bigint, user_id text DEFAULT NULL, max_results int DEFAULT 10)
    RETURNS TABLE (related_id bigint, kind text, content text, strength float8, via text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    wanted CONSTANT int := _check_number(coalesce(max_results, 10), 'max_results', 20);
    in_model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    given memory;
    large boolean;
    query halfvec;
    question sparsevec;
BEGIN
    PERFORM _check_memory(owner, related.memory_id);
    SELECT m.* INTO given
    FROM memory AS m WHERE m.user_id = owner AND m.memory_id = related.memory_id;
    SELECT t.embedding INTO query
    FROM trace AS t
    WHERE t.user_id = owner AND t.memory_id = related.memory_id AND t.model = in_model;
    question := _question_of(owner, in_model, given.content, 'infinity', 0, '');
    large := EXISTS (SELECT FROM profile AS p WHERE p.user_id = owner AND p.ann > 0);

    RETURN QUERY
    WITH ended AS MATERIALIZED (
        SELECT v.memory_id FROM memory AS v
        WHERE v.user_id = owner AND v.valid_until <= now() AND v.status = 'active'
    )
    -- A memory that has both words and their synonyms would be above 1.
    SELECT m.memory_id, m.kind, _line(_with_speaker(m.content, m.speaker, m.position), 200),
           least(w.strength, 1::float8), w.via
    FROM (
        SELECT r.memory_id, max(r.strength) AS strength,
               string_agg(r.via, ', ' ORDER BY r.strength DESC, r.via) AS via
        FROM (
            SELECT l.memory_id, l.strength,
                   CASE WHEN l.via LIKE 'entity %' THEN l.via
                        ELSE regexp_replace(l.via, ' [0-9]+$', '') END AS via
            FROM _linked(owner, ARRAY[given.memory_id], ARRAY[1::float8]) AS l
            UNION ALL
            (SELECT n.memory_id, 0.5::float8, 'next turn'
             FROM memory AS n
             WHERE n.user_id = owner AND n.session_id = given.session_id
               AND n.position > given.position AND n.status = 'active'
             ORDER BY n.position, n.memory_id
             LIMIT 1)
            UNION ALL
            (SELECT n.memory_id, 0.5::float8, 'previous turn'
             FROM memory AS n
             WHERE n.user_id = owner AND n.session_id = given.session_id
               AND n.position < given.position AND n.status = 'active'
             ORDER BY n.position DESC, n.memory_id DESC
             LIMIT 1)
            UNION ALL
            -- Of two random memories, 1 in 20 pairs is as alike as 0.38, every second as 0.22.
            (SELECT s.memory_id, s.alike, 'similar'
             FROM (
                 SELECT a.memory_id,
                        _relevance(a.embedding, query, 0.5, a.terms, question, NULL) AS alike
                 FROM trace AS a
                 WHERE a.user_id = owner AND a.model = in_model AND a.active AND NOT large
                 UNION
                 SELECT n.memory_id, n.relevance
                 FROM _near_rows(owner, query, question, 0.5, 40) AS n
                 WHERE large
             ) AS s
             WHERE s.alike > 0.25 AND s.memory_id <> given.memory_id
               AND s.memory_id NOT IN (SELECT e.memory_id FROM ended AS e)
             ORDER BY s.alike DESC, s.memory_id
             LIMIT wanted)
        ) AS r
        WHERE r.memory_id NOT IN (SELECT e.memory_id FROM ended AS e)
        GROUP BY r.memory_id
        ORDER BY 2 DESC, 1
        LIMIT wanted
    ) AS w
    CROSS JOIN LATERAL (
        SELECT m.* FROM memory AS m
        WHERE m.user_id = owner AND m.memory_id = w.memory_id OFFSET 0) AS m
    ORDER BY w.strength DESC, m.memory_id;
END $$;

COMMENT ON FUNCTION related(bigint, text, int) IS
    'Active memories related to one memory, without those that have ended, strongest first: '
    'related_id, kind, the first 200 characters of content, of a turn with its speaker, strength '
    '(0 to 1) and via, why: a relation as seen from the other (supports, superseded by, ...), '
    '"entity" and its name, "previous turn" or "next turn" of the session (0.5), "similar" by '
    'vector and words (above 0.25); several are joined by commas, the strongest counts and stands '
    'first. max_results: 1 to 20. Errors: ME006 user, ME008 max_results, ME012 no such memory of '
    'this user.';
