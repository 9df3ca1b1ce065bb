-- What a keyword search looks for in addition to the words it is given (D2 3.2.4): the synonyms of
-- each word, and related words, which are synonyms of synonyms.
CREATE OR REPLACE FUNCTION _expand_keywords(words text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    original CONSTANT text[] := ARRAY(
        SELECT w FROM (SELECT _lower(btrim(u, E' \t\r\n')) AS w, min(place) AS place
                       FROM unnest(words) WITH ORDINALITY AS u (u, place) GROUP BY 1) AS o
        WHERE w <> '' ORDER BY place);
    synonyms text[];
    related text[];
BEGIN
    SELECT array_agg(s.synonym ORDER BY s.similarity DESC, s.synonym COLLATE "C") INTO synonyms
    FROM (SELECT s.synonym, max(s.similarity) AS similarity
          FROM unnest(original) AS w, _synonyms(w) AS s
          WHERE s.synonym <> ALL (original) GROUP BY s.synonym) AS s;
    SELECT array_agg(r.synonym ORDER BY r.similarity DESC, r.synonym COLLATE "C") INTO related
    FROM (SELECT f.synonym, max(s.similarity * f.similarity) AS similarity
          FROM unnest(original) AS w, _synonyms(w) AS s, _synonyms(s.synonym) AS f
          WHERE s.similarity * f.similarity >= 0.5 - 1e-9
            AND f.synonym <> ALL (original) AND f.synonym <> ALL (synonyms)
          GROUP BY f.synonym) AS r;
    RETURN jsonb_build_object('original', to_jsonb(original),
                              'synonyms', to_jsonb(coalesce(synonyms, '{}')),
                              'related', to_jsonb(coalesce(related, '{}')));
END $$;

CREATE OR REPLACE FUNCTION expand_keywords(words text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    IF cardinality(words) > 200 THEN
        RAISE EXCEPTION '% words, at most 200 are expanded', cardinality(words)
            USING ERRCODE = 'ME008', HINT = 'Pass the words that matter.';
    END IF;
    RETURN _expand_keywords(words);
END $$;

COMMENT ON FUNCTION expand_keywords(text[]) IS
    'Keywords with what they expand to, as {original, synonyms, related}: synonyms from table '
    'synonym, best first; related: synonyms of those with a product of similarities of at least '
    '0.5. At most 200 words. Errors: ME008. Source: D2 3.2.4.';
