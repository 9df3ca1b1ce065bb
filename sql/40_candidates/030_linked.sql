-- Stand-in until branch graph is merged: relations only.
-- Replaced by the file of that branch.
CREATE OR REPLACE FUNCTION _linked(user_id text, seeds bigint[], strengths float8[])
    RETURNS TABLE (memory_id bigint, strength float8, from_id bigint, via text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.to_id, r.strength, r.from_id, r.type
    FROM relation AS r WHERE r.user_id = _linked.user_id AND r.from_id = ANY (seeds);
END $$;
