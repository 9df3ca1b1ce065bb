-- Stored memories that say nearly the same as new ones, of the same kind: cosine >= 0.95 where both
-- have a vector, else Jaccard >= 0.9 of their words (SPEC 3.1): shared / (a + b - shared) in whole
-- numbers, so that nine of ten words are enough. They are looked for among those
-- with a keyword in common, newest first: the cost does not grow with the number of memories. Of
-- the pairs of LoCoMo facts and turns with a cosine of 0.95 all have one, with 0.9 91 of 94.
-- Turns are not looked at: what was said twice was said twice.
CREATE OR REPLACE FUNCTION _is_near(
    a_vector halfvec, b_vector halfvec, a_terms sparsevec, b_terms sparsevec, a_count int,
    b_count int) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN a_vector IS NULL OR b_vector IS NULL
                THEN round(-(a_terms <#> b_terms)) * 19 >= 9 * (a_count + b_count) AND a_count > 0
                ELSE (a_vector <=> b_vector) <= 0.05::float8 END;

CREATE OR REPLACE FUNCTION _near_duplicates(user_id text, model smallint, memory_ids bigint[])
    RETURNS TABLE (memory_id bigint, near_id bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT n.memory_id, d.memory_id
    FROM unnest(memory_ids) AS i (id)
    JOIN trace AS n ON n.user_id = _near_duplicates.user_id AND n.memory_id = i.id
                   AND n.model = _near_duplicates.model AND n.active
    CROSS JOIN LATERAL (
        SELECT o.memory_id
        FROM (
            SELECT f.memory_id
            FROM keyword AS w
            CROSS JOIN LATERAL (
                SELECT k.memory_id FROM keyword AS k
                WHERE k.user_id = _near_duplicates.user_id AND k.keyword = w.keyword
                  AND k.memory_id < i.id
                ORDER BY k.memory_id DESC
                LIMIT 24) AS f
            WHERE w.user_id = _near_duplicates.user_id AND w.memory_id = i.id
            GROUP BY f.memory_id
            ORDER BY count(*) DESC, f.memory_id DESC
            LIMIT 12
        ) AS c
        JOIN trace AS o ON o.user_id = _near_duplicates.user_id AND o.memory_id = c.memory_id
                       AND o.model = n.model AND o.active AND o.kind = n.kind
        JOIN memory AS m ON m.user_id = o.user_id AND m.memory_id = o.memory_id
                        AND m.position IS NULL
        WHERE _is_near(n.embedding, o.embedding, n.terms, o.terms, n.term_count, o.term_count)
        ORDER BY n.embedding <=> o.embedding, n.terms <#> o.terms, o.memory_id
        LIMIT 1
    ) AS d;
END $$;
