-- How rare a word is: idf of binary BM25, ln(1 + (N - n + .5) / (n + .5)), for n of N memories.
-- Measured best with k1 = b = 0: memories are short, a word said twice says no more (DESIGN 5).
CREATE OR REPLACE FUNCTION _idf(memories int, df int) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ln(1 + greatest(memories - df + 0.5::float8, 0::float8) / (df + 0.5::float8));

-- A sparse vector of terms with weights that sum to 1; NULL with nothing to weigh. Of more than 96
-- terms it takes the rarest that occur at all.
CREATE OR REPLACE FUNCTION _weigh(terms int[], idf float8[], df int[]) RETURNS sparsevec
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    whole float8 := 0;
    entries text := '';
BEGIN
    IF cardinality(terms) > 96 THEN
        SELECT array_agg(r.term), array_agg(r.idf) INTO terms, idf
        FROM (SELECT u.term, u.idf FROM unnest(terms, idf, df) AS u (term, idf, df)
              ORDER BY u.df = 0, u.idf DESC, u.term LIMIT 96) AS r;
    END IF;
    FOR i IN 1..coalesce(cardinality(terms), 0) LOOP
        whole := whole + idf[i];
    END LOOP;
    IF whole > 0 THEN
        FOR i IN 1..cardinality(terms) LOOP
            entries := entries || ',' || terms[i] || ':' || idf[i] / whole;
        END LOOP;
        RETURN ('{' || substr(entries, 2) || '}/268435457')::sparsevec;
    END IF;
    RETURN NULL;
END $$;
