-- What recall compares of a user who has indexes of his own: the memories nearest by vector and
-- those with a rare word of the question. Comparing all takes 0.4 µs a memory, so from some
-- thousand on this is faster; how much of the exact best it finds is in scripts/bench/README.md.
--
-- The text of _near_rows is made from the indexes there are: an approximate index needs the
-- dimensions of its vectors, and, being partial, its user as a literal in the statement. The user
-- is written user_id || '' here and in the indexes, so that no other index fits and no statistics,
-- old or missing, can make the planner read all his rows. A memory found both ways comes twice.
-- since, of_kinds: only these; the search goes on until it has enough, or has seen 5,000.

-- How much of a question's words a memory must have to be among the 20 best, when it is farther by
-- vector than all those found near: their 20th best relevance less what the vector can give. Few
-- are as near as the last of them; three quarters of it lose 2 of 100 of the best and spare reading
-- two of three.
CREATE OR REPLACE FUNCTION _least_coverage(
    relevance float8[], lowest_cosine float8, vector_share float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN vector_share < 1 AND cardinality(relevance) >= 20
        THEN (relevance[20] - 0.75::float8 * vector_share * lowest_cosine) / (1 - vector_share)
        ELSE 0 END;

-- The two statements that make the indexes with a number; memoir maintain runs them CONCURRENTLY.
CREATE OR REPLACE FUNCTION _index_statements(user_id text, number int) RETURNS text[]
    LANGUAGE sql STABLE
    RETURN (
        SELECT ARRAY[
            format('CREATE INDEX trace_words_%s ON trace USING gin (_lexemes(terms)) '
                   'WITH (fastupdate = off) WHERE user_id || '''' = %L AND model = %s AND active',
                   number, user_id, e.model_id),
            format('CREATE INDEX trace_near_%s ON trace '
                   'USING hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops) '
                   'WHERE user_id || '''' = %L AND model = %s AND active',
                   number, e.dimensions, user_id, e.model_id)]
        FROM embedding_model AS e WHERE e.active AND e.dimensions IS NOT NULL);

CREATE OR REPLACE FUNCTION _compile_near_rows() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $compile$
DECLARE
    near CONSTANT int := (SELECT s.value::int FROM setting AS s WHERE s.name = 'ann_near');
    most CONSTANT int := (SELECT s.value::int FROM setting AS s WHERE s.name = 'ann_words');
    branches text;
BEGIN
    SELECT string_agg(format($branch$
    IF number = %1$s THEN
        RETURN QUERY
        WITH near AS MATERIALIZED (
            SELECT t.* FROM trace AS t
            WHERE t.user_id || '' = %2$L AND t.model = %3$s AND t.active AND query IS NOT NULL
              AND t.created_at >= since AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
            ORDER BY t.embedding::halfvec(%4$s) <=> query::halfvec(%4$s)
            LIMIT greatest(candidate_limit, %5$s)
        ), bound AS (
            SELECT _word_query(%2$L, question, %6$s, _least_coverage(
                array_agg(n.relevance ORDER BY n.relevance DESC), min(n.cosine), vector_share))
                AS words
            FROM (SELECT _relevance(n.embedding, query, vector_share, n.terms, question, 0)
                             AS relevance,
                         1 - (n.embedding <=> query) AS cosine
                  FROM near AS n) AS n
        )
        SELECT n.* FROM near AS n
        UNION ALL
        (SELECT t.* FROM trace AS t
         WHERE t.user_id || '' = %2$L AND t.model = %3$s AND t.active
           AND _lexemes(t.terms) @@ (SELECT b.words FROM bound AS b)
           AND t.created_at >= since AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
         LIMIT %6$s);
        RETURN;
    END IF;$branch$, p.ann, p.user_id, e.model_id, e.dimensions, near, most), '' ORDER BY p.ann)
    INTO branches
    FROM profile AS p, embedding_model AS e
    WHERE p.ann > 0 AND e.active AND e.dimensions IS NOT NULL;
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _near_rows(
    number int, query halfvec, question sparsevec, vector_share float8, candidate_limit int,
    since timestamptz DEFAULT '-infinity', of_kinds smallint[] DEFAULT NULL)
    RETURNS SETOF trace
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET jit = off
    SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = on
    SET hnsw.ef_search = 80 SET hnsw.iterative_scan = relaxed_order
    SET hnsw.max_scan_tuples = 5000
AS $body$
BEGIN%s
END $body$$function$, coalesce(branches, ''));
END $compile$;
SELECT _compile_near_rows();
