-- What a question asks for besides its words: memories of the names it says, that say when, that do
-- not ask themselves; and the times it names. Weights are shares of the word signal (mode.name_boost
-- and its siblings).
CREATE OR REPLACE FUNCTION _document_frequency(
    user_id text, model smallint, term int, counted int, counted_up_to bigint)
    RETURNS bigint
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN coalesce((SELECT k.df FROM term AS k
                     WHERE counted > 0 AND k.user_id = _document_frequency.user_id
                       AND k.term = _document_frequency.term), 0)
        + (SELECT count(*) FROM trace AS t
           WHERE t.user_id = _document_frequency.user_id AND t.memory_id > counted_up_to
             AND t.model = _document_frequency.model AND t.active
             AND (t.terms <#> _term_set(ARRAY[_document_frequency.term], '{}')) < 0);
END $$;

-- As entries of a sparse vector, to stand beside the words of the question; '' for none.
CREATE OR REPLACE FUNCTION _asked_features(
    user_id text, model smallint, query_text text, words text[], name_boost float8,
    when_boost float8, question_penalty float8, counted int, counted_up_to bigint, newer boolean)
    RETURNS text
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    names int[];
    entries text := '';
BEGIN
    IF name_boost <> 0 THEN
        SELECT array_agg(f.term) INTO names
        FROM (SELECT DISTINCT _feature('name ' || word) AS term
              FROM unnest(words[:200]) AS word OFFSET 0) AS f
        WHERE CASE
            WHEN newer THEN
                _document_frequency(user_id, model, f.term, counted, counted_up_to) > 0
            ELSE EXISTS (SELECT FROM term AS k
                         WHERE k.user_id = _asked_features.user_id AND k.term = f.term)
            END;
        IF names IS NOT NULL THEN
            entries := array_to_string(names, format(
                ':%s,', name_boost * _feature_scale() / cardinality(names)))
                || format(':%s,', name_boost * _feature_scale() / cardinality(names));
        END IF;
    END IF;
    IF when_boost <> 0 AND _asks_when(query_text) THEN
        entries := entries || format('%s:%s,', _feature('when'), when_boost * _feature_scale());
    END IF;
    IF question_penalty <> 0 THEN
        entries := entries
            || format('%s:%s,', _feature('asks'), -question_penalty * _feature_scale());
    END IF;
    RETURN rtrim(entries, ',');
END $$;

CREATE OR REPLACE FUNCTION _asked_times(
    query_text text, at timestamptz, before interval, after interval, after_day interval)
    RETURNS tstzmultirange
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT range_agg(tstzrange(
        lower(w) - before,
        upper(w) + CASE WHEN upper(w) - lower(w) <= interval '25 hours' THEN after_day
                        ELSE after END))
    FROM unnest(_time_windows(query_text, at)) AS w;
END;
