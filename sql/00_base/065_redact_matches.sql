-- Applies one rule to one text: a match that proves to be a secret is replaced. The matches and the
-- parts between them come from one scan each, so that the time grows only with the text. Already
-- redacted parts, [redacted:kind], are no longer text: what stands before and after them is looked
-- at separately.

-- The kind of a secret, or what the words before it call it.
CREATE OR REPLACE FUNCTION _kind_of(kind text, words text) RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN coalesce(kind, _named_kind(words), 'secret');
END $$;

-- A number that is called a token counts tokens, as in max_token=4096.
CREATE OR REPLACE FUNCTION _is_count(kind text, secret text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN kind = 'token' AND secret ~ '^[0-9]{1,7}$';

-- rule: two groups, what stays and what is removed, or none, and all is removed. kind NULL: the
-- part that stays names it.
CREATE OR REPLACE FUNCTION _has_context(rule text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN left(rule, 1) = '(' AND substr(rule, 2, 1) <> '?'
        OR left(rule, 5) = '(?i)(' AND substr(rule, 6, 1) <> '?';

CREATE OR REPLACE FUNCTION _redact_part(content text, rule text, kind text, proof text)
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF proof IS NULL THEN
        RETURN regexp_replace(
            content, rule,
            CASE WHEN _has_context(rule) THEN '\1' ELSE '' END || '[redacted:' || kind || ']', 'g');
    END IF;
    RETURN (
        SELECT string_agg(p.rest || CASE
                   WHEN p.secret IS NULL THEN ''
                   WHEN _is_proven(proof, p.secret) AND NOT _is_count(k.kind, p.secret) THEN
                       p.stays || '[redacted:' || k.kind || ']'
                   ELSE p.stays || p.secret END, '' ORDER BY p.place)
        FROM (
            SELECT r.rest, r.place, r.match[cardinality(r.match)] AS secret,
                   CASE WHEN _has_context(rule) THEN r.match[1] ELSE '' END AS stays
            FROM ROWS FROM (regexp_split_to_table(content, rule),
                            regexp_matches(content, rule, 'g')) WITH ORDINALITY
                 AS r (rest, match, place)
        ) AS p,
        LATERAL (SELECT _kind_of(_redact_part.kind, p.stays) OFFSET 0) AS k (kind));
END $$;

CREATE OR REPLACE FUNCTION _redact_matches(content text, rule text, kind text, proof text)
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
    SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF strpos(content, '[redacted:') = 0 THEN
        RETURN _redact_part(content, rule, kind, proof);
    END IF;
    RETURN (
        SELECT string_agg(
                   CASE WHEN p.place > 1 THEN '[redacted:' || p.mark ELSE '' END
                   || CASE WHEN p.rest ~ rule THEN _redact_part(p.rest, rule, kind, proof)
                           ELSE p.rest END, '' ORDER BY p.place)
        FROM (
            SELECT s.place, m.mark, substr(s.piece, length(m.mark) + 1) AS rest
            FROM string_to_table(content, '[redacted:') WITH ORDINALITY AS s (piece, place),
                 LATERAL (VALUES (CASE WHEN s.place > 1 THEN coalesce(
                     substring(s.piece, '^[a-z][a-z0-9_]{0,39}\]'), '') ELSE '' END)) AS m (mark)
        ) AS p);
END $$;
