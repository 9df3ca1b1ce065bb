-- Prompts: a template with its values filled in, and other people's material written so that it
-- cannot pass for anything else. Filled-in text is never scanned again: a memory that says
-- {{caution}} or </memory> stays a memory that says so.
CREATE OR REPLACE FUNCTION _render(template text, given jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    missing CONSTANT text := (
        SELECT min(n.name[1]) FROM regexp_matches(template, '\{\{([a-z_]+)\}\}', 'g') AS n (name)
        WHERE given ->> n.name[1] IS NULL);
BEGIN
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'the prompt has no value {{%}}', missing
            USING ERRCODE = 'ME008',
                  DETAIL = (SELECT 'Values: ' || string_agg(k, ', ' ORDER BY k)
                            FROM jsonb_object_keys(given) AS k),
                  HINT = 'Correct the template or the input of this row of memoir.prompt.';
    END IF;
    RETURN (
        SELECT string_agg(p.literal || coalesce(given ->> p.name[1], ''), '' ORDER BY p.place)
        FROM ROWS FROM (regexp_split_to_table(template, '\{\{[a-z_]+\}\}'),
                        regexp_matches(template, '\{\{([a-z_]+)\}\}', 'g'))
                 WITH ORDINALITY AS p (literal, name, place));
END $$;

-- JSON that cannot contain a tag: the fence around it cannot be closed from within.
CREATE OR REPLACE FUNCTION _material(value jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN replace(replace(value::text, '<', '\u003c'), '>', '\u003e');

-- The same for a list, one line per item.
CREATE OR REPLACE FUNCTION _material_lines(items jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN coalesce((SELECT string_agg(_material(i.item), E'\n' ORDER BY i.place)
                     FROM jsonb_array_elements(items) WITH ORDINALITY AS i (item, place)), '[]');

-- The language of a text, among those that have prompts: Chinese if a fifth of it is Han.
CREATE OR REPLACE FUNCTION _language_of(content text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN 5 * length(regexp_replace(left(content, 4000), '[^一-鿿]', '', 'g'))
                     > length(left(content, 4000))
                THEN 'zh' ELSE 'en' END;
