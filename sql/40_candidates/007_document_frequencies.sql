-- How many memories of a user contain each of these terms and features, in their order, and how
-- many memories there are: the count of the statistics, plus those newer than it, counted in one
-- pass (how: _question_counting).
-- For a user with indexes of their own, the statistics alone.
CREATE OR REPLACE FUNCTION _document_frequencies(
    user_id text, model smallint, terms int[], OUT memories int, OUT df int[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off SET extra_float_digits = 1
AS $$
#variable_conflict use_column
DECLARE
    counts profile;
    uncounted_from bigint;
BEGIN
    SELECT p.* INTO counts FROM profile AS p WHERE p.user_id = _document_frequencies.user_id;
    uncounted_from := CASE WHEN counts.ann > 0 AND counts.counted_up_to > 0
                           THEN 9223372036854775807 ELSE coalesce(counts.counted_up_to, 0) END;
    WITH known AS MATERIALIZED (
        SELECT w.term, w.place, (w.place - 1) / 24 AS probe,
               CASE WHEN _is_word(w.term) THEN 1 ELSE _feature_scale() END AS scale,
               1 << ((w.place - 1) % 24)::int AS bit, coalesce(k.df, 0) AS df
        FROM unnest(terms) WITH ORDINALITY AS w (term, place)
        LEFT JOIN term AS k ON k.user_id = _document_frequencies.user_id AND k.term = w.term
                           AND counts.counted_up_to > 0
    ), newer AS MATERIALIZED (
        SELECT p.probe, -(t.terms <#> p.bits)::int AS matched, count(*) AS rows
        FROM (
            SELECT k.probe,
                   ('{' || string_agg(k.term || ':' || k.bit * k.scale, ',')
                    || '}/536870912')::sparsevec
            FROM known AS k
            GROUP BY k.probe
        ) AS p (probe, bits), trace AS t
        WHERE t.user_id = _document_frequencies.user_id AND t.memory_id > uncounted_from
          AND t.model = _document_frequencies.model AND t.active
        GROUP BY 1, 2
    )
    SELECT coalesce(counts.counted, 0)
               + coalesce((SELECT sum(n.rows) FROM newer AS n WHERE n.probe = 0), 0)::int,
           array_agg(k.df + coalesce((SELECT sum(n.rows) FROM newer AS n
                                      WHERE n.probe = k.probe AND n.matched & k.bit <> 0), 0)::int
                     ORDER BY k.place)
    INTO memories, df
    FROM known AS k;
END $$;
