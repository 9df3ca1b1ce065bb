-- Chooses the lines of a block from scored candidates: MMR, near-duplicates, budget, in one pass.
-- MMR (D0 3.1) orders the first mmr_lines by lambda * score - (1 - lambda) * Jaccard to the nearest
-- line chosen; the rest follows by score. A candidate as similar as duplicate_at to a line above is
-- left out, one that does not fit is skipped, its brief is used where only that fits. A bound kept
-- from earlier rounds and the sizes of the sets spare most comparisons.
-- Provenance: candidate makers[i] was derived from candidate sources[i] (0: from what is none). A
-- source whose derived memory is in the block says nothing new, nor does a derived memory all of
-- whose sources are.
-- outcome: NULL not reached, 0 over budget, -n candidate n says the same, else its place in the
-- block. chosen: candidates in order; a negative one stands with its brief.
CREATE OR REPLACE FUNCTION _select(
    scores float8[], groups smallint[], costs float8[], brief_costs float8[], terms sparsevec[],
    term_counts int[], group_costs float8[], smallest float8, mmr_lambda float8, mmr_lines int,
    duplicate_at float8, line_limit int, budget float8, makers int[], sources int[],
    OUT chosen int[], OUT spent float8, OUT outcome int[])
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    n CONSTANT int := coalesce(cardinality(scores), 0);
    pairs CONSTANT int := coalesce(cardinality(makers), 0);
    -- By candidate: with how many lines it was compared, its overlap with the nearest of them, and
    -- the most its MMR can be (divided by lambda: score - (1 - lambda) / lambda * Jaccard).
    -- Overlap is |A & B| / (|A| + |B|), negative as <#> gives it.
    compared int[];
    nearest float8[];
    bounds float8[];
    sizes float8[];
    k int := 0;
    best float8;
    pick int;
    whole float8;
    overlap float8;
    its_size float8;
    slack float8;
    place int;
BEGIN
    chosen := '{}';
    spent := 0;
    outcome := array_fill(NULL::int, ARRAY[n]);
    <<candidates>>
    FOR head IN 1..n LOOP
        <<picks>>
        WHILE outcome[head] IS NULL LOOP
            EXIT candidates WHEN k >= line_limit OR spent + smallest > budget;
            pick := head;
            IF k > 0 AND k < mmr_lines THEN
                best := '-infinity';
                FOR i IN head..n LOOP
                    EXIT WHEN scores[i] <= best;
                    CONTINUE WHEN outcome[i] IS NOT NULL OR bounds[i] <= best;
                    IF compared[i] IS DISTINCT FROM k THEN
                        its_size := term_counts[i];
                        overlap := nearest[i];
                        FOR j IN coalesce(compared[i], 0) + 1..k LOOP
                            overlap := least(overlap, (terms[i] <#> terms[abs(chosen[j])])
                                                      / (its_size + sizes[j]));
                        END LOOP;
                        nearest[i] := overlap;
                        compared[i] := k;
                        bounds[i] := scores[i] + (1::float8 - mmr_lambda) / mmr_lambda
                            * overlap / (1::float8 + overlap);
                        CONTINUE WHEN bounds[i] <= best;
                    END IF;
                    best := bounds[i];
                    pick := i;
                END LOOP;
            END IF;

            -- What the block would cost with it, with its brief where it is too long.
            whole := spent + group_costs[groups[pick]] + costs[pick];
            place := pick;
            IF whole > budget THEN
                whole := spent + group_costs[groups[pick]] + brief_costs[pick];
                IF (whole <= budget) IS NOT TRUE THEN
                    outcome[pick] := 0;
                    CONTINUE;
                END IF;
                place := -pick;
            END IF;
            its_size := term_counts[pick];
            slack := its_size * (1::float8 / duplicate_at - 1::float8) + 1e-9::float8;
            FOR j IN 1..k LOOP
                IF abs(sizes[j] - its_size) <= slack
                   AND (terms[pick] <#> terms[abs(chosen[j])])
                       <= -duplicate_at / (1::float8 + duplicate_at) * (its_size + sizes[j])
                          + 1e-9::float8
                THEN
                    outcome[pick] := -abs(chosen[j]);
                    CONTINUE picks;
                END IF;
            END LOOP;
            IF pairs > 0 THEN
                FOR i IN 1..pairs LOOP
                    CONTINUE WHEN makers[i] <> pick;
                    IF sources[i] > 0 AND outcome[sources[i]] > 0 THEN
                        outcome[pick] := -sources[i];
                    ELSE
                        outcome[pick] := NULL;
                        EXIT;
                    END IF;
                END LOOP;
                CONTINUE WHEN outcome[pick] IS NOT NULL;
                FOR i IN 1..pairs LOOP
                    IF makers[i] = pick AND sources[i] > 0 AND outcome[sources[i]] IS NULL THEN
                        outcome[sources[i]] := -pick;
                    END IF;
                END LOOP;
            END IF;

            k := k + 1;
            chosen[k] := place;
            spent := whole;
            outcome[pick] := k;
            -- Its heading stands from now on.
            group_costs[groups[pick]] := 0;
            sizes[k] := greatest(its_size, 1::float8);
        END LOOP;
    END LOOP;
END $$;
