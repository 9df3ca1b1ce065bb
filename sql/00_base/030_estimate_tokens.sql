-- How many tokens a model will count, from character classes alone: ASCII characters, signs, groups
-- of digits and humps of camelCase (which base64 is full of), and every byte of a character after
-- its first. Calibrated against o200k_base so that under 1 % of blocks of chat, Chinese, code,
-- Markdown and JSON are estimated too low; on average they come out 6 to 18 % too high
-- (scripts/bench/tokens.py). Unrounded costs add up: the cost of a block is the sum of the costs of
-- its lines. That is 0.21 x (1.5 x characters - 0.5 x bytes) + 0.55 x signs + 1.6 x groups + 0.44 x
-- (bytes - characters), counted in whole thousandths: half as many operators to set up in every
-- statement.
CREATE OR REPLACE FUNCTION _thousandths(content text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 335::bigint * octet_length(content) - 125::bigint * length(content)
        + 550::bigint * regexp_count(content, '[!-/:-@[-`{-~]')
        + 1600::bigint * regexp_count(content, '[0-9]{1,3}|[a-z][A-Z]');

CREATE OR REPLACE FUNCTION _token_cost(content text) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _thousandths(content) / 1000::float8;

-- The same for a line as it stands in a block: with "- " before it and the end of the line, that is
-- three characters, one of them a sign. Concatenating them takes longer.
CREATE OR REPLACE FUNCTION _cost_of_line(line text) RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (_thousandths(line) + 1180) / 1000::float8;

-- Costs are in thousandths; anything smaller is rounding error from adding them in another order.
CREATE OR REPLACE FUNCTION _whole_tokens(cost float8) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ceil(cost - 1e-6::float8)::int;

CREATE OR REPLACE FUNCTION estimate_tokens(content text) RETURNS int
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN _whole_tokens(_token_cost(content));

COMMENT ON FUNCTION estimate_tokens(text) IS
    'Estimated model tokens of a text (Chinese, English, code and mixtures). Whole number, 0 for '
    'an empty text; never negative.';
