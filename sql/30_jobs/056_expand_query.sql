-- What else a query of a user may mean, as a model answered when it was first asked (D2 8.1).
-- Nobody waits for the model: until it has answered, or if there is none, table synonym is used.
CREATE OR REPLACE FUNCTION _query_hash(query text) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(convert_to(_lower(btrim(query, E' \t\r\n')), 'UTF8'));

-- Words as they are compared: folded, each once, and no sentences.
CREATE OR REPLACE FUNCTION _few_words(words jsonb, but jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT coalesce(jsonb_agg(w.word ORDER BY w.place), '[]')
            FROM (SELECT f.word, min(f.place) AS place
                  FROM (SELECT _lower(btrim(e.word, E' \t\r\n')) AS word, e.place
                        FROM jsonb_array_elements_text(words) WITH ORDINALITY AS e (word, place))
                       AS f
                  WHERE length(f.word) BETWEEN 1 AND 100 AND NOT but ? f.word
                  GROUP BY f.word
                  ORDER BY 2 LIMIT 20) AS w);

CREATE OR REPLACE FUNCTION _apply_expand(finished job, answer jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    query CONSTANT text := _redact(finished.payload ->> 'query');
    said CONSTANT jsonb := _redact_json(answer);
    original CONSTANT jsonb := _few_words(said -> 'core_keywords', '[]');
    synonyms CONSTANT jsonb := _few_words(
        jsonb_path_query_array(said, '$.synonyms[*][*]'), original);
BEGIN
    INSERT INTO query_expansion AS q (user_id, query_hash, query, expansion)
    VALUES (finished.user_id, _query_hash(query), query, jsonb_build_object(
                'original', original, 'synonyms', synonyms,
                'related', _few_words(said -> 'related_concepts', original || synonyms)))
    ON CONFLICT (user_id, query_hash) DO UPDATE
    SET expansion = excluded.expansion, created_at = now();
END $$;

CREATE OR REPLACE FUNCTION expand_query(query text, user_id text DEFAULT NULL) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    asked CONSTANT text := left(_redact(btrim(query, E' \t\r\n')), 1000);
    known jsonb;
BEGIN
    IF coalesce(asked, '') = '' THEN
        RAISE EXCEPTION 'the query is empty'
            USING ERRCODE = 'ME007', HINT = 'SELECT memoir.expand_query(''auth error'');';
    END IF;
    UPDATE query_expansion AS q SET uses = q.uses + 1
    WHERE q.user_id = owner AND q.query_hash = _query_hash(asked)
    RETURNING q.expansion INTO known;
    IF known IS NULL THEN
        PERFORM enqueue('expand', jsonb_build_object('query', asked), owner,
                        encode(_query_hash(asked), 'hex'));
        known := expand_keywords(ARRAY(SELECT t FROM unnest(tokens(asked)) AS t LIMIT 200));
    END IF;
    RETURN known;
END $$;

COMMENT ON FUNCTION expand_query(text, text) IS
    'What a query also means, as {original, synonyms, related}: from the model''s answer where it '
    'was asked before, else from table synonym (as expand_keywords() does), and a job of kind '
    'expand is enqueued, for the next time. Pass the words on as keywords of search_memories(). '
    'query: the first 1,000 characters count. Errors: ME006 user, ME007 query. Source: D2 8.1.';
