-- The words of a trace as entries of a word index (GIN), for users with so many memories that
-- recall cannot read them all: 72 bytes a memory, always current; only rare words are looked up.
CREATE OR REPLACE FUNCTION _places(vector sparsevec) RETURNS int[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT split_part(entry, ':', 1)::int
        FROM unnest(string_to_array(split_part(ltrim(vector::text, '{'), '}', 1), ',')) AS entry
        WHERE entry <> '');

-- Words, not features: those stand above 2^28.
CREATE OR REPLACE FUNCTION _postings(terms sparsevec) RETURNS int[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT place FROM unnest(_places(terms)) AS place WHERE place <= 268435456);

-- The words of a question to look up, the rarest first, as long as the memories that have them are
-- together at most so many. A word the statistics do not know is rare.
CREATE OR REPLACE FUNCTION _rare_words(user_id text, question sparsevec, most int) RETURNS int[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ARRAY(
        SELECT w.term
        FROM (SELECT p.term,
                     sum(coalesce(k.df, 0)) OVER (ORDER BY k.df NULLS FIRST, p.term) AS found
              FROM unnest(_postings(question)) AS p (term)
              LEFT JOIN term AS k ON k.user_id = _rare_words.user_id AND k.term = p.term) AS w
        WHERE w.found <= most);
