-- What maintain() does for attached sources: it tries failed rows again, takes over what changed in
-- queries and views that tell when, finds the keywords of new rows, and writes retrieval events
-- into the application's table. It reads nothing from the start: what somebody purged stays away.

-- The sources with something to do, one after the other by source_id; one batch per call if the
-- caller commits in between. A source that fails does not stop the others. For one user: the failed
-- rows of that user, and the sources that belong to no other.
CREATE OR REPLACE FUNCTION _tend_sources(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    s source;
    told record;
BEGIN
    next := after;
    LOOP
        SELECT o.* INTO s FROM source AS o
        WHERE o.source_id > next
          AND (NOT o.follows AND o.mapping ? 'changed_at' AND o.last_read IS NOT NULL
                   AND (user_id IS NULL OR o.mapping ->> 'user_id' = user_id)
               OR EXISTS (SELECT FROM source_error AS e
                          WHERE e.source = o.name AND e.place IS NOT NULL
                            AND (user_id IS NULL OR e.user_id = user_id)
                            AND e.attempts < (SELECT _config('source_attempts'))))
        ORDER BY o.source_id LIMIT 1;
        EXIT WHEN NOT FOUND;
        next := s.source_id;
        action := 'source read';
        BEGIN
            SELECT t.* INTO told FROM _tend_source(s, user_id, run) AS t;
            next := CASE WHEN told.complete THEN s.source_id ELSE s.source_id - 1 END;
            memories := told.written;
            details := jsonb_build_object('source', s.name, 'rows', told.read_rows);
        EXCEPTION WHEN OTHERS THEN
            action := 'source failed';
            memories := 0;
            details := jsonb_build_object('source', s.name)
                       || _failure(SQLERRM, SQLSTATE, 'tend_sources', 'source ' || s.name);
        END;
        RETURN NEXT;
        EXIT WHEN run.most IS NOT NULL;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION _tend_source(
    s source, user_id text, run upkeep_run,
    OUT read_rows int, OUT written int, OUT complete boolean)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    batch CONSTANT int := coalesce(run.most, _config('source_batch')::int);
BEGIN
    complete := true;
    IF run.dry_run THEN
        read_rows := (SELECT count(*) FROM source_error AS e
                      WHERE e.source = s.name AND (user_id IS NULL OR e.user_id = user_id));
        written := 0;
    ELSIF NOT s.follows AND s.mapping ? 'changed_at'
          AND (user_id IS NULL OR s.mapping ->> 'user_id' = user_id)
    THEN
        SELECT p.read_rows, p.written, p.complete INTO read_rows, written, complete
        FROM pull_source(s.name, run.most) AS p;
    ELSE
        -- As long as that helps: while an index was made, all rows of a load may have had to wait.
        SELECT a.*, a.written = 0 OR a.read_rows < batch INTO read_rows, written, complete
        FROM _try_again(s, user_id, batch) AS a;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _find_source_keywords(user_id text, run upkeep_run, after bigint)
    RETURNS TABLE (action text, memories bigint, details jsonb, next bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    told record;
BEGIN
    IF run.dry_run THEN
        RETURN;
    END IF;
    PERFORM _lock_listed_user(user_id);
    SELECT k.* INTO told FROM _source_keywords(user_id, after, run.most) AS k;
    next := CASE WHEN told.looked_at = run.most THEN told.last_id END;
    IF told.looked_at > 0 THEN
        action := 'keywords found';
        memories := told.looked_at;
        RETURN NEXT;
    END IF;
END $$;

-- Folded recalls as rows of the tables that were attached with write_retrievals. A table that
-- refuses them does not stop the folding: view sources shows its error. If the server could not
-- write them, they are folded another time.
CREATE OR REPLACE FUNCTION _write_retrievals(
    user_id text, payloads jsonb[], times timestamptz[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    s source;
    failed source_row;
BEGIN
    FOR s IN
        SELECT o.* FROM source AS o
        WHERE o.write_retrievals
          AND coalesce(o.mapping ->> 'user_id', user_id) = user_id
        ORDER BY o.source_id
    LOOP
        BEGIN
            EXECUTE format('SELECT count(_source_%s_log($1, u.payload, u.at)) '
                           'FROM unnest($2, $3) AS u (payload, at)', s.source_id)
            USING user_id, payloads, times;
        EXCEPTION WHEN OTHERS THEN
            IF _is_of_server(SQLSTATE) THEN
                RAISE;
            END IF;
            failed.user_id := user_id;
            failed.source_key := 'memory_retrieval';
            PERFORM _record_failure(s.name, failed, SQLSTATE, SQLERRM, 1);
        END;
    END LOOP;
END $$;
