-- Imports one Markdown file: sync_markdown() for a single file, with the result as rows. A memory
-- that moves from one file to another needs both at once.
CREATE OR REPLACE FUNCTION import_markdown(
    content text, base text DEFAULT NULL, file text DEFAULT 'memory',
    strategy text DEFAULT 'report', dry_run boolean DEFAULT false,
    allow_deletions boolean DEFAULT false, user_id text DEFAULT NULL,
    at timestamptz DEFAULT NULL)
    RETURNS TABLE (action text, changed text, memory_id bigint, line int, kind text,
                   file_text text, database_text text, reason text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
BEGIN
    RETURN QUERY
    SELECT c.action, c.changed, c.memory_id, c.line, c.kind, c.file_text, c.database_text, c.reason
    FROM jsonb_to_recordset(sync_markdown(
             jsonb_build_object(coalesce(file, ''), jsonb_build_object(
                 'content', content, 'base', base)),
             strategy, dry_run, allow_deletions, user_id, at) -> 'changes')
         AS c (action text, changed text, memory_id bigint, line int, kind text, file_text text,
               database_text text, reason text);
END $$;

COMMENT ON FUNCTION import_markdown(text, text, text, text, boolean, boolean, text, timestamptz) IS
    'Takes in what was changed in a Markdown file and returns the differences, a row each, as '
    'sync_markdown() lists them. content: the file; base: the text it was exported with, or that '
    'sync_markdown() returned as base; without it nothing counts as deleted. file: memory, '
    'learnings or another of kind.file. strategy: report (default; a memory changed on both sides '
    'stays as it is on both), ours (the file wins) or theirs (the database wins). dry_run: only '
    'tell. allow_deletions: forget even if more than half of the file is missing. at: when it is '
    '(default now). Errors: as sync_markdown(). Source: D1, update note; SPEC 6.';
