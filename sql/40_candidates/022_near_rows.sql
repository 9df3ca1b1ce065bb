-- What recall compares for a user with indexes of their own: the memories nearest by vector and
-- those with a rare word of the question. scripts/bench/README.md says how much of the exact best
-- that finds, and DECISIONS 22, 23 and 58 why it is so.

-- Whether this login may see less of the traces than the rows of one user.
CREATE OR REPLACE FUNCTION _is_restricted() RETURNS boolean
    LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM pg_policy AS p, unnest(p.polroles) AS r (role)
                   WHERE p.polrelid = 'trace'::regclass AND NOT p.polpermissive
                     AND (r.role = 0 OR pg_has_role(session_user, r.role, 'MEMBER')));

-- The statements that make the indexes with this number; option: CONCURRENTLY.
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
                   option, number, e.dimensions, user_id, e.model_id),
            format('CREATE INDEX %s trace_leading_%s ON trace '
                   '(kind, importance, created_at) INCLUDE (memory_id) '
                   'WHERE user_id || ''+'' = %L AND model = %s AND active',
                   option, number, user_id || '+', e.model_id)]
        FROM embedding_model AS e WHERE e.active AND e.dimensions IS NOT NULL);

-- Makes _near_rows and _own_words from the indexes that exist: an approximate index needs the
-- dimensions of its vectors and, being partial, its user as a literal in the statement. The user is
-- written user_id || '' here and in the indexes, so that no other index fits and no statistics, old
-- or missing, can make the planner read all the user's rows. Nobody is looked up by the number of
-- the indexes, because numbers are reused. For a user it does not know (the indexes were dropped a
-- moment ago, or the profile was restored without them) all memories are compared.
--
-- _near_rows: a memory found both by vector and by words comes twice. since, until, of_kinds: only
-- these; the search of the graph goes on until it has enough, or has seen 5,000. It gives
-- hnsw.ef_search neighbours at once, which is enough for a user with less than 50,000 memories. A
-- question without a vector may have no word that is rare (_common_word). Then the newest memories
-- are asked for the one that the fewest have, and if they rarely have it, the word index, which
-- returns those that lie first in the table.
--
-- _own_words: for roles that row-level security shows one user. @@ is not leakproof, so for them
-- the planner would check the policy on every row of the user before it looks at words. It runs as
-- the owner of the tables, only for the user of memoir.user_id, and returns ids; the rows are read
-- with the rights of the caller, so that policies added later hold. An id alone reveals that a
-- memory has the word. So for a login that a restrictive policy leaves less, it finds nothing, and
-- the words are looked up as the policies allow. What binds a role also binds whoever may SET ROLE
-- to it.
CREATE OR REPLACE FUNCTION _compile_near_rows() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $compile$
DECLARE
    with_words CONSTANT text := $from$
            FROM trace AS t
            WHERE t.user_id || '' = %1$L AND t.model = %2$s AND t.active
              AND _lexemes(t.terms) @@ words
              AND t.created_at BETWEEN since AND until
              AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
            LIMIT %5$s$from$;
    -- Not the vectors: whole rows take 50 µs more for 110 memories.
    columns CONSTANT text :=
        't.memory_id, t.kind, t.created_at, t.session, t.position, t.derived, t.cost, '
        't.brief_cost, t.term_count, t.terms, t.line, '
        '_relevance(t.embedding, query, vector_share, t.terms, question, NULL)';
    near CONSTANT int := _config('ann_near');
    most CONSTANT int := _config('ann_words');
    branches text;
    word_branches text;
BEGIN
    -- If two connections do this at once, the second sees what the first has changed.
    PERFORM pg_advisory_xact_lock(hashtextextended('memoir._compile_near_rows', 0));
    -- A role that is not superuser may SET hnsw.ef_search on a function only if the session has
    -- loaded pgvector, which the first vector it reads does.
    PERFORM '[1]'::halfvec;
    SELECT string_agg(format($branch$
    IF _near_rows.user_id = %1$L THEN
        IF query IS NOT NULL THEN
            RETURN QUERY
            SELECT %6$s FROM trace AS t
            WHERE t.user_id || '' = %1$L AND t.model = %2$s AND t.active
              AND t.created_at BETWEEN since AND until
              AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
            ORDER BY t.embedding::halfvec(%3$s) <=> query::halfvec(%3$s)
            LIMIT greatest(candidate_limit, %4$s);
        END IF;
        words := _word_query(%1$L, question, %5$s, query IS NULL);
        IF query IS NULL THEN
            common := _common_word(%1$L, question, %5$s);
        END IF;
        LOOP
            IF words IS NOT NULL AND _sees_one_user() AND NOT _is_restricted() THEN
                RETURN QUERY
                SELECT %6$s
                FROM unnest(_own_words(%1$L, words, since, until, of_kinds)) AS w (id),
                     LATERAL (SELECT n.* FROM trace AS n
                              WHERE n.user_id = %1$L AND n.memory_id = w.id AND n.model = %2$s
                                AND n.active
                              OFFSET 0) AS t;
            ELSIF words IS NOT NULL THEN
                RETURN QUERY
                SELECT %6$s$branch$ || with_words || $branch$;
            END IF;
            EXIT WHEN common IS NULL;
            RETURN QUERY
            SELECT %6$s
            FROM (SELECT n.* FROM trace AS n
                  WHERE n.user_id = %1$L AND n.model = %2$s AND n.active
                  ORDER BY n.user_id DESC, n.memory_id DESC LIMIT %5$s) AS t
            WHERE t.terms <#> _term_set(ARRAY[common], '{}') < 0
              AND t.created_at BETWEEN since AND until
              AND (of_kinds IS NULL OR t.kind = ANY (of_kinds))
            LIMIT 1000;
            GET DIAGNOSTICS newest = ROW_COUNT;
            EXIT WHEN newest >= 40;
            words := common::text::tsquery;
            common := NULL;
        END LOOP;
        RETURN;
    END IF;$branch$, p.user_id, e.model_id, e.dimensions, w.near, w.most,
                             columns),
                      '' ORDER BY p.ann),
           string_agg(format($branch$
    IF _own_words.user_id = %1$L THEN
        RETURN ARRAY(
            SELECT t.memory_id$branch$ || with_words || $branch$);
    END IF;$branch$, p.user_id, e.model_id, NULL, NULL, w.most),
                      '' ORDER BY p.ann)
    INTO branches, word_branches
    FROM profile AS p, embedding_model AS e,
         LATERAL (SELECT CASE WHEN p.counted < 50000 THEN near * 2 / 3 ELSE near END AS near,
                         greatest(most, p.counted / 50) AS most) AS w
    WHERE p.ann > 0 AND e.active AND e.dimensions IS NOT NULL;
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _near_rows(
    user_id text, query halfvec, question sparsevec, vector_share float8, candidate_limit int,
    since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity',
    of_kinds smallint[] DEFAULT NULL)
    RETURNS TABLE (memory_id bigint, kind smallint, created_at timestamptz, session bigint,
                   "position" int, derived boolean, cost float8, brief_cost float8, term_count int,
                   terms sparsevec, line text, relevance float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET jit = off
    SET enable_seqscan = off SET enable_sort = off SET enable_bitmapscan = on
    SET hnsw.ef_search = 40 SET hnsw.iterative_scan = relaxed_order
    SET hnsw.max_scan_tuples = 5000
AS %L$function$, format($body$
#variable_conflict use_column
DECLARE
    words tsquery;
    common int;
    newest bigint;
BEGIN%s
    RETURN QUERY
    SELECT %s FROM trace AS t
    JOIN embedding_model AS e ON e.active AND e.model_id = t.model
    WHERE t.user_id = _near_rows.user_id AND t.active
      AND t.created_at BETWEEN since AND until
      AND (of_kinds IS NULL OR t.kind = ANY (of_kinds));
END $body$, coalesce(branches, ''), columns));
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _own_words(
    user_id text, words tsquery, since timestamptz, until timestamptz, of_kinds smallint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET jit = off
    SET enable_seqscan = off SET enable_bitmapscan = on
AS %L$function$, format($body$
#variable_conflict use_column
BEGIN
    IF user_id IS DISTINCT FROM nullif(current_setting('memoir.user_id', true), '')
       OR _is_restricted() THEN
        RETURN '{}';
    END IF;%s
    RETURN '{}';
END $body$, coalesce(word_branches, '')));
    PERFORM _compile_leading_rows();
END $compile$;
SELECT _compile_near_rows();
