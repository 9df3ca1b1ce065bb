-- Imports the records of a file, one function per few records: one statement per table for all
-- lines that come together. Derived values are rebuilt by the functions that build them for
-- remember(), so that traces match this version and these settings. All text is redacted by the
-- rules of this database, which may be stricter than those of the other one: what they make the
-- same there is told apart here, so that nothing is lost (DECISIONS 87).

-- Ids as they become here. An id beyond the highest of the first line might be given a second time.
CREATE OR REPLACE FUNCTION _refuse_id(id bigint, highest_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    RAISE EXCEPTION 'id % is not 1 to %, the highest that line 1 tells of', id, highest_id
        USING ERRCODE = 'ME017', HINT = 'Export the user again.';
END $$;

CREATE OR REPLACE FUNCTION _new_id(reading import, id bigint) RETURNS bigint
    LANGUAGE sql VOLATILE
    RETURN CASE WHEN id NOT BETWEEN 1 AND reading.highest_id
                THEN _refuse_id(id, reading.highest_id) ELSE id + reading.shift END;

CREATE OR REPLACE FUNCTION _check_count(number int, what text) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    IF number < 0 THEN
        RAISE EXCEPTION '% must not be negative, not %', what, number
            USING ERRCODE = 'ME008', HINT = 'Export the user again.';
    END IF;
    RETURN number;
END $$;

-- What is stored in lower case has lost the capitals that a rule may ask for.
CREATE OR REPLACE FUNCTION _redact_lower(word text) RETURNS text
    LANGUAGE sql STABLE
    RETURN _lower(coalesce(nullif(_redact(upper(word)), upper(word)), _redact(word)));

-- The ids of a list in a log, which may name memories purged since: an event stands as a negative
-- id among the candidates of a recall.
CREATE OR REPLACE FUNCTION _new_ids(reading import, ids bigint[]) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN reading.shift = 0 THEN ids
                ELSE ARRAY(SELECT i.id + sign(i.id)::bigint * reading.shift
                           FROM unnest(ids) WITH ORDINALITY AS i (id, place)
                           ORDER BY i.place) END;

CREATE OR REPLACE FUNCTION _import_user(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM _check_settings(coalesce(bodies[1] -> 'settings', '{}'));
    UPDATE profile AS p
    SET settings = coalesce(bodies[1] -> 'settings', '{}'),
        rolling_summary = _redact(bodies[1] ->> 'rolling_summary'),
        summarised_at = _check_time((bodies[1] ->> 'summarised_at')::timestamptz,
                                    'summarised_at'),
        updated_at = now()
    WHERE p.user_id = reading.user_id;
END $$;

CREATE OR REPLACE FUNCTION _import_sessions(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO session (user_id, session_id, number, temporary, data, started_at, ended_at,
                         next_position, questions)
    SELECT reading.user_id, _check_session(s.session_id), nextval('session_number_seq'),
           s.temporary, coalesce(_check_data(_redact_json(s.data)), '{}'),
           _check_time(s.started_at, 'started_at'), _check_time(s.ended_at, 'ended_at'),
           _check_count(s.next_position, 'next_position'),
           _check_count(coalesce(s.questions, 0), 'questions')
    FROM unnest(bodies) WITH ORDINALITY AS b (body, place),
         jsonb_populate_record(NULL::session, b.body) AS s
    ORDER BY b.place;
END $$;

-- A message at or behind the place of the next one would be in its way.
CREATE OR REPLACE FUNCTION _import_messages(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    beyond int;
BEGIN
    WITH stored AS (
        INSERT INTO message (user_id, session_id, position, role, speaker, content, tokens, data,
                             private, created_at)
        SELECT reading.user_id, m.session_id, _check_turn(m.position), m.role, m.speaker,
               m.content, estimate_tokens(m.content),
               coalesce(_check_data(_redact_json(m.data)), '{}'), coalesce(m.private, false),
               _check_time(m.created_at, 'created_at')
        FROM (
            SELECT m.session_id, m.position, m.role, _check_speaker(_redact(m.speaker)) AS speaker,
                   _redact(m.content) AS content, m.data, m.private, m.created_at
            FROM unnest(bodies) AS b (body), jsonb_populate_record(NULL::message, b.body) AS m
            OFFSET 0
        ) AS m
        RETURNING session_id, position
    )
    SELECT max(o.position) INTO beyond
    FROM stored AS o JOIN session AS s ON s.user_id = reading.user_id
                                      AND s.session_id = o.session_id
    WHERE o.position >= s.next_position;
    IF beyond IS NOT NULL THEN
        RAISE EXCEPTION 'position % is not below the next_position of its session', beyond
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION _import_entities(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    WITH given AS MATERIALIZED (
        SELECT _new_id(reading, e.entity_id) AS entity_id, _entity_name(e.name) AS name,
               _lower(_entity_name(e.type)) AS type,
               _check_time(e.created_at, 'created_at') AS created_at
        FROM unnest(bodies) AS b (body), jsonb_populate_record(NULL::entity, b.body) AS e
    )
    INSERT INTO entity (user_id, entity_id, name, type, created_at)
    SELECT reading.user_id, g.entity_id,
           CASE WHEN row_number() OVER (PARTITION BY _lower(g.name), g.type
                                        ORDER BY g.entity_id) > 1
                     OR EXISTS (SELECT FROM entity AS o
                                WHERE o.user_id = reading.user_id AND o.type = g.type
                                  AND o.name_key = _lower(g.name) AND o.entity_id <> g.entity_id)
                THEN format('%s (%s)', g.name, g.entity_id) ELSE g.name END,
           g.type, g.created_at
    FROM given AS g;
END $$;

-- Rows of an attached table stay that: if a source of this name is attached here, they follow it.
-- Where such a row is there, but of another user, the next reading would take what is imported for
-- gone: it is kept, under a name that no source has. Of a source that cannot be read nothing goes.
CREATE OR REPLACE FUNCTION _keep_from_source(owner text, bodies jsonb[]) RETURNS jsonb[]
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    s source;
    of_others text[];
BEGIN
    FOR s IN
        SELECT o.* FROM source AS o
        WHERE o.name IN (SELECT b.body ->> 'source' FROM unnest(bodies) AS b (body))
    LOOP
        BEGIN
            of_others := ARRAY(
                SELECT r.source_key
                FROM unnest(_rows_with(s, ARRAY(SELECT b.body ->> 'source_key'
                                                FROM unnest(bodies) AS b (body)
                                                WHERE b.body ->> 'source' = s.name))) AS r
                GROUP BY r.source_key HAVING bool_and(r.user_id IS DISTINCT FROM owner));
        EXCEPTION WHEN OTHERS THEN
            IF _is_of_server(SQLSTATE) THEN
                RAISE;
            END IF;
            CONTINUE;
        END;
        bodies := ARRAY(
            SELECT CASE WHEN b.body ->> 'source' = s.name
                             AND b.body ->> 'source_key' = ANY (of_others)
                        THEN b.body || jsonb_build_object(
                            'source', format('%s, not of %s', s.name, owner))
                        ELSE b.body END
            FROM unnest(bodies) WITH ORDINALITY AS b (body, place) ORDER BY b.place);
    END LOOP;
    RETURN bodies;
END $$;

-- Of two memories that are the same here, the one that was not imported yet. In a slot that another
-- fills it stays as a memory without one. Of two with the same text, the one that is true for
-- longer is recalled, and the other is superseded by it.
CREATE OR REPLACE FUNCTION _import_alike(reading import, body jsonb, given new_memory)
    RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    other memory;
    left_out record;
BEGIN
    SELECT m.* INTO other FROM memory AS m
    WHERE m.user_id = reading.user_id AND m.kind = given.kind AND m.subject = given.subject
      AND m.position IS NULL AND m.source IS NULL AND m.status = 'active'
      AND given.position IS NULL AND given.status = 'active' AND m.memory_id <> given.memory_id;
    IF FOUND THEN
        PERFORM _import_memories(reading, ARRAY[body - 'subject']);
        INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, change_id)
        VALUES (reading.user_id, given.memory_id, 'UPDATE', 'import',
                format('memory %s fills its subject here', other.memory_id),
                jsonb_build_object('subject', given.subject), _next_change());
        RETURN;
    END IF;
    SELECT m.* INTO other FROM memory AS m
    WHERE m.user_id = reading.user_id AND m.content_hash = given.content_hash
      AND m.status IN ('active', 'pending') AND m.source IS NULL
      AND given.status IN ('active', 'pending') AND m.memory_id <> given.memory_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'memory % or its row of a source', given.memory_id
            USING ERRCODE = 'unique_violation';
    END IF;
    IF (other.status = 'active', coalesce(other.valid_until, 'infinity'))
       >= (given.status = 'active', coalesce(given.valid_until, 'infinity'))
    THEN
        SELECT given.memory_id AS id, given.status, other.memory_id AS other_id INTO left_out;
        body := body || _retired('superseded', now());
    ELSE
        SELECT other.memory_id AS id, other.status, given.memory_id AS other_id INTO left_out;
        UPDATE memory AS m SET status = 'superseded', retired_at = now()
        WHERE m.user_id = reading.user_id AND m.memory_id = other.memory_id;
        UPDATE trace AS t SET active = false
        WHERE t.user_id = reading.user_id AND t.memory_id = other.memory_id;
    END IF;
    PERFORM _import_memories(reading, ARRAY[body]);
    INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, change_id)
    VALUES (reading.user_id, left_out.id, 'SUPERSEDE', 'import',
            format('memory %s has the same text here', left_out.other_id),
            _retired(left_out.status, NULL), _next_change());
END $$;

-- Memories of a slot follow each other. Where slots became one, those that had made way and were
-- true at the same time as another lose their subject: nothing could be told in that slot any more.
-- Returns how many.
CREATE OR REPLACE FUNCTION _part_slots(user_id text) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    ids bigint[];
BEGIN
    WITH held AS MATERIALIZED (
        SELECT m.memory_id, m.kind, m.subject, m.status = 'active' AS active,
               tstzrange(m.valid_from, m.valid_until) AS during,
               lag(m.valid_until, 1, '-infinity') OVER slot <= m.valid_from AS follows
        FROM memory AS m
        WHERE m.user_id = _part_slots.user_id AND m.subject IS NOT NULL AND m.position IS NULL
          AND m.source IS NULL AND m.status IN ('active', 'superseded')
        WINDOW slot AS (PARTITION BY m.kind, m.subject ORDER BY m.valid_from)
    ), mixed AS (
        SELECT DISTINCT h.kind, h.subject FROM held AS h WHERE h.follows IS NOT TRUE
    )
    SELECT array_agg(h.memory_id ORDER BY h.memory_id) INTO ids
    FROM mixed AS x JOIN held AS h USING (kind, subject)
    WHERE NOT h.active AND EXISTS (
        SELECT FROM held AS o
        WHERE o.kind = h.kind AND o.subject = h.subject AND o.memory_id <> h.memory_id
          AND o.during && h.during AND (o.active OR o.memory_id < h.memory_id));
    IF ids IS NULL THEN
        RETURN 0;
    END IF;
    INSERT INTO revision (user_id, memory_id, action, author, reason, old_values, change_id)
    SELECT m.user_id, m.memory_id, 'UPDATE', 'import', 'another memory fills its subject here',
           jsonb_build_object('subject', m.subject), _next_change()
    FROM memory AS m
    WHERE m.user_id = _part_slots.user_id AND m.memory_id = ANY (ids);
    UPDATE memory AS m
    SET subject = NULL,
        content_hash = _content_hash(m.kind, NULL, m.session_id, m.position, m.content)
    WHERE m.user_id = _part_slots.user_id AND m.memory_id = ANY (ids);
    PERFORM _reproject(user_id, ids);
    RETURN cardinality(ids);
END $$;

-- Memories with their traces. Returns how many of them are the same as others here.
CREATE OR REPLACE FUNCTION _import_memories(reading import, bodies jsonb[]) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    in_use CONSTANT embedding_model := _known_model(NULL);
    made new_memory[];
    alike new_memory[];
    places int[];
    retold bigint[];
BEGIN
    WITH said AS MATERIALIZED (
        SELECT m.*, k.name AS of_kind, k.kind_id, k.layer = 'profile' AS in_profile,
               _redact(m.content) AS told, _redact_lower(m.subject) AS slot,
               CASE WHEN reading.vectors THEN (b.body ->> 'embedding')::halfvec END AS vector,
               b.place
        FROM unnest(bodies) WITH ORDINALITY AS b (body, place),
             jsonb_populate_record(NULL::memory, b.body) AS m, LATERAL _check_kind(m.kind) AS k
    ), given AS MATERIALIZED (
        SELECT _new_id(reading, m.memory_id) AS memory_id, m.of_kind AS kind, m.kind_id,
               m.in_profile, _check_text(m.told, 'the memory') AS content,
               _redact(m.summary) AS summary,
               coalesce(_check_data(_redact_json(m.data)), '{}') AS data,
               _check_subject(m.slot) AS subject,
               _check_share(m.importance, 'importance') AS importance,
               _check_share(m.confidence, 'confidence') AS confidence,
               _check_author(m.origin) AS origin,
               _check_session(m.session_id) AS session_id, _check_turn(m.position) AS position,
               _check_speaker(_redact(m.speaker)) AS speaker,
               m.source, m.source_key,
               _check_time(m.valid_from, 'valid_from') AS valid_from,
               _check_until(m.valid_until, m.valid_from) AS valid_until, m.lifetime, m.status,
               _check_time(m.retired_at, 'retired_at') AS retired_at,
               _check_time(m.created_at, 'created_at') AS created_at,
               _check_time(m.recorded_at, 'recorded_at') AS recorded_at,
               _check_time(m.updated_at, 'updated_at') AS updated_at,
               _check_vector(m.vector, in_use.dimensions) AS embedding,
               CASE WHEN m.source IS NULL
                    THEN _content_hash(m.of_kind, m.slot, m.session_id, m.position, m.told)
                    ELSE _row_hash(m.source, m.source_key) END AS content_hash,
               m.told <> m.content AS retold, m.place
        FROM said AS m
    ), stored AS (
        INSERT INTO memory (user_id, memory_id, kind, content, summary, data, subject, importance,
                            confidence, origin, session_id, position, speaker, source, source_key,
                            valid_from, valid_until, lifetime, status, retired_at, content_hash,
                            created_at, recorded_at, updated_at)
        SELECT reading.user_id, g.memory_id, g.kind, g.content, g.summary, g.data, g.subject,
               g.importance, g.confidence, g.origin, g.session_id, g.position, g.speaker, g.source,
               g.source_key, g.valid_from, g.valid_until, g.lifetime, g.status, g.retired_at,
               g.content_hash, g.created_at, g.recorded_at, g.updated_at
        FROM given AS g
        ORDER BY g.place
        ON CONFLICT DO NOTHING
        RETURNING memory_id
    )
    SELECT array_agg(n.made) FILTER (WHERE n.stored),
           array_agg(n.made ORDER BY n.place) FILTER (WHERE NOT n.stored),
           array_agg(n.place ORDER BY n.place) FILTER (WHERE NOT n.stored),
           array_agg((n.made).memory_id ORDER BY (n.made).memory_id)
               FILTER (WHERE n.stored AND n.retold)
    INTO made, alike, places, retold
    FROM (
        SELECT ROW(
                   g.memory_id, g.kind, g.kind_id, g.in_profile, g.content, g.summary, g.data,
                   g.subject, g.importance, g.confidence, g.origin, g.session_id, g.position,
                   g.speaker, g.lifetime, g.content_hash, g.created_at, g.valid_from,
                   g.valid_until, g.status, g.retired_at, g.embedding, NULL, NULL)::new_memory
                   AS made,
               s.memory_id IS NOT NULL AS stored, g.retold, g.place
        FROM given AS g LEFT JOIN stored AS s USING (memory_id)
    ) AS n;
    PERFORM _project(reading.user_id, in_use, made);
    PERFORM _import_of_memories(reading, ARRAY(
        SELECT b.body FROM unnest(bodies) WITH ORDINALITY AS b (body, place)
        WHERE places IS NULL OR b.place <> ALL (places)));
    IF retold IS NOT NULL THEN
        PERFORM _replace_keywords(reading.user_id, retold);  -- a secret may be known by its context
    END IF;
    FOR each IN 1 .. coalesce(cardinality(alike), 0) LOOP
        PERFORM _import_alike(reading, bodies[places[each]], alike[each]);
    END LOOP;
    RETURN coalesce(cardinality(alike), 0);
END $$;

-- What belongs to memories. An entity is a word of the trace; the trigger of mention sees to that.
CREATE OR REPLACE FUNCTION _import_of_memories(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    WITH given AS MATERIALIZED (
        SELECT _new_id(reading, m.memory_id) AS memory_id, m.recorded_at, m.keywords,
               m.entity_ids, m.recalled
        FROM unnest(bodies) AS b (body), jsonb_to_record(b.body) AS m (
            memory_id bigint, recorded_at timestamptz, keywords jsonb, entity_ids bigint[],
            recalled jsonb)
    ), words AS (
        INSERT INTO keyword (user_id, keyword, memory_id, weight, origin, created_at)
        SELECT reading.user_id, _redact_lower(k.keyword), g.memory_id, k.weight, k.origin,
               g.recorded_at
        FROM given AS g,
             jsonb_to_recordset(g.keywords) AS k (keyword text, weight float8, origin text)
        ON CONFLICT DO NOTHING
    ), mentions AS (
        INSERT INTO mention (user_id, entity_id, memory_id)
        SELECT reading.user_id, _new_id(reading, e.id), g.memory_id
        FROM given AS g, unnest(g.entity_ids) AS e (id)
    )
    INSERT INTO access (user_id, memory_id, count, last_at)
    SELECT reading.user_id, g.memory_id, _check_count((g.recalled ->> 'count')::int, 'count'),
           _check_time((g.recalled ->> 'last_at')::timestamptz, 'last_at')
    FROM given AS g
    WHERE g.recalled IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION _import_relations(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO relation (user_id, from_id, to_id, type, strength, change_id, created_at)
    SELECT reading.user_id, _new_id(reading, r.from_id), _new_id(reading, r.to_id), r.type,
           r.strength, _new_id(reading, r.change_id), _check_time(r.created_at, 'created_at')
    FROM unnest(bodies) AS b (body), jsonb_populate_record(NULL::relation, b.body) AS r;
    PERFORM _mark_derived(reading.user_id, array_agg(
        DISTINCT (b.body ->> 'from_id')::bigint + reading.shift))
    FROM unnest(bodies) AS b (body)
    WHERE b.body ->> 'type' = 'derived_from'
    HAVING count(*) > 0;
END $$;

-- Old values are redacted except for the vector, whose digits may look like a card number; they
-- must be values a memory can go back to.
CREATE OR REPLACE FUNCTION _import_revisions(reading import, bodies jsonb[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    in_use CONSTANT embedding_model := _known_model(NULL);
BEGIN
    INSERT INTO revision (user_id, revision_id, memory_id, action, author, reason, old_values,
                          model, change_id, run_id, undoes, created_at)
    SELECT reading.user_id, _new_id(reading, r.revision_id), _new_id(reading, r.memory_id),
           r.action, _check_author(r.author), _redact(r.reason),
           _read_old_values(r.old_values, CASE WHEN reading.vectors THEN in_use.dimensions END),
           CASE WHEN r.old_values ? 'embedding' THEN in_use.model_id END,
           _new_id(reading, r.change_id),
           _new_id(reading, r.run_id),
           CASE WHEN r.undoes = 0 THEN 0 ELSE _new_id(reading, r.undoes) END,
           _check_time(r.created_at, 'created_at')
    FROM unnest(bodies) AS b (body), jsonb_populate_record(NULL::revision, b.body) AS r;
END $$;

-- dimensions: of the vectors here; NULL: those of the file are left out.
CREATE OR REPLACE FUNCTION _read_old_values(old_values jsonb, dimensions int) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
DECLARE
    told CONSTANT jsonb := _redact_json(old_values - 'embedding') || CASE
        WHEN old_values ? 'subject'
        THEN jsonb_build_object('subject', _redact_lower(old_values ->> 'subject'))
        ELSE '{}' END;
    was CONSTANT memory := jsonb_populate_record(NULL::memory, told);
    missing CONSTANT text := (
        SELECT min(k.name)
        FROM unnest('{kind,content,data,importance,confidence,lifetime,valid_from,status}'::text[])
             AS k (name)
        WHERE told -> k.name = 'null');
BEGIN
    IF old_values ?| '{user_id,memory_id,content_hash}' THEN
        RAISE EXCEPTION 'old_values changes what no revision changes'
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    ELSIF missing IS NOT NULL THEN
        RAISE EXCEPTION 'old_values has no value for %', missing
            USING ERRCODE = 'ME017', HINT = 'Export the user again.';
    END IF;
    PERFORM CASE WHEN was.content IS NOT NULL THEN _check_text(was.content, 'the memory') END,
            _check_data(was.data), _check_share(was.importance, 'importance'),
            _check_share(was.confidence, 'confidence'), was.lifetime::memory_lifetime,
            was.status::memory_status, _check_time(was.valid_from, 'valid_from'),
            _check_until(was.valid_until, coalesce(was.valid_from, '-infinity')),
            _check_time(was.retired_at, 'retired_at'),
            _check_vector((old_values ->> 'embedding')::halfvec, dimensions);
    RETURN CASE WHEN NOT old_values ? 'embedding' THEN told
                WHEN dimensions IS NULL THEN told || '{"embedding": null}'
                ELSE told || jsonb_build_object('embedding', old_values -> 'embedding') END;
END $$;
