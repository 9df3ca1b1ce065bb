-- What a row of table setting may say. A wrong value is refused when it is written: the calls that
-- need it would only fail later, each with an error about something else.

-- The settings there are, and what each takes. From one: with 0 nothing would ever be done, or
-- something be divided by it. Items: no payload of a job may list more of them.
CREATE OR REPLACE FUNCTION _known_settings(OUT name text, OUT sort text) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT unnest(s.names), s.sort
    FROM (VALUES
        ('switch', '{consolidate,job_notify,keyword_jobs,log_recalls,notify}'::text[]),
        ('share', '{active_above,fade_below,forget_below,keyword_weight_least,lower_by,lower_to}'),
        ('items', '{archive_events,embed_batch}'),
        ('from one', '{compress_most,compress_tokens,extract_messages,extract_tokens,job_attempts,'
                     'maintain_batch,reflect_tokens,source_batch}'),
        ('number', '{ann_gain,ann_inline,ann_limit,ann_near,ann_words,answer_limit,archive_days,'
                   'brief_length,compress_accesses,compress_days,compress_least,delete_days,'
                   'deletions_at_once,embed_split_after,extract_every,file_limit,forget_rate,'
                   'job_backoff_factor,job_backoff_limit_seconds,job_backoff_seconds,job_days,'
                   'line_length,link_hub_limit,markdown_limit,nightly_jobs,profile_goals,'
                   'profile_tokens,recall_context,replay_days,similar_memories,source_attempts,'
                   'source_overlap_seconds,statements_compared,summary_changes,summary_length,'
                   'summary_memories,temporary_days,text_limit,working_days}'),
        ('name', '{installation}')) AS s (sort, names);
END;

-- Whether a setting can have this value; of an unknown one anything will do.
CREATE OR REPLACE FUNCTION _fits_setting(name text, value jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    sort CONSTANT text := (SELECT k.sort FROM _known_settings() AS k
                           WHERE k.name = _fits_setting.name);
BEGIN
    RETURN CASE WHEN sort IS NULL THEN true
        WHEN jsonb_typeof(value) = 'number'
        THEN sort IN ('share', 'items', 'from one', 'number')
             AND value::numeric BETWEEN (sort IN ('items', 'from one'))::int
                                AND CASE sort WHEN 'share' THEN 1 WHEN 'items' THEN 10000
                                    ELSE 2147483647 END
        ELSE (jsonb_typeof(value), sort) IN (('boolean', 'switch'), ('string', 'name')) END;
END $$;

CREATE OR REPLACE FUNCTION _check_setting() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    IF NOT _fits_setting(NEW.name, NEW.value) THEN
        RAISE EXCEPTION 'setting % cannot be %', NEW.name, left(NEW.value::text, 40)
            USING ERRCODE = 'ME008', HINT = (
                SELECT CASE k.sort WHEN 'switch' THEN 'Write ''true'' or ''false''.'
                    WHEN 'share' THEN 'Write a number from 0 to 1.'
                    WHEN 'items' THEN 'Write a number from 1 to 10000.'
                    WHEN 'from one' THEN 'Write a number from 1 on.'
                    WHEN 'number' THEN 'Write a number from 0 on.'
                    ELSE 'Leave the name that the installation made.' END
                FROM _known_settings() AS k WHERE k.name = NEW.name);
    END IF;
    RETURN NEW;
END $$;

-- A dump is loaded with check_function_bodies off, and may hold values that an older version took:
-- health() names those. They do not prevent an update of another column either.
CREATE OR REPLACE TRIGGER check_setting BEFORE INSERT ON setting
    FOR EACH ROW WHEN (current_setting('check_function_bodies') = 'on')
    EXECUTE FUNCTION _check_setting();
CREATE OR REPLACE TRIGGER check_new_setting BEFORE UPDATE ON setting
    FOR EACH ROW WHEN (current_setting('check_function_bodies') = 'on'
                       AND (NEW.name, NEW.value) IS DISTINCT FROM (OLD.name, OLD.value))
    EXECUTE FUNCTION _check_setting();
