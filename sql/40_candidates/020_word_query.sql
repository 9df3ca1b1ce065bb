-- Words of users with so many memories that recall cannot read them all: their traces are in a word
-- index (GIN; 80 bytes a memory, current at once), and a question looks its rare words up there.
CREATE OR REPLACE FUNCTION _places(vector sparsevec) RETURNS int[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT split_part(entry, ':', 1)::int
        FROM unnest(string_to_array(split_part(ltrim(vector::text, '{'), '}', 1), ',')) AS entry
        WHERE entry <> '');

-- The words of a trace as lexemes, without its features, which stand above 2^28.
CREATE OR REPLACE FUNCTION _lexemes(terms sparsevec) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY(
        SELECT place::text FROM unnest(_places(terms)) AS place WHERE place <= 268435456));

-- Which memories to read for the words of a question: those with one of its rarest words, together
-- at most so many. Of them a word must weigh least_coverage by itself, or another word must be
-- there too: a memory below that, and no nearer by vector than those found so, is not among the
-- best. A word the statistics do not know yet counts as rare. Another word counts up to four times
-- as many memories: common ones say little, and their long lists are slow to look into.
-- Without such a bound (no vector) single words stop at a fifth of most.
-- In the lab (1,000,000 memories, most 5,000) 330 memories are read where single words find 2,600.
CREATE OR REPLACE FUNCTION _word_query(
    user_id text, question sparsevec, most int, least_coverage float8)
    RETURNS tsquery
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        WITH word AS MATERIALIZED (
            SELECT split_part(entry, ':', 1) AS term, split_part(entry, ':', 2)::float8 AS weight,
                   row_number() OVER (ORDER BY k.df NULLS FIRST, entry) AS place,
                   sum(coalesce(k.df, 0)) OVER (ORDER BY k.df NULLS FIRST, entry) AS found
            FROM unnest(string_to_array(split_part(ltrim(question::text, '{'), '}', 1), ',')) AS entry
            LEFT JOIN term AS k ON k.user_id = _word_query.user_id
                               AND k.term = split_part(entry, ':', 1)::int
            WHERE entry <> '' AND split_part(entry, ':', 1)::int <= 268435456
        )
        SELECT string_agg(CASE WHEN w.alone THEN w.term
                               ELSE '(' || w.term || '&(' || o.others || '))' END, '|')::tsquery
        FROM (SELECT w.*, w.weight >= least_coverage
                          AND (least_coverage > 0 OR w.found <= most / 5) AS alone
              FROM word AS w) AS w
        LEFT JOIN LATERAL (SELECT string_agg(o.term, '|') AS others FROM word AS o
                           WHERE o.place > w.place AND o.found <= 4 * most) AS o ON true
        WHERE w.found <= most AND (w.alone OR o.others IS NOT NULL));
END $$;
