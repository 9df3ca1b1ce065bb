-- Which candidates were derived from which: places in the list of candidates, for _select. A source
-- that is not a candidate has place 0.
CREATE OR REPLACE FUNCTION _provenance(
    user_id text, ids bigint[], OUT makers int[], OUT sources int[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT array_agg(p.maker), array_agg(p.source) INTO makers, sources
    FROM (
        SELECT c.place::int AS maker, coalesce(s.place, 0)::int AS source
        FROM unnest(ids) WITH ORDINALITY AS c (id, place)
        JOIN relation AS r ON r.user_id = _provenance.user_id AND r.from_id = c.id
                          AND r.type = 'derived_from'
        LEFT JOIN unnest(ids) WITH ORDINALITY AS s (id, place) ON s.id = r.to_id
        ORDER BY c.place, r.to_id
    ) AS p;
END $$;
