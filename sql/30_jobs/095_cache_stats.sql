-- How much the caches of the database save. No counter is kept: as long as an embed job is kept, it
-- tells how many vectors it copied (known) and how many texts stood for its memories.
CREATE OR REPLACE FUNCTION cache_stats(user_id text DEFAULT NULL)
    RETURNS TABLE (cache text, entries bigint, hits bigint, misses bigint, hit_rate float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    RETURN QUERY
    SELECT c.cache, c.entries, c.hits, c.misses, c.hits / nullif(c.hits + c.misses, 0)::float8
    FROM (
        SELECT 'embeddings' AS cache,
               (SELECT count(*) FROM trace AS t
                JOIN embedding_model AS e ON e.model_id = t.model AND e.active
                WHERE t.user_id = owner AND t.embedding IS NOT NULL) AS entries,
               coalesce(sum(w.known + w.memories - w.texts), 0)::bigint AS hits,
               coalesce(sum(w.texts), 0)::bigint AS misses
        FROM (
            SELECT coalesce((j.payload ->> 'known')::int, 0) AS known,
                   jsonb_array_length(j.payload -> 'hashes') AS memories,
                   (SELECT count(DISTINCT h.hash)
                    FROM jsonb_array_elements(j.payload -> 'hashes') AS h (hash)) AS texts
            FROM job AS j
            WHERE j.user_id = owner AND j.kind = 'embed' AND j.status = 'done'
        ) AS w
        UNION ALL
        SELECT 'expansions', count(*), coalesce(sum(q.uses), 0)::bigint, count(*)
        FROM query_expansion AS q
        WHERE q.user_id = owner
    ) AS c;
END $$;

COMMENT ON FUNCTION cache_stats(text) IS
    'The caches of a user, a row each: embeddings (hits: memories that got the vector of an equal '
    'text; misses: texts that were embedded; both of the last setting job_days days) and '
    'expansions (expand_query(): hits; misses: queries a model was asked about; both of the last '
    'setting delete_days days). entries: how many are there; hit_rate: 0 to 1, NULL before the '
    'first. Vectors of questions are cached by the client, which counts them. Errors: ME006 user. '
    'Source: D2 6, D3 14.2.';
