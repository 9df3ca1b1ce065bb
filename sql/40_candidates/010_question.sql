-- The words of a question, each weighed by how rare it is in this user's memory, as a sparse vector:
-- idf = ln(1 + (N - n + .5) / (n + .5)), scaled to sum 1, so that its inner product with the terms of a trace
-- is the idf coverage of the question (DESIGN 5). n is exact: table term as far as refresh_statistics counted,
-- the newer traces themselves for the rest. The k-th word weighs 2^k in a probe, so one inner product a trace
-- tells the set of words it has; 24 fit a float4, further words go by further probes, 96 words at most.
CREATE OR REPLACE FUNCTION _question(
    user_id text, model smallint, query_text text, counted int, counted_up_to bigint, known_until timestamptz)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
BEGIN
    RETURN (
        WITH asked AS MATERIALIZED (
            SELECT w.term, (w.place - 1) / 24 AS probe, 1 << ((w.place - 1) % 24)::int AS bit,
                   coalesce(k.df, 0) AS df
            FROM (
                SELECT _term(d.word) AS term, row_number() OVER () AS place
                FROM (SELECT word FROM unnest(tokens(query_text)) WITH ORDINALITY AS t (word, place)
                      GROUP BY word ORDER BY min(t.place) LIMIT 96) AS d
            ) AS w
            LEFT JOIN term AS k ON k.user_id = _question.user_id AND k.term = w.term AND counted > 0
        ), newer AS MATERIALIZED (
            SELECT p.probe, -(t.terms <#> p.bits)::int AS matched, count(*) AS rows
            FROM (SELECT a.probe, ('{' || string_agg(a.term || ':' || a.bit, ',') || '}/268435457')::sparsevec
                  FROM asked AS a GROUP BY a.probe) AS p (probe, bits),
            LATERAL (
                SELECT n.terms FROM trace AS n
                WHERE n.user_id = _question.user_id AND n.model = _question.model AND n.active AND NOT n.wide
                  AND n.memory_id > counted_up_to AND n.created_at <= known_until
                UNION ALL
                SELECT n.terms FROM trace AS n
                WHERE n.user_id = _question.user_id AND n.model = _question.model AND n.active AND n.wide
                  AND n.memory_id > counted_up_to AND n.created_at <= known_until
            ) AS t
            GROUP BY 1, 2
        ), weighed AS MATERIALIZED (
            SELECT s.term, ln(1 + greatest(s.total - s.df + 0.5::float8, 0::float8) / (s.df + 0.5::float8)) AS idf
            FROM (
                SELECT a.term,
                       a.df + coalesce((SELECT sum(n.rows) FROM newer AS n
                                        WHERE n.probe = a.probe AND n.matched & a.bit <> 0), 0)::float8 AS df,
                       counted + coalesce((SELECT sum(n.rows) FROM newer AS n WHERE n.probe = 0), 0)::float8
                           AS total
                FROM asked AS a
            ) AS s
        )
        SELECT ('{' || string_agg(w.term || ':' || w.idf / whole.idf, ',') || '}/268435457')::sparsevec
        FROM weighed AS w, (SELECT sum(v.idf) AS idf FROM weighed AS v) AS whole
        WHERE whole.idf > 0);
END $$;
