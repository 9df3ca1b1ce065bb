-- Features of a memory that a question may ask for besides its words: who says it or what it is
-- about, that it asks, that it says when. They stand in the sparse vector of the words, so that one
-- inner product weighs words and features: a signal more costs no time in recall.
-- A feature has value 2^-12 in a memory and its weight times 2^12 in a question (exact in float4):
-- between two memories it counts 2^-24, so features never make texts similar. Words have the places
-- up to 2^28 of the vector, features those above: a word is never taken for a feature.
CREATE OR REPLACE FUNCTION _feature_scale() RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 4096::float8;

CREATE OR REPLACE FUNCTION _feature(name text) RETURNS int
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN 268435456 + _term(name);

-- A feature and what it counts for a question, as an entry of its sparse vector; '' for nothing.
CREATE OR REPLACE FUNCTION _feature_entry(name text, weight float8) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN weight = 0 THEN ''
                ELSE ',' || _feature(name) || ':' || weight * _feature_scale() END;

CREATE OR REPLACE FUNCTION _features(content text, names text) RETURNS int[]
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ARRAY(SELECT DISTINCT _feature('name ' || word)
                 FROM unnest((tokens(names))[:16]) AS word)
        || CASE WHEN _is_question(content) THEN ARRAY[_feature('asks')] END
        || CASE WHEN _has_time_word(content) THEN ARRAY[_feature('when')] END;
END $$;

CREATE OR REPLACE FUNCTION _term_set(terms int[], features int[]) RETURNS sparsevec
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ('{' || concat_ws(',', nullif(array_to_string(terms, ':1,') || ':1', ':1'),
                             nullif(array_to_string(features, ':0.000244140625,')
                                    || ':0.000244140625', ':0.000244140625'))
            || '}/536870912')::sparsevec;
