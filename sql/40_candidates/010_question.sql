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
                   CASE WHEN name_boost <> 0 AND h.place <= 200 THEN
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

-- The same if some memories are newer than the statistics, or the past is asked about. Then the
-- texts of that time count, including what has ended since (otherwise its synonyms would be
-- dropped). One pass over these finds all words: the k-th word weighs 2^k in a probe, so one inner
-- product gives the set of words in a trace. 24 words fit a float4; more words use further probes.
-- Names that may be a speaker's or subject's are counted among the words, each entry larger by
-- _feature_scale().
CREATE OR REPLACE FUNCTION _question_counting(
    user_id text, model smallint, query_text text, counted int, counted_up_to bigint,
    known_until timestamptz, name_boost float8, features text)
    RETURNS sparsevec
    LANGUAGE plpgsql STABLE STRICT
    SET search_path FROM CURRENT
AS $$
DECLARE
    asked CONSTANT int[] := (_terms(query_text))[:2000];
    names CONSTANT int[] := CASE WHEN name_boost <> 0 THEN ARRAY(
        SELECT DISTINCT _feature('name ' || word)
        FROM unnest((tokens(query_text))[:200]) AS word) END;
    rewritten CONSTANT bigint[] := CASE WHEN known_until < 'infinity' THEN ARRAY(
        SELECT DISTINCT r.memory_id FROM revision AS r
        WHERE r.user_id = _question_counting.user_id AND r.created_at > known_until
          AND r.old_values ?| '{content,subject}') ELSE '{}' END;
BEGIN
    RETURN (
        WITH expanded AS MATERIALIZED (
            SELECT e.* FROM _expansions(asked) AS e
        ), known AS MATERIALIZED (
            SELECT w.term, w.place, (w.place - 1) / 24 AS probe, w.scale,
                   1 << ((w.place - 1) % 24)::int AS bit, coalesce(k.df, 0) AS df
            FROM (SELECT u.term, u.scale, row_number() OVER () AS place
                  FROM (SELECT unnest(asked), 1
                        UNION ALL
                        SELECT e.added, 1
                        FROM (SELECT added FROM expanded EXCEPT SELECT unnest(asked)) AS e
                        UNION ALL
                        SELECT unnest(names), _feature_scale()) AS u (term, scale)) AS w
            LEFT JOIN term AS k ON k.user_id = _question_counting.user_id AND k.term = w.term
                               AND counted > 0
        ), newer AS MATERIALIZED (
            SELECT p.probe, -(t.terms <#> p.bits)::int AS matched, count(*) AS rows
            FROM (
                SELECT k.probe,
                       ('{' || string_agg(k.term || ':' || k.bit * k.scale, ',')
                        || '}/536870912')::sparsevec
                FROM known AS k
                GROUP BY k.probe
            ) AS p (probe, bits), LATERAL (
                SELECT n.terms
                FROM trace AS n
                WHERE n.user_id = _question_counting.user_id AND n.model = _question_counting.model
                  AND n.active AND NOT n.wide
                  AND n.memory_id > counted_up_to AND n.created_at <= known_until
                  AND n.memory_id <> ALL (rewritten)
                UNION ALL
                SELECT n.terms
                FROM trace AS n
                WHERE n.user_id = _question_counting.user_id AND n.model = _question_counting.model
                  AND n.active AND n.wide
                  AND n.memory_id > counted_up_to AND n.created_at <= known_until
                  AND n.memory_id <> ALL (rewritten)
                UNION ALL
                SELECT n.terms
                FROM _known_then(user_id, _question_counting.model, known_until, rewritten) AS n
                WHERE known_until < 'infinity'
            ) AS t
            GROUP BY 1, 2
        ), whole AS MATERIALIZED (
            SELECT counted + coalesce(sum(n.rows), 0)::int AS memories
            FROM newer AS n WHERE n.probe = 0
        ), counts AS MATERIALIZED (
            SELECT k.term, k.place,
                   k.df + coalesce((SELECT sum(n.rows) FROM newer AS n
                                    WHERE n.probe = k.probe AND n.matched & k.bit <> 0),
                                   0)::int AS df
            FROM known AS k
        )
        SELECT _weigh(w.memories, asked, c.idf, c.df, x.need, x.form, x.added, x.share, x.size,
                      x.added_df, _name_entries(s.names, name_boost) || features)
        FROM whole AS w, LATERAL (
            SELECT array_agg(_idf(w.memories, c.df) ORDER BY c.place) AS idf,
                   array_agg(c.df ORDER BY c.place) AS df
            FROM counts AS c WHERE c.place <= cardinality(asked)
        ) AS c, (
            SELECT array_agg(e.need) AS need, array_agg(e.form) AS form,
                   array_agg(e.added) AS added, array_agg(e.share) AS share,
                   array_agg(e.size) AS size, array_agg(e.df) AS added_df
            FROM (SELECT e.*, c.df
                  FROM expanded AS e JOIN counts AS c ON c.term = e.added AND c.df > 0) AS e
        ) AS x, (
            SELECT array_agg(c.term) AS names FROM counts AS c
            WHERE c.df > 0 AND c.term = ANY (names)
        ) AS s);
END $$;
