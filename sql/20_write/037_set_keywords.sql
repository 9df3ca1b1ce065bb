-- Gives a memory the keywords that a model or the user chose, in place of those they chose before.
-- What the rule found stays, except for words that are chosen now.
CREATE OR REPLACE FUNCTION set_keywords(
    memory_id bigint, keywords text[], origin text DEFAULT 'llm', user_id text DEFAULT NULL,
    weights float8[] DEFAULT NULL)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    most CONSTANT int := CASE origin WHEN 'llm' THEN 5 WHEN 'user_tag' THEN 50 END;
    chosen text[];
    chosen_weights float8[];
BEGIN
    IF most IS NULL THEN
        RAISE EXCEPTION 'origin must be llm or user_tag, not "%"', origin
            USING ERRCODE = 'ME008', HINT = 'Keywords of origin system are found by remember().';
    END IF;
    IF keywords IS NULL THEN
        RAISE EXCEPTION 'keywords are missing'
            USING ERRCODE = 'ME008', HINT = 'Pass an array of words; ''{}'' removes all.';
    END IF;
    PERFORM _check_keywords(keywords, most);
    IF cardinality(weights) <> cardinality(keywords) THEN
        RAISE EXCEPTION '% weights for % keywords', cardinality(weights), cardinality(keywords)
            USING ERRCODE = 'ME008', HINT = 'Pass a weight from 0 to 1 for each keyword, or none.';
    END IF;
    PERFORM _check_share(w, 'the weight of a keyword') FROM unnest(weights) AS w;
    PERFORM _lock_user(owner);
    PERFORM _keep_memory(owner, memory_id);
    SELECT coalesce(array_agg(c.keyword), '{}'), array_agg(c.weight) INTO chosen, chosen_weights
    FROM (SELECT _folded_keyword(u.keyword) AS keyword, max(u.weight) AS weight
          FROM unnest(keywords, weights) AS u (keyword, weight) GROUP BY 1) AS c;
    DELETE FROM keyword AS k
    WHERE k.user_id = owner AND k.memory_id = memory_id AND k.origin = origin;
    PERFORM _write_keywords(
        owner, array_fill(memory_id, ARRAY[cardinality(chosen)]), chosen, chosen_weights, origin);
    RETURN cardinality(chosen);
END $$;

COMMENT ON FUNCTION set_keywords(bigint, text[], text, text, float8[]) IS
    'Sets the keywords of a memory from one origin in place of the earlier ones, and returns how '
    'many: llm (at most 5) or user_tag (at most 50), each of 1 to 100 characters. weights: 0 to 1, '
    'one for each keyword, or NULL: 1. A tag of the user is not replaced by the model. It makes no '
    'revision: undo() leaves keywords as they are. Errors: ME006 user, ME008 keywords, weights or '
    'origin, ME012 memory. Source: D2 3.2.4.';
