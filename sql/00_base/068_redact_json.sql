-- Takes out of a JSON document what must never be stored: from its strings, keys and numbers at any
-- depth, and everything under a key that names a secret (password, api_key, 密码). It reads the
-- document as text, one string, number or bracket after the other: once, and at any depth.
CREATE OR REPLACE FUNCTION _redact_tokens(document text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    token text;
    said text;
    redacted text;
    parts text[] := '{}';
    depth int := 0;
    -- What names the next value, and how deep its key is: a value may be a list or an object.
    kind text;
    kind_depth int;
BEGIN
    FOR token IN
        SELECT m[1]
        FROM regexp_matches(
            document, '"(?:[^"\\]|\\.)*":?|[-0-9][-+0-9.eE]*|[][{}]|[^][{}"0-9-]+', 'g') AS m
    LOOP
        IF token LIKE '"%:' THEN
            said := rtrim(token, ':')::jsonb #>> '{}';
            parts := parts || (to_jsonb(_redact(said))::text || ':');
            IF kind IS NULL AND _is_secret_key(said) THEN
                kind := _kind_of(NULL, said);
                kind_depth := depth;
            END IF;
            CONTINUE;
        END IF;
        IF token IN ('{', '[') THEN
            depth := depth + 1;
        ELSIF token IN ('}', ']') THEN
            depth := depth - 1;
        ELSIF token ~ '^["0-9-]' AND token <> '""' THEN
            said := token::jsonb #>> '{}';
            redacted := CASE WHEN kind IS NULL THEN _redact(said)
                             WHEN said ~ '^\[redacted:[a-z][a-z0-9_]{0,39}\]$'
                               OR _is_count(kind, said) THEN said
                             ELSE '[redacted:' || kind || ']' END;
            IF redacted <> said THEN
                token := to_jsonb(redacted);
            END IF;
        END IF;
        parts := parts || token;
        IF depth = kind_depth AND token !~ '^[ ,]+$' THEN
            kind := NULL;
            kind_depth := NULL;
        END IF;
    END LOOP;
    RETURN array_to_string(parts, '');
END $$;

-- Signs are looked for in the document as it is written. If it has escapes, which may hide one,
-- they are looked for in the strings themselves.
CREATE OR REPLACE FUNCTION _redact_json(value jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE PARALLEL SAFE STRICT
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    document CONSTANT text := value;
BEGIN
    IF _has_sign(document) THEN
        RETURN _redact_tokens(document);
    END IF;
    -- Separately, since a condition with a subquery takes 35 µs.
    IF strpos(document, '\') > 0 THEN
        IF document ~ '\\[^"]*":'
           OR EXISTS (SELECT FROM jsonb_path_query(value, 'strict $.**') AS s (item)
                      WHERE jsonb_typeof(s.item) = 'string' AND _has_sign(s.item #>> '{}'))
        THEN
            RETURN _redact_tokens(document);
        END IF;
    END IF;
    RETURN value;
END $$;
