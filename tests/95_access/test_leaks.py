"""Ada against Bob: whatever she calls, reads or writes, nothing of his is told or changed.

Every function of the catalogue is called, public and private, with his name, his ids, and ids that
nobody has. An argument without a value in VALUES makes the suite fail: no function is left out but
those of the owner alone, and those in NOT_CALLED, which say why.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb
from tests.jobs import claim, enqueue, fail
from tests.rows import add_event, call, explain, fill, recall, remember, say, set_to, value, wave

SECRET = "quuxbob"
NOBODYS = 999_999_999

# The value of an argument by its name; ids are Bob's.
VALUES: dict[str, Any] = {
    "after": None,
    "answer": Jsonb({}),
    "arguments": Jsonb({"query": "tea"}),
    "author": "user",
    "category": None,
    "content": "tea",
    "base": None,
    "data": Jsonb({}),
    "day": "2026-01-01",
    "document": Jsonb({}),
    "file": "memory",
    "files": Jsonb({}),
    "decisions": Jsonb([{"action": "ADD", "content": "tea", "kind": "fact"}]),
    "dedup_key": "tea",
    "embedding": None,
    "embeddings": None,
    "entity": "Kestrel",
    "error": "no",
    "gold_set": "drinks",
    "grades": None,
    "key": "key",
    "keywords": ["tea"],
    "kind": "fact",
    "kinds": None,
    "language": "en",
    "lease": "5 minutes",
    "lifetime": None,
    "lines": ["{}"],
    "memories": Jsonb([{"content": "tea", "kind": "fact"}]),
    "memory_types": None,
    "message": "tea",
    "lsn": None,
    "mode": "execute",
    "mode_settings": Jsonb({}),
    "model": None,
    "name": "memory_search",
    "of_mode": None,
    "origin": "user_tag",
    "payload": Jsonb({}),
    "query": "tea",
    "query_text": "tea",
    "query_vec": None,
    "query_vecs": None,
    "reason": "because",
    "relevant_content": None,
    "retry_after": None,
    "role": "user",
    "search": "tea",
    "search_mode": "hybrid",
    "session_id": "monday",
    "settings": Jsonb({}),
    "sort": None,
    "source": None,
    "speaker": None,
    "status": None,
    "strength": 0.5,
    "subject": None,
    "strategy": None,
    "summary": "tea",
    "type": "related",
    "weights": None,
    "words": ["tea"],
    "worker": "w1",
    "write_to": None,
    "zone": "UTC",
    "build_up_to": None,
    "relation": None,
    "changed_at": None,
    "user_column": None,
    "on_delete": None,
    "source_id": None,
    "created_at": None,
    "valid_until": None,
    "importance": None,
    # Numbers; those that are not here are left out.
    "budget": 800,
    "dimensions": 8,
    "max_results": 20,
    "min_relevance_score": 0.0,
    "n": 10,
    "page_size": 100,
}
NOT_CALLED = {
    "maintain_all": "commits; its steps are those of maintain, which is denied",
    "wait_for": "waits, and touches no table",
}
FUNCTIONS = """
SELECT p.proname, p.oid::regprocedure::text, p.proargnames[:p.pronargs] AS names,
       ARRAY(SELECT t::regtype::text FROM unnest(p.proargtypes) AS t) AS types,
       p.pronargs - p.pronargdefaults AS needed
FROM pg_proc AS p
WHERE p.pronamespace = 'memoir'::regnamespace AND p.prorettype <> 'trigger'::regtype
  AND p.prokind = 'f' AND p.proname NOT IN (
      SELECT unnest(c.functions) FROM memoir._callers() AS c WHERE c.role = 'owner')
  AND (p.proname LIKE '\\_%%') = %s
ORDER BY 2
"""
RELATIONS = """
SELECT c.oid::regclass::text, c.relkind,
       EXISTS (SELECT FROM pg_attribute AS a
               WHERE a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped) AS owned
FROM pg_class AS c
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p', 'v')
  AND NOT c.relispartition
ORDER BY 1
"""


@pytest.fixture
def ids(tx):
    """Ada and Bob, each with a row in every table; the ids of his by the names of arguments."""
    tx.execute("SELECT memoir.use_model('waves', 8)")
    made = {user: person(tx, user, SECRET if user == "bob" else "adasown") for user in WHO}
    tx.execute("UPDATE memoir.memory SET recorded_at = now() - interval '1 second'")
    empty = {
        name
        for name, _, owned in tx.execute(RELATIONS).fetchall()
        if owned and not value(tx, f"SELECT count(*) FROM {name} WHERE user_id = 'bob'")
    }
    assert empty <= {"memoir.uncompared", "memoir.job_errors", *NOT_FILLED}
    return made["bob"]


WHO = ("ada", "bob")
# Views of relations that exist only after weeks of use, and tables of issues that attach or import.
NOT_FILLED = {
    *("memoir.suggested_weights", "memoir.kinds_unused", "memoir.import", "memoir.source_error")
}


def person(conn, user, word):
    """Rows of one user that all have the word in them; their ids."""
    first = remember(
        conn, f"{word} drinks tea", embedding=wave(1), user_id=user, keywords=["tea", word],
        importance=0.9, data={"word": word},
    )  # fmt: skip
    other = remember(conn, f"{word} owns a boat", subject=f"{word}.boat", user_id=user)
    remember(conn, f"{word} owns a ship", subject=f"{word}.boat", user_id=user)
    remember(conn, f"{word} ships it", "okr", data={"title": word}, user_id=user)
    call(conn, "relate", from_id=first, to_id=other, type="supports", user_id=user)
    call(conn, "mention", memory_id=first, entity="Kestrel", type=word, user_id=user)
    say(conn, "monday", f"{word} said so", "and so", user_id=user)
    spoken = {"session_id": "monday", "role": "user", "content": f"{word} speaks"}
    call(conn, "message_add", **spoken, user_id=user)
    event = add_event(conn, "alert", {"who": word}, user_id=user)
    call(conn, "gold_add", gold_set="drinks", query=word, relevant_ids=[first], user_id=user)
    call(conn, "call_tool", name="memory_search", arguments={"query": word}, user_id=user)
    call(conn, "set_rolling_summary", summary=f"about {word}", user_id=user)
    conn.execute(
        "INSERT INTO memoir.query_expansion (user_id, query_hash, query, expansion)"
        " VALUES (%s, sha256('tea'), %s, %s)",
        (user, word, Jsonb({"core_keywords": [word]})),
    )
    job = enqueue(conn, "keywords", user_id=user, payload={"memory_id": str(other)})
    claim(conn, user_id=user, kinds=["keywords"])
    fail(conn, job, error=word, user_id=user)
    (run,) = call(
        conn, "apply_decisions", user_id=user,
        decisions=Jsonb([{"action": "ADD", "content": f"{word} decided", "kind": "fact"}]),
    )  # fmt: skip
    call(conn, "refresh_statistics", user_id=user)
    made = recall(conn, f"{word} tea", user_id=user)
    call(conn, "mark_used", retrieval_id=made.retrieval_id, memory_ids=[first], user_id=user)
    conn.execute("INSERT INTO memoir.access VALUES (%s, %s, 1, now())", (user, first))
    head = "INSERT INTO memoir.file_head VALUES (%s, 'memory.json', %s, now())"
    conn.execute(head, (user, Jsonb({"word": word})))
    failed = "INSERT INTO memoir.source_error (user_id, source, source_key, code, reason)"
    conn.execute(f"{failed} VALUES (%s, 'x', '1', 'ME007', %s)", (user, word))
    entry = "INSERT INTO memoir.file_entry VALUES (%s, 'abc', %s, 0, %s, md5('x')::uuid)"
    conn.execute(entry, (user, first, Jsonb({"word": word})))
    conn.execute("INSERT INTO memoir.uncompared VALUES (%s, %s)", (user, first))
    number = value(conn, "SELECT max(run_id) FROM memoir.revision WHERE user_id = %s", user)
    return {
        "memory_id": first, "from_id": first, "to_id": other, "by_id": other, "job_id": job,
        "retrieval_id": made.retrieval_id, "run_id": number or run.run_id, "event_id": event,
        "only_memory": first, "after_id": 0,
    }  # fmt: skip


def arguments(function, ids, whose):
    """What to call a public function with; an unknown argument fails."""
    given = {}
    for name, kind in zip(function.names or (), function.types, strict=True):
        if name in ("user_id", "only_user", "after_user"):
            given[name] = whose
        elif kind == "bigint[]":
            given[name] = [ids["memory_id"], ids["to_id"]]
        elif VALUES.get(name) == "key":
            given[name] = str(ids["memory_id"])
        elif name in ids:
            given[name] = ids[name]
        elif kind in ("integer", "double precision", "boolean", "timestamp with time zone"):
            given[name] = VALUES.get(name)
        else:
            assert name in VALUES, f"no value for {name} {kind} of {function.proname}"
            given[name] = VALUES[name]
    return given


def attempt(conn, function, given):
    """What a call says, as text: rows, error and notices together; and its SQLSTATE."""
    heard = []
    conn.add_notice_handler(heard_by := lambda notice: heard.append(str(notice.message_primary)))
    named = sql.SQL(", ").join(
        sql.SQL("{} => {}::{}").format(sql.Identifier(name), sql.Placeholder(name), sql.SQL(kind))
        for name, kind in zip(function.names or (), function.types, strict=True)
        if given.get(name) is not None or name in ("user_id", "only_user")
    )
    query = sql.SQL("SELECT * FROM memoir.{}({})").format(sql.Identifier(function.proname), named)
    try:
        with conn.transaction():
            said, state = str(conn.execute(query, given).fetchall()), None
    except psycopg.Error as error:
        parts = error.diag
        state = error.sqlstate
        said = f"{parts.message_primary} {parts.message_detail} {parts.message_hint}"
        said += f" {parts.context}"
    conn.remove_notice_handler(heard_by)
    return " ".join([said, *heard]), state


def error_of(conn, statement):
    """What the server says to a statement that it refuses, "" when it does not."""
    try:
        with conn.transaction():
            conn.execute(statement)
    except psycopg.Error as error:
        return str(error)
    return ""


def functions(conn, private):
    rows = conn.cursor(row_factory=namedtuple_row).execute(FUNCTIONS, (private,)).fetchall()
    return [row for row in rows if row.proname not in NOT_CALLED]


def digest(conn, user):
    """All rows of a user, as one hash a table."""
    return {
        name: value(
            conn,
            f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {name} AS x"
            " WHERE user_id = %s",
            user,
        )
        for name, kind, owned in conn.execute(RELATIONS).fetchall()
        if owned and kind != "v"
    }


@pytest.mark.parametrize("role", ["reader", "agent"])
@pytest.mark.parametrize("whose", [None, "bob"])
def test_no_public_function_tells_or_changes_anything_of_bob(tx, become, ids, role, whose):
    before = digest(tx, "bob")
    leaks = {}
    served = set()
    for function in functions(tx, private=False):
        become(role, "ada")
        said, state = attempt(tx, function, arguments(function, ids, whose))
        become(None)
        if SECRET in said:
            leaks[function.proname] = said
        if whose and state is None and "user_id" in (function.names or ()):
            served.add(function.proname)
    assert leaks == {}
    assert served == set()
    assert digest(tx, "bob") == before


def test_no_private_function_does_either(tx, become, ids):
    before = digest(tx, "bob")
    leaks = {}
    for function in functions(tx, private=True):
        given = {
            name: "bob" if kind == "text" and name in ("user_id", "owner", "only_user")
            else [ids["memory_id"]] if kind == "bigint[]"
            else ids["memory_id"] if kind == "bigint"
            else ["tea"] if kind == "text[]"
            else VALUES.get(name, "tea") if kind == "text"
            else {"integer": 5, "smallint": 1, "boolean": False, "jsonb": Jsonb({}),
                  "double precision": 0.5, "timestamp with time zone": "2026-01-01",
                  "tsquery": "tea", "integer[]": [1], "sparsevec": "{1:1}/536870912"}.get(kind)
            for name, kind in zip(function.names or (), function.types, strict=True)
        }  # fmt: skip
        become("agent", "ada")
        said, _ = attempt(tx, function, given)
        become(None)
        if SECRET in said:
            leaks[function.proname] = said
    assert leaks == {}
    assert digest(tx, "bob") == before


def test_an_id_of_bob_is_no_more_there_than_one_of_nobody(tx, become, ids):
    differences = {}
    for function in functions(tx, private=False):
        given = arguments(function, ids, None)
        nobodys = {
            name: NOBODYS + place if name in ids and name != "after_id"
            else [NOBODYS, NOBODYS + 1] if isinstance(each, list) and isinstance(each[0], int)
            else str(NOBODYS) if name == "key" else each
            for place, (name, each) in enumerate(given.items())
        }  # fmt: skip
        become("agent", "ada")
        if nobodys != given:
            said, state = attempt(tx, function, given)
            other, other_state = attempt(tx, function, nobodys)
            for name, each in given.items():
                if nobodys[name] != each:
                    for one, two in zip(listed(each), listed(nobodys[name]), strict=True):
                        other = other.replace(str(two), str(one))
            # Where in the code an error arose depends on what the session has compiled.
            said, other = (text.split(" PL/pgSQL ")[0] for text in (said, other))
            if (said, state) != (other, other_state):
                differences[function.proname] = (said, other)
        become(None)
    assert differences == {}


def listed(given):
    return given if isinstance(given, list) else [given]


@pytest.mark.parametrize("role", ["reader", "agent"])
@pytest.mark.parametrize("user", ["ada", ""])
@pytest.mark.usefixtures("ids")
def test_no_table_and_no_view_shows_a_row_of_bob(become, role, user):
    conn = become(role, user)
    for name, _, owned in conn.execute(RELATIONS).fetchall():
        rows = conn.execute(f"SELECT x::text FROM {name} AS x").fetchall()
        assert SECRET not in str(rows), name
        if owned:
            others = f"SELECT count(*) FROM {name} WHERE user_id <> 'ada'"
            assert value(conn, others) == 0
            assert user or rows == []


@pytest.mark.usefixtures("ids")
def test_no_statement_of_an_agent_changes_a_row_of_bob(tx, become):
    before = digest(tx, "bob")
    for name, kind, owned in tx.execute(RELATIONS).fetchall():
        if not owned or kind == "v":
            continue
        columns = "SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = %s::regclass"
        columns += " AND a.attnum > 0 AND has_column_privilege('the_agent', a.attrelid, a.attnum,"
        columns += " 'UPDATE')"
        changeable = [column for (column,) in tx.execute(columns, (name,)).fetchall()]
        become("agent", "ada")
        for statement in (
            *(f"UPDATE {name} SET {column} = {column}" for column in changeable[:1]),
            f"DELETE FROM {name}",
            f"INSERT INTO {name} OVERRIDING SYSTEM VALUE SELECT * FROM {name}",
        ):
            assert SECRET not in error_of(tx, statement)
        become(None)
    assert digest(tx, "bob") == before


def test_a_row_for_bob_is_refused_alike_whether_there_is_one_or_not(become, ids):
    conn = become("agent", "ada")
    said = set()
    for memory_id in (ids["memory_id"], NOBODYS):
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught, conn.transaction():
            conn.execute("INSERT INTO memoir.uncompared VALUES ('bob', %s)", (memory_id,))
        said.add((caught.value.diag.message_primary, caught.value.diag.message_detail))
    assert said == {('new row violates row-level security policy for table "uncompared"', None)}


def test_a_function_of_hers_does_not_see_rows_before_the_policy(become, ids):
    conn = become("agent", "ada")
    heard = []
    conn.add_notice_handler(lambda notice: heard.append(notice.message_primary))
    conn.execute(
        "CREATE FUNCTION pg_temp.tell(t text) RETURNS boolean LANGUAGE plpgsql COST 0.0001"
        " AS $$BEGIN RAISE NOTICE '%', t; RETURN true; END$$"
    )
    for column, table in (("content", "memory"), ("line", "trace"), ("keyword", "keyword")):
        conn.execute(f"SELECT FROM memoir.{table} WHERE pg_temp.tell({column})")
    assert "adasown drinks tea" in heard
    assert SECRET not in str(heard)
    assert ids


def test_the_word_search_of_large_users_answers_for_her_alone(tx, become, ids):
    set_to(tx, ann_gain=0.01)
    fill(tx, 60, "bob")
    call(tx, "maintain")
    assert value(tx, "SELECT max(ann) FROM memoir.profile WHERE user_id = 'bob'") == 1
    word = "SELECT memoir._own_words('bob', memoir._word_query('bob', memoir._term_set("
    word += "ARRAY[memoir._term('note7'::text)], '{}'), 500, true), '-infinity', 'infinity', NULL)"
    found = {user: value(become("agent", user), word) for user in ("bob", "ada", "")}
    assert len(found["bob"]) == 1
    assert (found["ada"], found[""]) == ([], [])
    assert ids


def test_the_words_of_a_large_user_are_looked_for_once_in_a_recall(tx, become):
    set_to(tx, ann_gain=0.01)
    fill(tx, 60, "bob")
    call(tx, "maintain")
    tx.execute("SET LOCAL track_functions = 'all'")
    calls = """SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions
               WHERE funcname = '_own_words'"""
    agent = become("agent", "bob")
    before = value(agent, calls)
    assert recall(agent, "note7 word7", user_id="bob").memory_ids
    assert value(agent, calls) - before == 1


@pytest.mark.usefixtures("ids")
def test_the_planners_statistics_are_not_for_them(tx, become):
    tx.execute("ANALYZE memoir.memory, memoir.trace, memoir.keyword, memoir.term, memoir.message")
    seen = "SELECT count(*) FROM pg_stats WHERE schemaname = 'memoir'"
    assert value(tx, seen) > 0
    for role in ("reader", "agent", "worker"):
        become(role, "ada")
        assert value(tx, seen) == 0
        assert value(tx, "SELECT count(*) FROM pg_stats_ext WHERE schemaname = 'memoir'") == 0
        become(None)


def test_the_words_of_another_never_change_a_ranking(tx, become):
    def ranking(mode):
        rows = explain(become("agent", "ada"), "note7 word7 tea", query_vec=wave(7), mode=mode)
        become(None)
        return [row._replace(via=None) for row in rows]

    fill(tx, 50, "ada")
    remember(tx, "note7 drinks tea", embedding=wave(3), user_id="ada")
    call(tx, "refresh_statistics", user_id="ada")
    modes = ("execute", "conversation", "search", "assistant")
    before = {mode: ranking(mode) for mode in modes}
    fill(tx, 3000, "bob")
    for word in ("note7 note7", "word7 tea", "tea"):
        remember(tx, f"{word} of somebody else", user_id="bob", keywords=["tea"])
    call(tx, "refresh_statistics", user_id="bob")
    for mode, rows in before.items():
        assert len(rows) > 10
        assert ranking(mode) == rows
