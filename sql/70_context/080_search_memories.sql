-- Search as an agent's tool (D2 3.1, 3.3): the best memories one by one, where recall returns one
-- block. Scores are those of _scored under the settings of mode search. Filters come before the
-- limit, so that total_found counts what passed them. For a user with indexes of their own, only
-- the memories that _pool finds are scored and counted. No budget, and no log row: call_tool logs.
CREATE OR REPLACE FUNCTION _check_search(
    query text, keywords text[], memory_types text[], time_from timestamptz,
    time_until timestamptz, max_results int, minimum float8, query_vec halfvec,
    OUT kinds smallint[], OUT carried text[])
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM _check_number(max_results, 'max_results', 20);
    IF NOT coalesce(minimum BETWEEN 0::float8 AND 1::float8, false) THEN
        RAISE EXCEPTION 'min_relevance_score must be between 0 and 1, not %',
                coalesce(minimum::text, 'NULL')
            USING ERRCODE = 'ME008', HINT = 'Leave it out for 0.6.';
    END IF;
    IF time_from > time_until THEN
        RAISE EXCEPTION 'time_from % is after time_until %', time_from, time_until
            USING ERRCODE = 'ME011', HINT = 'Swap them, or leave one out.';
    END IF;
    SELECT array_agg(k.kind_id) INTO kinds
    FROM unnest(memory_types) AS t (name), _check_kind(t.name) AS k;
    -- As they are stored: in lower case, as written or with full-width forms converted.
    carried := ARRAY(SELECT DISTINCT f.form
                     FROM unnest(keywords) AS k (word),
                          _lower(btrim(k.word, E' \t\r\n')) AS w (word),
                          LATERAL (VALUES (w.word), (normalize(w.word, NFKC))) AS f (form)
                     WHERE f.form <> '');
    PERFORM _check_vector(query_vec, coalesce(e.dimensions, vector_dims(query_vec)))
    FROM embedding_model AS e WHERE e.active AND query_vec IS NOT NULL;
    IF _trimmed(query) IS NULL AND query_vec IS NULL AND cardinality(carried) = 0 THEN
        RAISE EXCEPTION 'the query is empty'
            USING ERRCODE = 'ME007', HINT = 'Pass words to search for, or keywords.';
    END IF;
END $$;

-- What mode search weighs for one way of searching. With a vector, the text part of D2's formula is
-- the mean of words and cosine; its shares (40 % keywords, 40 % text, 20 % recency) stay. The
-- description of the row is the strategy that the answer names.
CREATE OR REPLACE FUNCTION _search_settings(search_mode text, has_vector boolean) RETURNS mode
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    settings mode;
    text_weight float8;
BEGIN
    SELECT m.* INTO STRICT settings FROM mode AS m WHERE m.name = 'search';
    text_weight := settings.vector_weight + settings.word_weight;
    CASE search_mode
        WHEN 'semantic' THEN
            settings.vector_weight := CASE WHEN has_vector THEN 1 ELSE 0 END;
            settings.word_weight := 1 - settings.vector_weight;
            settings.keyword_weight := 0;
            settings.recency_weight := 0;
            settings.description := CASE WHEN has_vector THEN 'semantic'
                                         ELSE 'semantic by words, for want of a vector' END;
        WHEN 'keyword' THEN
            settings.vector_weight := 0;
            settings.word_weight := text_weight;
            settings.recency_weight := 0;
            settings.description := 'keyword';
        WHEN 'hybrid' THEN
            settings.vector_weight := CASE WHEN has_vector THEN text_weight / 2::float8 ELSE 0 END;
            settings.word_weight := text_weight - settings.vector_weight;
            settings.description :=
                CASE WHEN has_vector THEN 'hybrid of keywords, words, vector and recency'
                     ELSE 'hybrid of keywords, words and recency' END;
        ELSE
            RAISE EXCEPTION 'unknown search_mode "%"', left(search_mode, 100)
                USING ERRCODE = 'ME008', DETAIL = 'Search modes: semantic, keyword, hybrid',
                      HINT = 'Leave it out for hybrid.';
    END CASE;
    RETURN settings;
END $$;

-- The keywords of a query: those given, and those found in it by the rule for memories, as they are
-- written; a query of short words only has its words. Keywords that no memory has are left out:
-- they do not tell one from another, and would lower the average over the words for all. If none is
-- left, the keyword part of the formula gives its weight to the other parts.
CREATE OR REPLACE FUNCTION _query_keywords(user_id text, query text, carried text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on
AS $$
DECLARE
    chosen text[] := carried || ARRAY(
        SELECT k.keyword FROM _keywords(query) AS k WHERE k.keyword <> ALL (carried));
BEGIN
    IF chosen = '{}' THEN
        chosen := _written_tokens(query);
    END IF;
    -- One probe of the index per form; _keyword_match would gather all memories of each word.
    RETURN ARRAY(
        SELECT w.word FROM unnest(chosen[:50]) AS w (word)
        WHERE EXISTS (
            SELECT FROM (SELECT w.word UNION ALL SELECT unnest(_written_tokens(w.word))
                         UNION ALL SELECT s.synonym FROM _synonyms(w.word) AS s) AS f (form),
                 LATERAL (SELECT FROM keyword AS k
                          WHERE k.user_id = _query_keywords.user_id
                            AND k.keyword >= f.form COLLATE "C"
                            AND k.keyword <= CASE WHEN octet_length(f.form) > 2
                                                  THEN f.form || U&'\+10FFFF' ELSE f.form END
                                             COLLATE "C"
                          LIMIT 1) AS k));
END $$;

-- Those of a pool (NULL: of all memories) whose data contains this and which are of this session;
-- beside a pool also the newest, because the ones that fit may be few, and far from the query. One
-- statement for all cases read all memories twice, for a session of twelve, too.
CREATE OR REPLACE FUNCTION _filtered_pool(
    user_id text, pool bigint[], data jsonb, session_id text) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5
AS $$
#variable_conflict use_column
BEGIN
    IF pool IS NULL THEN
        RETURN ARRAY(
            SELECT m.memory_id FROM memory AS m
            WHERE m.user_id = _filtered_pool.user_id
              AND (_filtered_pool.data IS NULL OR m.data @> _filtered_pool.data)
              AND (_filtered_pool.session_id IS NULL
                   OR m.session_id = _filtered_pool.session_id));
    ELSIF _filtered_pool.session_id IS NOT NULL THEN
        RETURN ARRAY(
            SELECT m.memory_id FROM memory AS m
            WHERE m.user_id = _filtered_pool.user_id AND m.memory_id = ANY (pool)
              AND m.session_id = _filtered_pool.session_id
              AND (_filtered_pool.data IS NULL OR m.data @> _filtered_pool.data)
            UNION
            (SELECT m.memory_id FROM memory AS m
             WHERE m.user_id = _filtered_pool.user_id AND m.session_id = _filtered_pool.session_id
               AND (_filtered_pool.data IS NULL OR m.data @> _filtered_pool.data)
               AND m.status = 'active'
             ORDER BY m.created_at DESC, m.memory_id DESC LIMIT 1000));
    END IF;
    RETURN ARRAY(
        SELECT m.memory_id FROM memory AS m
        WHERE m.user_id = _filtered_pool.user_id AND m.memory_id = ANY (pool)
          AND m.data @> _filtered_pool.data
        UNION
        (SELECT m.memory_id FROM memory AS m
         WHERE m.user_id = _filtered_pool.user_id AND m.created_at > '-infinity'
           AND m.data @> _filtered_pool.data AND m.status = 'active'
         ORDER BY m.created_at DESC, m.memory_id DESC LIMIT 1000));
END $$;

-- Filters, scores, and the answer in D2's form. A query without words and vector leaves the choice
-- to the keywords alone, the most important memory first.
CREATE OR REPLACE FUNCTION _search(
    user_id text, settings mode, query text, query_vec halfvec, carried text[], kinds smallint[],
    time_from timestamptz, time_until timestamptz, max_results int, minimum float8,
    data jsonb DEFAULT NULL, session_id text DEFAULT NULL)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off SET enable_bitmapscan = off SET random_page_cost = 0.5 SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    model CONSTANT smallint := (SELECT e.model_id FROM embedding_model AS e WHERE e.active);
    question CONSTANT sparsevec := _question_of(user_id, model, nullif(query, ''), 'infinity', 0,
                                                '');
    keywords_alone CONSTANT boolean := query_vec IS NULL AND question IS NULL;
    can_compare CONSTANT boolean := NOT keywords_alone OR cardinality(carried) > 0;
    words text[] := '{}';
    expanded text[] := '{}';
    found_number int := 0;
    hits jsonb := '[]';
    best float8;
    pool bigint[];
BEGIN
    settings.minimum_relevance := 0;
    settings.event_limit := 0;
    settings.extra_lines := 0;
    IF keywords_alone THEN
        settings.description :=
            CASE WHEN can_compare THEN 'keyword filter' ELSE 'nothing to compare' END;
    ELSIF settings.keyword_weight > 0::float8 THEN
        words := _query_keywords(user_id, query, carried);
        IF words = '{}' THEN
            settings.keyword_weight := 0;
        END IF;
        expanded := ARRAY(
            SELECT DISTINCT w.word COLLATE "C"
            FROM jsonb_each(expand_keywords(words) - 'original') AS e (sort, list),
                 jsonb_array_elements_text(e.list) AS w (word)
            ORDER BY 1);
    END IF;

    IF can_compare AND EXISTS (
        SELECT FROM profile AS p WHERE p.user_id = _search.user_id AND p.ann > 0)
    THEN
        SELECT p.ids INTO pool
        FROM _pool(user_id, settings, model, query_vec, question, words, settings.candidate_limit,
                   now(), false, since => coalesce(time_from, '-infinity'),
                   until => coalesce(time_until, 'infinity'), of_kinds => kinds,
                   carried => carried) AS p;
        settings.description := settings.description || ', of the memories nearest to it';
    END IF;
    IF can_compare AND (_search.data IS NOT NULL OR _search.session_id IS NOT NULL) THEN
        pool := _filtered_pool(user_id, pool, data, session_id);
    END IF;
    IF can_compare THEN
        SELECT coalesce(max(f.total), 0), max(f.best), coalesce(jsonb_agg(
                   jsonb_build_object(
                       'key', m.memory_id::text, 'kind', m.kind,
                       -- 0.56, not 0.5599999999999999: a model pays for every digit.
                       'relevance', trim_scale(round(f.relevance::numeric, 9)),
                       'score', trim_scale(round(f.score::numeric, 9)),
                       'preview', left(_with_speaker(m.content, m.speaker, m.position), 200),
                       'summary', m.summary,
                       'created_at', m.created_at,
                       'keywords', ARRAY(
                           SELECT k.keyword FROM keyword AS k
                           WHERE k.user_id = _search.user_id AND k.memory_id = m.memory_id
                           ORDER BY k.weight DESC, k.keyword),
                       'metadata', m.data)
                   ORDER BY f.place) FILTER (WHERE f.enough), '[]')
        INTO found_number, best, hits
        FROM (
            SELECT s.id, s.relevance, s.score, s.enough,
                   row_number() OVER (ORDER BY s.enough DESC, s.score DESC, s.created_at DESC,
                                               s.id) AS place,
                   count(*) FILTER (WHERE s.enough) OVER () AS total,
                   max(s.relevance) OVER () AS best
            FROM (SELECT c.id, c.kind, c.created_at, c.score, c.obstacle, c.keyword, c.coverage,
                         c.cosine, r.relevance, r.relevance >= minimum AS enough
                  FROM _scored(_search.user_id, settings, model, query_vec, question,
                               keywords_alone, 'infinity', words, pool => pool,
                               with_line => false) AS c,
                       LATERAL (SELECT CASE WHEN keywords_alone THEN 1 ELSE c.relevance END)
                           AS r (relevance)) AS s
            WHERE s.id > 0 AND s.obstacle IS NULL
              -- Recency alone is no match.
              AND (keywords_alone OR s.keyword > 0::float8 OR s.coverage > 0::float8
                   OR s.cosine > 0::float8)
              AND (kinds IS NULL OR s.kind = ANY (kinds))
              AND (time_from IS NULL OR s.created_at >= time_from)
              AND (time_until IS NULL OR s.created_at <= time_until)
              AND (cardinality(carried) = 0
                   OR EXISTS (SELECT FROM keyword AS k
                              WHERE k.user_id = _search.user_id AND k.keyword = ANY (carried)
                                AND k.memory_id = s.id))
            ORDER BY place
            LIMIT max_results
        ) AS f
        JOIN memory AS m ON m.user_id = _search.user_id AND m.memory_id = f.id;
    END IF;
    RETURN jsonb_build_object(
        'total_found', found_number, 'results', hits,
        'search_strategy_used', settings.description, 'expanded_keywords', expanded)
        -- What a lower minimum would find, so that a model can decide whether to ask again.
        || CASE WHEN found_number = 0 AND best IS NOT NULL
                THEN jsonb_build_object('best_relevance', trim_scale(trunc(best::numeric, 9)))
                ELSE '{}' END;
END $$;

CREATE OR REPLACE FUNCTION _search_rows(answer jsonb) RETURNS SETOF search_result
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    of_all search_result;
BEGIN
    of_all.total_found := answer ->> 'total_found';
    of_all.strategy := answer ->> 'search_strategy_used';
    of_all.expanded_keywords := ARRAY(
        SELECT jsonb_array_elements_text(answer -> 'expanded_keywords'));
    RETURN QUERY SELECT r.* FROM jsonb_populate_recordset(of_all, answer -> 'results') AS r;
END $$;

CREATE OR REPLACE FUNCTION _search_checked(
    query text, search_mode text, keywords text[], memory_types text[], time_from timestamptz,
    time_until timestamptz, max_results int, min_relevance_score float8, query_vec halfvec,
    user_id text, data jsonb, session_id text)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    settings CONSTANT mode := _search_settings(search_mode, query_vec IS NOT NULL);
    kinds smallint[];
    carried text[];
BEGIN
    SELECT c.kinds, c.carried INTO kinds, carried
    FROM _check_search(query, keywords, memory_types, time_from, time_until, max_results,
                       min_relevance_score, query_vec) AS c;
    RETURN _search(owner, settings, coalesce(query, ''), query_vec, carried, kinds, time_from,
                   time_until, max_results, min_relevance_score, _check_data(data), session_id);
END $$;

-- What call_tool answers; search_memories returns the same as rows. data is the application's: what
-- a model passes is made from the arguments here.
CREATE OR REPLACE FUNCTION _search_memories_tool(
    query text, search_mode text DEFAULT 'hybrid', keywords text[] DEFAULT NULL,
    memory_types text[] DEFAULT NULL, time_from timestamptz DEFAULT NULL,
    time_until timestamptz DEFAULT NULL, max_results int DEFAULT 5,
    min_relevance_score float8 DEFAULT 0.6, query_vec halfvec DEFAULT NULL,
    user_id text DEFAULT NULL)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN _search_checked(query, search_mode, keywords, memory_types, time_from, time_until,
                           max_results, min_relevance_score, query_vec, user_id, NULL, NULL);
END $$;

CREATE OR REPLACE FUNCTION search_memories(
    query text, search_mode text DEFAULT 'hybrid', keywords text[] DEFAULT NULL,
    memory_types text[] DEFAULT NULL, time_from timestamptz DEFAULT NULL,
    time_until timestamptz DEFAULT NULL, max_results int DEFAULT 5,
    min_relevance_score float8 DEFAULT 0.6, query_vec halfvec DEFAULT NULL,
    user_id text DEFAULT NULL, data jsonb DEFAULT NULL, session_id text DEFAULT NULL)
    RETURNS SETOF search_result
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
BEGIN
    RETURN QUERY SELECT r.* FROM _search_rows(_search_checked(
        query, search_mode, keywords, memory_types, time_from, time_until, max_results,
        min_relevance_score, query_vec, user_id, data, session_id)) AS r;
END $$;

COMMENT ON FUNCTION search_memories(text, text, text[], text[], timestamptz, timestamptz, int,
                                    float8, halfvec, text, jsonb, text) IS
    'Searches the long-term memory of the user. Use it when the user refers to something said '
    'before, when preferences or earlier work matter, when an earlier conclusion has to be checked '
    'or cited, or when a reference is unclear. When it finds nothing, search again with other '
    'words or a lower min_relevance_score. query: what to look for, in natural language or as '
    'keywords; may be empty when keywords are given. search_mode: semantic (by meaning), keyword '
    '(by words and keywords) or hybrid (both, newer memories first). keywords: exact filter, a '
    'memory must carry one of them; upper and lower case are alike. memory_types: only these kinds '
    'of memory. time_from: only memories from this time on (ISO 8601). time_until: only memories '
    'up to this time (ISO 8601; a date alone is its first moment: to include a day, give the next '
    'one). max_results: how many results at most, 1 to 20. min_relevance_score: leave out what is '
    'less relevant, 0 to 1. query_vec: vector of the query, or NULL to search by words. user_id: '
    'whose memory. data: only memories whose data contains this object, as @> has it. session_id: '
    'only memories of this conversation. Returns the best memories first: key (for '
    'get_memory_detail), kind, relevance, the first 200 characters, summary, time, keywords and '
    'metadata, with how many were found in all (of very many memories, only those near the query '
    'are counted), the strategy used and the keywords searched besides. Without results, the '
    'answer of the tool has best_relevance, the highest minimum that would find something. Ordered '
    'by score: 0.7 relevance, 0.2 use, 0.1 priority of the kind. Errors: ME002 kind, ME003 and '
    'ME004 vector, ME006 user, ME007 empty query, ME008 search_mode, max_results, minimum or data, '
    'ME011 time range. Source: D2 3.1.2, 3.3.';
