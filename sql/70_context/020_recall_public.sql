-- Recall with what a client needs to cite memories and give feedback: block, ids of its memories,
-- id of the log row. memory_context calls _recall itself: PostgreSQL inlines an expression that
-- returns text, but not one that returns a record, and this call costs 0.03 ms more.
CREATE OR REPLACE FUNCTION recall(
    query_vec halfvec DEFAULT NULL, mode text DEFAULT 'execute', budget int DEFAULT 800,
    query_text text DEFAULT NULL, user_id text DEFAULT NULL, session_id text DEFAULT NULL,
    as_of timestamptz DEFAULT NULL,
    OUT block text, OUT memory_ids bigint[], OUT tokens int, OUT candidates int,
    OUT retrieval_id bigint)
    LANGUAGE sql
    RETURN _recall(_resolve_user(user_id), coalesce(query_vec, '[65504]'), coalesce(mode, ''),
                   coalesce(budget, -2147483648), coalesce(query_text, ''),
                   coalesce(as_of, 'infinity'), coalesce(session_id, ''));

COMMENT ON FUNCTION recall(halfvec, text, int, text, text, text, timestamptz) IS
    'Recalls memory for a question. query_vec: its vector, or NULL to recall by words alone; '
    'query_text: its words; with both the recall is hybrid; with neither, or with a text that has '
    'nothing to look for (blank, punctuation, stop words: "Who are you?"), the most important '
    'memories come. mode: how memories are weighted: execute (default), plan, debug, chat, '
    'conversation, balanced, search, implicit, assistant, or another row of table mode; for '
    'conversation query_vec is best the vector of embedding_text(). budget: 1 to 100000 estimated '
    'tokens. session_id: the conversation the question belongs to; in a temporary one nothing is '
    'recalled. as_of: what was known and true then, with ages as of then (NULL: now). A memory '
    'counts from when it was told, even if it was confirmed or restored later. One that was '
    'superseded, archived or rewritten since comes as it was, except for a vector that came later, '
    'keywords, relations, entities and how often it was used, which are those of now. '
    'Returns the block, the ids of the memories in it (best first; goals and capabilities of the '
    'profile are not among them), tokens used, how many candidates went to selection, and the id '
    'of the log row (NULL when read only or not logged). Errors: ME001 mode, ME003 and ME004 '
    'vector, ME005 budget, ME006 user, ME011 time.';
