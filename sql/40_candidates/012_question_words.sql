-- The words of a question and everything they expand to, in readable form: the explaining version
-- of _question. It works on the text of table synonym, which takes milliseconds; recall never calls
-- it. The hashes of table expansion tell which pairs can matter.
-- term is the place in trace.terms where a memory has the word. A form of several terms has a row
-- for each; another row with the same form means the same synonym.
CREATE OR REPLACE FUNCTION _question_words(user_id text, query_text text)
    RETURNS TABLE (word text, form text, term int, similarity float8, weight float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    asked CONSTANT text[] := tokens(query_text);
    question CONSTANT sparsevec := _question_of(
        user_id, (SELECT e.model_id FROM embedding_model AS e WHERE e.active), query_text,
        'infinity', 0, '');
BEGIN
    RETURN QUERY
    WITH written AS MATERIALIZED (
        SELECT DISTINCT unnest(e.spellings) AS form
        FROM expansion AS e WHERE e.lead = ANY (_terms(query_text))
    ), pair AS MATERIALIZED (
        SELECT s.term AS word, w.form, s.similarity
        FROM written AS w JOIN synonym AS s ON s.synonym = w.form
        UNION ALL
        SELECT s.synonym, w.form, s.similarity
        FROM written AS w JOIN synonym AS s ON s.term = w.form
    ), said AS MATERIALIZED (
        SELECT w AS word, w AS form, w AS token, 1::float8 AS similarity FROM unnest(asked) AS w
        UNION ALL
        SELECT p.word, p.form, f, max(p.similarity)
        FROM pair AS p, unnest(_spelled(p.form)) AS f
        WHERE p.similarity > 0 AND _spelled(p.word) <@ asked
          AND cardinality(_spelled(p.word)) > 0
          AND NOT _spelled(p.form) <@ _spelled(p.word)
        GROUP BY p.word, p.form, f
    ), weight AS MATERIALIZED (
        SELECT split_part(entry, ':', 1)::int AS term, split_part(entry, ':', 2)::float8 AS weight
        FROM unnest(string_to_array(
            split_part(ltrim(question::text, '{'), '}', 1), ',')) AS entry
        WHERE entry <> ''
    )
    SELECT s.word, s.form, t.term, s.similarity, coalesce(w.weight, 0)
    FROM said AS s CROSS JOIN LATERAL (SELECT _term(s.token)) AS t (term)
    LEFT JOIN weight AS w ON w.term = t.term
    ORDER BY s.similarity DESC, s.word COLLATE "C", s.form COLLATE "C", t.term;
END $$;
