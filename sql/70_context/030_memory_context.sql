-- The block of memory that belongs in the next prompt: what D0 calls buildMemoryContext.
-- One call from any language; recall() is the same with ids and the log row.
CREATE OR REPLACE FUNCTION memory_context(
    query_vec halfvec DEFAULT NULL, mode text DEFAULT 'execute', budget int DEFAULT 800,
    query_text text DEFAULT NULL, user_id text DEFAULT NULL, session_id text DEFAULT NULL,
    as_of timestamptz DEFAULT NULL)
    RETURNS text
    LANGUAGE sql
    RETURN (_recall(_resolve_user(user_id), coalesce(query_vec, '[65504]'), coalesce(mode, ''),
                    coalesce(budget, -2147483648), coalesce(query_text, ''),
                    coalesce(as_of, 'infinity'), coalesce(session_id, ''))).block;

COMMENT ON FUNCTION memory_context(halfvec, text, int, text, text, text, timestamptz) IS
    'The block of memory for the next prompt: at most budget estimated tokens (default 800), never '
    'NULL. Arguments and errors as recall(). Source: D0 1.1.';
