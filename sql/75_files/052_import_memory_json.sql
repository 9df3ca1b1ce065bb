-- Takes memory.json into memory, all of it or nothing, in a few statements. New entries are stored
-- side by side without being compared; edited ones change their memory with a revision by author
-- file. All of it is one run, which undo_run() undoes.

-- Stores the new entries of a plan; returns their ids, in its order.
CREATE OR REPLACE FUNCTION _add_entries(user_id text, plan file_change[], run_id bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    model CONSTANT embedding_model := _admitting_model(NULL);
    given CONSTANT new_memory[] := ARRAY(
        SELECT _new_memory(
                   of_kind => k, content => p.content, subject => NULL,
                   importance => p.importance, data => p.data, summary => NULL,
                   embedding => NULL, created_at => p.created_at, session_id => NULL,
                   turn => NULL, speaker => NULL, source => coalesce(p.origin, 'file'),
                   confidence => NULL, valid_from => NULL, valid_until => NULL)
        FROM unnest(plan) AS p JOIN kind AS k ON k.name = p.kind
        WHERE p.action = 'ADD'
        ORDER BY p.place);
    known bigint[];
    ids bigint[];
BEGIN
    IF given = '{}' THEN
        RETURN '{}';
    END IF;
    known := _store(user_id, model, given, run_id);
    ids := ARRAY(
        SELECT coalesce(known[g.place], g.memory_id)
        FROM (SELECT row_number() OVER () AS place, n.memory_id FROM unnest(given) AS n) AS g
        ORDER BY g.place);
    PERFORM _record_added(
        user_id, ARRAY(SELECT i FROM unnest(ids) AS i
                       WHERE i NOT IN (SELECT unnest(_recorded(_add_entries.user_id, ids)))),
        'file', NULL, run_id, NULL);
    IF EXISTS (SELECT FROM unnest(given) AS g WHERE g.in_profile) THEN
        PERFORM _refresh_profile(user_id);
    END IF;
    PERFORM _notify(user_id, 'created', ids);
    RETURN ids;
END $$;

-- The memory of each entry of a plan, in its order, once the new ones have their ids.
CREATE OR REPLACE FUNCTION _holders(plan file_change[], added bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        WITH own AS MATERIALIZED (
            SELECT p.place, p.same_as, coalesce(p.memory_id, added[
                       count(*) FILTER (WHERE p.action = 'ADD') OVER (ORDER BY p.place)]) AS id
            FROM unnest(plan) AS p
            WHERE p.place IS NOT NULL
        )
        SELECT array_agg(CASE WHEN o.same_as IS NULL THEN o.id ELSE f.id END ORDER BY o.place)
        FROM own AS o LEFT JOIN own AS f ON f.place = o.same_as);
END $$;

-- Stores what the file says of each entry, and what its memory is when it is just that (undo may
-- bring that back); returns how many rows were new or changed.
CREATE OR REPLACE FUNCTION _keep_entries(user_id text, plan file_change[], holders bigint[])
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    kept bigint;
    dropped bigint;
BEGIN
    INSERT INTO file_entry AS f (user_id, entry_id, memory_id, place, written, digest)
    SELECT _keep_entries.user_id, p.entry_id, m.memory_id, p.place, p.written,
           CASE WHEN p.in_step THEN _entry_digest(m.kind, m.content, m.importance, m.data,
                                                  m.origin, a.count, a.last_at)
                ELSE coalesce(o.digest, md5('')::uuid) END
    FROM unnest(plan) AS p
    LEFT JOIN LATERAL (SELECT o.digest FROM file_entry AS o
                       WHERE o.user_id = _keep_entries.user_id AND o.entry_id = p.entry_id
                         AND o.written::text = p.written::text
                       OFFSET 0) AS o ON true
    CROSS JOIN LATERAL (SELECT m.* FROM memory AS m
                        WHERE m.user_id = _keep_entries.user_id
                          AND m.memory_id = holders[p.place + 1]
                        OFFSET 0) AS m
    LEFT JOIN LATERAL (SELECT a.* FROM access AS a
                       WHERE a.user_id = m.user_id AND a.memory_id = m.memory_id
                       OFFSET 0) AS a ON true
    WHERE p.place IS NOT NULL
    ON CONFLICT (user_id, entry_id) DO UPDATE
    SET memory_id = excluded.memory_id, place = excluded.place, written = excluded.written,
        digest = excluded.digest
    WHERE (f.memory_id, f.place, f.digest, f.written::text)
          <> (excluded.memory_id, excluded.place, excluded.digest, excluded.written::text);
    GET DIAGNOSTICS kept = ROW_COUNT;
    DELETE FROM file_entry AS f
    USING unnest(plan) AS p
    WHERE f.user_id = _keep_entries.user_id AND f.entry_id = p.entry_id AND p.action = 'FORGET'
      AND p.memory_id = f.memory_id;
    GET DIAGNOSTICS dropped = ROW_COUNT;
    RETURN kept + dropped;
END $$;

-- Stores what a file says besides its entries; the list with that name stands for the entries.
CREATE OR REPLACE FUNCTION _keep_head(user_id text, name text, written json, anew boolean)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO file_head AS h (user_id, name, written, read_at)
    VALUES (_keep_head.user_id, _keep_head.name, _keep_head.written, now())
    ON CONFLICT ON CONSTRAINT file_head_pkey DO UPDATE
    SET written = excluded.written, read_at = excluded.read_at
    WHERE anew OR h.written::text <> excluded.written::text;
END $$;

-- The rolling summary of the file, if it has changed since last time. An empty one removes the
-- stored one only if the file had one before. Only the md5 of its text stays in the head: purge()
-- deletes the summary, and it must not come back from there.
CREATE OR REPLACE FUNCTION _take_summary(user_id text, said text, before text, dry_run boolean)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    given CONSTANT text := CASE WHEN said ~ '[^[:space:]]' THEN said END;
    stored CONSTANT text := (SELECT p.rolling_summary FROM profile AS p
                             WHERE p.user_id = _take_summary.user_id);
BEGIN
    IF given IS NOT DISTINCT FROM stored OR md5(given) = before
       OR given IS NULL AND (before ~ '^[0-9a-f]{32}$') IS NOT TRUE
    THEN
        RETURN false;
    END IF;
    IF dry_run IS NOT TRUE THEN
        PERFORM set_rolling_summary(given, user_id);
        UPDATE profile AS p SET rolling_summary = given WHERE p.user_id = _take_summary.user_id;
    END IF;
    RETURN true;
END $$;

-- Carries a plan out, and returns the memory of each entry.
CREATE OR REPLACE FUNCTION _carry_out(user_id text, plan file_change[], run_id bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    holders CONSTANT bigint[] := _holders(plan, _add_entries(user_id, plan, run_id));
    changed record;
BEGIN
    FOR changed IN
        SELECT p.reason, array_agg(p.memory_id ORDER BY p.place) AS ids,
               array_agg(p.new_values ORDER BY p.place) AS new_values
        FROM (SELECT DISTINCT ON (p.memory_id) p.* FROM unnest(plan) AS p
              WHERE p.action = 'UPDATE' AND p.new_values <> '{}'
              ORDER BY p.memory_id, p.place) AS p
        GROUP BY p.reason
        ORDER BY min(p.place)
    LOOP
        PERFORM _revise(user_id, changed.ids, changed.new_values, 'UPDATE', 'file',
                        changed.reason, run_id, NULL);
    END LOOP;
    FOR changed IN
        SELECT p.reason, array_agg(DISTINCT p.memory_id) AS ids
        FROM unnest(plan) AS p WHERE p.action = 'FORGET' GROUP BY p.reason
    LOOP
        PERFORM _retire(user_id, changed.ids, 'forgotten', 'FORGET', 'file', changed.reason, now(),
                        run_id);
        PERFORM _renew_summary(user_id);
    END LOOP;
    INSERT INTO access AS a (user_id, memory_id, count, last_at)
    SELECT DISTINCT ON (h.id) _carry_out.user_id, h.id, p.count, p.last_at
    FROM unnest(plan) AS p, LATERAL (SELECT holders[p.place + 1] AS id) AS h
    WHERE p.count IS NOT NULL
    ORDER BY h.id, p.place
    ON CONFLICT ON CONSTRAINT access_pkey DO UPDATE
    SET count = excluded.count, last_at = excluded.last_at;
    RETURN holders;
END $$;

CREATE OR REPLACE FUNCTION import_memory_json(
    document json, user_id text DEFAULT NULL, dry_run boolean DEFAULT false,
    delete_missing boolean DEFAULT false, zone text DEFAULT 'UTC')
    RETURNS TABLE (entry_id text, action text, memory_id bigint, reason text, run_id bigint)
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    in_zone CONSTANT text := _check_zone(zone);
    said text;
    head json;
    before json;
    plan file_change[];
    holders bigint[];
    run bigint;
    kept bigint;
    resumed boolean;
BEGIN
    PERFORM _check_json(_check_document(document, 'memory.json'), _memory_file_schema(),
                        'memory.json');
    IF _key_twice(document) IS NOT NULL THEN
        RAISE EXCEPTION 'memory.json%', _key_twice(document)
            USING ERRCODE = 'ME015', HINT = 'Nothing of it was stored. Correct the file.';
    END IF;
    IF _writing_refused(owner, NULL) IS NOT NULL THEN
        RETURN QUERY
        SELECT e.entry ->> 'id', 'NOOP', NULL::bigint, _writing_refused(owner, NULL), NULL::bigint
        FROM json_array_elements(document -> 'memories') AS e (entry);
        RETURN;
    END IF;
    IF dry_run IS NOT TRUE THEN
        PERFORM _lock_user(owner);
    END IF;
    SELECT h.written INTO before FROM file_head AS h
    WHERE h.user_id = owner AND h.name = 'memory.json';
    plan := _plan_memory_json(owner, document, in_zone, delete_missing);
    head := _redact_written(_json_with(document, 'memories', '[]'));
    said := head ->> 'rolling_summary';
    resumed := _take_summary(owner, said, before ->> 'rolling_summary', dry_run);
    IF dry_run IS NOT TRUE THEN
        IF EXISTS (SELECT FROM unnest(plan) AS p WHERE p.action <> 'NOOP') THEN
            run := _next_run();
            holders := _carry_out(owner, plan, run);
        ELSE
            holders := _holders(plan, '{}');
        END IF;
        IF said ~ '[^[:space:]]' THEN
            head := _json_with(head, 'rolling_summary', to_json(md5(said)));
        END IF;
        kept := _keep_entries(owner, plan, holders);
        PERFORM _keep_head(owner, 'memory.json', head, kept > 0 OR run IS NOT NULL OR resumed);
    END IF;
    RETURN QUERY
    SELECT p.entry_id, p.action, coalesce(holders[p.place + 1], p.memory_id), p.reason, run
    FROM unnest(plan) WITH ORDINALITY AS p
    ORDER BY p.ordinality;
    IF resumed THEN
        RETURN QUERY SELECT NULL, 'UPDATE', NULL::bigint, 'changed in the file', NULL::bigint;
    END IF;
END $$;

COMMENT ON FUNCTION import_memory_json(json, text, boolean, boolean, text) IS
    'Takes memory.json of D3 (version 2) into memory, all of it or nothing, and returns a row an '
    'entry in its order: entry_id, action, memory_id (NULL for a new one in a dry run), reason, '
    'run_id (undo_run() takes all of it back). ADD: it is new; similar entries stay separate. '
    'UPDATE: what differs from what the file said last time is taken, with a revision by author '
    'file; what does not stays as memory has it, also where that changed after last_updated and '
    'the file was never imported. NOOP. FORGET: its entry says something else now and another has '
    'its text; with delete_missing also, it was in the file and no longer is, unless it was '
    'brought back after last_updated. A last row without entry_id: the rolling summary. '
    'created_at and source of a stored memory stay. Unknown fields are kept in data and printed '
    'again by export_memory_json(). Content is redacted; while memory is off all is NOOP. '
    'dry_run: changes nothing, tells the same. zone: of times without an offset. Errors: ME006 '
    'user, ME007 rolling summary, ME008 zone, ME014 a memory in the way, ME015 the document, with '
    'the path of what does not fit, ME017 too large. Source: D3 2.1.';
