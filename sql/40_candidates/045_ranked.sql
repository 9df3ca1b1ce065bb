-- Scored memories with what turns of a conversation gain from their neighbours and their session.
-- This is the exact and slower form of the second half of the turn statement in _recall: the best
-- by their own score and their neighbours' are preselected, and only these lift each other by their
-- session.
-- In a mode without turns nothing is gained here.
CREATE OR REPLACE FUNCTION _ranked(
    user_id text, settings mode, model smallint, query halfvec, question sparsevec,
    by_importance boolean, as_of timestamptz, keywords text[], plain_question sparsevec,
    times tstzmultirange, candidate_limit int, pool bigint[])
    RETURNS TABLE (id bigint, kind smallint, created_at timestamptz, cost float8, brief_cost float8,
                   terms sparsevec, term_count int, line text, cosine float8, coverage float8,
                   relevance float8, kind_factor float8, score float8,
                   keyword float8, graph float8, recency float8, importance float8,
                   interaction float8, priority float8, via text, obstacle text,
                   boost float8, neighbours float8, session float8, worth float8)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    near CONSTANT float8 := settings.neighbour_weight;
    beyond CONSTANT float8 := settings.second_neighbour_weight;
BEGIN
    IF NOT settings.turns THEN
        RETURN QUERY
        SELECT s.id, s.kind, s.created_at, s.cost, s.brief_cost, s.terms, s.term_count, s.line,
               s.cosine, s.coverage, s.relevance, s.kind_factor, s.score, s.keyword, s.graph,
               s.recency, s.importance, s.interaction, s.priority, s.via, s.obstacle,
               s.boost, NULL::float8, NULL::float8, 1::float8
        FROM _scored(user_id, settings, model, query, question, by_importance, as_of, keywords,
                     plain_question, times, pool) AS s;
        RETURN;
    END IF;
    RETURN QUERY
    WITH own AS MATERIALIZED (
        -- As exact as the fast form, which keeps scores as float4. That refuses what is below
        -- 1e-45, and so do a square and a neighbour's millionth of it: less than 1e-29 is nothing.
        SELECT s.*,
               _lent(CASE WHEN abs(s.score) >= 1e-29::float8 THEN s.score ELSE 0 END::real,
                     settings.squared)::float8 AS own,
               CASE WHEN s.session > 0 AND s.position >= 0 THEN s.session END AS turn_of,
               row_number() OVER (ORDER BY s.session, s.position, s.id) AS place
        FROM _scored(user_id, settings, model, query, question, by_importance, as_of, keywords,
                     plain_question, times, pool) AS s
    ), beside AS (
        SELECT o.*,
               lag(o.turn_of) OVER w = o.turn_of AS has_before,
               lag(o.turn_of, 2) OVER w = o.turn_of AS has_second_before,
               lead(o.turn_of) OVER w = o.turn_of AS has_after,
               lead(o.turn_of, 2) OVER w = o.turn_of AS has_second_after,
               lag(o.id) OVER w AS before_id, lag(o.id, 2) OVER w AS second_before_id,
               lead(o.id) OVER w AS after_id, lead(o.id, 2) OVER w AS second_after_id,
               lag(o.own) OVER w AS before_own, lag(o.own, 2) OVER w AS second_before_own,
               lead(o.own) OVER w AS after_own, lead(o.own, 2) OVER w AS second_after_own,
               lag(o.asks) OVER w AS before_asks
        FROM own AS o
        WINDOW w AS (ORDER BY o.place)
    ), smoothed AS (
        SELECT u.place, row_number() OVER (ORDER BY u.score DESC, u.place DESC) AS rank
        FROM unnest((SELECT _smooth(array_agg(o.own::real ORDER BY o.place), near, beyond)
                     FROM own AS o)) WITH ORDINALITY AS u (score, place)
    ), lent AS (
        -- As _neighbours adds it up, in parts: the largest becomes via.
        SELECT b.*, r.rank <= candidate_limit + candidate_limit / 2 AS preselected,
               CASE WHEN b.has_before
                    THEN (near + CASE WHEN b.before_asks THEN settings.answer_weight ELSE 0 END)
                        * b.before_own
                    ELSE 0 END AS from_before,
               CASE WHEN b.has_second_before THEN beyond * b.second_before_own
                    ELSE 0 END AS from_second_before,
               CASE WHEN b.has_after
                    THEN CASE WHEN b.has_before THEN near ELSE near + near END * b.after_own
                    ELSE 0 END AS from_after,
               CASE WHEN b.has_second_after
                    THEN CASE WHEN b.has_second_before THEN beyond ELSE beyond + beyond END
                        * b.second_after_own
                    ELSE 0 END AS from_second_after
        FROM beside AS b JOIN smoothed AS r USING (place)
    ), lifted AS (
        SELECT l.*, CASE WHEN l.preselected AND l.session > 0 THEN settings.session_weight
                    * max(l.own + l.gain) OVER (PARTITION BY l.session, l.preselected)
               ELSE 0 END AS lift,
               greatest(l.from_before, l.from_second_before, l.from_after, l.from_second_after)
                   AS largest
        FROM (SELECT l.*, l.from_before + l.from_after + l.from_second_before + l.from_second_after
                          AS gain
              FROM lent AS l) AS l
    )
    SELECT l.id, l.kind, l.created_at, l.cost, l.brief_cost, l.terms, l.term_count, l.line,
           l.cosine, l.coverage, l.relevance, l.kind_factor, l.own + l.gain + l.lift, l.keyword,
           l.graph, l.recency, l.importance, l.interaction, l.priority,
           coalesce(l.via, CASE WHEN l.largest > 0 THEN CASE l.largest
               WHEN l.from_before
                   THEN format('%s memory %s',
                               CASE WHEN l.before_asks THEN 'answers' ELSE 'follows' END,
                               l.before_id)
               WHEN l.from_after THEN format('precedes memory %s', l.after_id)
               WHEN l.from_second_before THEN format('near memory %s', l.second_before_id)
               ELSE format('near memory %s', l.second_after_id)
           END END),
           CASE WHEN l.obstacle NOT IN ('below threshold', 'no vector and no words to compare')
                THEN l.obstacle
                WHEN l.own + l.gain + l.lift <= settings.threshold THEN 'below threshold'
                WHEN NOT l.preselected THEN 'beyond the candidate limit' END,
           l.boost, l.gain, l.lift,
           _worth(l.cost, l.asks, l.details, settings.question_factor, settings.cost_power,
                  settings.detail_weight)
    FROM lifted AS l;
END $$;
