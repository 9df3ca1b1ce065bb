-- The memories that lead without a question, for a user with indexes of their own: the best by
-- importance x weight and decay of the kind, or (no weights) the newest. They also fill up what a
-- filter leaves near a question. Of two equally important memories of a kind the newer counts at
-- least as much, so the newest of each importance (the 100 highest of each kind) are looked at, and
-- the best of those are followed down. The index, of kind, importance and time, is partial by
-- user_id || '+': otherwise the planner would take it for one of those of _near_rows.
CREATE OR REPLACE FUNCTION _compile_leading_rows() RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $compile$
DECLARE
    branches text;
BEGIN
    SELECT string_agg(format($branch$
    IF _leading_rows.user_id = %1$L THEN
        RETURN QUERY
        WITH RECURSIVE level AS (
            SELECT k.kind_id AS kind, 'infinity'::float8 AS importance, 0 AS place
            FROM kind AS k WHERE of_kinds IS NULL OR k.kind_id = ANY (of_kinds)
            UNION ALL
            SELECT l.kind, n.importance, l.place + 1
            FROM level AS l, LATERAL (
                SELECT t.importance FROM trace AS t
                WHERE t.user_id || '+' = %3$L AND t.model = %2$s AND t.active
                  AND t.kind = l.kind AND t.importance < l.importance
                ORDER BY t.importance DESC LIMIT 1) AS n
            WHERE l.place < 100
        )
        SELECT r.memory_id
        FROM (
            SELECT l.kind, l.importance
            FROM level AS l, LATERAL (
                SELECT t.created_at FROM trace AS t
                WHERE t.user_id || '+' = %3$L AND t.model = %2$s AND t.active
                  AND t.kind = l.kind AND t.importance = l.importance
                  AND t.created_at BETWEEN since AND until
                ORDER BY t.created_at DESC LIMIT 1) AS h
            WHERE l.place > 0
            ORDER BY CASE
                WHEN kind_weights IS NULL THEN date_part('epoch', h.created_at)
                ELSE l.importance * _kind_factor(plain_kinds, l.kind, kind_weights,
                                                 kind_rates, at_epoch, h.created_at)
            END DESC
            LIMIT most
        ) AS l, LATERAL (
            SELECT t.memory_id, t.created_at FROM trace AS t
            WHERE t.user_id || '+' = %3$L AND t.model = %2$s AND t.active
              AND t.kind = l.kind AND t.importance = l.importance
              AND t.created_at BETWEEN since AND until
            ORDER BY t.created_at DESC LIMIT most) AS r
        ORDER BY CASE
            WHEN kind_weights IS NULL THEN date_part('epoch', r.created_at)
            ELSE l.importance * _kind_factor(plain_kinds, l.kind, kind_weights,
                                             kind_rates, at_epoch, r.created_at)
        END DESC
        LIMIT most;
        RETURN;
    END IF;$branch$, p.user_id, e.model_id, p.user_id || '+'), '' ORDER BY p.ann)
    INTO branches
    FROM profile AS p, embedding_model AS e
    WHERE p.ann > 0 AND e.active AND e.dimensions IS NOT NULL;
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION _leading_rows(
    user_id text, most int, since timestamptz, until timestamptz, of_kinds smallint[],
    plain_kinds bigint DEFAULT NULL, kind_weights float8[] DEFAULT NULL,
    kind_rates float8[] DEFAULT NULL, at_epoch float8 DEFAULT NULL)
    RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET jit = off
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
    SET enable_hashjoin = off SET enable_mergejoin = off
AS %L$function$, format($body$
#variable_conflict use_column
BEGIN%s
    RETURN QUERY
    SELECT t.memory_id FROM trace AS t
    JOIN embedding_model AS e ON e.active AND e.model_id = t.model
    WHERE t.user_id = _leading_rows.user_id AND t.active
      AND t.created_at BETWEEN since AND until
      AND (of_kinds IS NULL OR t.kind = ANY (of_kinds));
END $body$, coalesce(branches, '')));
END $compile$;
