-- Which words of a question to leave out before it is embedded. Names, and words that occur in many
-- memories of the user, pull its vector towards all of those (DESIGN 5). They still count as words.
CREATE OR REPLACE FUNCTION query_terms(
    query_text text, user_id text DEFAULT NULL, mode text DEFAULT 'conversation')
    RETURNS TABLE (word text, share float8, name boolean, leave_out boolean)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
    SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    settings mode;
    words CONSTANT text[] := regexp_split_to_array(
        btrim(left(query_text, 20000), E' \t\r\n'), '\s+');
    counts record;
BEGIN
    SELECT m.* INTO settings FROM mode AS m WHERE m.name = query_terms.mode;
    IF NOT FOUND THEN
        PERFORM _check_recall(mode, 1, NULL, NULL, now());
    END IF;
    -- Words of the question as written, and how often a token of them occurs in the memories.
    SELECT d.memories, d.df, u.tokens INTO counts
    FROM (SELECT ARRAY(
              SELECT t.token
              FROM unnest(words) WITH ORDINALITY AS w (word, place),
                   unnest(tokens(w.word)) AS t (token)
              GROUP BY 1 ORDER BY min(w.place), t.token COLLATE "C" LIMIT 200) AS tokens) AS u,
         LATERAL (SELECT ARRAY(
                      SELECT DISTINCT v.e
                      FROM unnest(u.tokens) AS t,
                           LATERAL (VALUES (_term(t)), (_feature('name ' || t))) AS v (e))
                      AS terms) AS e,
         LATERAL (SELECT f.memories, jsonb_object_agg(n.term, n.df) AS df
                  FROM _document_frequencies(owner, settings.model_id, e.terms) AS f,
                       unnest(e.terms, f.df) AS n (term, df)
                  GROUP BY f.memories) AS d;

    RETURN QUERY
    -- Without the word, which without spaces is as long as the text and has as many tokens.
    WITH asked AS MATERIALIZED (
        SELECT w.place, token
        FROM unnest(words) WITH ORDINALITY AS w (word, place)
        LEFT JOIN LATERAL unnest(tokens(w.word)) AS token ON true
        WHERE w.word <> ''
    ), known AS MATERIALIZED (
        SELECT t AS token, (counts.df ->> _term(t)::text)::int AS df,
               (counts.df ->> _feature('name ' || t)::text)::int > 0 AS named
        FROM unnest(counts.tokens) AS t
    )
    SELECT words[a.place], coalesce(max(k.df), 0)::float8 / greatest(counts.memories, 1),
           coalesce(bool_or(k.named), false),
           coalesce(settings.common_share IS NOT NULL
                    AND bool_and(k.named OR k.df > greatest(
                            settings.common_share * greatest(counts.memories, 1), 2)),
                    false)
    FROM asked AS a
    LEFT JOIN known AS k ON k.token = a.token
    GROUP BY a.place
    ORDER BY a.place;
END $$;

COMMENT ON FUNCTION query_terms(text, text, text) IS
    'The words of a question in their order, with the share of the user''s memories that contain '
    'them, whether they are a name the user knows (of a speaker or subject), and whether to leave '
    'them out of the text that is embedded: names, and words in more than mode.common_share of '
    'the memories and in more than two. A mode without common_share leaves out nothing. '
    'embedding_text() gives the rest. Errors: ME001 mode, ME006 user.';
