-- Relations that a decision makes, pair by pair; existing ones stay as they are. A pair that lacks
-- a side, or has the same on both, is left out: not every memory of a slot has a neighbour.
-- change_ids go with the pairs: relation.change_id.
CREATE OR REPLACE FUNCTION _link(
    user_id text, from_ids bigint[], to_ids bigint[], type text, strength float8,
    change_ids bigint[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_variable
BEGIN
    INSERT INTO relation (user_id, from_id, to_id, type, strength, change_id)
    SELECT DISTINCT user_id, d.from_id, d.to_id, type, strength, d.change_id
    FROM unnest(from_ids, to_ids, change_ids) AS d (from_id, to_id, change_id)
    WHERE d.from_id <> d.to_id
    ORDER BY d.from_id, d.to_id, d.change_id NULLS FIRST
    ON CONFLICT DO NOTHING;
END $$;
