-- Which words of a question to leave out before it is embedded: names, and words that stand in many
-- memories of the user, pull its vector towards all of them (2.2 points of evidence on LoCoMo).
-- They still count as words.
CREATE OR REPLACE FUNCTION query_terms(
    query_text text, user_id text DEFAULT NULL, mode text DEFAULT 'conversation')
    RETURNS TABLE (word text, share float8, name boolean, leave_out boolean)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    settings mode;
    counted int;
    counted_up_to bigint;
    memories bigint;
BEGIN
    SELECT m.* INTO settings FROM mode AS m WHERE m.name = query_terms.mode;
    IF NOT FOUND THEN
        PERFORM _check_recall(mode, 1, NULL, NULL, now());
    END IF;
    SELECT coalesce(max(p.counted), 0), coalesce(max(p.counted_up_to), 0)
    INTO counted, counted_up_to
    FROM profile AS p WHERE p.user_id = owner;
    SELECT greatest(count(*) + counted, 1) INTO memories
    FROM trace AS t
    WHERE t.user_id = owner AND t.memory_id > counted_up_to AND t.model = settings.model_id
      AND t.active;

    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT w.place, w.word, token
        FROM regexp_split_to_table(btrim(left(query_text, 20000), E' \t\r\n'), '\s+')
             WITH ORDINALITY AS w (word, place)
        LEFT JOIN LATERAL unnest(tokens(w.word)) AS token ON true
    ), known AS MATERIALIZED (
        SELECT d.token,
               _document_frequency(owner, settings.model_id, _term(d.token), counted,
                                   counted_up_to) AS df,
               _document_frequency(owner, settings.model_id, _feature('name ' || d.token), counted,
                                   counted_up_to) > 0 AS named
        FROM (SELECT a.token FROM asked AS a WHERE a.token IS NOT NULL
              GROUP BY 1 ORDER BY min(a.place), 1 LIMIT 200) AS d
    )
    SELECT a.word, coalesce(max(k.df), 0)::float8 / memories, coalesce(bool_or(k.named), false),
           coalesce(settings.common_share IS NOT NULL
                    AND bool_and(k.named OR k.df > greatest(settings.common_share * memories, 2)),
                    false)
    FROM asked AS a
    LEFT JOIN known AS k ON k.token = a.token
    WHERE a.word <> ''
    GROUP BY a.place, a.word
    ORDER BY a.place;
END $$;

COMMENT ON FUNCTION query_terms(text, text, text) IS
    'The words of a question in their order, with the share of the user''s memories that contain '
    'them, whether they are a name he knows (of a speaker or subject), and whether to leave them '
    'out of the text that is embedded: names, and words in more than mode.common_share of the '
    'memories and in more than two. A mode without common_share leaves out nothing. '
    'embedding_text() gives the rest. Errors: ME001 mode, ME006 user.';
