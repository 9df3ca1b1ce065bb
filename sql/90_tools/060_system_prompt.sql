-- The instructions that make an agent search its memory unasked (D2 3.4.2), from table prompt. A
-- paragraph that names a tool which is not offered is left out.
CREATE OR REPLACE FUNCTION system_prompt(language text DEFAULT 'en') RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    spoken CONSTANT text := _check_language(system_prompt.language);
BEGIN
    RETURN (
        SELECT string_agg(c.paragraph, E'\n\n' ORDER BY c.place)
        FROM (SELECT p.template FROM prompt AS p
              WHERE p.kind = 'system_prompt' AND p.language = spoken AND p.active
              ORDER BY p.version DESC LIMIT 1) AS t,
             regexp_split_to_table(t.template, E'\n\n') WITH ORDINALITY AS c (paragraph, place)
        WHERE NOT EXISTS (
            SELECT FROM tool AS g
            WHERE strpos(c.paragraph, '`' || g.name || '`') > 0
              AND NOT EXISTS (SELECT FROM jsonb_array_elements(tool_schemas()) AS s
                              WHERE s.value #>> '{function,name}' = g.name)));
END $$;

COMMENT ON FUNCTION system_prompt(text) IS
    'Instructions for a model that has these tools: when to search, how, and what to make of the '
    'results. language: en or zh. It names only tools that are offered. Errors: ME008 language. '
    'Source: D2 3.4.2.';
