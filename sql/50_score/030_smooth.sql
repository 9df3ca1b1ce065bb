-- A turn among turns. place packs session, whether the memory is a turn, and whether it asks into
-- one number, so that the order of the index carries everything the neighbours need.
CREATE OR REPLACE FUNCTION _place(session bigint, "position" int, asks boolean) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 4 * session + CASE WHEN "position" >= 0 THEN CASE WHEN asks THEN 3 ELSE 2 END
                              WHEN asks THEN 1 ELSE 0 END;

-- A score as turns lend it. The added constant keeps the smallest square from an underflow error.
CREATE OR REPLACE FUNCTION _lent(score real, squared boolean) RETURNS real
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN squared THEN score * (abs(score) + 1e-9::real) ELSE score END;

-- The factor on the score of a candidate in the order of choice: less for a memory that asks, since
-- that seldom answers, more for details (_details), and less for every token of its line.
CREATE OR REPLACE FUNCTION _worth(
    cost float8, asks boolean, details smallint, question_factor float8, cost_power float8,
    detail_weight float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN asks THEN question_factor ELSE 1 END * (1 + detail_weight * details)
        / power(cost, cost_power);

-- What a turn gains from the turns one and two places before and after it in its session. The turn
-- before gives more if it asks. The first turns of a session, which bring the news, have none
-- before them, so the turns after them count twice.
CREATE OR REPLACE FUNCTION _neighbours(
    own bigint, before bigint, after bigint, second_before bigint, second_after bigint,
    before_score real, after_score real, second_before_score real, second_after_score real,
    near float8, beyond float8, answer float8)
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN own < 4 OR own & 2 = 0 THEN 0 ELSE
        CASE before - (own & -2) WHEN 0 THEN near * before_score
                                 WHEN 1 THEN (near + answer) * before_score ELSE 0 END
        + CASE WHEN after & -2 = own & -2
               THEN CASE WHEN before & -2 = own & -2 THEN near ELSE near + near END * after_score
               ELSE 0 END
        + CASE WHEN second_before & -2 = own & -2 THEN beyond * second_before_score ELSE 0 END
        + CASE WHEN second_after & -2 = own & -2
               THEN CASE WHEN second_before & -2 = own & -2 THEN beyond
                         ELSE beyond + beyond END * second_after_score
               ELSE 0 END
        END;

-- Scores in the order of their turns, each with a share of its neighbours': one vector shifted by
-- one and two places and added to itself by pgvector (20 µs for 600; window functions take 500).
-- A pgvector vector has at most 16,000 places; longer lists go piece by piece, two places over.
CREATE OR REPLACE FUNCTION _smooth(scores real[], near float8, beyond float8) RETURNS real[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $$
DECLARE
    n CONSTANT int := coalesce(cardinality(scores), 0);
    first int := 1;
    last int := least(n, 16000);
    v vector;
    m int;
    piece real[];
    result real[] := '{}';
BEGIN
    IF n < 2 THEN
        RETURN coalesce(scores, '{}');
    ELSIF n = 2 THEN
        RETURN ARRAY[scores[1] + near * scores[2], scores[2] + near * scores[1]];
    END IF;
    LOOP
        m := last - first + 1;
        v := CASE WHEN m = n THEN scores ELSE scores[first:last] END::vector;
        piece := (v
            + array_fill(near::real, ARRAY[m])::vector
              * (('[0]'::vector || subvector(v, 1, m - 1)) + (subvector(v, 2, m - 1) || '[0]'))
            + array_fill(beyond::real, ARRAY[m])::vector
              * (('[0,0]'::vector || subvector(v, 1, m - 2)) + (subvector(v, 3, m - 2) || '[0,0]'))
            )::real[];
        IF first = 1 AND last = n THEN
            RETURN piece;
        END IF;
        -- The two places at an inner edge come whole from the next piece.
        result := result || piece[CASE WHEN first = 1 THEN 1 ELSE 3 END
                                  :CASE WHEN last = n THEN m ELSE m - 2 END];
        EXIT WHEN last = n;
        first := greatest(last - 3, 1);
        last := least(n, first + 15999);
    END LOOP;
    RETURN result;
END $$;
