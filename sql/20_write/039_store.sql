-- Stores checked memories of one user with all that recall needs, and returns their ids in the
-- order given: of a memory that is stored already, or stands among them twice, that of the first.
-- One statement a table, whatever their number. Rows that another connection may be writing too go
-- in a fixed order, sessions, then memories by hash, then vectors: two batches never wait for each
-- other.
CREATE OR REPLACE FUNCTION _store(user_id text, model smallint, given new_memory[])
    RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    sessions CONSTANT text[] := ARRAY(
        SELECT g.session_id FROM unnest(given) AS g WHERE g.session_id IS NOT NULL);
    new_ids bigint[] := '{}';
    memory_ids bigint[];
    fresh new_memory[] := given;
BEGIN
    IF sessions <> '{}' THEN
        PERFORM _open_sessions(user_id, sessions);
    END IF;
    LOOP
        WITH stored AS (
            INSERT INTO memory AS m (user_id, memory_id, kind, content, summary, data, subject,
                                     importance, confidence, origin, session_id, position, speaker,
                                     valid_from, lifetime, content_hash, created_at)
            SELECT _store.user_id, g.memory_id, g.kind, g.content, g.summary, g.data, g.subject,
                   g.importance, g.confidence, g.origin, g.session_id, g.position, g.speaker,
                   g.created_at, g.lifetime, g.content_hash, g.created_at
            FROM unnest(given) AS g
            ORDER BY g.content_hash, g.memory_id
            ON CONFLICT (user_id, content_hash) WHERE status IN ('active', 'pending') DO NOTHING
            RETURNING m.memory_id
        )
        SELECT new_ids || array_agg(s.memory_id) INTO new_ids FROM stored AS s;
        IF cardinality(new_ids) = cardinality(given) THEN
            memory_ids := ARRAY(SELECT g.memory_id FROM unnest(given) AS g);
            EXIT;
        END IF;
        SELECT array_agg(m.memory_id ORDER BY g.place) INTO memory_ids
        FROM unnest(given) WITH ORDINALITY
             AS g (id, kind, kind_id, in_profile, content, summary, data, subject, importance,
                   confidence, origin, session_id, turn, speaker, lifetime, hash, created_at,
                   embedding, place)
        LEFT JOIN memory AS m ON m.user_id = _store.user_id AND m.content_hash = g.hash
                             AND m.status IN ('active', 'pending');
        -- Else one was taken away since it was in the way: it is to be stored after all.
        EXIT WHEN array_position(memory_ids, NULL) IS NULL;
    END LOOP;

    IF cardinality(new_ids) < cardinality(given) THEN
        fresh := ARRAY(SELECT g FROM unnest(given) AS g
                       WHERE g.memory_id IN (SELECT unnest(new_ids)));
    END IF;
    IF fresh <> '{}' THEN
        PERFORM _project(user_id, model, fresh);
        INSERT INTO keyword (user_id, keyword, memory_id, weight, origin)
        SELECT _store.user_id, k.keyword, n.memory_id, k.weight, 'system'
        FROM unnest(fresh) AS n, LATERAL _keywords(n.content) AS k;
        IF EXISTS (SELECT FROM unnest(fresh) AS n WHERE n.in_profile) THEN
            PERFORM _refresh_profile(user_id);
        END IF;
    END IF;
    IF cardinality(new_ids) < cardinality(given) THEN
        PERFORM _store_vectors(
            user_id, model, memory_ids,
            ARRAY(SELECT CASE WHEN g.memory_id IN (SELECT unnest(new_ids)) THEN NULL
                              ELSE g.embedding END
                  FROM unnest(given) AS g),
            false);
    END IF;
    RETURN memory_ids;
END $$;

CREATE OR REPLACE FUNCTION _action(is_new boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN is_new THEN 'ADD' ELSE 'NOOP' END;

CREATE OR REPLACE FUNCTION _reason(action text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE action WHEN 'ADD' THEN 'new' ELSE 'the same memory is stored already' END;
