-- Stand-in until branch words is merged: exact keywords only.
-- Replaced by the file of that branch.
CREATE OR REPLACE FUNCTION _keyword_match(user_id text, words text[])
    RETURNS TABLE (memory_id bigint, score float8, matched text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT k.memory_id, max(k.weight), array_agg(k.keyword)
    FROM keyword AS k
    WHERE k.user_id = _keyword_match.user_id AND k.keyword = ANY (words)
    GROUP BY k.memory_id;
END $$;
