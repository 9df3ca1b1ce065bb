-- Relevance of one memory, as an expression that PostgreSQL inlines into the scan: the weighted
-- mean of the signals it has, cosine and idf coverage, or coverage alone without a vector.
CREATE OR REPLACE FUNCTION _relevance(
    embedding halfvec, query halfvec, vector_share float8, terms sparsevec, question sparsevec,
    otherwise float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(
        vector_share * (1 - (embedding <=> query))
            - (1 - vector_share) * coalesce(terms <#> question, 0),
        -(terms <#> question),
        otherwise);

-- The same from the two signals, for callers that need the signals themselves.
CREATE OR REPLACE FUNCTION _similarity(
    cosine float8, coverage float8, vector_share float8, otherwise float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce(
        vector_share * cosine + (1 - vector_share) * coalesce(coverage, 0), coverage, otherwise);

-- The factor of D0 on relevance: mode weight x 0.5 ^ (age / half-life), and 1 at once for kinds
-- that have neither (an array subscript costs 75 ns, as much as the cosine of 384 dimensions).
CREATE OR REPLACE FUNCTION _kind_factor(
    plain_kinds bigint, kind smallint, weights float8[], rates float8[], at_epoch float8,
    created_at timestamptz)
    RETURNS float8
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN (plain_kinds >> kind) & 1 = 1 THEN 1::float8
        ELSE weights[kind] * _decay(rates[kind], at_epoch - date_part('epoch', created_at))
    END;
