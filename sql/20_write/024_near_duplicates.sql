-- Stored memories that say nearly the same as new ones, of the same kind: cosine >= 0.95 if both
-- have a vector, otherwise Jaccard >= 0.9 of their words (SPEC 3.1): shared / (a + b - shared) in
-- whole numbers, so that nine of ten words are enough. Only those with a keyword in common are
-- compared, newest first: the cost does not grow with the number of memories (DECISIONS 28). Among
-- several the same text comes first, because two that differ by a sign have the same words. Turns
-- are not compared: what was said twice was said twice. Nor are rows of attached tables, nor
-- memories that have ended, which do not say what is true now. Keywords are read in an order that
-- only the primary key has, and without a bitmap, which would sort all memories with a keyword.
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
    SET search_path FROM CURRENT SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT i.id, d.memory_id
    FROM unnest(memory_ids) AS i (id)
    CROSS JOIN LATERAL (
        SELECT t.kind, t.embedding, t.terms, t.term_count, t.line
        FROM trace AS t
        WHERE t.user_id = _near_duplicates.user_id AND t.memory_id = i.id
          AND t.model = _near_duplicates.model AND t.active
        OFFSET 0) AS n
    CROSS JOIN LATERAL (
        SELECT o.memory_id
        FROM (
            SELECT f.memory_id
            FROM keyword AS w
            CROSS JOIN LATERAL (
                SELECT k.memory_id FROM keyword AS k
                WHERE k.user_id = _near_duplicates.user_id AND k.keyword >= w.keyword
                  AND (k.keyword, k.memory_id) < (w.keyword, i.id)
                ORDER BY k.keyword DESC, k.memory_id DESC
                LIMIT 24) AS f
            WHERE w.user_id = _near_duplicates.user_id AND w.memory_id = i.id
            GROUP BY f.memory_id
            ORDER BY count(*) DESC, f.memory_id DESC
            LIMIT 12
        ) AS c
        CROSS JOIN LATERAL (
            SELECT t.memory_id, t.embedding, t.terms, t.term_count, t.line
            FROM trace AS t
            WHERE t.user_id = _near_duplicates.user_id AND t.memory_id = c.memory_id
              AND t.model = _near_duplicates.model AND t.active AND t.kind = n.kind
            OFFSET 0) AS o
        WHERE _is_near(n.embedding, o.embedding, n.terms, o.terms, n.term_count, o.term_count)
          AND (SELECT m.position IS NULL AND m.source IS NULL
                      AND (m.valid_until > now()) IS NOT FALSE FROM memory AS m
               WHERE m.user_id = _near_duplicates.user_id AND m.memory_id = o.memory_id)
        ORDER BY o.line <> n.line, n.embedding <=> o.embedding, n.terms <#> o.terms, o.memory_id
        LIMIT 1
    ) AS d;
END $$;
