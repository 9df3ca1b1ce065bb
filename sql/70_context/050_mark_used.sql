-- Feedback: which memories of a block the agent used.
-- From it come the hit rate and suggested weights.
CREATE OR REPLACE FUNCTION mark_used(
    retrieval_id bigint, memory_ids bigint[], user_id text DEFAULT NULL)
    RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET jit = off
AS $$
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    number int;
BEGIN
    PERFORM _check_primary('mark_used');
    UPDATE retrieval AS r
    SET used_ids = ARRAY(
        SELECT DISTINCT i.id
        FROM (SELECT r.ids || '{}' AS ids OFFSET 0) AS whole, unnest(r.chosen) AS c (place),
             LATERAL (SELECT whole.ids[abs(c.place)]) AS i (id)
        WHERE i.id = ANY (r.used_ids) OR i.id = ANY (mark_used.memory_ids)
        ORDER BY i.id)
    WHERE r.user_id = owner AND r.retrieval_id = mark_used.retrieval_id
    RETURNING cardinality(r.used_ids) INTO number;
    IF NOT FOUND THEN
        number := _mark_used_event(owner, retrieval_id, memory_ids);
    END IF;
    IF number IS NULL THEN
        RAISE EXCEPTION 'user "%" has no retrieval %', owner, mark_used.retrieval_id
            USING ERRCODE = 'ME012',
                  HINT = 'Pass the retrieval_id that recall() returned, and the same user.';
    END IF;
    RETURN number;
END $$;

COMMENT ON FUNCTION mark_used(bigint, bigint[], text) IS
    'Records which memories of a recall were used; calls add up. Ids that were not in the block '
    'are ignored. Returns how many of its memories are marked. An empty array records that none '
    'was. Errors: ME006 user, ME012 no such retrieval of this user.';

-- The same for a recall that maintain has folded into an event; NULL: there is none. Ids stay text,
-- as they are stored, because an application may have events of this type whose ids are not
-- numbers.
CREATE OR REPLACE FUNCTION _mark_used_event(
    user_id text, retrieval_id bigint, memory_ids bigint[]) RETURNS int
    LANGUAGE plpgsql
    SET search_path FROM CURRENT
AS $$
#variable_conflict use_variable
DECLARE
    number int;
BEGIN
    UPDATE event AS e
    SET payload = jsonb_set(e.payload, '{used}', (
        SELECT coalesce(jsonb_agg(u.id ORDER BY length(u.id), u.id), '[]')
        FROM (SELECT DISTINCT i.id #>> '{}' AS id
              FROM jsonb_path_query(e.payload, '$.injected[*].memory_id') AS i (id)) AS u
        WHERE u.id = ANY (memory_ids::text[]) OR e.payload -> 'used' ? u.id))
    WHERE e.user_id = user_id AND e.type = 'memory_retrieval'
      AND left(e.payload ->> 'retrieval_id', 20) = retrieval_id::text
    RETURNING jsonb_array_length(e.payload -> 'used') INTO number;
    RETURN number;
END $$;
