-- What recall compares of a user who has indexes of his own: the memories nearest by vector and
-- those with a rare word of the question. Comparing all takes 0.4 µs a memory, so from some
-- thousand on this is faster; how much of the exact best it finds is in scripts/bench/README.md.
--
-- The text of _near_rows is made from the indexes there are: an approximate index needs the
-- dimensions of its vectors, and, being partial, its user as a literal in the statement. The user
-- is written user_id || '' here and in the indexes, so that no other index fits and no statistics,
-- old or missing, can make the planner read all his rows. A memory found both ways comes twice.
-- A user it does not know (his indexes were dropped a moment ago, or his profile was restored
-- without them) has all his memories compared; nobody is looked up by number, which others get.
-- since, of_kinds: only these; the search goes on until it has enough, or has seen 5,000.

-- The two statements that make the indexes with a number; option: CONCURRENTLY.
CREATE OR REPLACE FUNCTION _index_statements(
    user_id text, number int, option text DEFAULT '') RETURNS text[]
    LANGUAGE sql STABLE
    RETURN (
        SELECT ARRAY[
            format('CREATE INDEX %s trace_words_%s ON trace USING gin (_lexemes(terms)) '
                   'WITH (fastupdate = off) WHERE user_id || '''' = %L AND model = %s AND active',
                   option, number, user_id, e.model_id),
            format('CREATE INDEX %s trace_near_%s ON trace '
                   'USING hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops) '
                   'WHERE user_id || '''' = %L AND model = %s AND active',
                   option, number, e.dimensions, user_id, e.model_id)]
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
    IF _near_rows.user_id = %1$L THEN
        IF query IS NOT NULL THEN
            RETURN QUERY
            SELECT t.* FROM trace AS t
            WHERE t.user_id || '' = %1$L AND t.model = %2$s AND t.active
              AND t.created_at >= since AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
            ORDER BY t.embedding::halfvec(%3$s) <=> query::halfvec(%3$s)
            LIMIT greatest(candidate_limit, %4$s);
        END IF;
        words := _word_query(%1$L, question, %5$s, query IS NULL);
        IF words IS NOT NULL THEN
            RETURN QUERY
            SELECT t.* FROM trace AS t
            WHERE t.user_id || '' = %1$L AND t.model = %2$s AND t.active
              AND _lexemes(t.terms) @@ words
              AND t.created_at >= since AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
            LIMIT %5$s;
        END IF;
        RETURN;
    END IF;$branch$, p.user_id, e.model_id, e.dimensions, near, most), '' ORDER BY p.ann)
    INTO branches
    FROM profile AS p, embedding_model AS e
    WHERE p.ann > 0 AND e.active AND e.dimensions IS NOT NULL;
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _near_rows(
    user_id text, query halfvec, question sparsevec, candidate_limit int,
    since timestamptz DEFAULT '-infinity', of_kinds smallint[] DEFAULT NULL)
    RETURNS SETOF trace
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET jit = off
    SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = on
    SET hnsw.ef_search = 80 SET hnsw.iterative_scan = relaxed_order
    SET hnsw.max_scan_tuples = 5000
AS %L$function$, format($body$
#variable_conflict use_column
DECLARE
    words tsquery;
BEGIN%s
    RETURN QUERY
    SELECT t.* FROM trace AS t
    JOIN embedding_model AS e ON e.active AND e.model_id = t.model
    WHERE t.user_id = _near_rows.user_id AND t.active
      AND t.created_at >= since AND (of_kinds IS NULL OR t.kind = ANY (of_kinds));
END $body$, coalesce(branches, '')));
END $compile$;
SELECT _compile_near_rows();
