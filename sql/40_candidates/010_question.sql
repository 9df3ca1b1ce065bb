-- The words of a question as a sparse vector, each weighed by how rare it is in this user's memory:
-- idf scaled to sum 1, so that the inner product with the terms of a trace is the idf coverage of
-- the question (DESIGN 5). The counts come from table term, which refresh_statistics fills; the
-- join with it drops synonyms that no memory has.
-- Names known as a speaker or subject share name_boost. Features are further entries (that the
-- question asks when, that questions are not answers).
CREATE OR REPLACE FUNCTION _question(
    user_id text, query_text text, counted int, name_boost float8, features text)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    terms int[];
    idf float8[];
    df int[];
    need int[];
    form int[];
    added int[];
    share float8[];
    size int[];
    added_df int[];
    names int[];
BEGIN
    SELECT n.*, x.* INTO terms, idf, df, names, need, form, added, share, size, added_df
    FROM (
        SELECT array_agg(a.term) AS terms, array_agg(_idf(counted, a.df)) AS idf,
               array_agg(a.df) AS df,
               array_agg(DISTINCT a.name) FILTER (WHERE a.name IS NOT NULL) AS names
        FROM (
            SELECT h.term,
                   coalesce((SELECT k.df FROM term AS k
                             WHERE k.user_id = _question.user_id AND k.term = h.term), 0) AS df,
                   CASE WHEN name_boost <> 0::float8 AND h.place <= 200 THEN
                       (SELECT k.term FROM term AS k
                        WHERE k.user_id = _question.user_id
                          AND k.term = _feature('name ' || h.word)) END AS name
            FROM (SELECT min(u.word) AS word, _term(u.word) AS term, min(u.place) AS place
                  FROM unnest(tokens(query_text)) WITH ORDINALITY AS u (word, place)
                  GROUP BY 2 ORDER BY 2 LIMIT 2000) AS h
            OFFSET 0
        ) AS a
    ) AS n, LATERAL (
        SELECT array_agg(e.need) AS need, array_agg(e.form) AS form, array_agg(e.added) AS added,
               array_agg(e.share) AS share, array_agg(e.size) AS size, array_agg(e.df) AS added_df
        FROM (SELECT e.*, (SELECT k.df FROM term AS k
                           WHERE k.user_id = _question.user_id AND k.term = e.added) AS df
              FROM _expansions(n.terms) AS e
              OFFSET 0) AS e
        WHERE e.df IS NOT NULL
    ) AS x;
    RETURN _weigh(counted, terms, idf, df, need, form, added, share, size, added_df,
                  _name_entries(names, name_boost) || features);
END $$;

-- The same if some memories are newer than the statistics, or the past is asked about: see
-- _count_terms. Names that may be a speaker's or subject's are counted among the words.
CREATE OR REPLACE FUNCTION _question_counting(
    user_id text, model smallint, query_text text, counted int, counted_up_to bigint,
    known_until timestamptz, name_boost float8, features text)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    words text[] := tokens(query_text);
    word text;
    place int;
    asked int[];
    names int[];
    terms int[];
    memories int;
    df int[];
    idf float8[];
    x record;
    known_names int[];
BEGIN
    -- Each is looked for among those before it; how many more than 2,000 they are does not matter.
    IF cardinality(words) > 2100 THEN
        words := ARRAY(SELECT u.word FROM unnest(words) WITH ORDINALITY AS u (word, place)
                       GROUP BY u.word ORDER BY min(u.place) LIMIT 2100);
    END IF;
    FOREACH word IN ARRAY words LOOP
        place := _term(word);
        IF (place = ANY (asked)) IS NOT TRUE THEN
            asked := asked || place;
        END IF;
        IF name_boost <> 0::float8 AND (cardinality(asked) > 200) IS NOT TRUE THEN
            place := _feature('name ' || word);
            IF (place = ANY (names)) IS NOT TRUE THEN
                names := names || place;
            END IF;
        END IF;
    END LOOP;
    IF asked IS NULL THEN
        RETURN NULL;
    ELSIF cardinality(asked) > 2000 THEN
        asked := (_terms(query_text))[:2000];
    END IF;
    terms := asked;
    SELECT array_agg(e.need) AS need, array_agg(e.form) AS form, array_agg(e.added) AS added,
           array_agg(e.share) AS share, array_agg(e.size) AS size, NULL::int[] AS df
    INTO x FROM _expansions(asked) AS e;
    IF x.added IS NOT NULL THEN
        FOREACH place IN ARRAY x.added LOOP
            IF place <> ALL (terms) THEN
                terms := terms || place;
            END IF;
        END LOOP;
    END IF;
    SELECT c.* INTO memories, df
    FROM _count_terms(user_id, model, terms || names, counted, counted_up_to, known_until) AS c;
    IF x.added IS NOT NULL THEN
        SELECT array_agg(e.need) AS need, array_agg(e.form) AS form, array_agg(e.added) AS added,
               array_agg(e.share) AS share, array_agg(e.size) AS size, array_agg(c.df) AS df
        INTO x
        FROM ROWS FROM (unnest(x.need), unnest(x.form), unnest(x.added), unnest(x.share),
                        unnest(x.size)) AS e (need, form, added, share, size)
        JOIN ROWS FROM (unnest(terms), unnest(df)) AS c (term, df)
            ON c.term = e.added AND c.df > 0;
    END IF;
    FOR i IN 1..coalesce(cardinality(names), 0) LOOP
        IF df[cardinality(terms) + i] > 0 THEN
            known_names := known_names || names[i];
        END IF;
    END LOOP;
    FOR i IN 1..cardinality(asked) LOOP
        idf := idf || _idf(memories, df[i]);
    END LOOP;
    RETURN _weigh(memories, asked, idf, df[:cardinality(asked)], x.need, x.form, x.added,
                  x.share, x.size, x.df, _name_entries(known_names, name_boost) || features);
END $$;
