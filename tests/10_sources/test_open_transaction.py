"""What others do to a memory while the transaction that changes its row is still open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.application import USER, fill, memories, waiting
from tests.rows import call, found, refused, remember, until, value

CHANGE = "UPDATE t SET content = 'the printer is fast'"
TRACE = "SELECT t.line, t.embedding::text FROM memoir.trace AS t ORDER BY t.model"


@pytest.fixture
def memory_id(db):
    """The memory of the one row of table t, which says that the gateway is slow."""
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, valid_until timestamptz)")
    call(
        db, "attach_source", name="t", kind="fact", relation="t", user_id=USER,
        valid_until="valid_until",
    )  # fmt: skip
    db.execute("INSERT INTO t VALUES (1, 'the gateway is slow')")
    return value(db, "SELECT memory_id FROM memoir.memory")


def waiting_for(conn):
    """Whether somebody waits for this connection."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY"
    return value(conn, f"{query} (pg_blocking_pids(pid))") > 0


def in_between(holder, function, *arguments, **more):
    """Calls a function that waits for the transaction of the holder, which then commits."""
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(function, *arguments, **more)
        until(lambda: waiting_for(holder))
        holder.commit()
        return result.result()


def beside(db, dsn, function, **arguments):
    """Calls a function while the row is being changed to a fast printer."""
    with psycopg.connect(dsn) as application:
        application.execute(CHANGE)
        return in_between(application, call, db, function, user_id=USER, **arguments)


def while_open(db, dsn, function, **arguments):
    """Calls a function that waits for nobody while the row is being changed to a fast printer."""
    with psycopg.connect(dsn, options="-c idle_in_transaction_session_timeout=1min") as application:
        application.execute(CHANGE)
        return call(db, function, **arguments)


def text_hash(db):
    return value(db, "SELECT memoir._text_hash(user_id, content) FROM memoir.memory")


def test_a_mention_leaves_the_new_text_in_recall(db, dsn, memory_id):
    beside(db, dsn, "mention", memory_id=memory_id, entity="Zorg")
    assert db.execute(TRACE).fetchall() == [("the printer is fast", None)]


def test_a_change_keeps_the_entity_that_is_just_mentioned(db, dsn, memory_id):
    # After 200 ms it would note the row instead, and a busy machine sees nobody wait.
    patient = "SELECT format('ALTER FUNCTION %s SET lock_timeout = 0', oid::regprocedure)"
    limited = f"{patient} FROM pg_proc WHERE 'lock_timeout=200ms' = ANY (proconfig)"
    for (statement,) in db.execute(limited).fetchall():
        db.execute(statement)
    with psycopg.connect(dsn) as other:
        call(other, "mention", memory_id=memory_id, entity="Zorg", user_id=USER)
        in_between(other, db.execute, CHANGE)
    query = "SELECT strpos(terms::text, memoir._feature('name zorg') || ':') > 0 FROM memoir.trace"
    assert (value(db, query), waiting(db, "t")) == (True, [])


def test_the_vector_of_the_old_text_is_dropped(db, dsn, memory_id):
    stored = while_open(
        db, dsn, "set_embeddings", user_id=USER, memory_ids=[memory_id], embeddings=["[1,0,0]"],
        text_hashes=[text_hash(db)],
    )  # fmt: skip
    assert stored[0].set_embeddings == 0
    assert db.execute(TRACE).fetchall() == [("the printer is fast", None)]


@pytest.mark.usefixtures("memory_id")
def test_the_vector_of_the_old_text_is_dropped_when_a_worker_brings_it(db, dsn):
    job_id = call(db, "claim", user_id=USER, n=1, worker="w")[0].job_id
    vector = {"embeddings": ["[1,0,0]"], "user_id": USER}
    done = while_open(db, dsn, "finish", job_id=job_id, worker="w", **vector)
    assert done[0].finish == "done"
    assert db.execute(TRACE).fetchall() == [("the printer is fast", None)]


@pytest.mark.usefixtures("memory_id")
def test_keywords_are_those_of_the_new_text(db, dsn):
    while_open(db, dsn, "maintain", only_user=USER)
    assert value(db, "SELECT count(*) FROM memoir.keyword") == 0
    call(db, "maintain", only_user=USER)
    assert db.execute("SELECT keyword FROM memoir.keyword ORDER BY 1").fetchall() == [
        ("fast",),
        ("printer",),
    ]


@pytest.mark.usefixtures("memory_id")
def test_another_model_has_the_new_text(db, dsn):
    call(db, "use_model", name="first", dimensions=3)
    call(db, "add_model", name="second", dimensions=4)
    beside(db, dsn, "fill_model", name="second")
    assert db.execute(TRACE).fetchall() == [("the printer is fast", None)] * 2


def test_an_undo_takes_back_the_change_it_waited_for(db, dsn, memory_id):
    db.execute("UPDATE t SET content = 'the gateway is gone'")
    (undone,) = beside(db, dsn, "undo", memory_id=memory_id)
    assert (undone.action, undone.line) == ("undone: UPDATE", "the gateway is gone")


@pytest.mark.usefixtures("memory_id")
def test_what_is_over_is_not_recalled_though_it_was_not_there_to_be_counted(db, dsn):
    with psycopg.connect(dsn) as application:
        application.execute("INSERT INTO t VALUES (2, 'the old router', '2021-01-01')")
        remember(db, "the new router", user_id=USER)
        call(db, "refresh_statistics", user_id=USER)
    assert found(db, "router", user_id=USER) == ["the new router"]


def test_who_attaches_a_source_that_another_is_attaching_is_told_so(db, dsn):
    db.execute("CREATE TABLE u (id int PRIMARY KEY, content text)")
    u = {"name": "u", "kind": "fact", "relation": "u", "user_id": USER}
    with psycopg.connect(dsn) as application:
        call(application, "attach_source", **u)
        with pytest.raises(psycopg.errors.SerializationFailure, match="has just attached"):
            in_between(application, call, db, "attach_source", **u)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("remember", {"content": "a note", "sources": [1]}),
        ("remember_many", {"memories": Jsonb([{"content": "a note", "sources": [1]}])}),
        ("relate", {"from_id": 2, "to_id": 1}),
        ("set_keywords", {"memory_id": 1, "keywords": ["gateway"]}),
        (
            "apply_decisions",
            {"decisions": Jsonb([{"action": "KEEP_BOTH", "memory_id": 1, "content": "a note"}])},
        ),
    ],
)
def test_what_is_to_hang_on_a_memory_that_is_just_purged_is_told_so(db, dsn, function, arguments):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    t = {"name": "t", "kind": "fact", "relation": "t", "user_id": USER}
    call(db, "attach_source", **t, on_delete="purge")
    db.execute("INSERT INTO t VALUES (1, 'the gateway is slow'), (2, 'the printer is fast')")
    with psycopg.connect(dsn) as application:
        application.execute("DELETE FROM t WHERE id = 1")
        with pytest.raises(psycopg.Error, match="has no memory 1") as caught:
            in_between(application, call, db, function, **arguments, user_id=USER)
    assert caught.value.sqlstate == "ME012"


@pytest.mark.usefixtures("memory_id")
def test_a_table_whose_memories_are_held_is_too_busy_to_be_detached(db, dsn):
    db.execute("SET statement_timeout = '1min'")
    with psycopg.connect(dsn) as application:
        application.execute(CHANGE)
        assert refused(db, "detach_source", name="t", memories="forget").sqlstate == "ME014"


UNSEEN = "ALTER TABLE t DISABLE TRIGGER USER; DELETE FROM t; ALTER TABLE t ENABLE TRIGGER USER"


@pytest.mark.parametrize("on_delete", ["forget", "purge"])
@pytest.mark.parametrize("left_by", ["TRUNCATE t", "DELETE FROM t", UNSEEN])
def test_a_row_that_comes_back_while_its_memory_goes_keeps_it(db, dsn, left_by, on_delete):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text, user_id text)")
    call(db, "attach_source", name="t", kind="fact", relation="t", on_delete=on_delete)
    db.execute("INSERT INTO t VALUES (1, 'tea', 'ada'), (2, 'milk', 'ada')")
    fill(db, "t")
    db.execute(
        "SELECT memoir.forget(memory_id, user_id => 'ada') FROM memoir.memory"
        " WHERE content = 'milk'"
    )
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.memory FOR UPDATE")
        db.execute(left_by)
    if left_by == UNSEEN:
        call(db, "fill_source", name="t", anew=True)  # the next call looks for what is gone
    with psycopg.connect(dsn) as application:
        application.execute("INSERT INTO t VALUES (1, 'new tea', 'ada')")
        if left_by == "DELETE FROM t":  # rows are locked meanwhile: it waits for nobody
            call(db, "fill_source", name="t")
        else:
            in_between(application, call, db, "fill_source", name="t")
    fill(db, "t")
    milk = {"milk": "forgotten"} if on_delete == "forget" else {}
    assert memories(db, "t", "ada") == {"new tea": "active"} | milk
