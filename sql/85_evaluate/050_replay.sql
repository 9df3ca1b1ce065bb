-- What other settings would have changed: logged recalls are chosen again from the candidates in
-- the log, and nothing is written. The log has no vector of the question. So settings that work on
-- the candidates can be replayed (weights of kinds, selection, budget), and those that find and
-- score them cannot: for these evaluate() asks the questions of a gold set in a mode of its own.
CREATE OR REPLACE FUNCTION replay(
    since timestamptz, mode_settings jsonb DEFAULT '{}', user_id text DEFAULT NULL,
    of_mode text DEFAULT NULL)
    RETURNS TABLE (retrieval_id bigint, created_at timestamptz, mode text, query text,
                   before_ids bigint[], after_ids bigint[], entered_ids bigint[],
                   left_ids bigint[], overlap float8, exact boolean)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    given CONSTANT jsonb := _replay_settings(mode_settings);
    logged retrieval;
    settings mode;
    ids bigint[];
    again record;
BEGIN
    PERFORM _check_time(since, 'since');
    IF of_mode IS NOT NULL AND NOT EXISTS (SELECT FROM mode AS m WHERE m.name = of_mode) THEN
        PERFORM _check_recall(of_mode, 1, NULL, NULL, now());
    END IF;
    FOR logged IN
        SELECT r.*
        FROM _recalls_here(owner) AS r
        WHERE r.created_at >= coalesce(since, '-infinity')
          AND r.mode = coalesce(of_mode, r.mode)
        ORDER BY r.created_at, r.retrieval_id
    LOOP
        SELECT m.* INTO settings FROM mode AS m WHERE m.name = logged.mode;
        CONTINUE WHEN NOT FOUND;
        ids := logged.ids || '{}';  -- in memory, however large
        again := _choose_again(owner, logged, settings, given);
        retrieval_id := logged.retrieval_id;
        created_at := logged.created_at;
        mode := logged.mode;
        query := logged.query;
        before_ids := ARRAY(SELECT ids[abs(c.place)]
                            FROM unnest(logged.chosen) WITH ORDINALITY AS c (place, number)
                            ORDER BY c.number);
        after_ids := again.after_ids;
        exact := again.exact;
        entered_ids := ARRAY(SELECT u.id FROM unnest(after_ids) AS u (id)
                             WHERE u.id <> ALL (before_ids));
        left_ids := ARRAY(SELECT u.id FROM unnest(before_ids) AS u (id)
                          WHERE u.id <> ALL (after_ids));
        overlap := coalesce(
            (cardinality(before_ids) - cardinality(left_ids))::float8
                / nullif(cardinality(before_ids) + cardinality(entered_ids), 0), 1);
        RETURN NEXT;
    END LOOP;
END $$;

COMMENT ON FUNCTION replay(timestamptz, jsonb, text, text) IS
    'Chooses the blocks of logged recalls again, under the settings their modes have now and '
    'mode_settings on top, and returns for each what was in the block before and what would be '
    'after (best first; the id of an event is negative), what entered and what left it, and the '
    'overlap of the two sets (Jaccard, 1: the same). Writes nothing; on a standby, which has no '
    'log, no rows. since: the oldest recall, NULL for all that the log has not folded yet; '
    'of_mode: only recalls of that mode. mode_settings: threshold, candidate_limit, line_limit, '
    'mmr_lambda, mmr_lines, duplicate_at (as in table mode), budget, and weights of kinds, for '
    'example {"mmr_lambda": 0.9, "weights": {"task": 1.5}}. exact is false where memories that the '
    'log did not keep as candidates could come in, or where one of the candidates is gone. Modes '
    'with neighbours, interaction or priority in the score do not take weights. Errors: ME001 '
    'mode, ME002 kind, ME006 user, ME008 a setting that is unknown, out of range or cannot be '
    'replayed, ME011 since.';

-- By what the scores of each kind are multiplied: its new weight / the one it had in the log.
CREATE OR REPLACE FUNCTION _weight_ratios(logged retrieval, settings mode, given jsonb)
    RETURNS float8[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT array_agg(CASE WHEN w.new = w.old THEN 1
                              WHEN w.old = 0 THEN 'infinity'
                              ELSE w.new / w.old END ORDER BY w.kind_id)
        FROM (
            SELECT l.kind_id, l.weight AS old,
                   coalesce((given -> 'weights' ->> k.name)::float8,
                            settings.kind_weights[l.kind_id]) AS new
            FROM unnest(logged.weights) WITH ORDINALITY AS l (weight, kind_id)
            LEFT JOIN kind AS k ON k.kind_id = l.kind_id
        ) AS w);
END $$;

-- One logged recall chosen again: ids of the new block, and whether it is certain. In most modes
-- the score of a candidate is proportional to the weight of its kind: the new score is the logged
-- one times new weight / old weight. From there on the steps are those of _recall.
CREATE OR REPLACE FUNCTION _choose_again(
    owner text, logged retrieval, settings mode, given jsonb,
    OUT after_ids bigint[], OUT exact boolean)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    changed CONSTANT mode := jsonb_populate_record(settings, given);
    budget CONSTANT int := coalesce((given ->> 'budget')::int, logged.token_budget);
    line_limit CONSTANT int := coalesce(changed.line_limit + changed.extra_lines, 2147483647);
    -- If the score has other parts, a weight does not scale it.
    scales CONSTANT boolean := settings.interaction_weight = 0 AND settings.priority_weight = 0
                               AND NOT settings.turns;
    citing CONSTANT boolean := _cites(owner);
    by_day CONSTANT boolean := _wants_days(settings.day_headings, logged.query,
                                           coalesce(logged.as_of, logged.created_at));
    candidate_limit int := _candidate_limit(changed.candidate_limit, budget);
    ratios float8[] := _weight_ratios(logged, settings, given);
    unchanged CONSTANT float8[] := array_fill(1::float8, ARRAY[cardinality(ratios)]);
    reweighted CONSTANT boolean := ratios <> unchanged;
    profile record;
    ids bigint[];
    kinds smallint[];
    scores float8[];
    costs float8[];
    brief_costs float8[];
    term_sets sparsevec[];
    term_counts int[];
    lines text[];
    n int;
    provenance record;
    line_groups record;
    selection record;
BEGIN
    IF NOT scales AND given -> 'weights' <> '{}' THEN
        RAISE EXCEPTION 'setting "weights" cannot be replayed in mode "%"', logged.mode
            USING ERRCODE = 'ME008',
                  DETAIL = 'A score of this mode has parts that the weight of the kind does not '
                           'multiply (neighbours, interaction, priority).',
                  HINT = 'Replay the recalls of another mode with of_mode => ''execute'' '
                         '(memoir replay --mode execute), or compare with memoir.evaluate().';
    END IF;
    IF NOT scales THEN
        ratios := unchanged;
    END IF;
    profile := _profile_as_of(owner, logged.mode, budget,
                              coalesce(logged.as_of, logged.created_at));
    SELECT array_agg(c.id), array_agg(c.kind), array_agg(c.score),
           array_agg(_cited_cost(c.cost, c.id, citing)),
           array_agg(_cited_cost(c.brief_cost, c.id, citing)),
           array_agg(c.terms), array_agg(c.term_count), array_agg(c.line)
    INTO ids, kinds, scores, costs, brief_costs, term_sets, term_counts, lines
    FROM (
        SELECT l.id, l.kind, l.score * ratios[l.kind] AS score, s.*
        FROM unnest(logged.ids, logged.kinds, logged.score) AS l (id, kind, score),
             LATERAL _line_cost(owner, settings.model_id, l.id) AS s
        WHERE s.cost IS NOT NULL AND l.score * ratios[l.kind] > changed.threshold
          AND l.id <> ALL (profile.memory_ids)
        ORDER BY 3 DESC, s.created_at DESC, l.id
    ) AS c;

    LOOP
        n := least(coalesce(cardinality(ids), 0), candidate_limit);
        provenance := _provenance(owner, ids[:n], kinds[:n], lines[:n], settings.turns);
        line_groups := _line_groups(owner, settings.model_id, by_day, ids[:n], kinds[:n],
                                    settings.kind_headings, settings.heading_costs);
        selection := _select(
            scores[:n], line_groups.groups, costs[:n], brief_costs[:n], term_sets[:n],
            term_counts[:n], line_groups.costs,
            (SELECT min(least(u.cost, u.brief))
             FROM unnest(costs[:n], brief_costs[:n]) AS u (cost, brief)),
            changed.mmr_lambda, changed.mmr_lines, changed.duplicate_at, line_limit,
            budget - profile.cost, provenance.derived_places, provenance.source_places);
        EXIT WHEN _enough(n, candidate_limit, cardinality(selection.chosen), line_limit,
                          selection.spent, budget - profile.cost);
        candidate_limit := _more_candidates(candidate_limit);
    END LOOP;
    after_ids := ARRAY(SELECT ids[abs(c.place)]
                       FROM unnest(selection.chosen) WITH ORDINALITY AS c (place, number)
                       ORDER BY c.number);
    exact := (scales OR NOT reweighted)
        -- Reserved places for some kinds, and turns found by their neighbours: the limits apply to
        -- more than the log has.
        AND (settings.extra_lines = 0 OR NOT (reweighted OR given ? 'line_limit'))
        AND (NOT settings.turns OR n = cardinality(logged.ids))
        -- The log keeps the beginning of a question; the rest may ask for a time.
        AND (settings.day_headings <> 'asked' OR by_day OR length(logged.query) < 200)
        AND NOT EXISTS (SELECT FROM unnest(logged.ids) AS u (id)
                        WHERE (_line_cost(owner, settings.model_id, u.id)).cost IS NULL)
        AND _best_unlogged(logged, settings) * (SELECT max(r) FROM unnest(ratios) AS r)
            <= CASE WHEN n < candidate_limit THEN changed.threshold ELSE scores[n] END;
END $$;

-- What selection needs to know of a memory, or of an event by its negative id; NULL if it has left
-- recall.
CREATE OR REPLACE FUNCTION _line_cost(
    owner text, model smallint, id bigint,
    OUT cost float8, OUT brief_cost float8, OUT terms sparsevec, OUT term_count int,
    OUT created_at timestamptz, OUT line text)
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
BEGIN
    IF id > 0 THEN
        SELECT t.cost, t.brief_cost, t.terms, t.term_count, t.created_at, t.line
        INTO cost, brief_cost, terms, term_count, created_at, line
        FROM trace AS t
        WHERE t.user_id = owner AND t.memory_id = id AND t.model = _line_cost.model AND t.active;
    ELSE
        SELECT e.cost, e.terms, e.term_count, e.created_at, e.line
        INTO cost, terms, term_count, created_at, line
        FROM event AS e WHERE e.user_id = owner AND e.event_id = -id;
    END IF;
END $$;

-- The best score that a memory outside the log can have had: below the last candidate if their
-- number was cut at the limit, otherwise at most the threshold.
CREATE OR REPLACE FUNCTION _best_unlogged(logged retrieval, settings mode) RETURNS float8
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    candidates CONSTANT int := cardinality(logged.ids);
    candidate_limit int := _candidate_limit(settings.candidate_limit, logged.token_budget);
BEGIN
    WHILE candidate_limit < least(candidates, 1000) LOOP
        candidate_limit := _more_candidates(candidate_limit);
    END LOOP;
    RETURN greatest(settings.threshold, 0,
                    CASE WHEN candidates >= candidate_limit THEN logged.score[candidates] END);
END $$;

-- The settings that replay() takes, checked, with kinds by their names.
CREATE OR REPLACE FUNCTION _replay_settings(given jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    ranges CONSTANT jsonb := '{
        "threshold": [-1000, 1000], "mmr_lambda": [0.001, 1], "duplicate_at": [0.001, 1],
        "mmr_lines": [0, 1000], "line_limit": [1, 1000], "candidate_limit": [1, 1000],
        "budget": [1, 100000]}';
    whole CONSTANT text[] := '{mmr_lines,line_limit,candidate_limit,budget}';
    known CONSTANT text :=
        'Settings: weights, ' || (SELECT string_agg(r, ', ') FROM jsonb_object_keys(ranges) AS r);
    checked jsonb := '{}';
    weights jsonb := '{}';
    entry record;
BEGIN
    IF jsonb_typeof(given) IS DISTINCT FROM 'object'
       OR jsonb_typeof(given -> 'weights') <> 'object'
    THEN
        RAISE EXCEPTION 'mode_settings and its weights are JSON objects'
            USING ERRCODE = 'ME008', DETAIL = known,
                  HINT = 'For example ''{"mmr_lambda": 0.9, "weights": {"task": 1.5}}''.';
    END IF;
    FOR entry IN SELECT j.key, j.value FROM jsonb_each(given - 'weights') AS j LOOP
        IF NOT ranges ? entry.key THEN
            PERFORM _refuse_replay(entry.key, known);
        END IF;
        checked := checked || jsonb_build_object(entry.key, _checked_number(
            entry.key, entry.value, (ranges -> entry.key -> 0)::numeric,
            (ranges -> entry.key -> 1)::numeric, entry.key = ANY (whole)));
    END LOOP;
    FOR entry IN SELECT j.key, j.value FROM jsonb_each(given -> 'weights') AS j LOOP
        weights := weights || jsonb_build_object(
            (_check_kind(entry.key)).name,
            _checked_number('the weight of ' || entry.key, entry.value, 0, 1000, false));
    END LOOP;
    RETURN checked || jsonb_build_object('weights', weights);
END $$;

-- A setting that replay() does not take: unknown, or part of the mode but not replayable.
CREATE OR REPLACE FUNCTION _refuse_replay(name text, known text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute AS a
               WHERE a.attrelid = 'mode'::regclass AND a.attname = _refuse_replay.name
                 AND a.attnum > 0 AND NOT a.attisdropped)
    THEN
        RAISE EXCEPTION 'setting "%" cannot be replayed', name
            USING ERRCODE = 'ME008',
                  DETAIL = 'It works on the question, and the log keeps no vector of it. ' || known,
                  HINT = 'Copy the mode under a new name, change it there, and compare both with '
                         'memoir.evaluate().';
    END IF;
    RAISE EXCEPTION 'unknown setting "%"', name
        USING ERRCODE = 'ME008', DETAIL = known,
              HINT = 'For example ''{"mmr_lambda": 0.9, "weights": {"task": 1.5}}''.';
END $$;

CREATE OR REPLACE FUNCTION _checked_number(
    name text, value jsonb, least_value numeric, most numeric, is_whole boolean)
    RETURNS numeric
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    number numeric;
BEGIN
    IF jsonb_typeof(value) = 'number' THEN
        number := trim_scale(value::numeric);
    END IF;
    IF number IS NULL OR number NOT BETWEEN least_value AND most
       OR (is_whole AND number % 1 <> 0)
    THEN
        RAISE EXCEPTION '% must be a % from % to %, not %', name,
                CASE WHEN is_whole THEN 'whole number' ELSE 'number' END, least_value, most, value
            USING ERRCODE = 'ME008',
                  HINT = 'Leave the setting out to keep what the mode has.';
    END IF;
    RETURN number;
END $$;
