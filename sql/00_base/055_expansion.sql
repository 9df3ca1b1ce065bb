-- Keeps table expansion: the pairs of table synonym in both directions, as terms. One index lookup
-- per word of a question then shows that it has no synonym. Spelling, stemming and hashing were
-- done when the pair was written.
CREATE OR REPLACE FUNCTION _refresh_expansions() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    DELETE FROM expansion;
    WITH pair AS (
        SELECT term AS word, synonym AS form, similarity, 1 AS way FROM synonym
        UNION ALL
        SELECT synonym, term, similarity, 2 FROM synonym
    ), spelling AS MATERIALIZED (
        -- What _spelled_terms() has. Called for each word, that plans its statement each time: half
        -- as long again, and with PostgreSQL 16 four times.
        SELECT w.word, ARRAY(SELECT DISTINCT _term(t.token) AS term
                             FROM unnest(w.words) AS t (token)
                             WHERE _spells(t.token, w.words) ORDER BY term) AS terms
        FROM (SELECT p.word, tokens(p.word) AS words
              FROM (SELECT DISTINCT word FROM pair) AS p OFFSET 0) AS w
    )
    INSERT INTO expansion (lead, form, need, added, similarity, share, size, needs, spellings)
    SELECT f.needs[1], f.form, need, added, f.similarity, f.similarity / f.terms,
           cardinality(f.adds),
           CASE WHEN cardinality(f.needs) > 1 THEN f.needs END, f.spellings
    FROM (
        -- fail and failed are one word here; if both ways are written each has its own row.
        SELECT row_number() OVER (ORDER BY w.terms, f.terms)::int AS form,
               (array_agg(p.similarity ORDER BY p.way, p.similarity DESC))[1] AS similarity,
               w.terms AS needs, cardinality(f.terms) AS terms,
               ARRAY(SELECT unnest(f.terms) EXCEPT SELECT unnest(w.terms)) AS adds,
               array_agg(DISTINCT _lower(p.form)) AS spellings
        FROM pair AS p JOIN spelling AS w USING (word) JOIN spelling AS f ON f.word = p.form
        WHERE p.similarity > 0 AND cardinality(w.terms) > 0 AND NOT f.terms <@ w.terms
        GROUP BY w.terms, f.terms
    ) AS f, unnest(f.needs) AS need, unnest(f.adds) AS added;
    -- A recall compares it with profile.expansions; the same rows made again have the same number.
    UPDATE mode SET expansions = e.number
    FROM (SELECT _term(coalesce(string_agg(format('%s %s', x.lead, x.added), ';'
                                           ORDER BY x.lead, x.added), '')) AS number
          FROM (SELECT DISTINCT lead, added FROM expansion) AS x) AS e
    WHERE mode.expansions <> e.number;
END $$;

CREATE OR REPLACE TRIGGER compile_expansions AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON synonym
    FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_expansions');
UPDATE synonym SET similarity = similarity WHERE false;
