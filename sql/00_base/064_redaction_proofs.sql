-- What a regular expression cannot check of a secret: check digits, numbers that are never issued,
-- words in the place of a password. They run only on what a rule has found.

-- Luhn's sum over all digits: from the right every second one counts double, less 9 above 9.
CREATE OR REPLACE FUNCTION _luhn(digits text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT sum(CASE WHEN place % 2 = 0 THEN translate(d, '0123456789', '0246813579')
                    ELSE d END::int) % 10 = 0
    FROM string_to_table(reverse(digits), NULL) WITH ORDINALITY AS t (d, place);
END;

-- A security code may follow a number in groups of 16 digits, which then looks like one of 19.
CREATE OR REPLACE FUNCTION _is_card(secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT ltrim(d.digits, left(d.digits, 1)) <> ''
       AND (_luhn(d.digits)
            OR length(d.digits) > 16 AND d.digits <> secret AND _luhn(left(d.digits, 16)))
    FROM translate(secret, '０１２３４５６７８９ -　－', '0123456789') AS d (digits);
END;

-- GB 11643: the weights are the powers of 2 modulo 11, the check digit makes the sum 1 modulo 11.
CREATE OR REPLACE FUNCTION _is_chinese_id(secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT pg_input_is_valid(substr(i.id, 7, 8), 'date')
       AND (SELECT sum(CASE WHEN d = 'X' THEN 10 ELSE d::int END * (1 << (18 - place::int)))
            FROM string_to_table(i.id, NULL) WITH ORDINALITY AS t (d, place)) % 11 = 1
    FROM translate(secret, '０１２３４５６７８９Ｘｘx ', '0123456789XXX') AS i (id);
END;

-- Never issued: areas 000, 666 and 900 to 999, group 00, serial number 0000.
CREATE OR REPLACE FUNCTION _is_us_ssn(secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN secret !~ '^(?:000|666|9)|^...-00|0000$';

-- Values assigned to "password" that are not one: a word of a sentence or a schema, a placeholder,
-- a variable or call of a program, a path ($PWD). Two expressions, not six: see _refresh_redaction.
CREATE OR REPLACE FUNCTION _is_secret_value(secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN length(secret) >= 4
        AND secret !~* '^(?:none|null|nil|true|false|undefined|empty|blank|unset|missing|invalid|'
            'valid|required|optional|mandatory|string|text|type|number|integer|boolean|object|'
            'array|varchar|bytea|binary|hidden|secret|masked|redacted|removed|changed|change|reset|'
            'expired|expires|wrong|correct|incorrect|strong|weak|unknown|default|example|'
            'placeholder|here|there|this|that|these|those|what|when|where|which|with|from|your|'
            'yours|must|should|shall|will|would|cannot|field|value|input|above|below|sent|stored|'
            'saved|hashed|encrypted|plain|plaintext|same|only|also|then|please|flag|option|await|'
            '(?:[a-z0-9]+[_-])*(?:password|passwd|pwd|passphrase|passcode|token|secret|key|apikey))'
            '[].,:;!?)}]*$'
        AND secret !~ (
            '^(?:[xX*.#_-]+|<[^>]*>?|\$[A-Z_][A-Z0-9_]*|\$[{(].*|%[A-Za-z_]+%|\{\{.*'
            '|[A-Za-z_]+(?:[.][A-Za-z_]+)+)$'
            '|^(?:await )?[A-Za-z_][A-Za-z0-9_]*(?:[.][A-Za-z_][A-Za-z0-9_]*)*[(\[]'
            '|^(?:os|process|self|this|settings|config|env)[.][A-Za-z_]'
            '|^(?:~|[.]{1,2})?/(?:$|home|Users|usr|etc|var|tmp|opt|run|root|mnt|srv|app|data|work|'
            'secrets)|^(?:~|[.]{1,2})/');

-- After Bearer or Basic: a long word with a digit, or user:password in base64, unlike "basic
-- PostgreSQL" and "basic OAuth2.0".
CREATE OR REPLACE FUNCTION _is_header(secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN secret ~ '[0-9]' AND length(secret) >= 16 THEN true
                WHEN secret ~ '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
                THEN position(':'::bytea IN decode(secret, 'base64')) > 0
                ELSE false END;

CREATE OR REPLACE FUNCTION _is_proven(proof text, secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE proof
        WHEN 'card' THEN _is_card(secret)
        WHEN 'chinese_id' THEN _is_chinese_id(secret)
        WHEN 'us_ssn' THEN _is_us_ssn(secret)
        WHEN 'value' THEN _is_secret_value(secret)
        WHEN 'header' THEN _is_header(secret)
        ELSE true END;
