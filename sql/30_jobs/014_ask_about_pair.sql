-- Jobs that nobody asked for: what to do about two memories that are alike, and what the nightly
-- pass finds. A user has only so many open jobs of each kind (setting nightly_jobs): if there is no
-- model, or none that can do them, they do not pile up, and what found no room is found again.
-- Memories of a user who has memory or auto_extract off are never shown to a model unasked.
CREATE OR REPLACE FUNCTION _job_room(user_id text, kind text) RETURNS int
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
BEGIN
    IF NOT _may_extract(user_id, NULL) THEN
        RETURN 0;
    END IF;
    RETURN greatest(0, _config('nightly_jobs') - (
        SELECT count(*) FROM job AS j
        WHERE j.user_id = _job_room.user_id AND j.kind = _job_room.kind AND j.status <> 'done'));
END $$;

-- A model is asked once about each pair: the relation that joins them records that it was. The
-- memory with the later valid_from is shown as the newer, even if it was stored first.
CREATE OR REPLACE FUNCTION _ask_about_pair(
    user_id text, older bigint, newer bigint, relation text DEFAULT 'related') RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _link(user_id, ARRAY[newer], ARRAY[older], relation, 0.9);
    IF _job_room(user_id, 'consolidate') > 0 THEN
        PERFORM enqueue('consolidate',
                        jsonb_build_object('memory_ids', ARRAY(
                            SELECT m.memory_id::text FROM memory AS m
                            WHERE m.user_id = _ask_about_pair.user_id
                              AND m.memory_id IN (older, newer)
                            ORDER BY m.valid_from, m.memory_id)), user_id,
                        format('%s %s', older, newer));
    END IF;
END $$;
