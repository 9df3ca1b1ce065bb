-- Keywords of Chinese, Japanese and Korean text: there are no spaces between words and no
-- dictionary here, so what table synonym knows is a word, and what stands between two function
-- characters may be one.
CREATE OR REPLACE FUNCTION _keywords_cjk(content text)
    RETURNS TABLE (keyword text, weight float8)
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH run AS MATERIALIZED (
        SELECT m[1] AS run
        FROM regexp_matches(
            regexp_replace(content, '[的了吗呢吧啊么们我你您他她它这那是在和与就也都很把被从到对给]',
                           ' ', 'g'),
            '[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]{2,}', 'g') AS m
        LIMIT 12
    ), part AS MATERIALIZED (
        SELECT r.run, array_agg(substr(r.run, place, size)) AS words
        FROM run AS r, generate_series(1, least(length(r.run) - 1, 24)) AS place,
             generate_series(2, least(4, length(r.run) - place + 1)) AS size
        GROUP BY r.run
    ), known AS MATERIALIZED (
        SELECT p.run, s.term AS word FROM part AS p JOIN synonym AS s ON s.term = ANY (p.words)
        UNION
        SELECT p.run, s.synonym
        FROM part AS p JOIN synonym AS s ON s.synonym = ANY (p.words)
    )
    SELECT k.word, 0.6::float8 + 0.05::float8 * length(k.word) FROM known AS k
    UNION ALL
    SELECT left(r.run, 8), 0.5::float8
    FROM run AS r WHERE NOT EXISTS (SELECT FROM known AS k WHERE k.run = r.run);
END $$;
