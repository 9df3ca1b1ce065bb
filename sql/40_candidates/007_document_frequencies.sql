-- How many memories of a user contain each of these terms and features, in their order, and how
-- many memories there are: what the statistics counted, plus the memories newer than these. One
-- pass over the newer ones finds 24 terms: the k-th weighs 2^k in a probe, so one inner product
-- gives the set of terms in a trace (24 bits fit a float4). The entry of a feature is smaller, by
-- _feature_scale(). In steps, because one statement for all of it takes longer.
-- known_until: 'infinity', or the past; then no statistics, but the texts of that time, also of
-- what has ended since (otherwise its synonyms would be dropped).
CREATE OR REPLACE FUNCTION _count_terms(
    user_id text, model smallint, terms int[], counted int, counted_up_to bigint,
    known_until timestamptz, OUT memories int, OUT df int[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off SET extra_float_digits = 1
AS $$
#variable_conflict use_column
DECLARE
    words CONSTANT int := coalesce(cardinality(terms), 0);
    last int;
    probe text;
    bits sparsevec;
    matched int[];
    numbers int[];
    rewritten bigint[];
BEGIN
    memories := 0;
    IF counted_up_to > 0 THEN
        memories := counted;
        df := ARRAY(
            SELECT coalesce((SELECT k.df FROM term AS k
                             WHERE k.user_id = _count_terms.user_id AND k.term = w.term), 0)
            FROM unnest(terms) AS w (term));
    ELSE
        df := array_fill(0, ARRAY[words]);
    END IF;
    FOR head IN 1..words BY 24 LOOP
        last := least(head + 23, words);
        probe := NULL;
        FOR i IN head..last LOOP
            probe := concat_ws(',', probe, terms[i]::text || ':' || ((1 << (i - head))::float8
                * CASE WHEN _is_word(terms[i]) THEN 1::float8 ELSE _feature_scale() END)::text);
        END LOOP;
        bits := ('{' || probe || '}/536870912')::sparsevec;
        IF known_until = 'infinity' THEN
            SELECT array_agg(n.matched), array_agg(n.number) INTO matched, numbers
            FROM (SELECT -(t.terms <#> bits)::int AS matched, count(*)::int AS number
                  FROM trace AS t
                  WHERE t.user_id = _count_terms.user_id AND t.memory_id > counted_up_to
                    AND t.model = _count_terms.model AND t.active
                  GROUP BY 1) AS n;
        ELSE
            rewritten := coalesce(rewritten, ARRAY(
                SELECT DISTINCT r.memory_id FROM revision AS r
                WHERE r.user_id = _count_terms.user_id AND r.created_at > known_until
                  AND r.old_values ?| '{content,subject}'));
            SELECT array_agg(n.matched), array_agg(n.number) INTO matched, numbers
            FROM (SELECT -(t.terms <#> bits)::int AS matched, count(*)::int AS number
                  FROM (SELECT a.terms FROM trace AS a
                        WHERE a.user_id = _count_terms.user_id AND a.model = _count_terms.model
                          AND a.active AND a.memory_id > counted_up_to
                          AND a.created_at <= known_until AND a.memory_id <> ALL (rewritten)
                        UNION ALL
                        SELECT k.terms
                        FROM _known_then(_count_terms.user_id, _count_terms.model, known_until,
                                         rewritten) AS k) AS t
                  GROUP BY 1) AS n;
        END IF;
        FOR j IN 1..coalesce(cardinality(matched), 0) LOOP
            IF head = 1 THEN
                memories := memories + numbers[j];
            END IF;
            CONTINUE WHEN matched[j] = 0;
            FOR i IN head..last LOOP
                IF matched[j] & (1 << (i - head)) <> 0 THEN
                    df[i] := df[i] + numbers[j];
                END IF;
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

-- The same as of now. For a user with indexes of their own, the statistics alone.
CREATE OR REPLACE FUNCTION _document_frequencies(
    user_id text, model smallint, terms int[], OUT memories int, OUT df int[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    counts record;
BEGIN
    SELECT p.ann > 0 AND p.counted_up_to > 0 AS all_counted, p.counted, p.counted_up_to INTO counts
    FROM profile AS p WHERE p.user_id = _document_frequencies.user_id;
    SELECT c.* INTO memories, df
    FROM _count_terms(user_id, model, terms, coalesce(counts.counted, 0),
                      CASE WHEN counts.all_counted THEN 9223372036854775807
                           ELSE coalesce(counts.counted_up_to, 0) END, 'infinity') AS c;
END $$;
