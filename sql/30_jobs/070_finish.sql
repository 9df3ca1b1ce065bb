-- Delivers the result of a job: checked, applied and done in one transaction, or not at all. A
-- second call with it changes nothing more, and a worker that lost its lease to another changes
-- nothing. Like everything that may change stored memories, it locks the user first.
CREATE OR REPLACE FUNCTION _lock_job(user_id text, job_id bigint) RETURNS job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
AS $$
DECLARE
    locked job;
BEGIN
    SELECT j.* INTO locked
    FROM job AS j
    WHERE j.user_id = _lock_job.user_id AND j.job_id = _lock_job.job_id
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'user "%" has no job %', user_id, coalesce(job_id::text, 'NULL')
            USING ERRCODE = 'ME012', HINT = 'Pass job_id and user_id as claim() returned them.';
    END IF;
    RETURN locked;
END $$;

-- What a worker is told that no longer has the job; NULL: it still has it. A lease that has ended
-- and that nobody took over still belongs to the worker.
CREATE OR REPLACE FUNCTION _worker_refused(locked job, worker text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN locked.status = 'done' THEN 'done already'
                WHEN locked.status <> 'running' OR locked.worker <> worker THEN 'lost' END;

-- Of the reflections that waited for this job (_waits_for_another) the first waits no longer. One
-- that is just being claimed, or purged, is left to who does that.
CREATE OR REPLACE FUNCTION _reflect_now(over job) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    UPDATE job AS j
    SET run_at = now(), error = NULL
    WHERE j.user_id = over.user_id AND j.job_id = (
        SELECT w.job_id FROM job AS w
        WHERE w.user_id = over.user_id AND w.kind = 'reflect' AND w.status = 'waiting'
          AND CASE over.kind
                  WHEN 'extract' THEN w.error = 'its session is being extracted'
                                      AND w.dedup_key = over.payload ->> 'session_id'
                  WHEN 'reflect' THEN w.error = 'another session is being reflected on' END
        ORDER BY w.priority DESC, w.job_id LIMIT 1
        FOR NO KEY UPDATE SKIP LOCKED);
END $$;

CREATE OR REPLACE FUNCTION finish(
    job_id bigint, answer jsonb DEFAULT NULL, user_id text DEFAULT NULL, worker text DEFAULT NULL,
    embeddings halfvec[] DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    needs text;
    finished job;
    refused text;
    outcome text := 'done';
BEGIN
    -- A job that applies nothing is done at once, in two thirds of the time the others take.
    UPDATE job AS j
    SET status = 'done', error = NULL, finished_at = now()
    FROM job_kind AS k
    WHERE j.user_id = owner AND j.job_id = finish.job_id AND k.name = j.kind
      AND k.needs = 'nothing' AND _worker_refused(j, finish.worker) IS NULL;
    IF FOUND THEN
        RETURN 'done';
    END IF;
    needs := (SELECT k.needs FROM job AS j JOIN job_kind AS k ON k.name = j.kind
              WHERE j.user_id = owner AND j.job_id = finish.job_id);
    -- Like _lock_user(), but without the row it makes: an attempt that fails leaves nothing behind.
    IF needs = 'chat' THEN
        PERFORM FROM profile AS p WHERE p.user_id = owner FOR NO KEY UPDATE;
    END IF;
    finished := _lock_job(owner, job_id);
    refused := _worker_refused(finished, worker);
    IF refused IS NOT NULL THEN
        RETURN refused;
    END IF;
    BEGIN
        IF needs = 'chat' THEN
            PERFORM _apply_answer(finished, _json_given(answer));
        ELSIF needs = 'embedding' THEN
            PERFORM _apply_embed(finished, answer, embeddings);
        END IF;
    EXCEPTION WHEN OTHERS THEN
        IF _is_of_server(SQLSTATE) THEN
            RAISE;
        END IF;
        outcome := CASE _fail_job(finished, SQLERRM, now())
                       WHEN 'dead' THEN 'dead' ELSE 'failed' END;
    END;
    IF outcome = 'done' THEN
        PERFORM _jobs_done(owner, ARRAY[job_id]);
    END IF;
    IF finished.kind = 'reflect' OR finished.kind = 'extract' AND outcome = 'done' THEN
        PERFORM _reflect_now(finished);
    END IF;
    RETURN outcome;
END $$;

COMMENT ON FUNCTION finish(bigint, jsonb, text, text, halfvec[]) IS
    'Takes the result of a claimed job, applies it and returns what happened: done; done already '
    '(nothing is applied twice); lost (the lease ended and another worker has it: nothing is '
    'applied); failed (the answer does not fit its schema or cannot be applied: nothing of it is, '
    'the reason is in job_errors and the job waits for its next attempt); dead (that was the '
    'last). What it changed of memories is one run, run_id in the payload of the job, which '
    'undo_run() takes back. answer: the JSON the model gave, as of answer_schema. embeddings: of '
    'an embed job, one vector a text in the order of texts, NULL for a text that the model '
    'refused, with answer {"errors": [{"text": 2, "error": "too long"}]}: that text is tried '
    'again by itself. worker: who claimed it; NULL: not compared. Errors: ME006 user, ME012 no '
    'such job of this user.';
