-- Stores checked memories of one user with all that recall needs. Returns NULL when all of them are
-- new, otherwise an array with an element for each: NULL if it is new, the id of the stored memory
-- if the same is already stored or comes before it in the batch. A memory that has ended does not
-- count as the same when it is said again. One statement per table, whatever the number of
-- memories. Rows that another connection may also be writing go in a fixed order (sessions, then
-- memories by hash, then vectors), so that two batches never wait for each other.

-- Some memory of the user has an end: from now on recall looks for ended ones.
CREATE OR REPLACE FUNCTION _note_end(user_id text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE profile AS p SET some_expire = true
    WHERE p.user_id = _note_end.user_id AND NOT p.some_expire;
END $$;

-- What is true again: the memory with that text had ended before. It makes way and keeps its time,
-- and what is said now is stored next to it. Both are one change: without a given one, the revision
-- of what is added is written here. Returns known without what made way.
CREATE OR REPLACE FUNCTION _replace_ended(
    user_id text, model embedding_model, given new_memory[], known bigint[], run_id bigint,
    change_id bigint) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    ended record;
    anew new_memory;
    change bigint;
BEGIN
    FOR ended IN
        SELECT u.place, m.memory_id
        FROM unnest(known) WITH ORDINALITY AS u (known, place), LATERAL (
            SELECT m.* FROM memory AS m
            WHERE m.user_id = _replace_ended.user_id AND m.memory_id = u.known OFFSET 0) AS m
        WHERE m.status = 'active' AND m.position IS NULL
          AND m.valid_until <= (given[u.place]).valid_from
        ORDER BY u.place
    LOOP
        anew := given[ended.place];
        change := coalesce(change_id, _next_change());
        PERFORM _lock_user(user_id);
        PERFORM _end_at(user_id, ended.memory_id, anew.valid_from, anew.created_at, anew.origin,
                        format('memory %s follows', anew.memory_id), run_id, change);
        known[ended.place] := (_store(user_id, model, ARRAY[anew]))[1];
        PERFORM _link(user_id, ARRAY[coalesce(known[ended.place], anew.memory_id)],
                      ARRAY[ended.memory_id], 'supersedes', 1, ARRAY[change]);
        IF known[ended.place] IS NULL AND change_id IS NULL THEN
            PERFORM _record_added(user_id, ARRAY[anew.memory_id], anew.origin, NULL, run_id,
                                  change);
        END IF;
    END LOOP;
    RETURN CASE WHEN array_remove(known, NULL) <> '{}' THEN known END;
END $$;

-- run_id and change_id: of the decision, if a memory comes with one.
CREATE OR REPLACE FUNCTION _store(
    user_id text, model embedding_model, given new_memory[], run_id bigint DEFAULT NULL,
    change_id bigint DEFAULT NULL) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    number int;
    known bigint[];
    some_ended boolean;
    fresh new_memory[];
    bare record;
BEGIN
    LOOP
        fresh := given;
        INSERT INTO memory (user_id, memory_id, kind, content, summary, data, subject,
                            importance, confidence, origin, session_id, position, speaker,
                            valid_from, valid_until, lifetime, status, retired_at,
                            content_hash, created_at)
        SELECT _store.user_id, g.memory_id, g.kind, g.content, g.summary, g.data, g.subject,
               g.importance, g.confidence, g.origin, g.session_id, g.position, g.speaker,
               g.valid_from, g.valid_until, g.lifetime, g.status, g.retired_at,
               g.content_hash, g.created_at
        FROM unnest(given) AS g
        ORDER BY g.content_hash, g.memory_id
        ON CONFLICT (user_id, content_hash)
            WHERE status IN ('active', 'pending') AND source IS NULL DO NOTHING;
        GET DIAGNOSTICS number = ROW_COUNT;
        EXIT WHEN number = cardinality(given);
        SELECT array_agg(nullif(s.memory_id, s.new_id) ORDER BY s.new_id),
               array_agg(s.g) FILTER (WHERE s.memory_id = s.new_id), bool_or(s.ended)
        INTO known, fresh, some_ended
        FROM (SELECT g, g.memory_id AS new_id, m.memory_id, m.valid_until <= g.valid_from AS ended
              FROM unnest(given) AS g
              LEFT JOIN memory AS m ON m.user_id = _store.user_id
                                   AND m.content_hash = g.content_hash
                                   AND m.status IN ('active', 'pending')
                                   AND m.source IS NULL) AS s
        HAVING count(s.memory_id) = count(*);
        -- Otherwise the memory that was in the way was removed meanwhile, and this one is stored
        -- after all.
        EXIT WHEN FOUND;
    END LOOP;

    IF fresh IS NOT NULL THEN
        PERFORM _project(user_id, model, fresh);
        INSERT INTO keyword (user_id, keyword, memory_id, weight, origin)
        SELECT _store.user_id, k.keyword, n.memory_id, k.weight, 'system'
        FROM unnest(fresh) AS n, LATERAL _keywords(n.content) AS k;
    END IF;
    IF EXISTS (SELECT FROM unnest(fresh) AS n WHERE n.valid_until IS NOT NULL) THEN
        PERFORM _note_end(user_id);
    END IF;
    IF known IS NOT NULL THEN
        IF EXISTS (SELECT FROM ROWS FROM (unnest(known), unnest(given)) AS u (known)
                   WHERE u.known IS NOT NULL AND u.embedding IS NOT NULL) THEN
            PERFORM _lock_user(user_id);
            -- Whoever held the lock before may have given a memory a different text.
            SELECT array_agg(u.known) AS ids, array_agg(u.embedding) AS embeddings INTO bare
            FROM ROWS FROM (unnest(known), unnest(given)) AS u (known)
            JOIN memory AS m ON m.user_id = _store.user_id AND m.memory_id = u.known
                            AND m.content_hash = u.content_hash
            WHERE u.embedding IS NOT NULL;
            PERFORM _store_vectors(user_id, model.model_id, bare.ids, bare.embeddings, false);
        END IF;
        IF some_ended THEN
            known := _replace_ended(user_id, model, given, known, run_id, change_id);
        END IF;
    END IF;
    RETURN known;
END $$;
