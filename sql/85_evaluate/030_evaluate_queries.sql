-- Asks every question of a gold set as an agent would, and measures the answers one by one. It
-- measures recall() itself, so it measures what agents get. It runs in a read-only subtransaction:
-- a recall that may not write leaves no row in the log, which is meant for use by agents, and
-- PostgreSQL refuses anything else it might write. The caller's transaction can write again
-- afterwards.
CREATE OR REPLACE FUNCTION evaluate_queries(
    gold_set text, mode text DEFAULT 'execute', budget int DEFAULT 800, k int DEFAULT 10,
    user_id text DEFAULT NULL, query_vecs halfvec[] DEFAULT NULL)
    RETURNS TABLE (query text, relevant int, in_block int, first_place int, recall_at_k float8,
                   reciprocal_rank float8, ndcg_at_k float8, evidence_in_budget float8,
                   tokens int, elapsed_ms float8, missed_ids bigint[])
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_model smallint;
    asked record;
    answer record;
    started timestamptz;
BEGIN
    PERFORM _check_number(k, 'k', 1000), _check_gold_set(owner, gold_set);
    IF query_vecs IS NOT NULL AND cardinality(query_vecs) <> (
        SELECT count(*) FROM gold AS g
        WHERE g.user_id = owner AND g.gold_set = evaluate_queries.gold_set)
    THEN
        RAISE EXCEPTION 'query_vecs has % vectors, the gold set has more or fewer questions',
                cardinality(query_vecs)
            USING ERRCODE = 'ME008',
                  HINT = 'One for each row of memoir.gold_queries(), in that order; NULL for the '
                         'stored one.';
    END IF;
    in_model := (_known_model(NULL)).model_id;
    BEGIN
        PERFORM set_config('transaction_read_only', 'on', true);
        FOR asked IN
            SELECT g.gold_id, g.query,
                   coalesce(query_vecs[row_number() OVER (ORDER BY g.created_at, g.gold_id)],
                            CASE WHEN g.model = in_model THEN g.query_vec END) AS vector
            FROM gold AS g
            WHERE g.user_id = owner AND g.gold_set = evaluate_queries.gold_set
            ORDER BY g.created_at, g.gold_id
        LOOP
            started := clock_timestamp();
            answer := recall(query_vec => asked.vector, mode => evaluate_queries.mode,
                             budget => evaluate_queries.budget, query_text => asked.query,
                             user_id => owner);
            elapsed_ms := 1000 * date_part('epoch', clock_timestamp() - started);
            query := asked.query;
            tokens := answer.tokens;
            SELECT m.* INTO STRICT relevant, in_block, first_place, recall_at_k, reciprocal_rank,
                                   ndcg_at_k, evidence_in_budget, missed_ids
            FROM _measure(owner, asked.gold_id, answer.memory_ids, k) AS m;
            RETURN NEXT;
        END LOOP;
    EXCEPTION WHEN read_only_sql_transaction THEN
        RAISE;  -- the clause is there to make the subtransaction
    END;
END $$;

COMMENT ON FUNCTION evaluate_queries(text, text, int, int, text, halfvec[]) IS
    'One row a question of a gold set: relevant memories, how many of them the block of recall() '
    'has (in_block), the place of the first, and which are missing (missed_ids; memory_explain '
    'tells why). Places count the memories of the block in the order of memory_ids, best first. A '
    'memory counts where it stands itself or where one stands that is derived from it (relation '
    'derived_from). recall_at_k: share of the relevant at the first k places; reciprocal_rank: 1 / '
    'place of the first, 0 without one; ndcg_at_k: sum of grade / log2(1 + place) to place k, '
    'divided by the best possible; relevant memories that one line stands for take places one '
    'after the other. evidence_in_budget: share of the relevant in the block. All 0 to 1, NULL for '
    'a question whose relevant memories were all deleted. Goals in the profile part do not count. '
    'elapsed_ms: of the recall, without its log row: nothing is logged. A question is asked with '
    'its vector of query_vecs (in the order of gold_queries(); for modes that want the vector of '
    'embedding_text()), else with the stored one, else by words. budget: 1 to 100000; k: 1 to '
    '1000. Errors: ME001 mode, ME003 and ME004 vector, ME005 budget, ME006 user, ME008 k or number '
    'of vectors, ME012 gold set.';

CREATE OR REPLACE FUNCTION _measure(
    owner text, gold_id bigint, memory_ids bigint[], k int,
    OUT relevant int, OUT in_block int, OUT first_place int, OUT recall_at_k float8,
    OUT reciprocal_rank float8, OUT ndcg_at_k float8, OUT evidence_in_budget float8,
    OUT missed_ids bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    WITH line AS (
        SELECT u.id, u.place FROM unnest(memory_ids) WITH ORDINALITY AS u (id, place)
    ), stands_for AS (
        SELECT l.id, l.place FROM line AS l
        UNION ALL
        SELECT d.to_id, l.place
        FROM line AS l
        JOIN relation AS d ON d.user_id = owner AND d.from_id = l.id AND d.type = 'derived_from'
    ), judged AS (
        SELECT r.memory_id, r.grade, min(s.place) AS place
        FROM gold_relevant AS r
        LEFT JOIN stands_for AS s ON s.id = r.memory_id
        WHERE r.user_id = owner AND r.gold_id = _measure.gold_id
        GROUP BY r.memory_id, r.grade
    ), numbered AS (
        SELECT j.*, row_number() OVER (ORDER BY j.grade DESC) AS best_place,
               row_number() OVER (ORDER BY j.place, j.grade DESC) AS number
        FROM judged AS j
    ), placed AS (
        -- The next free place, for lines that stand for several.
        SELECT n.*, n.number + max(n.place - n.number) OVER (ORDER BY n.number) AS own_place
        FROM numbered AS n
    )
    SELECT count(*), count(p.place), min(p.place),
           avg((coalesce(p.place, k + 1) <= k)::int),
           CASE WHEN count(*) > 0 THEN coalesce(1 / min(p.place)::float8, 0) END,
           coalesce(sum(p.grade / ln(1 + p.own_place::float8))
                        FILTER (WHERE p.place IS NOT NULL AND p.own_place <= k), 0)
               / sum(p.grade / ln(1 + p.best_place::float8)) FILTER (WHERE p.best_place <= k),
           avg((p.place IS NOT NULL)::int),
           coalesce(array_agg(p.memory_id ORDER BY p.memory_id) FILTER (WHERE p.place IS NULL),
                    '{}')
    INTO relevant, in_block, first_place, recall_at_k, reciprocal_rank, ndcg_at_k,
         evidence_in_budget, missed_ids
    FROM placed AS p;
END $$;
