-- The capitals that a database whose LC_CTYPE is C does not know, whose words are lowered in ASCII
-- alone, also if lower follows another provider (ICU, builtin): Greek, Cyrillic and Armenian. In
-- any other database the planner makes an empty text of it.
CREATE OR REPLACE FUNCTION _capitals() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ts_lexize('pg_catalog.simple', 'Ж') = '{ж}' THEN '' ELSE
        'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΤΥΦΧΨΩАБВГДЕЁЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЂЃЄЅІЇЈЉЊЋЌЎЏҐӘҒҚҢӨҰҮҺƏԱ'
        'ԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ' END;

CREATE OR REPLACE FUNCTION _capitals_lowered() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'αβγδεζηθικλμνξοπρτυφχψωабвгдеёжзийклмнопрстуфхцчшщъыьэюяђѓєѕіїјљњћќўџґәғқңөұүһəա'
        'բգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ';

-- Letters without their accents, in stored text and in questions: zurich, cafe and Lodz mean
-- Zürich, café and Łódź. Marks of Latin, Greek, Arabic and Hebrew are removed (ñ becomes n, as in
-- unaccent and Lucene), also as separate characters; of Cyrillic only those of ё and of stress,
-- because й is not и. Arabic letters that keyboards mix up become one. 30 to 40 µs for a text of 90
-- characters.
CREATE OR REPLACE FUNCTION _unaccented(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN translate(translate(replace(replace(replace(replace(replace(replace(replace(replace(
        normalize(regexp_replace(
            normalize(content, NFKD),
            '(?<![\u0400-\u052f])[\u0300-\u036f]+|(?<=[ЕеЭэ])\u0308|(?<![ГгКк])\u0301'
            '|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]',
            '', 'g'), NFKC),
        'ß', 'ss'), 'ẞ', 'Ss'), 'æ', 'ae'), 'Æ', 'Ae'), 'œ', 'oe'), 'Œ', 'Oe'), 'þ', 'th'),
        'Þ', 'Th'), 'ØøŁłĐđÐðĦħŦŧıςΣىیکة', 'OoLlDdDdHhTtiσσييكه'),
        _capitals(), _capitals_lowered());

-- Whether a text has such letters: 1 µs.
CREATE OR REPLACE FUNCTION _has_accents(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN content ~ '[\u00c0-\u06ff\u1e00-\u1fff\u212b]';

-- Words that are English stop words only without their accents: thé is not the, mẹ is not me.
CREATE OR REPLACE FUNCTION _accented_stop_words(content text) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT array_agg(DISTINCT w.word)
    FROM (SELECT string_agg(m[1], ' ') AS words
          FROM regexp_matches(content,
                              '[A-Za-z]*[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]'
                              '[A-Za-z\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]*', 'g') AS m) AS a,
         string_to_table(lower(_unaccented(a.words) COLLATE "C"), ' ') AS w (word)
    WHERE w.word <> '' AND ts_lexize('pg_catalog.english_stem', w.word) = '{}';
END;
