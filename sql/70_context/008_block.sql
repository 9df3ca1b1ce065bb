-- What a block of memory has besides its lines: the text for an empty block, and references.
-- A reference is the id of the memory before its line, for an answer to cite (D4 4.2).
CREATE OR REPLACE FUNCTION _empty_block(budget int, OUT block text, OUT tokens int)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN fits THEN words ELSE '' END,
           CASE WHEN fits THEN estimate_tokens(words) ELSE 0 END
    FROM (SELECT words, estimate_tokens(words) <= budget AS fits
          FROM (VALUES ('(no relevant memory)')) AS n (words)) AS e;
END;

-- An event has no reference: its id is negative.
CREATE OR REPLACE FUNCTION _reference(id bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN id > 0 THEN '[' || id || '] ' ELSE '' END;

CREATE OR REPLACE FUNCTION _reference_cost(id bigint) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _token_cost(_reference(id));

-- The cost of a line with its reference, from its cost without.
CREATE OR REPLACE FUNCTION _cited_cost(cost float8, id bigint, citing boolean) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN cost + CASE WHEN citing THEN _reference_cost(id) ELSE 0::float8 END;

CREATE OR REPLACE FUNCTION _cites(user_id text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    RETURN EXISTS (SELECT FROM profile AS p WHERE p.user_id = user_id AND p.show_references);
END $$;
