-- Upkeep that changes how fast a recall is and not what is stored: who has indexes of his own, and
-- word statistics. Indexes first: LOCK TABLE must not wait for a writer that waits for a profile.

-- What the sizes of users call for. The gain that earns an index is above the one that keeps it, so
-- that nobody gets and loses it in turn. repair: his indexes cannot be used; earned: and he would
-- get new ones.
CREATE OR REPLACE FUNCTION _index_plan(only_user text)
    RETURNS TABLE (owner text, action text, earned boolean, memories bigint, newest bigint,
                   number smallint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    gain CONSTANT float8 := (SELECT s.value::float8 FROM setting AS s WHERE s.name = 'ann_gain');
BEGIN
    RETURN QUERY
    SELECT c.user_id,
           CASE WHEN c.broken THEN 'repair'
                WHEN c.number = 0 AND c.earned THEN 'build'
                WHEN c.number > 0
                     AND _exact_cost(c.memories) < 0.7 * gain * _indexed_cost(c.memories)
                THEN 'drop' END,
           c.earned, c.memories, c.newest, c.number
    FROM (
        SELECT s.*, b.user_id IS NOT NULL AS broken,
               s.vectors AND _exact_cost(s.memories) > gain * _indexed_cost(s.memories) AS earned
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
              AND NOT EXISTS (SELECT FROM trace AS t JOIN embedding_model AS e
                              ON e.active AND e.model_id = t.model
                              WHERE t.user_id = p.user_id AND t.active)
        ) AS s
        LEFT JOIN _without_indexes(only_user) AS b ON b.user_id = s.user_id
    ) AS c;
END $$;

CREATE OR REPLACE FUNCTION maintain(only_user text DEFAULT NULL, build_up_to bigint DEFAULT NULL)
    RETURNS TABLE (user_id text, action text, memories bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    most CONSTANT int := (SELECT s.value::int FROM setting AS s WHERE s.name = 'ann_limit');
    at_once CONSTANT bigint := coalesce(
        build_up_to,
        CASE WHEN only_user IS NULL
             THEN (SELECT s.value::bigint FROM setting AS s WHERE s.name = 'ann_inline') END,
        9223372036854775807);
    may_build CONSTANT boolean := at_once > 0 AND _owns_tables()
        AND pg_try_advisory_xact_lock(_index_lock());
    indexed bigint := (SELECT count(*) FROM profile AS p WHERE p.ann > 0);
    planned record;
BEGIN
    IF only_user IS NOT NULL THEN
        PERFORM _resolve_user(only_user);
    END IF;
    IF may_build AND only_user IS NULL THEN
        PERFORM _compile_near_rows();
        IF _left_over_indexes() <> '{}' AND _drop_indexes(_left_over_indexes()) THEN
            action := 'left-over index dropped';
            RETURN NEXT;
        END IF;
    END IF;
    FOR planned IN SELECT p.* FROM _index_plan(only_user) AS p
                   WHERE p.action IS NOT NULL
                   ORDER BY p.action DESC, p.memories DESC, p.owner
    LOOP
        user_id := planned.owner;
        memories := planned.memories;
        action := planned.action || ' index: memoir maintain';
        IF planned.action IN ('repair', 'drop') THEN
            indexed := indexed - 1;
            IF may_build AND _drop_own_index(user_id, planned.number) THEN
                action := CASE planned.action WHEN 'drop' THEN 'index dropped'
                              ELSE 'unusable index dropped' END;
            END IF;
            RETURN NEXT;
        END IF;
        IF planned.earned AND planned.action <> 'drop' AND indexed < most THEN
            indexed := indexed + 1;
            action := 'build index: memoir maintain';
            IF may_build AND memories <= at_once AND _build_own_index(user_id, memories) THEN
                action := 'index built';
            END IF;
            RETURN NEXT;
        END IF;
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

COMMENT ON FUNCTION maintain(text, bigint) IS
    'Upkeep of all users, or of one: counts the words of who has new memories, and gives users '
    'with many memories (from about 4,700 on) an approximate index and a word index of their own, '
    'or takes them away again when few are left or they cannot be used. Returns a row for each '
    'thing done: user_id, action (words counted, index built, index dropped, unusable index '
    'dropped, without a user left-over index dropped, or what is left to the command memoir '
    'maintain), memories. build_up_to: it builds '
    'indexes of up to so many memories itself, and writers wait meanwhile; default setting '
    'ann_inline, and for one user no limit; 0 leaves indexes alone. Left to the command is also '
    'what another session builds now, or what a busy table does not allow. Changes how fast a '
    'recall is, not what is stored. Needs the owner of the tables for indexes. Errors: ME006 user.';
