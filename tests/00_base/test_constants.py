"""What a write asks of kinds and settings is a constant of its plan, and never an old one."""

from __future__ import annotations

import psycopg
import pytest
from tests.application import attach, make_tables
from tests.rows import call, refused, remember, set_to, value

LINE = "SELECT line FROM memoir.trace ORDER BY memory_id DESC LIMIT 1"
KIND = "SELECT kind || ' ' || importance FROM memoir.memory ORDER BY memory_id DESC LIMIT 1"


@pytest.fixture
def tasks(tx):
    """Attached, with a first row, so that the plans of its trigger are made."""
    make_tables(tx)
    attach(tx, "tasks")
    tx.execute("INSERT INTO tasks (title) VALUES ('tea')")
    return tx


def add(conn, title="tea is green and hot"):
    conn.execute("INSERT INTO tasks (title) VALUES (%s)", (title,))


@pytest.mark.parametrize(
    ("change", "asked", "found"),
    [
        ("UPDATE memoir.setting SET value = '10' WHERE name = 'line_length'", LINE, "tea is gr…"),
        ("UPDATE memoir.kind SET importance = 0.75 WHERE name = 'task'", KIND, "task 0.75"),
        ("UPDATE memoir.kind SET name = 'todo' WHERE name = 'task'", KIND, "todo 0.5"),
        (
            "UPDATE memoir.setting SET value = '10' WHERE name = 'text_limit'",
            "SELECT code FROM memoir.source_error",
            "ME007",
        ),
    ],
)
def test_a_change_reaches_the_next_row(tasks, change, asked, found):
    tasks.execute(change)
    add(tasks)
    assert value(tasks, asked) == found


def test_another_setting_leaves_the_constants_and_all_plans_alone(tx):
    made = "SELECT xmin::text FROM pg_proc WHERE oid = 'memoir._text_limit()'::regprocedure"
    before = value(tx, made)
    set_to(tx, ann_gain=2)
    assert value(tx, made) == before


@pytest.mark.parametrize(
    ("name", "default"), [("text_limit", 10_485_760), ("line_length", 1200), ("brief_length", 200)]
)
def test_a_number_follows_its_setting(tx, name, default):
    constant = f"SELECT memoir._{name}()"
    assert value(tx, constant) == default
    set_to(tx, **{name: 300})
    assert value(tx, constant) == 300


def test_a_switch_follows_its_setting_and_is_off_without_it(tx):
    assert value(tx, "SELECT memoir._notifies() AND memoir._consolidates()")
    set_to(tx, notify=False)
    tx.execute("DELETE FROM memoir.setting WHERE name = 'consolidate'")
    assert value(tx, "SELECT NOT (memoir._notifies() OR memoir._consolidates())")


def test_a_write_goes_by_the_changed_settings(tx):
    set_to(tx, line_length=10)
    remember(tx, "tea is green and hot")
    assert value(tx, "SELECT line FROM memoir.trace") == "tea is gr…"
    set_to(tx, text_limit=10)
    assert refused(tx, "remember", content="tea is black").sqlstate == "ME007"


def test_without_the_setting_there_is_no_limit(tx):
    set_to(tx, text_limit=10)
    tx.execute("DELETE FROM memoir.setting WHERE name = 'text_limit'")
    assert value(tx, "SELECT memoir._text_limit()") is None
    assert call(tx, "remember", content="tea is black")[0].action == "ADD"


def test_a_change_reaches_a_connection_that_has_its_plans(db, dsn):
    db.execute("CREATE TABLE t (id int PRIMARY KEY, content text)")
    call(db, "attach_source", name="t", kind="fact", relation="t", user_id="u")
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("INSERT INTO t VALUES (1, 'tea')", prepare=True)
        db.execute("UPDATE memoir.kind SET importance = 0.125 WHERE name = 'fact'")
        other.execute("INSERT INTO t VALUES (2, 'milk')", prepare=True)
    rows = db.execute("SELECT importance FROM memoir.memory ORDER BY source_key").fetchall()
    assert rows == [(0.8,), (0.125,)]


def test_a_new_row_has_a_trace_of_every_model(tasks):
    call(tasks, "use_model", name="a", dimensions=3)
    call(tasks, "add_model", name="b", dimensions=2)
    add(tasks)
    traces = "SELECT count(*) FROM memoir.trace GROUP BY memory_id ORDER BY memory_id"
    assert tasks.execute(traces).fetchall() == [(1,), (2,)]


def test_a_new_kind_is_known_at_once(tx):
    tx.execute(
        "INSERT INTO memoir.kind (kind_id, name, layer, heading, description)"
        " VALUES (62, 'it''s', 'profile', 'x', 'x')"
    )
    assert value(tx, "SELECT memoir._kind_name(62) || memoir._in_profile(62)") == "it'strue"


def test_an_admin_who_owns_no_function_may_change_them(tasks):
    tasks.execute("SET LOCAL ROLE memoir_admin")
    set_to(tasks, line_length=10)
    tasks.execute("RESET ROLE")
    add(tasks)
    assert value(tasks, LINE) == "tea is gr…"


def test_without_triggers_compile_configuration_makes_them(tx):
    tx.execute("SET LOCAL session_replication_role = replica")
    tx.execute("UPDATE memoir.kind SET importance = 0.75 WHERE kind_id = 1")
    call(tx, "compile_configuration")
    assert value(tx, "SELECT memoir._kind_importance(1)") == 0.75
