-- The memories of a user as a Markdown file that people read and edit: one section per kind, one
-- bullet per memory, oldest first, so that a new one is a new line at the end of its section.
CREATE OR REPLACE FUNCTION export_markdown(
    file text DEFAULT 'memory', user_id text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
BEGIN
    RETURN _empty_markdown(_check_file(file)) || (
        SELECT _markdown_sections(array_agg(i.heading ORDER BY i.number),
                                  array_agg(_markdown_item(i.mark, i.content) ORDER BY i.number))
        FROM _markdown_items(owner, ARRAY(
                 SELECT s.memory_id FROM _markdown_stored(owner, '{}') AS s
                 WHERE s.home = file)) AS i);
END $$;

COMMENT ON FUNCTION export_markdown(text, text) IS
    'The text of a Markdown file with the memories that belong in it: active and true today, of '
    'the kinds whose kind.file it is, but for those of attached tables. file: memory (default), '
    'learnings or another of kind.file. A memory is a list item under the heading of its kind, '
    'ended by a comment that says which memory it is; import_markdown() takes edits in. Errors: '
    'ME006 user, ME008 file. Source: D1, update note; SPEC 6.';
