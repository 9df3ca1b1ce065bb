-- The text of a question to embed, without the words query_terms() leaves out.
-- A question of nothing else stays as it is, and so does one of which only stop words would be
-- left: "When does the" is close to nothing.
CREATE OR REPLACE FUNCTION embedding_text(
    query_text text, user_id text DEFAULT NULL, mode text DEFAULT 'conversation')
    RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    RETURN coalesce(
        (SELECT string_agg(q.word, ' ' ORDER BY q.place) FILTER (WHERE NOT q.leave_out)
         FROM query_terms(query_text, user_id, mode) WITH ORDINALITY
              AS q (word, share, name, leave_out, place)
         HAVING bool_or(q.leave_out)
            AND tokens(string_agg(q.word, ' ') FILTER (WHERE NOT q.leave_out)) <> '{}'),
        query_text);
END $$;

COMMENT ON FUNCTION embedding_text(text, text, text) IS
    'The question without the words that query_terms() leaves out: embed this for the query_vec '
    'of a recall in a mode with common_share. The question itself if only stop words would be '
    'left, or there is nothing to leave out. Errors: ME001 mode, ME006 user.';
