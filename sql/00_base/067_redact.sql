-- What must never be stored, taken out of a text: a look for signs, and only where there is one the
-- rules, until none of them finds anything. So that what is stored has no match of a rule, and to
-- redact it again changes nothing.
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

CREATE OR REPLACE FUNCTION redact(content text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN _redact(content);

COMMENT ON FUNCTION redact(text) IS
    'The text as it would be stored: what a rule of table redaction_rule finds has become '
    '[redacted:kind]. remember, event_add, message_add and the logs call it themselves; call it to '
    'try a rule, or for what an application stores beside. A text without a secret, and NULL, come '
    'back as they are; to redact twice is to redact once. Source: SPEC 3.9.';
