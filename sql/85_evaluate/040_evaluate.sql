-- How good recall is on a gold set, in one row: the means over its questions.
-- Ask again under another mode or budget, or after a change, and compare.
CREATE OR REPLACE FUNCTION evaluate(
    gold_set text, mode text DEFAULT 'execute', budget int DEFAULT 800, k int DEFAULT 10,
    user_id text DEFAULT NULL, query_vecs halfvec[] DEFAULT NULL,
    OUT queries int, OUT recall_at_k float8, OUT mrr float8, OUT ndcg_at_k float8,
    OUT evidence_in_budget float8, OUT tokens float8, OUT p50_ms float8)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    SELECT count(*), avg(q.recall_at_k), avg(q.reciprocal_rank), avg(q.ndcg_at_k),
           avg(q.evidence_in_budget), avg(q.tokens),
           percentile_cont(0.5) WITHIN GROUP (ORDER BY q.elapsed_ms)
    INTO queries, recall_at_k, mrr, ndcg_at_k, evidence_in_budget, tokens, p50_ms
    FROM evaluate_queries(evaluate.gold_set, evaluate.mode, evaluate.budget, evaluate.k,
                          evaluate.user_id, evaluate.query_vecs) AS q
    WHERE q.relevant > 0;
END $$;

COMMENT ON FUNCTION evaluate(text, text, int, int, text, halfvec[]) IS
    'Asks the questions of a gold set and returns how many counted, the means of recall_at_k, '
    'reciprocal rank (mrr), ndcg_at_k, evidence_in_budget and tokens, and the median milliseconds '
    'of a recall. evaluate_queries() defines the measures and shows each question. Questions whose '
    'relevant memories were all deleted do not count; with none left the means are NULL. Nothing '
    'is logged. Arguments and errors as evaluate_queries().';
