-- related() as a tool: keys as text, because a model that reads an id as a number loses the digits
-- past 2^53.
CREATE OR REPLACE FUNCTION _related_tool(
    key text, max_results int DEFAULT 10, user_id text DEFAULT NULL)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    RETURN (
        SELECT jsonb_build_object('results', coalesce(jsonb_agg(
                   jsonb_build_object('key', r.related_id::text, 'kind', r.kind,
                                      'preview', r.content, 'via', r.via,
                                      'strength', trim_scale(round(r.strength::numeric, 9)))
                   ORDER BY r.place), '[]'))
        FROM related(_check_key(key, owner), owner, max_results)
            WITH ORDINALITY AS r (related_id, kind, content, strength, via, place));
END $$;

COMMENT ON FUNCTION _related_tool(text, int, text) IS
    'Lists memories connected with one memory: by a relation, by a person or thing both mention, '
    'as neighbours in a conversation, or by likeness. key: the key of a search result. '
    'max_results: how many results at most, 1 to 20. user_id: whose memory. Returns the strongest '
    'first: key, kind, the first 200 characters, strength (0 to 1) and via, the reasons. Errors: '
    'ME006 user, ME008 max_results, ME012 no memory with this key.';
