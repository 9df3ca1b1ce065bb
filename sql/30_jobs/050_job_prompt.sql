-- The prompt for the chat model of a claimed job, from table prompt, in the language of the
-- material if there is a prompt in it. The job records what was shown. Its answer is checked
-- against the schema of that prompt, may name only the listed memories, as long as their text is
-- the one that was shown, and counts as said when the conversation was.
CREATE OR REPLACE FUNCTION _prompt_of(kind text, language text) RETURNS prompt
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    chosen prompt;
BEGIN
    SELECT p.* INTO chosen
    FROM prompt AS p
    WHERE p.kind = _prompt_of.kind AND p.active AND p.language IN (_prompt_of.language, 'en')
    ORDER BY (p.language = _prompt_of.language) DESC, p.version DESC
    LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no active prompt for jobs of kind "%"', kind
            USING ERRCODE = 'ME012', HINT = 'Add one in English to memoir.prompt.';
    END IF;
    RETURN chosen;
END $$;

-- NULL: nothing is left to do.
CREATE OR REPLACE FUNCTION _job_prompt(claimed job) RETURNS claimed_job
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    given jsonb := _job_values(claimed);
    chosen prompt;
    result claimed_job;
BEGIN
    IF given IS NULL THEN
        RETURN NULL;
    END IF;
    chosen := _prompt_of(claimed.kind, given ->> 'language');
    given := given || jsonb_build_object(
        'caution', (_prompt_of('caution', chosen.language)).template);
    UPDATE job AS j
    SET payload = claimed.payload || jsonb_strip_nulls(jsonb_build_object(
        'listed', coalesce(given -> 'listed', '[]'), 'replaces', given -> 'replaces',
        'since', given -> 'since', 'said_at', given -> 'said_at',
        'shown', (SELECT jsonb_object_agg(m.memory_id::text, md5(m.content))
                  FROM memory AS m
                  WHERE m.user_id = claimed.user_id AND m.memory_id = ANY (ARRAY(
                      SELECT l.id::bigint
                      FROM jsonb_array_elements_text(given -> 'listed') AS l (id)))),
        'prompt', jsonb_build_object('language', chosen.language, 'version', chosen.version)))
    WHERE j.user_id = claimed.user_id AND j.job_id = claimed.job_id
    RETURNING j.* INTO claimed;
    result := _claimed_job(claimed);
    result.messages := jsonb_build_array(
        jsonb_build_object('role', 'system', 'content', _render(chosen.template, given)),
        jsonb_build_object('role', 'user', 'content', _render(chosen.input, given)));
    result.answer_schema := chosen.answer_schema;
    RETURN result;
END $$;

CREATE OR REPLACE FUNCTION _answer_schema(claimed job) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (SELECT p.answer_schema
            FROM prompt AS p
            WHERE p.kind = claimed.kind AND p.language = claimed.payload #>> '{prompt,language}'
              AND p.version = (claimed.payload #>> '{prompt,version}')::int);
END $$;
