-- Keywords of Chinese, Japanese and Korean text. It has no spaces between words, and there is no
-- dictionary here. So a word is what table synonym knows, and text between two function characters
-- may be one. A word found in several synonyms or runs comes that often. The table's words in
-- simplified characters also match text in other characters; the keyword is stored as the text has
-- it.
CREATE OR REPLACE FUNCTION _keywords_cjk(content text)
    RETURNS TABLE (keyword text, weight float8)
    LANGUAGE plpgsql STABLE STRICT ROWS 12
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
DECLARE
    runs CONSTANT text[] := ARRAY(
        SELECT m[1]
        FROM regexp_matches(
            translate(content, '的了吗嗎呢吧啊么麼们們我你妳您他她它这這那是在和与與就也都很把被从從到对對给給',
                      repeat(' ', 39)),
            '[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]{2,}', 'g') AS m
        LIMIT 12);
    folded CONSTANT text[] := string_to_array(_simplified(array_to_string(runs, ' ')), ' ');
    parts CONSTANT text[] := ARRAY(
        SELECT substr(r.run, place, size)
        FROM unnest(CASE WHEN folded = runs THEN runs ELSE runs || folded END) AS r (run),
             generate_series(1, least(length(r.run) - 1, 24)) AS place,
             generate_series(2, least(4, length(r.run) - place + 1)) AS size);
BEGIN
    RETURN QUERY
    WITH known AS MATERIALIZED (
        SELECT s.term AS word FROM synonym AS s WHERE s.term = ANY (parts)
        UNION ALL
        SELECT s.synonym FROM synonym AS s WHERE s.synonym = ANY (parts)
    )
    SELECT coalesce(CASE WHEN r.run = r.folded THEN k.word
                         ELSE substr(r.run, greatest(strpos(r.folded, k.word),
                                                     strpos(r.run, k.word)), length(k.word)) END,
                    left(r.run, 8)),
           coalesce(0.6::float8 + 0.05::float8 * length(k.word), 0.5::float8)
    FROM unnest(runs, folded) AS r (run, folded)
    LEFT JOIN known AS k ON strpos(r.folded, k.word) BETWEEN 1 AND 24
                         OR r.run <> r.folded AND strpos(r.run, k.word) BETWEEN 1 AND 24;
END $$;
