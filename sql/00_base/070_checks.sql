-- Checks of arguments that several public functions share, each with an error a caller can act on.
-- They run before any row is written, so bad input changes nothing. A check returns its argument,
-- and is an expression that becomes part of its statement; only a refusal takes a call (volatile,
-- so that no planner makes it in advance).
CREATE OR REPLACE FUNCTION _check_kind(kind text) RETURNS kind
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_kind kind;
BEGIN
    SELECT k.* INTO found_kind FROM kind AS k WHERE k.name = _lower(_check_kind.kind);
    IF NOT FOUND THEN
        SELECT k.* INTO found_kind
        FROM kind AS k, _lower(btrim(_check_kind.kind, E' \t\r\n')) AS w (word)
        WHERE w.word = k.name OR w.word = ANY (k.aliases);
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown kind "%"', kind
            USING ERRCODE = 'ME002',
                  DETAIL = 'Kinds: ' || coalesce(
                      (SELECT string_agg(k.name, ', ' ORDER BY k.kind_id) FROM kind AS k), 'none'),
                  HINT = 'SELECT name, description FROM memoir.kind lists them; '
                         'insert a row to add one.';
    END IF;
    RETURN found_kind;
END $$;

-- Whether a text has a visible character: not only blanks (in C.UTF-8 those that break no line are
-- no space), zero-width ones, signs of direction and tags.
CREATE OR REPLACE FUNCTION _is_visible(content text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN content ~ '[^[:space:][:cntrl:]\u00a0\u00ad\u034f\u061c\u115f\u1160\u180e\u2007'
        '\u200b-\u200f\u2028-\u202f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0'
        '\U000e0000-\U000e0fff]';

CREATE OR REPLACE FUNCTION _refuse_text(content text, what text) RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF _is_visible(content) THEN
        RAISE EXCEPTION '% has % bytes, the limit is %', what, octet_length(content),
                _text_limit()
            USING ERRCODE = 'ME007',
                  HINT = 'Store a summary and keep the document elsewhere, '
                         'or raise setting text_limit.';
    END IF;
    RAISE EXCEPTION '% is empty', what
        USING ERRCODE = 'ME007', HINT = 'Pass at least one visible character.';
END $$;

CREATE OR REPLACE FUNCTION _check_text(content text, what text) RETURNS text
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN _is_visible(content)
                     AND (octet_length(content) > _text_limit()) IS NOT TRUE
                THEN content ELSE _refuse_text(content, what) END;

CREATE OR REPLACE FUNCTION _refuse_time(at timestamptz, what text) RETURNS timestamptz
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION '% % is out of range', what, at
        USING ERRCODE = 'ME011', HINT = 'Use a time between 1970 and a day from now.';
END $$;

CREATE OR REPLACE FUNCTION _check_time(at timestamptz, what text) RETURNS timestamptz
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN at < '1970-01-01 00:00:00+00' OR at > now() + interval '1 day'
                THEN _refuse_time(at, what) ELSE at END;

-- A time that everybody reads alike: 01/02/2026 is January to some and February to others.
CREATE OR REPLACE FUNCTION _is_clear_time(said text) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN pg_input_is_valid(said, 'timestamptz')
        AND said !~ '^\s*[0-9]{1,2}[-./][0-9]{1,2}[-./]';

-- A time to look from: a call that changes nothing may look ahead, up to a hundred years.
CREATE OR REPLACE FUNCTION _check_moment(at timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF at < '1970-01-01 00:00:00+00' OR at > now() + interval '100 years' THEN
        RAISE EXCEPTION 'at % is out of range', at
            USING ERRCODE = 'ME011',
                  HINT = 'Use a time between 1970 and a hundred years from now.';
    END IF;
    RETURN at;
END $$;

CREATE OR REPLACE FUNCTION _refuse_share(value float8, what text) RETURNS float8
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION '% must be between 0 and 1, not %', what, value
        USING ERRCODE = 'ME008', HINT = 'Pass a number from 0 to 1.';
END $$;

-- A share too small to tell from 0 is 0: multiplying it would raise an underflow error.
CREATE OR REPLACE FUNCTION _check_share(value float8, what text) RETURNS float8
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN NOT value BETWEEN 0 AND 1 THEN _refuse_share(value, what)
                WHEN value < 1e-15::float8 THEN 0::float8
                ELSE value END;

CREATE OR REPLACE FUNCTION _refuse_session(session_id text) RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION 'session_id has % characters, not 1 to 200', length(session_id)
        USING ERRCODE = 'ME008', HINT = 'Pass a short key of the conversation or leave it out.';
END $$;

CREATE OR REPLACE FUNCTION _check_session(session_id text) RETURNS text
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN length(session_id) NOT BETWEEN 1 AND 200
                THEN _refuse_session(session_id) ELSE session_id END;

CREATE OR REPLACE FUNCTION _refuse_name(name text, what text, hint text) RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION '% has % characters, the limit is 200', what, length(name)
        USING ERRCODE = 'ME008', HINT = hint;
END $$;

-- Who or what made or changed a memory: a name, like that of a user.
CREATE OR REPLACE FUNCTION _check_author(author text, what text DEFAULT 'the author') RETURNS text
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN length(author) > 200
                THEN _refuse_name(author, what,
                                  'It names who or what did it, such as user or agent.')
                ELSE author END;

-- Who said it: also a name, whose words are features of what was said.
CREATE OR REPLACE FUNCTION _check_speaker(speaker text) RETURNS text
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN length(speaker) > 200
                THEN _refuse_name(speaker, 'the speaker', 'It names who said it, such as Ada.')
                ELSE speaker END;

CREATE OR REPLACE FUNCTION _refuse_turn(turn int) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION 'turn must not be negative, not %', turn
        USING ERRCODE = 'ME008', HINT = 'Turns of a session count from 0.';
END $$;

CREATE OR REPLACE FUNCTION _check_turn(turn int) RETURNS int
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN turn < 0 THEN _refuse_turn(turn) ELSE turn END;

-- A subject as it is stored: trimmed, in lower case; NULL when it is empty.
CREATE OR REPLACE FUNCTION _check_subject(subject text) RETURNS text
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN length(subject) > 200
                THEN _refuse_name(subject, 'subject',
                                  'A subject names a slot, such as user.framework.')
                ELSE _lower(_trimmed(subject)) END;

-- The end of what is valid from then on; NULL and infinity: no end.
CREATE OR REPLACE FUNCTION _refuse_until(valid_until timestamptz, valid_from timestamptz)
    RETURNS timestamptz
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION 'valid_until % is not after valid_from %', valid_until, valid_from
        USING ERRCODE = 'ME011', HINT = 'Leave valid_until out for what is still true.';
END $$;

CREATE OR REPLACE FUNCTION _check_until(valid_until timestamptz, valid_from timestamptz)
    RETURNS timestamptz
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN valid_until <= valid_from THEN _refuse_until(valid_until, valid_from)
                ELSE nullif(valid_until, 'infinity') END;

CREATE OR REPLACE FUNCTION _check_number(value int, what text, highest int) RETURNS int
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF value BETWEEN 1 AND highest THEN
        RETURN value;
    END IF;
    RAISE EXCEPTION '% must be between 1 and %, not %', what, highest, value
        USING ERRCODE = 'ME008', HINT = 'Leave it out for the default.';
END $$;

-- JSON that a caller gives. A driver that encodes JSON text once more (postgres.js, a codec for
-- json) sends a string; the object or array in it is meant.
CREATE OR REPLACE FUNCTION _json_given(value jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN CASE WHEN jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '^\s*[[{]'
                     AND pg_input_is_valid(value #>> '{}', 'jsonb')
                THEN (value #>> '{}')::jsonb ELSE value END;

CREATE OR REPLACE FUNCTION _check_data(data jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF jsonb_typeof(data) <> 'object' THEN
        RAISE EXCEPTION 'data must be a JSON object, not %', left(data::text, 100)
            USING ERRCODE = 'ME008', HINT = 'Pass ''{"name": "value"}'', or leave it out.';
    END IF;
    RETURN data;
END $$;
