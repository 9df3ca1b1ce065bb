-- The words of a question, each weighed by how rare it is in this user's memory, as a sparse
-- vector: idf scaled to sum 1, so that its inner product with the terms of a trace is the idf
-- coverage of the question (DESIGN 5). The counts come from table term, which
-- refresh_statistics fills. The 96 rarest words count.
CREATE OR REPLACE FUNCTION _question(user_id text, query_text text, counted int) RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    terms int[];
    idf float8[];
    counts int[];
BEGIN
    SELECT array_agg(n.term), array_agg(n.idf), array_agg(n.df) INTO terms, idf, counts
    FROM (
        SELECT a.term, a.df, _idf(counted, a.df) AS idf
        FROM (
            SELECT h.term,
                   coalesce((SELECT k.df FROM term AS k
                             WHERE k.user_id = _question.user_id AND k.term = h.term), 0) AS df
            FROM (SELECT DISTINCT _term(word) AS term
                  FROM unnest(tokens(query_text)) AS word) AS h
            OFFSET 0
        ) AS a
        OFFSET 0
    ) AS n;
    RETURN _weigh(terms, idf, counts);
END $$;

-- The same when some memories are newer than the statistics, or the past is asked. One pass over
-- those finds all words: the k-th word weighs 2^k in a probe, so one inner product tells the set of
-- words a trace has; 24 words fit a float4, further words go by further probes.
CREATE OR REPLACE FUNCTION _question_counting(
    user_id text, model smallint, query_text text, counted int, counted_up_to bigint,
    known_until timestamptz)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        WITH asked AS MATERIALIZED (
            SELECT w.term, (w.place - 1) / 24 AS probe, 1 << ((w.place - 1) % 24)::int AS bit,
                   coalesce(k.df, 0) AS df
            FROM (SELECT t.term, row_number() OVER () AS place
                  FROM unnest(_terms(query_text)) AS t (term)
                  LIMIT 2000) AS w
            LEFT JOIN term AS k ON k.user_id = _question_counting.user_id AND k.term = w.term
                               AND counted > 0
        ), newer AS MATERIALIZED (
            SELECT p.probe, -(t.terms <#> p.bits)::int AS matched, count(*) AS rows
            FROM (
                SELECT a.probe,
                       ('{' || string_agg(a.term || ':' || a.bit, ',') || '}/268435457')::sparsevec
                FROM asked AS a
                GROUP BY a.probe
            ) AS p (probe, bits), LATERAL (
                SELECT n.terms
                FROM trace AS n
                WHERE n.user_id = _question_counting.user_id AND n.model = _question_counting.model
                  AND n.active AND NOT n.wide
                  AND n.memory_id > counted_up_to AND n.created_at <= known_until
                UNION ALL
                SELECT n.terms
                FROM trace AS n
                WHERE n.user_id = _question_counting.user_id AND n.model = _question_counting.model
                  AND n.active AND n.wide
                  AND n.memory_id > counted_up_to AND n.created_at <= known_until
            ) AS t
            GROUP BY 1, 2
        ), weighed AS MATERIALIZED (
            SELECT a.term,
                   counted + coalesce((SELECT sum(n.rows) FROM newer AS n
                                       WHERE n.probe = 0), 0)::int AS memories,
                   a.df + coalesce((SELECT sum(n.rows) FROM newer AS n
                                    WHERE n.probe = a.probe AND n.matched & a.bit <> 0),
                                   0)::int AS df
            FROM asked AS a
        )
        SELECT _weigh(array_agg(w.term), array_agg(_idf(w.memories, w.df)), array_agg(w.df))
        FROM weighed AS w);
END $$;
