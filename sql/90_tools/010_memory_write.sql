-- D3's memory_write: what an agent stores on its own initiative. Long-term memory goes through
-- remember(). A note of the day is an event of type daily_note, because D3's daily log is a log:
-- kept in time order, not searched, summarised and dropped with old events.
CREATE OR REPLACE FUNCTION memory_write(
    content text, category text DEFAULT 'general', write_to text DEFAULT 'memory',
    salience float8 DEFAULT NULL, user_id text DEFAULT NULL, embedding halfvec DEFAULT NULL,
    OUT action text, OUT key text, OUT reason text)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    of_kind CONSTANT kind := _check_kind(category);
    stored record;
    event_id bigint;
BEGIN
    PERFORM _check_share(salience, 'salience');
    IF write_to = 'memory' THEN
        stored := remember(content, of_kind.name, owner, importance => salience,
                           embedding => embedding, source => 'agent');
        action := stored.action;
        key := stored.memory_id::text;
        reason := stored.reason;
    ELSIF write_to = 'daily' THEN
        PERFORM _check_text(content, 'the note');
        event_id := event_add(
            'daily_note',
            jsonb_strip_nulls(jsonb_build_object('content', content, 'category', of_kind.name,
                                                 'salience', salience)),
            owner);
        action := CASE WHEN event_id IS NULL THEN 'NOOP' ELSE 'ADD' END;
        reason := coalesce('noted for today as event ' || event_id, 'memory is off');
    ELSE
        RAISE EXCEPTION 'unknown write_to "%"', write_to
            USING ERRCODE = 'ME008', DETAIL = 'Places: memory, daily',
                  HINT = 'memory keeps it for good, daily is the log of today.';
    END IF;
END $$;

COMMENT ON FUNCTION memory_write(text, text, text, float8, text, halfvec) IS
    'Writes down something worth remembering. Use it when the user states a preference, a fact or '
    'a lesson that will matter later; what is stored already is not written again. Leave out '
    'passwords and keys. content: what to remember, one complete sentence that will be understood '
    'by itself: names, not "he"; dates, not "next Friday". category: the kind of memory, such as '
    'preference (what the user likes or wants), fact (what is so), goal (what the user plans), '
    'lesson (a failure and what solved it), procedural (how a tool or an environment behaves). '
    'write_to: memory keeps it for good, daily is the log of today. salience: its importance, 0 '
    'to 1; without it the default of the kind. user_id: whose memory. embedding: vector of the '
    'content, or NULL. Returns the action (ADD; UPDATE, where a stored memory said less; NOOP, '
    'where it is known; PENDING, where the user confirms it first), the key of the memory that '
    'holds it (none for a daily note, or while memory is off) and the reason. Errors: ME002 '
    'category, ME003 and ME004 vector, ME006 user, ME007 content, ME008 salience or write_to. '
    'Source: D3 11.';
