-- Every memory and recent event of a user with all parts of its score: the complete, slower form of
-- the candidate statement in _recall. It is for the modes that are not fast, for recalls of the
-- past (as_of), which see what was known then, and for memory_explain. COMMENT ON the columns of
-- table mode says what each part is. obstacle: why the row is not a candidate; NULL: it is one.
-- question has words and features (names, when); plain_question has the words alone, if the two
-- differ; keywords: those searched for. OFFSET 0 keeps the planner from computing a part
-- again wherever it is used (65 ms for 10,000 memories, not 35). pool: only these memories (_pool);
-- NULL: all. with_line: terms and line too; without them a row takes less to hand on.
-- enable_mergejoin: to merge, all memories would be sorted with all their columns.
CREATE OR REPLACE FUNCTION _scored(
    user_id text, settings mode, model smallint, query halfvec, question sparsevec,
    by_importance boolean, as_of timestamptz, keywords text[],
    plain_question sparsevec DEFAULT NULL, times tstzmultirange DEFAULT NULL,
    pool bigint[] DEFAULT NULL, with_line boolean DEFAULT true)
    RETURNS TABLE (id bigint, kind smallint, created_at timestamptz, cost float8, brief_cost float8,
                   terms sparsevec, term_count int, line text, cosine float8, coverage float8,
                   relevance float8, kind_factor float8, score float8,
                   keyword float8, graph float8, recency float8, importance float8,
                   interaction float8, priority float8, via text, obstacle text,
                   boost float8, session bigint, "position" int, asks boolean,
                   details smallint)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    at CONSTANT timestamptz := CASE WHEN as_of = 'infinity' THEN now() ELSE as_of END;
    at_epoch CONSTANT float8 := date_part('epoch', at);
    vector_share CONSTANT float8 := CASE WHEN question IS NULL THEN 1
        ELSE settings.vector_weight / (settings.vector_weight + settings.word_weight) END;
    by_keyword CONSTANT boolean := settings.keyword_weight > 0::float8
        AND (question IS NOT NULL OR cardinality(coalesce(keywords, '{}')) > 0);
    by_access CONSTANT boolean :=
        settings.recency_from = 'accessed' OR settings.interaction_weight > 0::float8;
    time_boost CONSTANT float8 := settings.time_boost
        * CASE WHEN query IS NULL THEN settings.boost_without_vector ELSE 1 END;
    hybrid_time_boost CONSTANT float8 :=
        time_boost * CASE WHEN query IS NULL THEN 1 ELSE 1::float8 - vector_share END;
    around CONSTANT tstzmultirange := CASE WHEN times IS NOT NULL THEN _asked_times(
        times, settings.time_before, settings.time_after, settings.time_after_day) END;
    weight_sum CONSTANT float8 := settings.vector_weight + settings.word_weight
        + CASE WHEN by_keyword THEN settings.keyword_weight ELSE 0 END
        + settings.recency_weight + settings.importance_weight;
    similarity_share CONSTANT float8 :=
        (settings.vector_weight + settings.word_weight) / weight_sum;
    keyword_share CONSTANT float8 := settings.keyword_weight / weight_sum;
    recency_share CONSTANT float8 := settings.recency_weight / weight_sum;
    importance_share CONSTANT float8 := settings.importance_weight / weight_sum;
    -- Of a recall of the past: memories whose interval was another then, and those of them over
    -- or not yet valid by it.
    moved bigint[] := '{}';
    moved_expired bigint[] := '{}';
    moved_not_yet bigint[] := '{}';
BEGIN
    IF as_of < 'infinity' THEN
        SELECT coalesce(array_agg(c.memory_id), '{}'),
               coalesce(array_agg(c.memory_id) FILTER (WHERE c.valid_until <= as_of), '{}'),
               coalesce(array_agg(c.memory_id) FILTER (WHERE c.valid_from > as_of), '{}')
        INTO moved, moved_expired, moved_not_yet
        FROM _moved_since(user_id, as_of) AS c;
    END IF;
    RETURN QUERY
    WITH base AS NOT MATERIALIZED (
        SELECT t.memory_id AS id, t.kind, t.created_at, t.cost, t.brief_cost, t.terms,
               t.term_count, t.line, t.importance, t.session, t.position, t.asks, t.details,
               1::float8 - (t.embedding <=> query) AS cosine,
               -(t.terms <#> question) AS wording, -(t.terms <#> plain_question) AS plain_wording,
               _timely(t.created_at, times, around,
                       CASE WHEN t.embedding IS NULL THEN time_boost
                            ELSE hybrid_time_boost END) AS timely,
               -- Hashed subplans: a join hashes the wide side, the traces, and spills.
               CASE
                   WHEN t.memory_id IN (
                       SELECT v.memory_id FROM memory AS v
                       WHERE v.user_id = _scored.user_id AND v.valid_until <= at
                         AND v.status = 'active' AND v.memory_id <> ALL (moved)
                       UNION ALL SELECT unnest(moved_expired))
                   THEN 'expired'
                   WHEN t.memory_id IN (
                       SELECT v.memory_id FROM memory AS v
                       WHERE v.user_id = _scored.user_id AND v.valid_from > _scored.as_of
                         AND _scored.as_of <> 'infinity' AND pool IS NULL
                         AND v.memory_id <> ALL (moved)
                       UNION ALL SELECT unnest(moved_not_yet))
                   OR (SELECT v.valid_from > _scored.as_of FROM memory AS v
                       WHERE v.user_id = _scored.user_id AND v.memory_id = t.memory_id
                         AND _scored.as_of <> 'infinity' AND pool IS NOT NULL
                         AND v.memory_id <> ALL (moved))
                   THEN 'not valid yet'
               END AS gone
        FROM (SELECT a.* FROM trace AS a
              WHERE pool IS NULL AND _scored.as_of = 'infinity'
                AND a.user_id = _scored.user_id AND a.model = _scored.model AND a.active
              UNION ALL
              SELECT a.* FROM trace AS a
              WHERE _scored.as_of = 'infinity'
                AND a.user_id = _scored.user_id AND a.memory_id = ANY (pool)
                AND a.model = _scored.model AND a.active
              UNION ALL
              SELECT a.*
              FROM _known_then(_scored.user_id, _scored.model, _scored.as_of, pool) AS a
              WHERE _scored.as_of <> 'infinity') AS t
        OFFSET 0
    ), alike AS NOT MATERIALIZED (
        SELECT b.id, b.kind, b.created_at, b.cost, b.brief_cost, b.terms, b.term_count, b.line,
               b.importance, b.session, b.position, b.asks, b.details, b.cosine, b.timely, b.gone,
               coalesce(b.plain_wording, b.wording) AS coverage,
               coalesce(b.wording - b.plain_wording, 0) AS features,
               _similarity(b.cosine, b.wording, vector_share,
                           CASE WHEN by_importance AND NOT by_keyword THEN b.importance END)
               + b.timely AS similarity
        FROM base AS b
    ), matched AS (
        SELECT w.memory_id, w.score
        FROM _keyword_match(_scored.user_id, keywords, NULL, pool) AS w
        WHERE by_keyword
        OFFSET 0  -- otherwise it is called first, and the condition checked afterwards
    ), seed AS (
        SELECT array_agg(b.id) AS ids, array_agg(b.similarity) AS similarities
        FROM (SELECT b.id, b.similarity FROM alike AS b
              WHERE settings.graph_weight > 0::float8 AND b.similarity > 0::float8
                AND b.gone IS NULL
              ORDER BY b.similarity DESC, b.created_at DESC, b.id
              LIMIT 5) AS b
    ), linked AS (
        SELECT l.memory_id, l.strength, l.via
        FROM seed, _linked(_scored.user_id, seed.ids, seed.similarities) AS l
        WHERE settings.graph_weight > 0::float8
    ), signals AS (
        SELECT b.*, coalesce(w.score, 0) AS keyword, coalesce(l.strength, 0) AS graph, l.via,
               _recency(settings.recency_rate, settings.recency_floor, settings.whole_days, at,
                        CASE WHEN settings.recency_from = 'created' THEN b.created_at
                             ELSE coalesce(a.last_at,
                                           at - settings.unaccessed_days * interval '24 hours',
                                           b.created_at) END) AS recency,
               CASE WHEN a.count > 0
                    THEN _interaction(a.count, _recency(settings.recency_rate,
                                                        settings.recency_floor,
                                                        settings.whole_days, at, a.last_at))
                    ELSE 0 END AS interaction,
               settings.kind_priorities[b.kind] AS priority
        FROM alike AS b
        LEFT JOIN matched AS w ON w.memory_id = b.id
        LEFT JOIN linked AS l ON l.memory_id = b.id
        LEFT JOIN access AS a ON by_access AND a.user_id = _scored.user_id AND a.memory_id = b.id
                             AND a.last_at <= _scored.as_of
        OFFSET 0
    ), relevant AS (
        SELECT s.*,
               similarity_share * coalesce(s.similarity,
                                           CASE WHEN s.keyword > 0::float8 OR s.graph > 0::float8
                                                THEN 0 END)
               + keyword_share * s.keyword
               + recency_share * s.recency
               + importance_share * s.importance
               + settings.graph_weight * s.graph AS relevance,
               CASE WHEN s.cosine IS NULL THEN s.features
                    ELSE (1::float8 - vector_share) * s.features END
                   + s.timely AS boost,
               _multiplier(s.importance, settings.importance_power, s.recency,
                           settings.recency_power) AS multiplier
        FROM signals AS s
        UNION ALL
        (SELECT -e.event_id, 3::smallint, e.created_at, e.cost, NULL, e.terms, e.term_count,
                e.line, NULL, 0, -1, false, 0::smallint, NULL, NULL, NULL, NULL, NULL, NULL,
                NULL, NULL, NULL, NULL, NULL, NULL,
                settings.event_relevance, NULL, 1
         FROM event AS e
         WHERE e.user_id = _scored.user_id AND e.type = ANY (settings.event_types)
           AND e.created_at > at - settings.event_hours * interval '1 hour' AND e.created_at <= at
         ORDER BY e.created_at DESC, e.event_id DESC
         LIMIT settings.event_limit)
    ), scored AS (
        SELECT r.*,
               settings.base_weight * r.relevance * r.multiplier * r.kind_factor
               + settings.interaction_weight * coalesce(r.interaction, 0)
               + settings.priority_weight * coalesce(r.priority, 0) AS score
        FROM (SELECT r.*, _kind_factor(settings.plain_kinds, r.kind, settings.kind_weights,
                                       settings.kind_rates, at_epoch, r.created_at)
                   AS kind_factor
              FROM relevant AS r
              OFFSET 0) AS r
        OFFSET 0
    )
    SELECT s.id, s.kind, s.created_at, s.cost, s.brief_cost,
           CASE WHEN with_line THEN s.terms END, s.term_count, CASE WHEN with_line THEN s.line END,
           s.cosine, s.coverage, s.relevance, s.kind_factor, s.score, s.keyword, s.graph, s.recency,
           s.importance, s.interaction, s.priority, s.via,
           CASE
               WHEN s.gone IS NOT NULL THEN s.gone
               WHEN s.relevance IS NULL THEN 'no vector and no words to compare'
               WHEN s.relevance < nullif(settings.minimum_relevance, 0)
                   THEN 'below minimum relevance'
               WHEN s.score <= settings.threshold THEN 'below threshold'
           END,
           s.boost, s.session, s.position, s.asks, s.details
    FROM scored AS s;
END $$;
