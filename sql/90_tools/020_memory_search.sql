-- D3's memory_search: mode implicit (likeness x importance x decay since the last access), one kind
-- or all, with or without the decay. Rows and JSON are those of search_memories.
CREATE OR REPLACE FUNCTION _memory_search_tool(
    query text, top_k int DEFAULT 5, use_decay boolean DEFAULT true, category text DEFAULT NULL,
    query_vec halfvec DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    settings mode;
    kinds smallint[];
BEGIN
    PERFORM _check_number(top_k, 'top_k', 20);
    SELECT c.kinds INTO kinds
    FROM _check_search(query, NULL, CASE WHEN category <> '' THEN ARRAY[category] END, NULL, NULL,
                       top_k, 0, query_vec) AS c;
    SELECT m.* INTO STRICT settings FROM mode AS m WHERE m.name = 'implicit';
    IF NOT coalesce(use_decay, true) THEN
        settings.recency_power := 0;
    END IF;
    IF query_vec IS NULL THEN
        settings.word_weight := settings.vector_weight + settings.word_weight;
        settings.vector_weight := 0;
    END IF;
    settings.description := CASE WHEN query_vec IS NULL THEN 'words' ELSE 'vector' END
        || ' x importance' || CASE WHEN settings.recency_power > 0 THEN ' x decay' ELSE '' END;
    RETURN _search(owner, settings, coalesce(query, ''), query_vec, '{}', kinds, NULL, NULL, top_k,
                   0);
END $$;

CREATE OR REPLACE FUNCTION memory_search(
    query text, top_k int DEFAULT 5, use_decay boolean DEFAULT true, category text DEFAULT NULL,
    query_vec halfvec DEFAULT NULL, user_id text DEFAULT NULL)
    RETURNS SETOF search_result
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    RETURN QUERY SELECT r.* FROM _search_rows(_memory_search_tool(
        query, top_k, use_decay, category, query_vec, user_id)) AS r;
END $$;

COMMENT ON FUNCTION memory_search(text, int, boolean, text, halfvec, text) IS
    'Finds the few memories nearest to a query, important and lately used ones first: a quick look '
    'without filters. query: what to look for. top_k: how many results at most, 1 to 20. '
    'use_decay: whether memories that were not used for long count less. category: only this kind '
    'of memory. query_vec: vector of the query, or NULL to search by words. user_id: whose memory. '
    'Returns rows as search_memories does. Errors: ME002 category, ME003 and ME004 vector, ME006 '
    'user, ME007 empty query, ME008 top_k. Source: D3 4.3, 11.';
