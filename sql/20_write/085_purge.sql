-- Deletes one memory for good: the row, everything that refers to it (found by the foreign keys),
-- and its words wherever else they were kept. Its id stays in logs, where it no longer means
-- anything. Forgetting keeps a memory out of recall; purging is for what must not exist. Referring
-- rows are deleted by plans of PostgreSQL's own, which follow the settings of this function.

-- Where a memory is: tables, and the conditions that find the rows ($1 user, $2 memory). Referring
-- rows go with it; the words are deleted first, while it still tells where they are.
CREATE OR REPLACE FUNCTION _places_of_memory()
    RETURNS TABLE (place text, hangs boolean, condition text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    VALUES
        -- A memory newer than the counts is not in them: a word with df = 1 is another memory's,
        -- and if its row were deleted that one would not be found by it until the next refresh.
        ('term', false,
         'x.df = 1 AND x.term IN (SELECT unnest(_places(t.terms)) FROM trace AS t '
         'JOIN profile AS p ON p.user_id = t.user_id '
         'WHERE t.user_id = $1 AND t.memory_id = $2 '
         'AND (t.memory_id <= p.counted_up_to OR p.counted_up_to = 0))'),
        ('message', false,
         'x.session_id = (SELECT m.session_id FROM memory AS m '
         'WHERE m.user_id = $1 AND m.memory_id = $2) '
         'AND (x.position, x.content) = (SELECT m.position, m.content FROM memory AS m '
         'WHERE m.user_id = $1 AND m.memory_id = $2)'),
        ('tool_call', false, 'x.tool = ''memory_write'' AND $2 = ANY (x.memory_ids)'),
        ('uncompared', false, 'x.memory_id = $2'),
        ('entity', false,
         'x.entity_id = ANY (ARRAY(SELECT n.entity_id FROM mention AS n '
         'WHERE n.user_id = $1 AND n.memory_id = $2)) '
         'AND (SELECT n.memory_id FROM mention AS n WHERE n.user_id = $1 '
         'AND n.entity_id = x.entity_id AND n.memory_id <> $2 LIMIT 1) IS NULL'),
        ('memory', true, 'x.memory_id = $2');
    RETURN QUERY
    SELECT f.conrelid::regclass::text, true,
           string_agg(format('x.%I = $2', a.attname), ' OR ' ORDER BY a.attname)
    FROM pg_constraint AS f
    JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[2]
    WHERE f.confrelid = 'memory'::regclass AND f.contype = 'f'
    GROUP BY f.conrelid
    ORDER BY 1;
END $$;

-- Whether what summary() counted names a keyword or an entity that nothing has any more. Otherwise
-- it may stay until maintain counts again: to do so here would read all that the user has.
CREATE OR REPLACE FUNCTION _names_what_is_gone(user_id text, overview jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN EXISTS (
            SELECT FROM jsonb_array_elements(overview -> 'top_keywords') AS n (named)
            WHERE (SELECT k.memory_id FROM keyword AS k
                   WHERE k.user_id = _names_what_is_gone.user_id
                     AND k.keyword = n.named ->> 'keyword' LIMIT 1) IS NULL)
        OR EXISTS (
            SELECT FROM jsonb_array_elements(overview -> 'top_entities') AS n (named)
            WHERE (SELECT e.entity_id FROM entity AS e
                   WHERE e.user_id = _names_what_is_gone.user_id
                     AND (e.name, e.type) = (n.named ->> 'name', n.named ->> 'type')
                   LIMIT 1) IS NULL);
END $$;

-- What summary() counted a while ago, as long as it names nothing that was purged since.
CREATE OR REPLACE FUNCTION _lasting_overview(user_id text, overview jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN CASE WHEN _names_what_is_gone(user_id, overview)
                THEN (SELECT to_jsonb(s) FROM _summary(user_id) AS s) ELSE overview END;
END $$;

-- A model may be working on what it was shown of the memory, or of the conversation it was a turn
-- of; an extraction on what the memory's slot holds (_slots_told). Its answer would bring that
-- back: it is lost, and the model is asked about what is left. That is no failed attempt, and not
-- before the lease ends: a worker that had the job again could bring either answer.
CREATE OR REPLACE FUNCTION _ask_again(user_id text, memory_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    talk CONSTANT text := (SELECT m.session_id FROM memory AS m
                           WHERE m.user_id = user_id AND m.memory_id = memory_id
                             AND m.position IS NOT NULL);
    in_slot CONSTANT boolean := EXISTS (
        SELECT FROM memory AS m
        WHERE m.user_id = user_id AND m.memory_id = memory_id AND m.subject IS NOT NULL);
BEGIN
    UPDATE job AS j
    SET status = CASE j.status WHEN 'dead' THEN 'dead' ELSE 'waiting' END, worker = NULL,
        attempts = j.attempts - (j.status = 'running')::int,
        payload = j.payload - '{shown,replaces}'::text[]
    WHERE j.user_id = user_id AND j.status <> 'done'
      AND (j.payload -> 'listed' ? memory_id::text
           OR j.status = 'running' AND (j.payload ->> 'session_id' = talk
                                        OR in_slot AND j.kind = 'extract'));
END $$;

CREATE OR REPLACE FUNCTION purge(
    memory_id bigint, user_id text DEFAULT NULL, dry_run boolean DEFAULT false)
    RETURNS TABLE (table_name text, rows bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET quote_all_identifiers = off SET enable_seqscan = off
    SET jit = off
AS $$
#variable_conflict use_variable
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    made_from_it bigint[];
    place text;
    condition text;
BEGIN
    PERFORM _check_primary('purge');
    IF dry_run IS NOT TRUE THEN
        IF current_setting('session_replication_role') = 'replica' THEN
            RAISE EXCEPTION 'foreign keys are off in this session, so rows of the memory would stay'
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = 'SET session_replication_role = origin;';
        END IF;
        PERFORM _lock_user(owner);
    END IF;
    PERFORM _check_memory(owner, memory_id);
    FOR table_name, condition IN SELECT p.place, p.condition FROM _places_of_memory() AS p LOOP
        EXECUTE format('SELECT count(*) FROM %s AS x WHERE x.user_id = $1 AND (%s)', table_name,
                       condition)
        INTO rows USING owner, memory_id;
        IF rows > 0 THEN
            RETURN NEXT;
        END IF;
    END LOOP;
    table_name := 'profile.rolling_summary';
    rows := 1;
    IF EXISTS (SELECT FROM profile AS p
               WHERE p.user_id = owner AND p.rolling_summary IS NOT NULL) THEN
        RETURN NEXT;
    END IF;
    IF dry_run THEN
        RETURN;
    END IF;

    made_from_it := ARRAY(
        SELECT r.from_id FROM relation AS r
        WHERE r.user_id = owner AND r.to_id = memory_id AND r.type = 'derived_from');
    PERFORM _ask_again(owner, memory_id);
    FOR place, condition IN
        SELECT p.place, p.condition FROM _places_of_memory() AS p WHERE NOT p.hangs
    LOOP
        EXECUTE format('DELETE FROM %s AS x WHERE x.user_id = $1 AND (%s)', place, condition)
        USING owner, memory_id;
    END LOOP;
    DELETE FROM memory AS m WHERE m.user_id = owner AND m.memory_id = memory_id;
    -- A worker that was storing its vector, and was waited for, may have written it here since.
    DELETE FROM uncompared AS u WHERE u.user_id = owner AND u.memory_id = memory_id;
    PERFORM _add_event(owner, 'memory_deleted', jsonb_build_object('memory_id', memory_id::text),
                       now(), NULL, NULL);
    PERFORM _mark_derived(owner, made_from_it);
    PERFORM _refresh_profile(owner);
    UPDATE profile AS p
    SET rolling_summary = NULL, summarised_at = NULL,
        overview = _lasting_overview(owner, p.overview)
    WHERE p.user_id = owner;
    PERFORM _notify(owner, 'deleted', ARRAY[memory_id]);
END $$;

COMMENT ON FUNCTION purge(bigint, text, boolean) IS
    'Deletes a memory for good, whatever its status: the row with its vector, keywords, relations, '
    'mentions, revisions and counts, the message it was, entities that no other memory mentions, '
    'words of the statistics that only it had, its place in the profile, and the rolling summary, '
    'which may tell of it (a new one is made of what is left). The answer of a model that is at '
    'work on it is not taken; it is asked again. Cannot be undone: forget() can. '
    'Logs keep its id. Memories made from it, and what was merged with it, stay. Returns a row for '
    'each table with rows deleted: table_name, rows. dry_run: deletes nothing, returns the same. '
    'Until VACUUM (FULL, ANALYZE) and a new backup its bytes are still on disk, and samples of it '
    'may be in the planner''s statistics. Errors: ME006 user, ME012 no such memory of this user. '
    'Source: D4 6.3.';
