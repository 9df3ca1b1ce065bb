-- Puts a question into a gold set, with the memories that answer it, named by id or by content.
-- Adding the same question again replaces the given values and keeps the rest, so that a file can
-- be loaded twice and a vector can come later.
CREATE OR REPLACE FUNCTION gold_add(
    gold_set text, query text, relevant_ids bigint[] DEFAULT NULL, query_vec halfvec DEFAULT NULL,
    user_id text DEFAULT NULL, grades float8[] DEFAULT NULL, relevant_content text[] DEFAULT NULL)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    relevant CONSTANT bigint[] :=
        relevant_ids || _ids_of_content(owner, gold_add.relevant_content);
    question CONSTANT text := _redact(query);
    hash bytea;
    in_model smallint;
    new_id bigint;
BEGIN
    PERFORM _check_text(gold_set, 'the name of the gold set');
    PERFORM _check_text(query, 'the question');
    IF length(gold_set) > 200 THEN
        RAISE EXCEPTION 'the name of a gold set has at most 200 characters, not %', length(gold_set)
            USING ERRCODE = 'ME007', HINT = 'Choose a short name such as ''support''.';
    END IF;
    hash := sha256(convert_to(question, 'UTF8'));
    SELECT g.gold_id INTO new_id
    FROM gold AS g
    WHERE g.user_id = owner AND g.gold_set = gold_add.gold_set AND g.query_hash = hash;
    PERFORM _check_relevant(owner, relevant, grades, new_id IS NOT NULL);
    PERFORM _keep_memory(owner, r.id) FROM unnest(relevant) AS r (id);
    IF query_vec IS NOT NULL THEN
        in_model := (_admitting_model(query_vec)).model_id;
    END IF;

    INSERT INTO gold AS g (user_id, gold_set, query, query_hash, query_vec, model)
    VALUES (owner, gold_add.gold_set, question, hash, gold_add.query_vec, in_model)
    ON CONFLICT (user_id, gold_set, query_hash) DO UPDATE
    SET query_vec = coalesce(EXCLUDED.query_vec, g.query_vec),
        model = coalesce(EXCLUDED.model, g.model)
    RETURNING g.gold_id INTO new_id;
    IF relevant IS NOT NULL THEN
        DELETE FROM gold_relevant AS r WHERE r.user_id = owner AND r.gold_id = new_id;
        INSERT INTO gold_relevant (user_id, gold_id, memory_id, grade)
        SELECT owner, new_id, u.id, max(coalesce(u.grade, 1))
        FROM unnest(relevant, grades) AS u (id, grade)
        GROUP BY u.id;
    END IF;
    RETURN new_id;
END $$;

COMMENT ON FUNCTION gold_add(text, text, bigint[], halfvec, text, float8[], text[]) IS
    'Adds a question to a gold set and returns its id. relevant_ids: the memories that answer it; '
    'relevant_content: the same by their exact content. query_vec: the question''s vector, by the '
    'model of this database, or NULL to ask by words alone. grades: how well each of '
    'relevant_ids, then of relevant_content, answers, above 0 to 100, for nDCG (NULL: 1). Adding '
    'a question again replaces what is given; NULL leaves a value as it is. Errors: ME003 and '
    'ME004 vector, ME006 user, ME007 empty question or name, ME008 no relevant memory, ambiguous '
    'content or grades, ME012 not a memory of this user.';

-- What is wrong with the relevant memories of a question. NULL keeps those of a known question.
CREATE OR REPLACE FUNCTION _check_relevant(
    owner text, relevant bigint[], grades float8[], known boolean)
    RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    missing text;
BEGIN
    IF cardinality(relevant) = 0 OR (relevant IS NULL AND NOT known) THEN
        RAISE EXCEPTION 'no relevant memory is given'
            USING ERRCODE = 'ME008',
                  HINT = 'SELECT memoir.gold_add(''support'', ''which editor?'', ''{12}'');';
    END IF;
    IF cardinality(grades) IS DISTINCT FROM cardinality(relevant) AND grades IS NOT NULL
       OR EXISTS (SELECT FROM unnest(grades) AS grade
                  WHERE NOT coalesce(grade > 0 AND grade <= 100, false))
    THEN
        RAISE EXCEPTION 'grades % do not match % relevant memories',
                grades, coalesce(cardinality(relevant), 0)
            USING ERRCODE = 'ME008',
                  HINT = 'One grade above 0, at most 100, for each; leave them out for 1 each.';
    END IF;
    SELECT string_agg(coalesce(u.id::text, 'NULL'), ', ' ORDER BY u.place) INTO missing
    FROM unnest(relevant) WITH ORDINALITY AS u (id, place)
    LEFT JOIN LATERAL (
        SELECT m.memory_id FROM memory AS m
        WHERE m.user_id = owner AND m.memory_id = u.id OFFSET 0) AS m ON true
    WHERE m.memory_id IS NULL;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'user "%" has no memory %', owner, missing
            USING ERRCODE = 'ME012',
                  HINT = 'Pass ids that remember() or recall() returned for the same user.';
    END IF;
END $$;

-- Active memories by their exact content, in the order of the texts; NULL for NULL.
CREATE OR REPLACE FUNCTION _ids_of_content(owner text, contents text[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    found_ids bigint[];
    ids bigint[];
    wanted text;
BEGIN
    IF contents IS NOT NULL THEN
        ids := '{}';
    END IF;
    FOREACH wanted IN ARRAY coalesce(contents, '{}') LOOP
        found_ids := ARRAY(
            SELECT m.memory_id FROM memory AS m
            WHERE m.user_id = owner AND m.status = 'active'
              AND btrim(m.content, E' \t\r\n') = btrim(wanted, E' \t\r\n'));
        IF cardinality(found_ids) = 0 THEN
            RAISE EXCEPTION 'user "%" has no memory with the content "%"',
                    owner, left(wanted, 200)
                USING ERRCODE = 'ME012',
                      HINT = 'It must be the whole content as it was stored; ids work too.';
        ELSIF cardinality(found_ids) > 1 THEN
            RAISE EXCEPTION '% memories have the content "%"',
                    cardinality(found_ids), left(wanted, 200)
                USING ERRCODE = 'ME008',
                      DETAIL = 'Memories: ' || array_to_string(found_ids, ', '),
                      HINT = 'Name the one you mean by its id.';
        END IF;
        ids := ids || found_ids;
    END LOOP;
    RETURN ids;
END $$;
