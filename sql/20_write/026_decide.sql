-- The rule that decides about a near-duplicate without a model: it never drops a word that is not
-- in the memory kept. The one that contains the other is kept; if only one of them negates, they
-- contradict each other and both stay.

-- The words of a text in their order, each between spaces, with every Chinese character as one.
-- Signs with a meaning are words or parts of them: A+ is not A-, C not C++, -5 not 5, < not >. A
-- hyphen has one before a number and at the end of a word, a # after one (C#), and what joins
-- numbers makes them one: 10 is not 10:30, nor 1.1 part of 1.1.5.
CREATE OR REPLACE FUNCTION _word_sequence(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ' ' || btrim(regexp_replace(regexp_replace(regexp_replace(
        translate(_lower(normalize(content, NFKC)), '−–''’', '--'),
        '([\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff%$<>=\u00a2-\u00a5\u20a0-\u20cf])',
        ' \1 ', 'g'),
        '(?<=[[:alpha:]])-(?=[[:alnum:]])|(?<=[[:alnum:]])-(?=[[:alpha:]])|'
        '(?<![[:alnum:]])(-(?![0-9])|#)|(?<![0-9])[.,:/]|[.,:/](?![0-9])', ' ', 'g'),
        '[^[:alnum:]%$<>=+#.,:/\u00a2-\u00a5\u00aa-\u1fff\u20a0-\u20cf\u2100-\u2bff'
        '\u3041-\U0010ffff-]+', ' ', 'g')) || ' ';

CREATE OR REPLACE FUNCTION _negates(word_sequence text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN word_sequence ~ (
        ' (not?|never|none|neither|nor|without|cannot|(do|does|did|is|are|was|were|wo|would|ca|'
        'could|should|has|have|had|must|ai)nt|anymore|stop(s|ped)?|quits?|avoids?|except|unless|'
        'former(ly)?|dislikes?|hates?|不|没|沒|無|无|别|別|勿|非|未|停|禁|讨 厌|討 厭|'
        'な (い|く|か っ)|ま せ ん|ず に|嫌 い|않|안|없|못|아 니|싫) ');

-- What to do with a new text given a stored one: NOOP, UPDATE of the stored one, or ADD with a
-- relation.
CREATE OR REPLACE FUNCTION _decide(stored text, given text, OUT action text, OUT relation text)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    old CONSTANT text := _word_sequence(stored);
    new CONSTANT text := _word_sequence(given);
BEGIN
    IF _negates(old) <> _negates(new) THEN
        action := 'ADD';
        relation := 'contradicts';
    ELSIF strpos(old, new) > 0 THEN
        action := 'NOOP';
    ELSIF strpos(new, old) > 0 THEN
        action := 'UPDATE';
    ELSE
        action := 'ADD';
        relation := 'related';
    END IF;
END $$;
