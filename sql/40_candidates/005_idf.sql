-- How rare a word is: idf of binary BM25, ln(1 + (N - n + .5) / (n + .5)), for n of N memories.
-- Measured best with k1 = b = 0: memories are short, and a word said twice tells no more (DESIGN
-- 5).
CREATE OR REPLACE FUNCTION _idf(memories int, df int) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ln(1 + greatest(memories - df + 0.5::float8, 0::float8) / (df + 0.5::float8));

-- What the words of a question expand to: for the word at place need, the added term and its weight
-- for that word; df is NULL here.
CREATE OR REPLACE FUNCTION _expansions(asked int[])
    RETURNS TABLE (need int, form int, added int, share float8, size int)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_position(asked, e.need), e.form, e.added, e.share, e.size
    FROM expansion AS e
    WHERE e.lead = ANY (asked) AND (e.needs IS NULL OR e.needs <@ asked);
END;

-- The names a question mentions, as entries of its vector: together they count name_boost.
CREATE OR REPLACE FUNCTION _name_entries(names int[], name_boost float8) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN names IS NULL THEN ''
        ELSE ',' || array_to_string(
                 names, ':' || name_boost * _feature_scale() / cardinality(names) || ',')
             || ':' || name_boost * _feature_scale() / cardinality(names) END;

-- The sparse vector of a question: each of its terms weighs its idf, and the weights sum to 1; NULL
-- if there is nothing to weigh. Of more than 96 terms it takes the rarest that occur at all.
-- With expansions (need is NULL without): a word and its synonyms are one concept, as rare as the
-- most frequent of them, so that a common synonym does not outweigh the word. A synonym of several
-- terms occurs as often as the rarest of them. For each word it stands for, an added term weighs
-- share x idf of that word, with the best share if it is in two forms. Added terms that no memory
-- has are not passed in.
CREATE OR REPLACE FUNCTION _weigh(
    memories int, terms int[], idf float8[], df int[], need int[], form int[], added int[],
    share float8[], size int[], added_df int[], features text)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    asked CONSTANT int := coalesce(cardinality(terms), 0);
    hits CONSTANT int := coalesce(cardinality(need), 0);
    whole float8 := 0;
    entries text := features;
    alike int;
    form_df int;
    weight float8[];
    best float8;
    place int;
BEGIN
    FOR i IN 1..hits LOOP
        alike := 0;
        form_df := added_df[i];
        FOR j IN 1..hits LOOP
            IF form[j] = form[i] AND need[j] = need[i] THEN
                alike := alike + 1;
                form_df := least(form_df, added_df[j]);
            END IF;
        END LOOP;
        IF alike = size[i] AND form_df > df[need[i]] THEN
            df[need[i]] := form_df;
            idf[need[i]] := _idf(memories, form_df);
        END IF;
    END LOOP;
    IF asked > 96 THEN
        SELECT array_agg(CASE WHEN r.rank <= 96 THEN r.idf ELSE 0 END ORDER BY r.place) INTO idf
        FROM (SELECT u.idf, u.place, row_number() OVER (ORDER BY u.df = 0, u.idf DESC, u.term)
                  AS rank
              FROM unnest(terms, idf, df) WITH ORDINALITY AS u (term, idf, df, place)) AS r;
    END IF;
    FOR i IN 1..asked LOOP
        whole := whole + idf[i];
    END LOOP;
    IF NOT whole > 0::float8 THEN
        RETURN NULL;
    END IF;
    weight := idf;
    FOR i IN 1..hits LOOP
        best := share[i];
        FOR j IN 1..hits LOOP
            IF added[j] = added[i] AND need[j] = need[i]
               AND (share[j] > best OR share[j] = best AND j < i)
            THEN
                best := 0;
            END IF;
        END LOOP;
        place := coalesce(array_position(terms, added[i]), cardinality(terms) + 1);
        terms[place] := added[i];
        weight[place] := coalesce(weight[place], 0) + best * idf[need[i]];
    END LOOP;
    FOR i IN 1..cardinality(terms) LOOP
        entries := entries || ',' || terms[i]::text || ':' || (weight[i] / whole)::text;
    END LOOP;
    RETURN ('{' || ltrim(entries, ',') || '}/536870912')::sparsevec;
END $$;
