-- Takes out of a text what must never be stored. It looks for signs, and only if there is one does
-- it apply the rules, until none of them finds anything. So stored text has no match of a rule, and
-- redacting it again changes nothing.
CREATE OR REPLACE FUNCTION _redact_signed(content text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    written CONSTANT text := content;
    before text;
BEGIN
    LOOP
        before := content;
        content := _redact_once(content);
        EXIT WHEN content = before;
    END LOOP;
    -- Of two keys written as one word, the rest of the second. A digit is looked for from where
    -- letters begin: from each of them, that takes the square of their number.
    RETURN CASE WHEN content = written THEN content ELSE regexp_replace(
        content, '(\[redacted:(?:api_key|token)\])[A-Za-z0-9_.~/+=-]*'
                 '(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16}'
                 '(?:[A-Za-z0-9_.~/+=-]*[A-Za-z0-9_~/+=-])?',
        '\1', 'g') END;
END $$;

-- In a text in JSON, of a URL or with colours, what stands before a key may be the last letter of
-- an escape: \nsk-..., %3Dsk-.... A mark behind each escape, which goes again, tells them apart.
CREATE OR REPLACE FUNCTION _redact_escaped(content text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    mark CONSTANT text := chr(1);
    outside CONSTANT text := _redact_signed(content);
    apart CONSTANT text := regexp_replace(
        outside, '\\(?:[abefnrtv0]|033|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})(?:\[[0-9;]*m)?'
                 '|%(?:25)*[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m', '\&' || mark, 'g');
    redacted CONSTANT text := CASE WHEN apart = outside THEN apart ELSE _redact_signed(apart) END;
BEGIN
    RETURN CASE WHEN redacted = apart THEN outside ELSE replace(redacted, mark, '') END;
END $$;

CREATE OR REPLACE FUNCTION _redact(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN _has_sign(content)
                THEN CASE WHEN strpos(content, chr(92)) + strpos(content, '%')
                               + strpos(content, chr(27)) > 0
                          THEN _redact_escaped(content) ELSE _redact_signed(content) END
                ELSE content END;

-- The first 200 characters of a text for a log, at a bounded cost. A secret cut in half at 2,000
-- characters would not be recognised: the 300 before the cut are left out, if so much was redacted.
CREATE OR REPLACE FUNCTION _redact_cut(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT left(c.head, least(200, greatest(length(c.head) - 300, 0)))
    FROM (SELECT _redact(left(content, 2000)) AS head OFFSET 0) AS c;
END;

CREATE OR REPLACE FUNCTION _redact_head(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(content) <= 2000 THEN left(_redact(content), 200)
                ELSE _redact_cut(content) END;

CREATE OR REPLACE FUNCTION redact(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN _redact(content);

COMMENT ON FUNCTION redact(text) IS
    'The text as it would be stored: what a rule of table redaction_rule finds has become '
    '[redacted:kind]. remember, event_add, message_add and the logs call it themselves; call it '
    'to try a rule, or for text that an application stores elsewhere. A text without a secret, '
    'and NULL, come back as they are; redacting twice changes nothing more. Source: SPEC 3.9.';
