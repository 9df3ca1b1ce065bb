-- Which candidates were derived from which: places in the list of candidates, for _select. A source
-- that is not a candidate has place 0, and so has any where one of both lines is only the beginning
-- of its text: neither needs to say what the other does. In a mode without turns what was made from
-- a turn has such a source besides, so that it is in the block next to it: there a turn that says
-- "yesterday" stands without its day and its neighbours (DECISIONS 80).
CREATE OR REPLACE FUNCTION _provenance(
    user_id text, ids bigint[], kinds smallint[], lines text[], turns boolean,
    OUT derived_places int[], OUT source_places int[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT array_agg(p.derived), array_agg(p.source) INTO derived_places, source_places
    FROM (
        SELECT c.place::int AS derived, coalesce(s.place, 0)::int AS source
        FROM unnest(ids, lines) WITH ORDINALITY AS c (id, line, place)
        JOIN relation AS r ON r.user_id = _provenance.user_id AND r.from_id = c.id
                          AND r.type = 'derived_from'
        LEFT JOIN unnest(ids, lines) WITH ORDINALITY AS s (id, line, place)
            ON s.id = r.to_id
               AND greatest(length(s.line), length(c.line)) < _line_length()
        ORDER BY c.place, r.to_id
    ) AS p;
    IF NOT turns THEN
        SELECT array_agg(p.derived ORDER BY p.derived), array_agg(p.source ORDER BY p.derived)
        INTO derived_places, source_places
        FROM (SELECT u.derived, u.source
              FROM unnest(derived_places, source_places) AS u (derived, source)
              UNION ALL
              SELECT DISTINCT u.derived, 0
              FROM unnest(derived_places, source_places) AS u (derived, source)
              WHERE kinds[u.source] = 6::smallint  -- turn
             ) AS p;
    END IF;
END $$;
