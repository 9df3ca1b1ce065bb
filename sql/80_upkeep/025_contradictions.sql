-- Memories of a user that contradict each other (D4 6.2: found and reported, never changed): a
-- relation says so, one subject has several kinds, or they have the same words except for a number
-- or a "not". The last are looked for among the 2,000 newest statements (0.3 s). Turns of a
-- conversation and events state nothing. More than three with the same words are a series (bills,
-- measurements), which is no contradiction either.

-- A text in lower case with blanks for punctuation, "don't" as "do not".
CREATE OR REPLACE FUNCTION _spaced(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(
        replace(replace(replace(replace(_lower(left(content, 1000)), '’', ''''),
                                'cannot', 'can not'), 'n''t', ' not'), ' any more', ' anymore'),
        '.,;:!?"''()[]{}<>-_/|，。；：！？、“”（）《》', repeat(' ', 33));

-- The words of a text, without numbers.
CREATE OR REPLACE FUNCTION _unnumbered(spaced text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_remove(string_to_array(regexp_replace(spaced, '[0-9]+', '#', 'g'), ' '), '');

-- Also without negations, without the endings that they change (likes, does not like), and without
-- what says "any longer", "still" or "already" (不再, 不 ... 了, 还没, 已经).
CREATE OR REPLACE FUNCTION _without_negations(words text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(
        replace(replace(array_to_string(ARRAY(
            SELECT rtrim(word, 's') FROM unnest(words) AS word
            WHERE word NOT IN ('not', 'never', 'no', 'longer', 'anymore', 'do', 'does', 'did')),
            ''), '已经', ''), '已經', ''),
        '不没未无别沒無別再了还還已', '');

CREATE OR REPLACE FUNCTION _denies(words text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN words && '{not,never,no}' OR array_to_string(words, '') ~ '[不没未无别沒無別]';

CREATE OR REPLACE FUNCTION contradictions(user_id text DEFAULT NULL)
    RETURNS TABLE (memory_ids bigint[], why text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    newest CONSTANT int := _config('statements_compared');
BEGIN
    RETURN QUERY
    SELECT DISTINCT ON (f.memory_ids) f.memory_ids, f.why
    FROM (
        SELECT ARRAY[least(r.from_id, r.to_id), greatest(r.from_id, r.to_id)], 1,
               'related as contradicting'
        FROM relation AS r
        WHERE r.user_id = owner AND r.type = 'contradicts'
          -- No join: before the first ANALYZE it began with all pairs of the user's memories.
          AND 2 = (SELECT count(*) FROM memory AS m
                   WHERE m.user_id = owner AND m.memory_id IN (r.from_id, r.to_id)
                     AND m.status = 'active')
        UNION ALL
        SELECT array_agg(m.memory_id ORDER BY m.memory_id), 2,
               'several kinds tell "' || left(m.subject, 100) || '"'
        FROM memory AS m
        WHERE m.user_id = owner AND m.subject IS NOT NULL AND m.position IS NULL
          AND m.source IS NULL
          AND m.status = 'active' AND (m.valid_until IS NULL OR m.valid_until > now())
        GROUP BY m.subject
        HAVING count(DISTINCT m.kind) > 1 AND count(DISTINCT m.content) > 1
        UNION ALL
        SELECT array_agg(w.memory_id ORDER BY w.memory_id), 3,
               CASE WHEN count(DISTINCT _denies(w.words)) > 1 THEN 'alike, but one says not'
                    ELSE 'alike but for a number' END
        FROM (
            -- The texts after the LIMIT, not those of all the user's memories before it.
            SELECT b.memory_id, s.spaced, _unnumbered(s.spaced) AS words
            FROM (SELECT m.memory_id, m.content
                  FROM memory AS m
                  JOIN kind AS k ON k.name = m.kind AND k.layer NOT IN ('working', 'episodic')
                  WHERE m.user_id = owner AND m.status = 'active'
                    AND (m.valid_until IS NULL OR m.valid_until > now())
                  ORDER BY m.memory_id DESC
                  LIMIT newest) AS b,
                 LATERAL (SELECT _spaced(b.content) AS spaced OFFSET 0) AS s
        ) AS w
        GROUP BY _without_negations(w.words)
        HAVING count(*) IN (2, 3)
           AND (count(DISTINCT _denies(w.words)) > 1
                OR count(DISTINCT regexp_replace(w.spaced, '[^0-9]+', ' ', 'g')) > 1)
    ) AS f (memory_ids, place, why)
    ORDER BY f.memory_ids, f.place;
END $$;

COMMENT ON FUNCTION contradictions(text) IS
    'Active memories of a user that seem to contradict each other, a row for each two or three: '
    'memory_ids, and why: a relation contradicts joins them, several kinds tell the same subject '
    'differently, or they differ only in a number or a negation (English, Chinese; among the '
    'newest of setting statements_compared; not of kinds of layer working or episodic). Decides '
    'nothing and changes nothing: supersede() or forget() what is wrong. Errors: ME006 user. '
    'Source: D4 6.2, 5.8.';

-- The step of upkeep that reports them, the first 20 of a user.
CREATE OR REPLACE FUNCTION _report_contradictions(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'contradiction', cardinality(c.memory_ids)::bigint,
           jsonb_build_object('why', c.why, 'ids', c.memory_ids::text[]), NULL::bigint
    FROM contradictions(user_id) AS c
    LIMIT 20;
END $$;
