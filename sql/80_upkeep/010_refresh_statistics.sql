-- Counts in how many memories of a user each word occurs, so that recall counts only what came
-- later. Recall is exact with or without it (except for memories of a transaction that was open
-- during the count, which the next count includes); at 550 memories it saves 0.4 ms per recall.
--
-- Changes of memories lock the profile row first (_lock_user). Counting takes seconds for 1,000,000
-- memories, so it runs before the lock, and only writing runs under it. The count is valid if
-- nothing left recall or changed meanwhile. Otherwise it is repeated under the lock: 10,000
-- memories take less than half a second. With more it is given up: a user with so many changes
-- would lose exact statistics at once. Statistics of a user with own indexes (profile.ann) need not
-- be exact; but a user who was purged meanwhile has no indexes any more, and gets no words.
CREATE OR REPLACE FUNCTION refresh_statistics(user_id text DEFAULT NULL) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_use CONSTANT embedding_model := _known_model(NULL);
    in_model CONSTANT smallint := in_use.model_id;
    size CONSTANT int := coalesce(in_use.dimensions, 0);
    newest bigint;
    mark record;
    terms int[];
    dfs int[];
    narrow boolean;
    number smallint;
    told jsonb;
    locked boolean := false;
BEGIN
    LOOP
        number := coalesce((SELECT p.ann FROM profile AS p WHERE p.user_id = owner), 0);
        newest := coalesce((SELECT max(t.memory_id) FROM trace AS t
                            WHERE t.user_id = owner AND t.model = in_model AND t.active), 0);
        mark := _counted_mark(owner, in_model, newest);
        SELECT array_agg(c.term), array_agg(c.df) INTO terms, dfs
        FROM (SELECT split_part(entry, ':', 1)::int AS term, count(*)::int AS df
              FROM trace AS t,
                   unnest(string_to_array(split_part(ltrim(t.terms::text, '{'), '}', 1), ','))
                       AS entry
              WHERE t.user_id = owner AND t.model = in_model AND t.active
                AND t.memory_id <= newest
              GROUP BY 1
              ORDER BY 1) AS c;
        -- A vector that comes later must not make one wide.
        narrow := number = 0 AND NOT EXISTS (
            SELECT FROM trace AS t
            WHERE t.user_id = owner AND t.model = in_model AND t.active
              AND (t.wide OR _fills_entry(size, t.term_count, t.line, owner)));
        told := CASE WHEN number > 0 THEN (SELECT to_jsonb(s) FROM _summary(owner) AS s) END;
        EXIT WHEN locked;
        PERFORM _lock_listed_user(owner);
        locked := true;
        EXIT WHEN number > 0 AND number = (SELECT p.ann FROM profile AS p WHERE p.user_id = owner)
                  OR mark = _counted_mark(owner, in_model, newest);
        IF mark.memories > 10000 THEN
            RETURN NULL;
        END IF;
    END LOOP;

    DELETE FROM term AS t
    WHERE t.user_id = owner
      AND NOT EXISTS (SELECT FROM unnest(terms) AS c (term) WHERE c.term = t.term);
    INSERT INTO term AS t (user_id, term, df)
    SELECT owner, c.term, c.df FROM unnest(terms, dfs) AS c (term, df)
    ON CONFLICT ON CONSTRAINT term_pkey DO UPDATE SET df = excluded.df WHERE t.df <> excluded.df;
    UPDATE profile AS p
    SET counted = mark.memories, counted_up_to = newest, updated_at = now(),
        expansions = (SELECT max(m.expansions) FROM mode AS m),
        -- From the array: joined with term, each of 10,000 forms was looked up there.
        expanding = ARRAY(SELECT DISTINCT e.lead FROM expansion AS e
                          WHERE e.added = ANY (terms) ORDER BY e.lead),
        narrow_for = CASE WHEN narrow THEN size ELSE -1 END,
        -- A row of a source may be in a transaction that is still open: it waits for no lock here.
        some_expire = EXISTS (SELECT FROM memory AS m
                              WHERE m.user_id = owner AND m.valid_until IS NOT NULL
                                AND m.status = 'active')
                      OR EXISTS (SELECT FROM source AS s WHERE s.mapping ? 'valid_until'),
        overview = _lasting_overview(owner, told)
    WHERE p.user_id = owner;
    RETURN mark.memories;
END $$;

-- What was counted, to see whether it is still there: how many memories, which ones (their sum),
-- and the last change of any.
CREATE OR REPLACE FUNCTION _counted_mark(
    owner text, in_model smallint, newest bigint,
    OUT memories int, OUT ids numeric, OUT last_change bigint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT count(*), coalesce(sum(t.memory_id), 0),
           (SELECT max(r.revision_id) FROM revision AS r WHERE r.user_id = owner)
    INTO memories, ids, last_change
    FROM trace AS t
    WHERE t.user_id = owner AND t.model = in_model AND t.active AND t.memory_id <= newest;
END $$;

COMMENT ON FUNCTION refresh_statistics(text) IS
    'Counts the words of a user''s memories again and returns how many memories were counted. '
    'NULL: there are more than 10,000 and some changed meanwhile, so nothing is counted; try '
    'again later. Changes the speed of recall, never its result. Call it after loading many '
    'memories, at READ COMMITTED: a transaction that keeps its snapshot counts what another has '
    'just taken away. Error: ME006 user.';

-- A counted memory that leaves recall invalidates the statistics: recall counts for itself until
-- the next refresh, so its results stay exact. Among many memories one changes nothing.
CREATE OR REPLACE FUNCTION _drop_statistics() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    UPDATE profile AS p
    SET counted = 0, counted_up_to = 0
    WHERE p.user_id = OLD.user_id AND p.counted_up_to >= OLD.memory_id AND p.ann = 0;
    RETURN NULL;
END $$;

-- Recall and its statistics know the traces of one model.
CREATE OR REPLACE FUNCTION _is_in_use(model smallint) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN EXISTS (SELECT FROM embedding_model AS e WHERE e.active AND e.model_id = model);

CREATE OR REPLACE TRIGGER drop_statistics_on_delete AFTER DELETE ON trace
    FOR EACH ROW WHEN (_is_in_use(OLD.model)) EXECUTE FUNCTION _drop_statistics();
CREATE OR REPLACE TRIGGER drop_statistics_on_update AFTER UPDATE OF active, terms ON trace
    FOR EACH ROW
    WHEN (OLD.active IS DISTINCT FROM NEW.active OR OLD.terms::text <> NEW.terms::text)
    EXECUTE FUNCTION _drop_statistics();
CREATE OR REPLACE TRIGGER drop_statistics_on_update AFTER UPDATE OF valid_until, status ON memory
    FOR EACH ROW
    WHEN (NEW.valid_until IS NOT NULL AND NEW.status = 'active'
          AND (OLD.valid_until IS NULL OR OLD.status <> 'active'))
    EXECUTE FUNCTION _drop_statistics();
