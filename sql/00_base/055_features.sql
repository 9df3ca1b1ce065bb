-- Features of a memory that a question may ask for besides its words: who says it or what it is
-- about, that it asks, that it says when. They are part of the sparse vector of the words, so that
-- one inner product weighs words and features: one more signal takes no time in recall. A feature
-- has value 2^-12 in a memory and its weight times 2^12 in a question (exact in float4). Between
-- two memories it counts 2^-24, so features never make texts similar. Words have the places up to
-- 2^28 of the vector, features those above: a word is never taken for a feature.
CREATE OR REPLACE FUNCTION _feature_scale() RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 4096::float8;

CREATE OR REPLACE FUNCTION _is_word(place int) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN place <= 268435456;

CREATE OR REPLACE FUNCTION _feature(name text) RETURNS int
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN 268435456 + _term(name);

-- A feature and its weight for a question, as an entry of its sparse vector; '' for nothing.
CREATE OR REPLACE FUNCTION _feature_entry(name text, weight float8) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN weight = 0 THEN ''
                ELSE ',' || _feature(name) || ':' || weight * _feature_scale() END;

CREATE OR REPLACE FUNCTION _term_set(terms int[], features int[]) RETURNS sparsevec
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ('{' || concat_ws(',', nullif(array_to_string(terms, ':1,') || ':1', ':1'),
                             nullif(array_to_string(features, ':0.000244140625,')
                                    || ':0.000244140625', ':0.000244140625'))
            || '}/536870912')::sparsevec;

-- The text whose words are those of a memory.
CREATE OR REPLACE FUNCTION _searched_text(content text, subject text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN concat_ws(' ', content, subject);

-- Details of a text, which answers have and most talk has not: names (capital letters after a small
-- one and a space, so of no first word), numbers, quotations, times. 0 to 8. LIKE looks for ten
-- digits in 1.6 µs; translate takes 11, and a regular expression one of the 32 that a connection
-- keeps compiled.
CREATE OR REPLACE FUNCTION _details(content text, says_when boolean) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (CASE WHEN content ~ '[a-z] [A-Z][a-z]'
                 THEN least(regexp_count(content, '[a-z] [A-Z][a-z]'), 3) ELSE 0 END
            + CASE WHEN content LIKE ANY ('{%0%,%1%,%2%,%3%,%4%,%5%,%6%,%7%,%8%,%9%}')
                   THEN 2 ELSE 0 END
            + CASE WHEN content LIKE ANY (ARRAY['%"%', '%“%', '%«%', '%「%', '%『%', '%《%'])
                   THEN 2 ELSE 0 END
            + CASE WHEN says_when THEN 1 ELSE 0 END)::smallint;

-- The words of a memory, of its text and its subject (_searched_text), and its features, as one
-- vector. With at most 512 words, and those of its names, a trace fits a page, if need be without
-- its vector. Written so that it is inlined into the calling query: its parts are set up once for a
-- thousand memories. The planner does not take a hash for a constant: the two numbers are those of
-- features asks and when.
CREATE OR REPLACE FUNCTION _word_vector(content text, searched_text text, names text)
    RETURNS TABLE (term_count int, terms sparsevec, asks boolean, details smallint)
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
BEGIN ATOMIC
    SELECT cardinality(w.terms), _term_set(w.terms, w.features), w.asks,
           _details(w.head, w.whens)
    FROM (
        SELECT t.terms, t.asks, t.whens, t.head,
               CASE WHEN names <> '' THEN ARRAY(
                   SELECT DISTINCT _feature('name ' || word)
                   FROM unnest((tokens(names))[:16]) AS word
                   -- A longer name gives no noun of one character: 下雪 does not name 小雪.
                   WHERE length(word) > 1 OR octet_length(word) = 1
                      OR strpos(' ' || names || ' ', ' ' || word || ' ') > 0) END
               || CASE WHEN t.asks THEN '{479454090}'::int[] END
               || CASE WHEN t.whens THEN '{291416694}'::int[] END AS features
        FROM (
            SELECT coalesce(s.terms[:512], '{}') AS terms, _is_question(content) AS asks,
                   CASE WHEN octet_length(content) > 1000 THEN left(content, 1000)
                        ELSE content END AS head,
                   (s.clues <> '{}' OR octet_length(content) > length(content)
                    OR strpos(content, '/') > 0) AND _has_time_word(content, s.clues) AS whens
            FROM (SELECT array_agg(DISTINCT _term(word) ORDER BY _term(word)) AS terms,
                         coalesce(array_agg(word) FILTER (WHERE _is_of_time(word)), '{}') AS clues
                  FROM (SELECT unnest(tokens(searched_text)) AS word) AS u) AS s
            OFFSET 0
        ) AS t
        OFFSET 0
    ) AS w;
END;
