-- How many tokens a model will count, from character classes alone: ASCII characters, signs, groups
-- of digits, humps of camelCase (which base64 is full of), and every byte of a character after its
-- first. A character that costs as much more as a group of digits counts as one: an accent, which
-- breaks a word into more tokens, an emoji, and the commonest characters that only traditional
-- Chinese has; not the letters that French or Vietnamese needs much, which are estimated right
-- without. Calibrated against o200k_base so that a block is seldom estimated too low (DECISIONS
-- 20). Unrounded costs add up: the cost of a block is the sum of the costs of its lines. That is
-- 0.21 x (1.5 x characters - 0.5 x bytes) + 0.55 x signs + 1.6 x groups + 0.44 x (bytes -
-- characters), counted in whole thousandths, which takes fewer operators.
CREATE OR REPLACE FUNCTION _thousandths(content text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 335::bigint * octet_length(content) - 125::bigint * length(content)
        + 550::bigint * regexp_count(content, '[!-/:-@[-`{-~]')
        + 1600::bigint * regexp_count(content,
            '[0-9]{1,3}|[a-z][A-Z]|[ÁÍÓÚÝÄÅÆÖØÜßáíóúýäåæëöøüñìòùăşğ'
            '\u0104-\u010f\u0112-\u011d\u0120-\u0127\u012a-\u0130\u0132-\u015d\u0160-\u0167'
            '\u016a-\u019f\u0218-\u024f'
            '這們來說對為會國學還點樣經關體與實從發應變將檔數區處讀寫總轉單號圖沒麼嗎讓兩當覺歡'
            '樂聽錢稱錄顯訊參檢狀啟傳內屬壓證權擇於請該\U0001f000-\U0010ffff]');

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
