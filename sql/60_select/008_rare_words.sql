-- The words by which lines of a large block are compared. If two sets of words share the fraction s
-- of both, each has at least s of its words in the other, so they have in common one of the rarest
-- words of each: all but s of its words, and one. Rarity is counted once, in some of the
-- candidates; any order will do that is the same for all. A word is the slot of 4096 that its hash
-- falls into.
CREATE OR REPLACE FUNCTION _slot_counts(terms sparsevec[]) RETURNS int[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT count(w.slot)::int
        FROM generate_series(1, 4096) AS s (slot)
        LEFT JOIN (SELECT place % 4096 + 1
                   FROM unnest(terms) AS t (words), unnest(_places(t.words)) AS place)
            AS w (slot) USING (slot)
        GROUP BY s.slot ORDER BY s.slot);
END $$;

-- The slots of the rarest words of each set, as '17,4011'.
CREATE OR REPLACE FUNCTION _rare_slots(
    terms sparsevec[], term_counts int[], slot_counts int[], duplicate_at float8) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(
        SELECT (SELECT coalesce(string_agg(r.slot::text, ','), '')
                FROM (SELECT place % 4096 + 1 AS slot
                      FROM unnest(_places(c.words)) AS place
                      WHERE _is_word(place)
                      ORDER BY slot_counts[place % 4096 + 1], place
                      LIMIT 1 + c.size - ceil(duplicate_at * c.size - 1e-5::float8)::int) AS r)
        FROM unnest(terms, term_counts) WITH ORDINALITY AS c (words, size, number)
        ORDER BY c.number);
END $$;
