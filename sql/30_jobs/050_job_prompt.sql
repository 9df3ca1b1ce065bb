-- The words for the chat model of a claimed job, from table prompt.
-- NULL: nothing is left to do.
CREATE OR REPLACE FUNCTION _job_prompt(claimed job) RETURNS claimed_job
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN NULL;
END $$;
