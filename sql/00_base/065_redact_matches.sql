-- One rule on one text: what it matches, and what it proves to be a secret, is replaced.
-- The parts between the matches and the matches come from one scan each, so that the time grows
-- with the text alone. What is redacted already, [redacted:kind], is no text any more: what stands
-- before it and behind it is looked at by itself.

-- rule: two groups, what stays and what goes, or none, and all goes. kind NULL: what stays begins
-- with the name of it.
CREATE OR REPLACE FUNCTION _redact_part(content text, rule text, kind text, proof text)
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF proof IS NULL THEN
        RETURN regexp_replace(
            content, rule,
            CASE WHEN rule ~ '^(?:\(\?i\))?\((?!\?)' THEN '\1' ELSE '' END
                || '[redacted:' || kind || ']', 'g');
    END IF;
    RETURN (
        SELECT string_agg(p.rest || CASE
                   WHEN p.secret IS NULL THEN ''
                   WHEN _is_proven(proof, p.secret) THEN
                       p.stays || '[redacted:' || coalesce(kind, _named_kind(p.stays)) || ']'
                   ELSE p.stays || p.secret END, '' ORDER BY p.place)
        FROM (
            SELECT r.rest, r.place, coalesce(r.match[2], r.match[1]) AS secret,
                   CASE WHEN r.match[2] IS NULL THEN '' ELSE r.match[1] END AS stays
            FROM ROWS FROM (regexp_split_to_table(content, rule),
                            regexp_matches(content, rule, 'g')) WITH ORDINALITY
                 AS r (rest, match, place)
        ) AS p);
END $$;

CREATE OR REPLACE FUNCTION _redact_matches(content text, rule text, kind text, proof text)
    RETURNS text
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
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
