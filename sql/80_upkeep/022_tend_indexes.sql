-- Upkeep that changes how fast a recall is, not what is stored: who has own indexes, and word
-- statistics. Indexes first: whether they exist decides how exact statistics must be.

-- What the sizes of users call for. Earning an index takes a larger gain than keeping it, so that
-- nobody gets and loses it in turn. repair: the user's indexes cannot be used; earned: and the user
-- would get new ones.
CREATE OR REPLACE FUNCTION _index_plan(only_user text)
    RETURNS TABLE (owner text, action text, earned boolean, memories bigint, newest bigint,
                   number smallint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_custom_plan
AS $$
#variable_conflict use_column
DECLARE
    gain CONSTANT float8 := _config('ann_gain');
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
        SELECT s.*, CASE WHEN s.number > 0
                         THEN cardinality(_own_indexes(s.number, s.user_id)) < 3 END AS broken,
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
            -- Users with indexes and no memory left.
            SELECT p.user_id, 0, NULL, p.ann, true FROM profile AS p
            WHERE p.ann > 0 AND (only_user IS NULL OR p.user_id = only_user)
              AND NOT EXISTS (SELECT FROM trace AS t JOIN embedding_model AS e
                              ON e.active AND e.model_id = t.model
                              WHERE t.user_id = p.user_id AND t.active)
        ) AS s
    ) AS c;
END $$;

-- Users with memories that their statistics do not count.
CREATE OR REPLACE FUNCTION _uncounted(only_user text)
    RETURNS TABLE (owner text, memories bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT p.owner, p.memories
    FROM _index_plan(only_user) AS p
    -- By index: joined for one user, all profiles were read.
    LEFT JOIN LATERAL (SELECT f.* FROM profile AS f WHERE f.user_id = p.owner OFFSET 0) AS f ON true
    WHERE p.memories > 0
      -- Recall of a user with indexes does not count what is newer: up to 1 % is allowed.
      AND CASE WHEN p.number > 0 AND f.counted > 0
               THEN abs(p.memories - f.counted) > p.memories / 100
               ELSE p.memories <> coalesce(f.counted, 0)
                    OR p.newest > coalesce(f.counted_up_to, 0)
                    OR f.expansions <> (SELECT max(m.expansions) FROM mode AS m) END
    ORDER BY p.memories DESC, p.owner;
END $$;

-- Whether a run is to build or drop indexes, and nobody else does.
CREATE OR REPLACE FUNCTION _may_build(run upkeep_run) RETURNS boolean
    LANGUAGE sql
    RETURN NOT run.dry_run AND run.build_up_to > 0 AND _owns_tables()
           AND pg_try_advisory_xact_lock(_index_lock());

-- The step of upkeep that gives a user indexes, or removes them.
CREATE OR REPLACE FUNCTION _tend_indexes(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    limit_of_users CONSTANT int := _config('ann_limit');
    may_build CONSTANT boolean := _may_build(run);
    indexed bigint := (SELECT count(*) FROM profile AS p WHERE p.ann > 0);
    planned record;
BEGIN
    SELECT p.* INTO planned FROM _index_plan(user_id) AS p WHERE p.action IS NOT NULL;
    IF NOT FOUND THEN
        RETURN;
    END IF;
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
    IF planned.earned AND planned.action <> 'drop' AND indexed < limit_of_users THEN
        action := 'build index: memoir maintain';
        IF may_build AND memories <= run.build_up_to AND _build_own_index(user_id, memories) THEN
            action := 'index built';
        END IF;
        RETURN NEXT;
    END IF;
END $$;

-- The step before that one: drops what interrupted builds left, and recompiles _near_rows, so that
-- recall knows who has indexes.
CREATE OR REPLACE FUNCTION _tend_left_over(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF _may_build(run) THEN
        PERFORM _compile_near_rows();
        IF _left_over_indexes() <> '{}' AND _drop_indexes(_left_over_indexes()) THEN
            action := 'left-over index dropped';
            RETURN NEXT;
        END IF;
    END IF;
END $$;

-- The step of upkeep that counts words.
CREATE OR REPLACE FUNCTION _count_words(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    SELECT u.memories INTO memories FROM _uncounted(user_id) AS u;
    IF FOUND AND (run.dry_run OR refresh_statistics(user_id) IS NOT NULL) THEN
        -- How much recall reads for a user with indexes depends on how many memories were counted.
        IF NOT run.dry_run AND _owns_tables() AND pg_try_advisory_xact_lock(_index_lock())
           AND EXISTS (SELECT FROM profile AS p
                       WHERE p.user_id = _count_words.user_id AND p.ann > 0)
        THEN
            PERFORM _compile_near_rows();
        END IF;
        action := 'words counted';
        RETURN NEXT;
    END IF;
END $$;
