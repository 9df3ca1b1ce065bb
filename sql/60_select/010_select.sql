-- Chooses the lines of a block from scored candidates: MMR, near-duplicates, budget, in one pass.
-- MMR (D0 3.1) orders the first mmr_lines by lambda * score - (1 - lambda) * Jaccard to the nearest
-- line chosen; the rest follows by score. A candidate that is as similar as duplicate_at to a line
-- above is left out, one that does not fit is skipped, and if only its brief fits, that is used. A
-- bound kept from earlier rounds and the sizes of the sets save most comparisons. In a block of
-- more than 300 lines, only lines that share a rare word are compared (4,100 lines in 0.25 s; all
-- pairs took 2.7), unless there are no rare words.
-- Provenance: candidate derived_places[i] was derived from candidate source_places[i] (0: from
-- something that is not a candidate). A source whose derived memory is in the block adds nothing;
-- nor does a derived memory whose sources are all there. A brief may leave out what matters, so a
-- line shown by its brief replaces no other.
-- outcome: NULL not reached, 0 over budget, -n candidate n says the same, otherwise the place in
-- the block. chosen: candidates in order; a negative one is shown by its brief.
CREATE OR REPLACE FUNCTION _select(
    scores float8[], groups smallint[], costs float8[], brief_costs float8[], terms sparsevec[],
    term_counts int[], group_costs float8[], smallest_cost float8, mmr_lambda float8, mmr_lines int,
    duplicate_at float8, line_limit int, budget float8, derived_places int[], source_places int[],
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
    line_count int := 0;
    best float8;
    pick int;
    cost_with_it float8;
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
    -- Where the sources of each derived candidate begin in source_places.
    first_sources int[];
    first_source int;
BEGIN
    chosen := '{}';
    spent := 0;
    outcome := array_fill(NULL::int, ARRAY[n]);
    <<candidates>>
    FOR head IN 1..n LOOP
        <<picks>>
        WHILE outcome[head] IS NULL LOOP
            pick := head;
            IF line_count < mmr_lines AND line_count > 0 THEN
                best := '-infinity';
                <<others>>
                FOR i IN head..n LOOP
                    EXIT WHEN scores[i] <= best;
                    CONTINUE WHEN outcome[i] IS NOT NULL OR bounds[i] <= best;
                    FOR j IN coalesce(compared[i], 0) + 1..line_count LOOP
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
            cost_with_it := spent + group_costs[groups[pick]] + costs[pick];
            place := pick;
            IF cost_with_it > budget THEN
                cost_with_it := spent + group_costs[groups[pick]] + brief_costs[pick];
                IF (cost_with_it <= budget) IS NOT TRUE THEN
                    outcome[pick] := 0;
                    CONTINUE;
                END IF;
                place := -pick;
            END IF;
            its_size := term_counts[pick];
            slack := its_size / duplicate_at - its_size + 1e-9::float8;
            IF line_count < 300 OR none_rare THEN
                FOR j IN 1..line_count LOOP
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
                FOR j IN coalesce(indexed, 0) + 1..line_count LOOP
                    FOREACH slot IN ARRAY string_to_array(rare_slots[abs(chosen[j])], ',')::int[]
                    LOOP
                        entries := coalesce(entries, 0) + 1;
                        entry_lines[entries] := j;
                        entries_before[entries] := slot_entries[slot];
                        slot_entries[slot] := entries;
                    END LOOP;
                END LOOP;
                indexed := line_count;
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
                none_rare := walked > line_count;
                IF twin IS NOT NULL THEN
                    outcome[pick] := -abs(chosen[twin]);
                    CONTINUE;
                END IF;
            END IF;
            IF derived_places IS NOT NULL THEN
                IF first_sources IS NULL THEN
                    FOR i IN REVERSE cardinality(derived_places)..1 LOOP
                        first_sources[derived_places[i]] := i;
                    END LOOP;
                END IF;
                first_source := coalesce(first_sources[pick], cardinality(derived_places) + 1);
                FOR i IN first_source..cardinality(derived_places) LOOP
                    EXIT WHEN derived_places[i] <> pick;
                    IF source_places[i] > 0 AND chosen[outcome[source_places[i]]] > 0 THEN
                        outcome[pick] := -source_places[i];
                    ELSE
                        outcome[pick] := NULL;
                        EXIT;
                    END IF;
                END LOOP;
                CONTINUE WHEN outcome[pick] IS NOT NULL;
                FOR i IN first_source..cardinality(derived_places) LOOP
                    EXIT WHEN derived_places[i] <> pick;
                    IF place > 0 AND source_places[i] > 0 AND outcome[source_places[i]] IS NULL THEN
                        outcome[source_places[i]] := -pick;
                    END IF;
                END LOOP;
            END IF;

            line_count := line_count + 1;
            chosen[line_count] := place;
            spent := cost_with_it;
            outcome[pick] := line_count;
            -- Its heading is in the block from now on.
            group_costs[groups[pick]] := 0;
            sizes[line_count] := greatest(its_size, 1::float8);
            EXIT candidates WHEN line_count >= line_limit OR spent + smallest_cost > budget;
        END LOOP;
    END LOOP;
END $$;
