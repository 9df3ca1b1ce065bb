-- The question as recall weighs it, for the slower paths. For a user with indexes of their own the
-- statistics are used as they are, whatever time is asked about: one percent more or fewer memories
-- changes no word's rarity, and counting them takes a second for a million.
-- extra_float_digits: weights become a vector by way of their text.
CREATE OR REPLACE FUNCTION _question_of(
    user_id text, model smallint, query_text text, known_until timestamptz, name_boost float8,
    features text)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT SET extra_float_digits = 1
AS $$
DECLARE
    counts record;
BEGIN
    SELECT p.ann, p.counted, p.counted_up_to INTO counts
    FROM profile AS p WHERE p.user_id = _question_of.user_id;
    IF counts.ann > 0 AND counts.counted_up_to > 0 THEN
        RETURN _question(user_id, query_text, counts.counted, name_boost, features);
    ELSIF known_until = 'infinity' AND counts.counted_up_to > 0 THEN
        RETURN _question_counting(user_id, model, query_text, counts.counted, counts.counted_up_to,
                                  known_until, name_boost, features);
    END IF;
    RETURN _question_counting(user_id, model, query_text, 0, 0, known_until, name_boost, features);
END $$;
