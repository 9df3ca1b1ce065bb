-- In how many memories of a user a term or feature occurs: the count of the statistics, and those
-- newer than it one by one. For the slower roads; recall counts a whole question at once.
CREATE OR REPLACE FUNCTION _document_frequency(
    user_id text, model smallint, term int, counted int, counted_up_to bigint)
    RETURNS bigint
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN coalesce((SELECT k.df FROM term AS k
                     WHERE counted > 0 AND k.user_id = _document_frequency.user_id
                       AND k.term = _document_frequency.term), 0)
        + (SELECT count(*) FROM trace AS t
           WHERE t.user_id = _document_frequency.user_id AND t.memory_id > counted_up_to
             AND t.model = _document_frequency.model AND t.active
             AND (t.terms <#> _term_set(ARRAY[_document_frequency.term], '{}')) < 0);
END $$;
