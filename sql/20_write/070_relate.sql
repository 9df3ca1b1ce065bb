-- States how two memories of a user are related; stating it again with another strength changes it.
-- Any status is accepted: a superseded memory keeps its place in the chain.
CREATE OR REPLACE FUNCTION _check_relation_type(type text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT
AS $$
DECLARE
    types CONSTANT text[] :=
        '{supports,contradicts,refines,supersedes,derived_from,related}';
BEGIN
    IF NOT type = ANY (types) THEN
        RAISE EXCEPTION 'unknown type of relation "%"', type
            USING ERRCODE = 'ME008',
                  DETAIL = 'Types: ' || array_to_string(types, ', '),
                  HINT = 'Pass one of them: memoir.relate(1, 2, ''supports'').';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION relate(
    from_id bigint, to_id bigint, type text DEFAULT 'related', strength float8 DEFAULT 0.5,
    user_id text DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    owner CONSTANT text := _resolve_user(user_id);
    is_new boolean;
BEGIN
    type := coalesce(type, 'related');
    strength := coalesce(strength, 0.5);
    PERFORM _check_relation_type(type);
    PERFORM _check_share(strength, 'strength');
    IF from_id = to_id THEN
        RAISE EXCEPTION 'memory % cannot relate to itself', from_id
            USING ERRCODE = 'ME008',
                  HINT = 'Pass two memories: memoir.relate(from_id, to_id).';
    END IF;
    PERFORM _lock_user(owner);
    PERFORM _keep_memory(owner, from_id);
    PERFORM _keep_memory(owner, to_id);

    INSERT INTO relation AS r (user_id, from_id, to_id, type, strength)
    VALUES (owner, relate.from_id, relate.to_id, relate.type, relate.strength)
    ON CONFLICT (user_id, from_id, to_id, type)
    DO UPDATE SET strength = excluded.strength WHERE r.strength <> excluded.strength
    RETURNING r.xmax = 0 INTO is_new;
    IF is_new AND type = 'derived_from' THEN
        PERFORM _mark_derived(owner, ARRAY[from_id]);
    END IF;
    RETURN CASE WHEN is_new THEN 'ADD' WHEN NOT is_new THEN 'UPDATE' ELSE 'NOOP' END;
END $$;

COMMENT ON FUNCTION relate(bigint, bigint, text, float8, text) IS
    'Says that memory from_id supports, contradicts, refines, supersedes, is derived_from or is '
    'related to memory to_id (D1 3.1). strength: 0 to 1. Returns what was done: ADD, UPDATE (it '
    'had another strength) or NOOP. Errors: ME006 user, ME008 type, strength or a memory related '
    'to itself, ME012 no such memory of this user.';
