"""Objects that somebody puts in the way: other tables, functions and operators of our names."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import add_event, call, recall, refused, remember, value

STRINGS = (
    "'; DROP TABLE memoir.memory; --",
    "$$ $body$ %s %I %1$s %% {0} \\x41 \\' E'\\n' \" \\",
    "tea') UNION SELECT content FROM memoir.memory --",
)
CATALOGUE = """
SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (
    SELECT concat(oid, relname, relkind) FROM pg_class WHERE relnamespace = 'memoir'::regnamespace
    UNION ALL
    SELECT concat(oid, proname, md5(prosrc)) FROM pg_proc
    WHERE pronamespace = 'memoir'::regnamespace
    UNION ALL
    SELECT concat(polname, polrelid) FROM pg_policy) AS c (x)
"""
# Of the types that our functions use most; each says no, or something else.
EVIL = """
CREATE SCHEMA evil;
CREATE FUNCTION evil.never(text, text) RETURNS boolean LANGUAGE sql RETURN false;
CREATE FUNCTION evil.far({vector}.halfvec, {vector}.halfvec) RETURNS float8 LANGUAGE sql RETURN 9;
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never);
CREATE OPERATOR evil.<=> (LEFTARG = {vector}.halfvec, RIGHTARG = {vector}.halfvec,
                          FUNCTION = evil.far);
CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql RETURN '1999-01-01 00:00Z'::timestamptz;
CREATE FUNCTION evil.length(text) RETURNS int LANGUAGE sql RETURN 0;
CREATE FUNCTION evil.current_setting(text, boolean) RETURNS text LANGUAGE sql RETURN 'bob';
CREATE FUNCTION evil.row_security_active(oid) RETURNS boolean LANGUAGE sql RETURN false;
CREATE FUNCTION evil._resolve_user(text) RETURNS text LANGUAGE sql RETURN 'bob';
CREATE FUNCTION evil._serves_everybody() RETURNS boolean LANGUAGE sql RETURN true;
CREATE FUNCTION evil._term(text) RETURNS int LANGUAGE sql RETURN 1;
"""
TABLES = ("memory", "trace", "profile", "mode", "setting", "term", "kind", "event")


@pytest.fixture
def ada(tx, become):
    """Ada and Bob have a memory each; everybody may create in the schemas evil and public."""
    tx.execute("SELECT memoir.use_model('three', 3)")
    for user in ("ada", "bob"):
        remember(tx, f"tea of {user}", embedding="[1,0,0]", user_id=user)
        add_event(tx, "alert", {"who": user}, user_id=user)
        call(tx, "refresh_statistics", user_id=user)
    tx.execute("GRANT CREATE ON SCHEMA public TO the_agent")
    tx.execute(f"GRANT CREATE ON DATABASE {tx.info.dbname} TO the_agent")
    return become("agent", "ada")


def answers(conn):
    """What the functions of each language, and a view, say."""
    explained = call(conn, "memory_explain", query_text="tea", query_vec="[1,0,0]")
    return (
        recall(conn, "tea", query_vec="[1,0,0]").block,
        call(conn, "memory_context", query_text="tea")[0].memory_context,
        [(row.memory_id, row.score, row.reason) for row in explained],
        [row.preview for row in call(conn, "memory_search", query="tea")],
        conn.execute("SELECT memory_id, content FROM memoir.hot_memories").fetchall(),
        conn.execute("SELECT user_id, event FROM memoir.outbox ORDER BY 2").fetchall(),
        value(conn, "SELECT memoir.estimate_tokens('tea of ada')"),
    )


def vector_schema(conn):
    return value(conn, "SELECT extnamespace::regnamespace FROM pg_extension WHERE extname='vector'")


def test_nothing_in_front_of_the_callers_path_is_used(ada):
    before = answers(ada)
    ada.execute(EVIL.format(vector=vector_schema(ada)))
    for name in TABLES:
        ada.execute(f"CREATE TABLE evil.{name} (LIKE memoir.{name})")
    ada.execute("SET LOCAL search_path = evil, pg_catalog, public")
    assert value(ada, "SELECT now() < '2000-01-01'") is True
    assert answers(ada) == before
    assert remember(ada, "coffee of ada")
    assert refused(ada, "recall", user_id="bob", query_text="tea").sqlstate == "ME006"


def test_neither_are_temporary_tables_nor_functions(ada):
    before = answers(ada)
    for name in TABLES:
        ada.execute(f"CREATE TEMP TABLE {name} (LIKE memoir.{name})")
    ada.execute(
        "CREATE FUNCTION pg_temp._resolve_user(text) RETURNS text LANGUAGE sql RETURN 'bob'"
    )
    ada.execute("SET LOCAL search_path = pg_temp, public")
    assert answers(ada) == before
    assert remember(ada, "coffee of ada")
    assert value(ada, "SELECT count(*) FROM pg_temp.memory") == 0


def test_nor_objects_beside_the_vectors(ada):
    # Schema public is on the path that functions pin, where the types of pgvector are in it.
    before = answers(ada)
    for name in TABLES:
        ada.execute(f"CREATE TABLE public.{name} (LIKE memoir.{name})")
    ada.execute(
        "CREATE FUNCTION public.now() RETURNS timestamptz"
        " LANGUAGE sql RETURN '1999-01-01'::timestamptz;"
        " CREATE FUNCTION public.length(text) RETURNS int LANGUAGE sql RETURN 0;"
        " CREATE FUNCTION public._resolve_user(text) RETURNS text LANGUAGE sql RETURN 'bob';"
        " CREATE FUNCTION public.never(text, text) RETURNS boolean LANGUAGE sql RETURN false;"
        " CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.never)"
    )
    assert answers(ada) == before


def test_who_runs_as_the_owner_pins_a_path_that_ends_with_temporary_objects(tx):
    paths = tx.execute(
        "SELECT setting FROM pg_proc, unnest(proconfig) AS setting"
        " WHERE pronamespace = 'memoir'::regnamespace AND prosecdef"
        " AND setting LIKE 'search_path=%'"
    ).fetchall()
    assert paths
    assert all(path.endswith("pg_temp") for (path,) in paths)


@pytest.fixture
def told(tx) -> list[tuple[str, str]]:
    """What the server warns of, with its advice."""
    said: list[tuple[str, str]] = []
    tx.add_notice_handler(lambda notice: said.append((notice.message_primary, notice.message_hint)))
    return said


def test_a_schema_of_ours_that_anybody_may_write_to_is_told(tx, told):
    schema = vector_schema(tx)
    tx.execute(f"GRANT CREATE ON SCHEMA {schema} TO PUBLIC")
    tx.execute("SELECT memoir.grant_access()")
    ((warning, hint),) = told
    assert warning.startswith(f'anybody may create functions in schema "{schema}", where pgvector')
    assert hint == f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;"


def test_a_schema_that_was_somebody_elses_before_is_told(tx, told):
    tx.execute("CREATE ROLE mallory; ALTER SCHEMA memoir OWNER TO mallory")
    tx.execute("SELECT memoir.grant_access()")
    ((warning, hint),) = told
    assert warning.startswith('schema "memoir" belongs to "mallory", who can have code run')
    assert hint == "ALTER SCHEMA memoir OWNER TO postgres;"


@pytest.mark.parametrize(
    "left",
    [
        "GRANT CREATE ON SCHEMA memoir TO mallory",
        "ALTER FUNCTION memoir._lower(text) OWNER TO mallory",
    ],
)
def test_somebody_who_can_make_functions_among_ours_or_has_one_is_told(tx, told, left):
    tx.execute(f"CREATE ROLE mallory; {left}; SELECT memoir.grant_access()")
    ((warning, hint),) = told
    assert warning.startswith('"mallory" may make functions in schema "memoir", or has some there')
    assert hint.startswith("REVOKE CREATE ON SCHEMA memoir FROM mallory;")


@pytest.mark.parametrize("evil", STRINGS)
def test_no_string_is_more_than_a_string(tx, ada, evil):
    before = value(tx, CATALOGUE)
    functions = ada.execute(
        "SELECT proname, proargnames[:pronargs], proargtypes::regtype[]::text[]"
        " FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace AND prokind = 'f'"
        " AND proname NOT LIKE '\\_%' AND prorettype <> 'trigger'::regtype"
        " AND has_function_privilege(oid, 'EXECUTE')"
    ).fetchall()
    states = {}
    for name, names, types in functions:
        given = {n: t for n, t in zip(names or (), types, strict=True) if t in QUOTED}
        for one in [n for n in given if n != "user_id"]:
            state = state_of(ada, name, {one: evil}, given, required(ada, name))
            states.setdefault(state, set()).add(name)
    others = {s: who for s, who in states.items() if s and not s.startswith("ME")}
    assert others.keys() <= ALLOWED, others
    assert value(tx, CATALOGUE) == before
    assert value(tx, "SELECT count(*) FROM memoir.memory WHERE user_id = 'ada'") >= 1


QUOTED = {"text": "{}", "text[]": "{}", "jsonb": "{}"}
# An array or a JSON text that is none never reaches us; a function may have other arguments.
ALLOWED = {"22P02", "42883"}


def required(conn, name):
    """Arguments without a default, with a value of their type."""
    kinds = conn.execute(
        "SELECT a.name, a.type FROM pg_proc AS p,"
        " unnest(p.proargnames[:p.pronargs - p.pronargdefaults], p.proargtypes::regtype[]::text[])"
        " AS a (name, type)"
        " WHERE p.pronamespace = 'memoir'::regnamespace AND p.proname = %s AND a.name IS NOT NULL",
        (name,),
    ).fetchall()
    values = {"text": "tea", "bigint": "1", "integer": "1", "jsonb": "{}", "boolean": "false"}
    return {n: values.get(t, "{}" if t.endswith("[]") else None) for n, t in kinds}


def state_of(conn, name, evil, kinds, rest):
    """The SQLSTATE of a call with the string in one argument; None: it was answered."""
    given = {**rest, **{n: quoted(kinds[n], text) for n, text in evil.items()}}
    arguments = ", ".join(f"{n} => %({n})s" for n in given)
    try:
        with conn.transaction():
            conn.execute(f"SELECT * FROM memoir.{name}({arguments})", given)
    except psycopg.Error as error:
        return error.sqlstate
    return None


def quoted(kind, text):
    """The string as a value of a type."""
    if kind == "text[]":
        return [text]
    return psycopg.types.json.Jsonb({text: text}) if kind == "jsonb" else text


def test_a_zero_byte_does_not_pass_the_protocol(ada):
    with pytest.raises(psycopg.DataError):
        call(ada, "remember", content="tea\x00")
