"""How relevant a memory still is: the formula and the numbers of D4 6.1."""

from __future__ import annotations

import math
import re

import pytest
from tests.documents import D4_FORGETTING, D4_LIFETIMES, number, table
from tests.rows import NOW, ago, call, remember, set_to, value


def given(conn, days=0, **more):
    """Store a memory that was made so many days ago; its id."""
    return remember(conn, "tea at five", created_at=ago(days=days), **more)


def accessed(conn, memory_id, count, days):
    conn.execute(
        "INSERT INTO memoir.access SELECT user_id, memory_id, %s, %s FROM memoir.memory"
        " WHERE memory_id = %s",
        (count, ago(days=days), memory_id),
    )


def told(conn, memory_id, at=NOW):
    """The row of one memory."""
    rows = call(conn, "memory_relevance", at=at)
    return next(row for row in rows if row.memory_id == memory_id)


def settings(conn):
    """The numbers of forgetting, by their names."""
    names = "forget_rate|forget_below|fade_below|active_above|working_days|temporary_days"
    rows = conn.execute("SELECT name, value::float8 FROM memoir.setting WHERE name ~ %s", (names,))
    return dict(rows.fetchall())


def test_the_numbers_are_those_of_the_document(tx):
    found = settings(tx)
    assert found["forget_rate"] == number(D4_FORGETTING, "exp(-")
    below = [float(text) for text in re.findall(r"相关性 < ([\d.]+)", D4_FORGETTING)]
    assert [found["forget_below"], found["fade_below"]] == below
    assert found["active_above"] == number(D4_FORGETTING, "相关性 > ")


def test_the_lifetimes_are_those_of_the_document(tx):
    found = settings(tx)
    days = [int(re.search(r"(\d+)天", row[1])[1]) for row in table(D4_LIFETIMES)[2:]]
    assert [found["working_days"], found["temporary_days"]] == days == [30, 7]


@pytest.mark.parametrize(
    ("days", "count", "importance"), [(0, 0, 0.8), (10, 0, 0.5), (100, 3, 0.9), (400, 50, 1)]
)
def test_relevance_is_the_formula_of_the_document(tx, days, count, importance):
    memory_id = given(tx, 500, importance=importance)
    accessed(tx, memory_id, count, days)
    expected = math.exp(-0.01 * days) * (1 + math.log(1 + count)) * importance
    assert told(tx, memory_id).relevance == pytest.approx(expected)


def test_days_count_from_when_it_was_made_if_it_never_was_shown(tx):
    row = told(tx, given(tx, 50, importance=1))
    assert (row.last_use, row.relevance) == (ago(days=50), pytest.approx(math.exp(-0.5)))


def test_what_was_restored_counts_as_used(tx):
    memory_id = given(tx, 50, kind="context")
    call(tx, "forget", memory_id=memory_id)
    call(tx, "restore", memory_id=memory_id)
    assert told(tx, memory_id, value(tx, "SELECT now()")).state == "steady"


def test_so_does_what_was_changed_confirmed_said_again_or_taken_back(tx):
    revision = (
        "INSERT INTO memoir.revision (user_id, memory_id, action, author, change_id)"
        " VALUES ('default', %s, %s, 'user', 1)"
    )
    states = {}
    for action in ("UPDATE", "MERGE", "CONFIRM", "NOOP", "UNDO", "LOWER", "TAG"):
        memory_id = remember(tx, f"tea at {action}", "context", created_at=ago(days=50))
        tx.execute(revision, (memory_id, action))
        states[action] = told(tx, memory_id, value(tx, "SELECT now()")).state
    forgettable = {action for action, state in states.items() if state == "forgettable"}
    assert forgettable == {"LOWER", "TAG"}


def test_a_very_old_memory_is_no_error(tx):
    memory_id = given(tx, 20_000)
    set_to(tx, forget_rate=10)
    assert told(tx, memory_id).relevance == pytest.approx(0)


@pytest.mark.parametrize(
    ("kind", "days", "importance", "state"),
    [
        ("fact", 0, 0.8, "active"),
        ("fact", 0, 0.7, "steady"),
        ("fact", 98, 0.8, "steady"),
        ("fact", 99, 0.8, "kept"),
        ("fact", 9999, 0.1, "kept"),
        ("context", 0, 0.29, "fading"),
        ("context", 0, 0.09, "forgettable"),
        ("context", 6.9, 0.8, "active"),
        ("context", 7, 0.8, "forgettable"),
    ],
)
def test_the_state_follows_from_relevance_and_lifetime(tx, kind, days, importance, state):
    assert told(tx, given(tx, days, kind=kind, importance=importance)).state == state


def test_a_working_memory_lives_30_days_from_its_last_access(tx):
    memory_id = given(tx, 100)
    tx.execute("UPDATE memoir.memory SET lifetime = 'working'")
    assert told(tx, memory_id).state == "forgettable"
    accessed(tx, memory_id, 1, 29)
    assert told(tx, memory_id).state == "active"
    assert told(tx, memory_id, ago(days=-1)).state == "forgettable"


def test_the_most_relevant_is_told_first(tx):
    days = {remember(tx, f"drink {n}", created_at=ago(days=n)): n for n in (2, 30, 1)}
    assert [days[row.memory_id] for row in call(tx, "memory_relevance", at=NOW)] == [1, 2, 30]


def test_only_active_memories_of_the_user_are_told(tx):
    given(tx, 1, user_id="ada")
    gone = given(tx, 2)
    tx.execute("UPDATE memoir.memory SET status = 'forgotten' WHERE memory_id = %s", (gone,))
    assert call(tx, "memory_relevance", at=NOW) == []


def test_an_empty_user_is_refused(tx):
    with pytest.raises(Exception, match="user_id must have"):
        call(tx, "memory_relevance", user_id="")
