-- Upkeep that changes how fast a recall is and not what is stored: who has indexes of his own, and
-- word statistics. Indexes first: LOCK TABLE must not wait for a writer that waits for a profile.

-- What the sizes of users call for. The gain that earns an index is above the one that keeps it, so
-- that nobody gets and loses it in turn.
CREATE OR REPLACE FUNCTION _index_plan(only_user text)
    RETURNS TABLE (owner text, action text, memories bigint, newest bigint, number smallint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    gain CONSTANT float8 := (SELECT s.value::float8 FROM setting AS s WHERE s.name = 'ann_gain');
BEGIN
    RETURN QUERY
    SELECT c.user_id,
           CASE WHEN c.number = 0 AND c.vectors
                     AND _exact_cost(c.memories) > gain * _indexed_cost(c.memories)
                THEN 'build'
                WHEN c.number > 0
                     AND _exact_cost(c.memories) < sqrt(gain) * _indexed_cost(c.memories)
                THEN 'drop' END,
           c.memories, c.newest, c.number
    FROM (
        SELECT t.user_id, count(*) AS memories, max(t.memory_id) AS newest,
               max(coalesce(p.ann, 0))::smallint AS number,
               bool_or(e.dimensions IS NOT NULL) AS vectors
        FROM embedding_model AS e
        JOIN trace AS t ON t.model = e.model_id AND t.active
        LEFT JOIN profile AS p ON p.user_id = t.user_id
        WHERE e.active AND (only_user IS NULL OR t.user_id = only_user)
        GROUP BY t.user_id
        UNION ALL
        -- Who has nothing left.
        SELECT p.user_id, 0, NULL, p.ann, true FROM profile AS p
        WHERE p.ann > 0 AND (only_user IS NULL OR p.user_id = only_user)
          AND NOT EXISTS (SELECT FROM trace AS t WHERE t.user_id = p.user_id AND t.active)
    ) AS c;
END $$;

CREATE OR REPLACE FUNCTION maintain(only_user text DEFAULT NULL)
    RETURNS TABLE (user_id text, action text, memories bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT int := (SELECT s.value::int FROM setting AS s WHERE s.name = 'ann_limit');
    inline CONSTANT bigint := CASE WHEN only_user IS NULL THEN
        (SELECT s.value::bigint FROM setting AS s WHERE s.name = 'ann_inline')
        ELSE 9223372036854775807 END;
    may_build CONSTANT boolean := pg_has_role(
        (SELECT c.relowner FROM pg_class AS c WHERE c.oid = 'trace'::regclass), 'USAGE');
    indexed bigint := (SELECT count(*) FROM profile AS p WHERE p.ann > 0);
    planned record;
BEGIN
    IF only_user IS NOT NULL THEN
        PERFORM _resolve_user(only_user);
    END IF;
    FOR planned IN SELECT p.* FROM _index_plan(only_user) AS p
                   WHERE p.action IS NOT NULL
                   ORDER BY p.action DESC, p.memories DESC, p.owner
    LOOP
        user_id := planned.owner;
        memories := planned.memories;
        CONTINUE WHEN planned.action = 'build' AND indexed >= most;
        IF NOT may_build OR planned.action = 'build' AND memories > inline THEN
            action := planned.action || ' index: memoir maintain';
        ELSIF planned.action = 'build' THEN
            PERFORM _build_own_index(user_id, memories);
            indexed := indexed + 1;
            action := 'index built';
        ELSE
            PERFORM _drop_own_index(user_id, planned.number);
            indexed := indexed - 1;
            action := 'index dropped';
        END IF;
        RETURN NEXT;
    END LOOP;

    FOR user_id, memories IN
        SELECT p.owner, p.memories
        FROM _index_plan(only_user) AS p
        LEFT JOIN profile AS f ON f.user_id = p.owner
        WHERE p.memories > 0
          -- Recall of a user with indexes does not count what is newer: 1 % may be.
          AND CASE WHEN p.number > 0 AND f.counted > 0
                   THEN abs(p.memories - f.counted) > p.memories / 100
                   ELSE p.memories <> coalesce(f.counted, 0)
                        OR p.newest > coalesce(f.counted_up_to, 0)
                        OR f.expansions <> (SELECT max(m.expansions) FROM mode AS m) END
        ORDER BY p.memories DESC, p.owner
    LOOP
        PERFORM refresh_statistics(user_id);
        action := 'words counted';
        RETURN NEXT;
    END LOOP;
END $$;

COMMENT ON FUNCTION maintain(text) IS
    'Upkeep of all users, or of one: counts the words of who has new memories, and gives users '
    'with many memories (from about 4,500 on) an approximate index and a word index of their own, '
    'or takes them away again when few are left. Returns a row for each thing done: user_id, '
    'action (words counted, index built, index dropped, or what is left to the command memoir '
    'maintain), memories. Without a user it builds no index of more than setting ann_inline '
    'memories, since writers wait meanwhile; with a user it does. Changes how fast a recall is, '
    'not what is stored. Needs the owner of the tables for indexes. Errors: ME006 user.';
