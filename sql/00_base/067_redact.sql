-- Takes out of a text what must never be stored. It looks for signs, and only if there is one does
-- it apply the rules, until none of them finds anything. So stored text has no match of a rule, and
-- redacting it again changes nothing.
CREATE OR REPLACE FUNCTION _redact_signed(content text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    before text;
BEGIN
    LOOP
        before := content;
        content := _redact_once(content);
        EXIT WHEN content = before;
    END LOOP;
    RETURN content;
END $$;

CREATE OR REPLACE FUNCTION _redact(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN _has_sign(content) THEN _redact_signed(content) ELSE content END;

-- The beginning of a text for a log, at a bounded cost. A secret cut in half at 2,000 characters
-- would not be recognised: the 300 before the cut are left out, if so much was redacted.
CREATE OR REPLACE FUNCTION _redact_cut(content text, most int) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT left(c.head, least(most, greatest(length(c.head) - 300, 0)))
    FROM (SELECT _redact(left(content, 2000)) AS head OFFSET 0) AS c;
END;

CREATE OR REPLACE FUNCTION _redact_head(content text, most int) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(content) <= 2000 THEN left(_redact(content), most)
                ELSE _redact_cut(content, most) END;

CREATE OR REPLACE FUNCTION redact(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN _redact(content);

COMMENT ON FUNCTION redact(text) IS
    'The text as it would be stored: what a rule of table redaction_rule finds has become '
    '[redacted:kind]. remember, event_add, message_add and the logs call it themselves; call it '
    'to try a rule, or for text that an application stores elsewhere. A text without a secret, '
    'and NULL, come back as they are; redacting twice changes nothing more. Source: SPEC 3.9.';
