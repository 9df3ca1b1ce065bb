-- Makes four functions from the enabled rows of redaction_rule: _has_sign, the check of every text;
-- _redact_once, the rules for a text with a sign; _is_secret_key and _named_kind, for names. What
-- counts is how long expressions take to compile and to search (DECISIONS 31). Signs and rules are
-- separate ones, because in a single one their states multiply. A rule is compiled only when its
-- sign is found. Signs that are words are looked up without an expression in short texts. Classes
-- such as \s and \w are spelled out, as in _one_line. Of two rules that fit, the first one counts,
-- so their order is that of "C" in every database.

-- The expression of a rule: group 1 stays, group 2 is the secret; without groups, which is faster,
-- all of it is.
CREATE OR REPLACE FUNCTION _rule(context text, pattern text, any_case boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN any_case THEN '(?i)' ELSE '' END
        || CASE WHEN context = '' THEN pattern
                ELSE '(' || context || ')(' || pattern || ')' END;

-- A bad pattern is refused when it is written, never when a memory is.
CREATE OR REPLACE FUNCTION _check_redaction_rule() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET jit = off
AS $$
DECLARE
    part record;
    problem text;
BEGIN
    NEW.kind := coalesce(NEW.kind, NEW.name);
    IF NEW.kind !~ '^[a-z][a-z0-9_]{0,39}$' THEN
        RAISE EXCEPTION 'the kind "%" of redaction rule "%" is not a valid name', NEW.kind, NEW.name
            USING ERRCODE = 'ME008',
                  HINT = 'Up to 40 lower-case letters, digits and _, a letter first: door_code.';
    END IF;
    FOR part IN
        SELECT p.what, p.regexp
        FROM (VALUES ('context', NEW.context), ('pattern', NEW.pattern)) AS p (what, regexp)
        UNION ALL
        SELECT 'sign', coalesce(s.sign, '') FROM unnest(NEW.sign) AS s (sign)
    LOOP
        BEGIN
            problem := CASE
                WHEN length(part.regexp) > 2000 THEN 'it has more than 2000 characters'
                WHEN part.what = 'sign' AND part.regexp ~ '^\(\?i\)' AND '' !~ part.regexp THEN
                    NULL
                WHEN part.regexp ~ '^(?:\*\*\*|\(\?[a-z]+\))' THEN
                    'it begins with an option; column any_case is for that'
                WHEN '' ~ part.regexp AND part.what <> 'context' THEN 'it matches an empty text'
                WHEN cardinality(regexp_match('', '(' || part.regexp || ')|')) > 1 THEN
                    'it has a group that captures; write (?:...)'
                END;
        EXCEPTION WHEN invalid_regular_expression THEN
            problem := SQLERRM;
        END;
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION 'the % of redaction rule "%" cannot be used: %',
                    part.what, NEW.name, problem
                USING ERRCODE = 'ME008', DETAIL = left(part.regexp, 200),
                      HINT = 'Try it: SELECT regexp_replace(''text'', ''pattern'', ''*'', ''g'');';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;

-- The words of a sign that is nothing else, such as npm_|pypi-, as LIKE takes them; else NULL.
CREATE OR REPLACE FUNCTION _sign_words(sign text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN CASE WHEN sign ~ '^(?:[^][*.+?^$(){}|\\]|\\[.]|(?!^)[|](?=[^|]))+$' THEN ARRAY(
        SELECT '%' || replace(replace(replace(w.word, '\.', '.'), '%', '\%'), '_', '\_') || '%'
        FROM string_to_table(sign, '|') AS w (word)) END;
END $$;

-- The condition on a text that words are looked for one by one; in a longer one an expression for
-- all of them takes less.
CREATE OR REPLACE FUNCTION _short_condition() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'octet_length(content) < 500';

-- The condition that a text has one of the words of a sign; NULL if the sign is more than words.
CREATE OR REPLACE FUNCTION _words_condition(sign text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN _sign_words(sign) IS NOT NULL THEN format(
        '(CASE WHEN %s THEN content LIKE ANY (%L::text[]) ELSE content ~ %L END)',
        _short_condition(), _sign_words(sign), sign) END;

-- The condition, as SQL, that a text has the signs of a rule. An ASCII text is not searched for a
-- sign that it cannot have: 16 µs for the names of secrets in Chinese, Japanese and Korean.
CREATE OR REPLACE FUNCTION _signs_condition(signs text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT string_agg(
        CASE WHEN s.sign ~ '^(?:[]|?[\u0080-\U0010FFFF]|[\u0080-\U0010FFFF]-)+$'
             THEN 'octet_length(content) > length(content) AND ' ELSE '' END
        || coalesce(_words_condition(s.sign), format('content ~ %L', s.sign)),
        ' AND ' ORDER BY s.place)
    FROM unnest(signs) WITH ORDINALITY AS s (sign, place);
END;

-- The condition that a short text has one of the words of a sign, in any case if the sign says so;
-- NULL for a sign that is more than words.
CREATE OR REPLACE FUNCTION _short_text_condition(sign text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '(octet_length(content) > 250 OR '
        || CASE WHEN c.any_case THEN 'lower(content COLLATE "C")' ELSE 'content' END
        || ' LIKE ANY (' || quote_literal(_sign_words(
               CASE WHEN c.any_case THEN lower(substr(sign, 5) COLLATE "C") ELSE sign END))
        || '::text[]))'
    FROM (SELECT sign ~ '^[(][?]i[)][ -~]+$' AS any_case) AS c;
END;

-- The condition that rules with the same first sign share, and the signs that are left. If the
-- first sign is words, short texts without them are spared the second, which takes twice as long.
CREATE OR REPLACE FUNCTION _shared_condition(signs text[], OUT gate text, OUT others text[])
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT '(' || coalesce(w.look || ' AND ' || _signs_condition(signs[2:2]),
                           _signs_condition(signs[1:1])) || ')',
           signs[CASE WHEN w.look IS NULL OR cardinality(signs) = 1 THEN 2 ELSE 3 END:]
    FROM (SELECT _short_text_condition(signs[1]) AS look) AS w;
END;

-- The rules as they are searched. gate: a condition, shared by several, under which a text can have
-- a match. words or look, or neither: what it must have besides, one of some words or a condition;
-- rules with words are many, and the rows of one list. A value with a name is a secret in five
-- forms: in quotes of either kind; after "=", on a command line or in .netrc; after ":" or "is",
-- with a digit or a sign; after ":", to the end of the line. If a name occurs, a check for all
-- forms comes first: names are frequent, values rare. Names with other signs are separate
-- expressions, which a text without these never meets.
CREATE OR REPLACE FUNCTION _compiled_rules()
    RETURNS TABLE (gate text, words text, look text, rule text, kind text, proof text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $compile$
DECLARE
    close CONSTANT text := $$[\\"'`”’」』*]{0,2}[ \t]{0,4}$$;
    -- After a colon, also the end of bold letters in Markdown.
    colon CONSTANT text := '[:：](?:[*][*])?[ \t]{0,4}`?';
    -- No blank before >, as in XML: "Settings > API key > Create" is a way through menus.
    is_set CONSTANT text := '=>|:=|[=＝]|(?<![ \t])>';
    becomes CONSTANT text := '(?:' || is_set || $$|[:：](?:[ \t]*str(?:ing)?[ \t]*=)?)[ \t]{0,4}$$;
    be CONSTANT text := '(?:is|was|to|ist|lautet|es|est|é)';
    adverb CONSTANT text := '[ \t]*(?:已[经經]?|[现現]在?|就|[应應][该該]|被)?';
    is_said CONSTANT text := '(?:[ \t]+' || be || '(?:[ \t]*[:：]|[ \t])|' || adverb
        || $$(?:[设設改换換])?[是为為成叫]了?[:：]?|[はがを은는이가을를]|(?<=[^!-~]))[ \t]{0,4}["'`“‘「『]?$$;
    option CONSTANT text := '--[a-z0-9-]*|machine[ \t\r\n]+[^ \t\r\n]+[ \t\r\n]+login[ \t\r\n]+'
        '[^ \t\r\n]+[ \t\r\n]+';
    -- A value is visible ASCII, or letters and digits as wide as Chinese; , ; and & only where
    -- nothing else is assigned behind. It begins and ends without brackets. An odd value has more
    -- than letters in it. That is no lookahead, which would read to the end of the text at every
    -- name.
    head CONSTANT text := '[!#-%*+\x2d-:=-Z^_a-z|~０-９Ａ-Ｚａ-ｚ]';
    body CONSTANT text :=
        '(?:[!#-%(-+\x2d-:=-_a-~０-９Ａ-Ｚａ-ｚ]'
        '|[,;&](?![ \t\r\nA-Za-z0-9_０-９Ａ-Ｚａ-ｚ.-]*[=:]|[ \t\r\n]|$))*';
    tail CONSTANT text := '(?:' || body || '[!#-%(*+\x2d/-:=-Z\\^_a-|~０-９Ａ-Ｚａ-ｚ])?';
    value CONSTANT text := head || tail;
    odd_value CONSTANT text := '(?:' || head || body || ')?[0-9０-９@#$%^*+~=]' || tail;
BEGIN
    RETURN QUERY
    SELECT g.gate, w.words, CASE WHEN w.words IS NULL THEN _signs_condition(g.others) END,
           f.rule, r.kind, r.proof
    FROM redaction_rule AS r,
         LATERAL (SELECT _rule(r.context, r.pattern, r.any_case)) AS f (rule),
         LATERAL _shared_condition(coalesce(r.sign, ARRAY[f.rule])) AS g,
         LATERAL (SELECT CASE WHEN cardinality(g.others) = 1
                                   AND _sign_words(g.others[1]) IS NOT NULL
                              THEN g.others[1] END) AS w (words)
    WHERE r.enabled AND r.matches = 'text';
    RETURN QUERY
    SELECT n.gate, NULL, coalesce(n.look || ' AND ', '') || _signs_condition(ARRAY[
               '(?i)' || n.names || '(?:' || close || '[:=：＝>]'
               || '|[ \t]+' || be || '[ \t:：]|' || adverb
               || '[是为為成叫设設改换換はがを은는이가을를]|(?<=[^!-~])[ \t]*[!-~“‘「『０-９Ａ-Ｚａ-ｚ])'
               || '|(?:' || option || ')' || n.names || '[ \t\r\n]']),
           _rule(form.context, form.pattern, true), NULL, 'value'
    FROM (
        SELECT '(?:' || string_agg(r.pattern, '|' ORDER BY r.name COLLATE "C")
               || ')[0-9]?' AS names,
               l.gate, l.look
        FROM redaction_rule AS r,
             LATERAL (SELECT g.gate, _signs_condition(g.others)
                      FROM _shared_condition(coalesce(r.sign, ARRAY['(?i)' || r.pattern])) AS g)
                 AS l (gate, look)
        WHERE r.enabled AND r.matches = 'name'
        GROUP BY l.gate, l.look
    ) AS n,
    LATERAL (VALUES
        (n.names || close || becomes || '\\?"', '(?:[^"\\\n]|\\[^"\n])+'),
        (n.names || close || becomes || $$(?:\\?'|[“‘「『])$$,
         $$(?<=')(?:[^'\\\n]|\\[^'\n])+|(?<=[“‘「『])[^”’」』\n]+$$),
        ('(?:' || n.names || close || '(?:' || is_set || ')[ \t]{0,4}'
         || '|(?:' || option || ')' || n.names || '[ \t\r\n]+["'']?)',
         value),
        (n.names || '(?:' || close || colon || '|' || is_said || ')', odd_value),
        (n.names || close || colon, value || '(?=[ \t]*(?:[\r\n]|$))')
    ) AS form (context, pattern);
END $compile$;

CREATE OR REPLACE FUNCTION _refresh_redaction() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $compile$
BEGIN
    BEGIN
        PERFORM c.rule FROM _compiled_rules() AS c WHERE '' ~ c.rule;
    EXCEPTION WHEN invalid_regular_expression THEN
        RAISE EXCEPTION 'the redaction rules cannot be used together: %', SQLERRM
            USING ERRCODE = 'ME008', HINT = 'Make the new pattern shorter.';
    END;
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _has_sign(content text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN %s
$function$, (SELECT coalesce(string_agg(g.looks, ' OR ' ORDER BY g.looks COLLATE "C"), 'false')
             FROM (SELECT concat('(', c.gate, CASE WHEN bool_and(num_nonnulls(c.words, c.look) > 0)
                       THEN ' AND (' || concat_ws(
                           ' OR ', string_agg(DISTINCT c.look COLLATE "C", ' OR '),
                           _words_condition(string_agg(DISTINCT c.words COLLATE "C", '|')))
                       || ')' END, ')') AS looks
                   FROM _compiled_rules() AS c
                   GROUP BY c.gate) AS g));
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _redact_once(content text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS %L$function$, format($body$
DECLARE
    each record;
BEGIN%s
    RETURN content;
END $body$, (
        SELECT string_agg(format($gate$
    IF %s THEN%s
    END IF;$gate$, s.gate, s.search), '' ORDER BY s.named, s.gate COLLATE "C")
        FROM (
            SELECT l.gate, bool_or(l.named) AS named,
                   string_agg(l.search, '' ORDER BY l.search COLLATE "C") AS search
            FROM (
                SELECT c.gate, bool_or(c.kind IS NULL) AS named,
                       CASE WHEN bool_and(c.words IS NOT NULL) THEN format($list$
        IF %s OR content ~ %L THEN
            FOR each IN
                SELECT r.* FROM (VALUES%s) AS r (words, rule, kind, proof)
                WHERE content LIKE ANY (r.words)
            LOOP
                IF content ~ each.rule THEN
                    content := _redact_matches(content, each.rule, each.kind, each.proof);
                END IF;
            END LOOP;
        END IF;$list$, _short_condition(),
           string_agg(DISTINCT c.words COLLATE "C", '|'), string_agg(
                           format($row$
                    (%L::text[], %L::text, %L::text, %L::text)$row$,
                                  _sign_words(c.words), c.rule, c.kind, c.proof),
                           ',' ORDER BY c.kind COLLATE "C", c.rule COLLATE "C"))
                       ELSE format($search$
        IF %s THEN%s
        END IF;$search$, coalesce(c.look, 'true'), string_agg(format($rule$
            IF content ~ %1$L THEN
                content := _redact_matches(content, %1$L, %2$L, %3$L);
            END IF;$rule$, c.rule, c.kind, c.proof),
                           '' ORDER BY c.kind COLLATE "C", c.rule COLLATE "C")) END AS search
                FROM _compiled_rules() AS c
                GROUP BY c.gate, c.look, c.words IS NULL
            ) AS l
            GROUP BY l.gate
        ) AS s)));
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _is_secret_key(key text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN %s
$function$, (SELECT coalesce(format('key ~* %L', '(?:'
                                     || string_agg(r.pattern, '|' ORDER BY r.name COLLATE "C")
                                     || ')[0-9]?$'), 'false')
             FROM redaction_rule AS r WHERE r.enabled AND r.matches = 'name'));
    EXECUTE (SELECT format($function$
CREATE OR REPLACE FUNCTION _named_kind(words text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (SELECT n.kind FROM unnest(regexp_match(words, %L, 'i'), %L::text[]) AS n (name, kind)
            WHERE n.name IS NOT NULL)
$function$, n.names, n.kinds)
    FROM (SELECT coalesce(string_agg('(' || r.pattern || ')', '|' ORDER BY r.name COLLATE "C"),
                          '(x)') AS names,
                 coalesce(array_agg(r.kind ORDER BY r.name COLLATE "C"), '{}') AS kinds
          FROM redaction_rule AS r WHERE r.enabled AND r.matches = 'name') AS n);
END $compile$;

CREATE OR REPLACE TRIGGER check_rule BEFORE INSERT OR UPDATE ON redaction_rule
    FOR EACH ROW EXECUTE FUNCTION _check_redaction_rule();
CREATE OR REPLACE TRIGGER compile_redaction AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE
    ON redaction_rule FOR EACH STATEMENT EXECUTE FUNCTION _compile('_refresh_redaction');
UPDATE redaction_rule SET enabled = enabled WHERE false;
