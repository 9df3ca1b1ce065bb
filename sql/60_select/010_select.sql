-- Chooses the lines of a block from scored candidates: MMR, near-duplicates, budget, in one pass.
-- MMR (D0 3.1) orders the first mmr_lines by lambda * score - (1 - lambda) * Jaccard to the nearest
-- line chosen; the rest follows by score. A candidate that is as similar as duplicate_at to a line
-- above is left out, one that does not fit is skipped, and if only its brief fits, that is used. A
-- bound kept from earlier rounds and the sizes of the sets save most comparisons. In a block of
-- more than 300 lines, only lines that share a rare word are compared (4,100 lines in 0.25 s; all
-- pairs took 2.7), unless there are no rare words.
-- Provenance: candidate makers[i] was derived from candidate sources[i] (0: from something that is
-- not a candidate). A source whose derived memory is in the block says nothing new; neither does a
-- derived memory whose sources are all there. One that is shown by its brief may not say it.
-- outcome: NULL not reached, 0 over budget, -n candidate n says the same, otherwise the place in
-- the block. chosen: candidates in order; a negative one is shown by its brief.
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
    likeness_costs CONSTANT float8 := (1::float8 - mmr_lambda) / mmr_lambda;
    -- Per candidate: how many lines it was compared with, and the upper bound of its MMR (divided
    -- by lambda: score - (1 - lambda) / lambda * Jaccard), which every line can only lower.
    -- Overlap is |A & B| / (|A| + |B|), negative as <#> gives it.
    compared int[];
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
    -- For a large block: the slots of the rarest words of each candidate, the last entry of each
    -- slot, and for each entry the line it stands for and the entry of that slot before it.
    known int;
    up_to int;
    slot_counts int[];
    rare_slots text[];
    indexed int;
    entries int;
    none_rare boolean;
    slot_entries int[];
    entry_lines int[];
    entries_before int[];
    slot int;
    entry int;
    walked int;
    twin int;
    other int;
    -- The first pair of each maker.
    first_pairs int[];
    first_pair int;
BEGIN
    chosen := '{}';
    spent := 0;
    outcome := array_fill(NULL::int, ARRAY[n]);
    <<candidates>>
    FOR head IN 1..n LOOP
        <<picks>>
        WHILE outcome[head] IS NULL LOOP
            pick := head;
            IF k < mmr_lines AND k > 0 THEN
                best := '-infinity';
                <<others>>
                FOR i IN head..n LOOP
                    EXIT WHEN scores[i] <= best;
                    CONTINUE WHEN outcome[i] IS NOT NULL OR bounds[i] <= best;
                    FOR j IN coalesce(compared[i], 0) + 1..k LOOP
                        overlap := (terms[i] <#> terms[abs(chosen[j])])
                                   / (term_counts[i]::float8 + sizes[j]);
                        bounds[i] := least(
                            bounds[i],
                            scores[i] + likeness_costs * overlap / (1::float8 + overlap));
                        compared[i] := j;
                        CONTINUE others WHEN bounds[i] <= best;
                    END LOOP;
                    best := bounds[i];
                    pick := i;
                END LOOP;
            END IF;

            -- What the block would cost with it, or with its brief if it is too long.
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
            slack := its_size / duplicate_at - its_size + 1e-9::float8;
            IF k < 300 OR none_rare THEN
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
            ELSE
                known := coalesce(cardinality(rare_slots), 0);
                IF pick > known THEN
                    up_to := greatest(pick, (SELECT max(abs(c)) FROM unnest(chosen) AS c)) + 300;
                    slot_counts := coalesce(slot_counts, _slot_counts(terms[:up_to]));
                    rare_slots := rare_slots || _rare_slots(
                        terms[known + 1:up_to], term_counts[known + 1:up_to], slot_counts,
                        duplicate_at);
                END IF;
                FOR j IN coalesce(indexed, 0) + 1..k LOOP
                    FOREACH slot IN ARRAY string_to_array(rare_slots[abs(chosen[j])], ',')::int[]
                    LOOP
                        entries := coalesce(entries, 0) + 1;
                        entry_lines[entries] := j;
                        entries_before[entries] := slot_entries[slot];
                        slot_entries[slot] := entries;
                    END LOOP;
                END LOOP;
                indexed := k;
                twin := NULL;
                walked := 0;
                FOREACH slot IN ARRAY string_to_array(rare_slots[pick], ',')::int[] LOOP
                    entry := slot_entries[slot];
                    WHILE entry IS NOT NULL LOOP
                        other := entry_lines[entry];
                        IF (other >= twin) IS NOT TRUE
                           AND abs(sizes[other] - its_size) <= slack
                           AND (terms[pick] <#> terms[abs(chosen[other])])
                               <= -duplicate_at / (1::float8 + duplicate_at)
                                  * (its_size + sizes[other]) + 1e-9::float8
                        THEN
                            twin := other;
                        END IF;
                        entry := entries_before[entry];
                        walked := walked + 1;
                    END LOOP;
                END LOOP;
                none_rare := walked > k;
                IF twin IS NOT NULL THEN
                    outcome[pick] := -abs(chosen[twin]);
                    CONTINUE;
                END IF;
            END IF;
            IF makers IS NOT NULL THEN
                IF first_pairs IS NULL THEN
                    FOR i IN REVERSE cardinality(makers)..1 LOOP
                        first_pairs[makers[i]] := i;
                    END LOOP;
                END IF;
                first_pair := coalesce(first_pairs[pick], cardinality(makers) + 1);
                FOR i IN first_pair..cardinality(makers) LOOP
                    EXIT WHEN makers[i] <> pick;
                    IF sources[i] > 0 AND chosen[outcome[sources[i]]] > 0 THEN
                        outcome[pick] := -sources[i];
                    ELSE
                        outcome[pick] := NULL;
                        EXIT;
                    END IF;
                END LOOP;
                CONTINUE WHEN outcome[pick] IS NOT NULL;
                FOR i IN first_pair..cardinality(makers) LOOP
                    EXIT WHEN makers[i] <> pick;
                    IF place > 0 AND sources[i] > 0 AND outcome[sources[i]] IS NULL THEN
                        outcome[sources[i]] := -pick;
                    END IF;
                END LOOP;
            END IF;

            k := k + 1;
            chosen[k] := place;
            spent := whole;
            outcome[pick] := k;
            -- Its heading is in the block from now on.
            group_costs[groups[pick]] := 0;
            sizes[k] := greatest(its_size, 1::float8);
            EXIT candidates WHEN k >= line_limit OR spent + smallest > budget;
        END LOOP;
    END LOOP;
END $$;
