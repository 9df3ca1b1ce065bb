"""The outbox: what was done to memories, for those who poll."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import ago, call, remember, value

EVENTS = "SELECT event, memory_id FROM memoir.outbox WHERE user_id = %s ORDER BY event_id"


def outbox(conn, user="default"):
    """Event and memory of every row of a user."""
    return conn.execute(EVENTS, (user,)).fetchall()


def revise(conn, memory_id, action, old_values):
    """A revision of a memory."""
    conn.execute(
        "INSERT INTO memoir.revision (user_id, memory_id, action, author, old_values, change_id)"
        " VALUES ('default', %s, %s, 'user', %s, 1)",
        (memory_id, action, Jsonb(old_values)),
    )


def test_a_memory_is_created_when_it_is_stored_not_when_it_was_said(tx):
    memory = remember(tx, "tea", created_at=ago(days=90), source="agent")
    row = tx.execute("SELECT event, memory_id, author, at = now() FROM memoir.outbox").fetchone()
    assert row == ("created", memory, "agent", True)


def test_a_newer_memory_on_a_subject_says_that_the_older_has_ended(tx):
    older = remember(tx, "tea", subject="user.drink", created_at=ago(days=2))
    newer = remember(tx, "milk", subject="user.drink", created_at=ago(days=1))
    assert outbox(tx) == [("created", older), ("created", newer), ("superseded", older)]


def test_a_proposed_memory_is_created_and_confirmed_or_rejected(tx):
    call(tx, "set_settings", settings={"confirm": True})
    tea, milk = (remember(tx, content, source="agent") for content in ("tea", "milk"))
    call(tx, "confirm", memory_id=tea)
    call(tx, "reject", memory_id=milk, reason="wrong")
    assert outbox(tx)[2:] == [("updated", tea), ("forgotten", milk)]
    assert value(tx, "SELECT reason FROM memoir.outbox WHERE event = 'forgotten'") == "wrong"


@pytest.mark.parametrize(
    ("action", "old_values", "event"),
    [
        ("UPDATE", {"content": "tea"}, "updated"),
        ("LOWER", {"importance": 0.5}, "updated"),
        ("MERGE", {"content": "tea"}, "updated"),
        ("MERGE", {"status": "active"}, "superseded"),
        ("SUPERSEDE", {"status": "active"}, "superseded"),
        ("ARCHIVE", {"status": "active"}, "superseded"),
        ("FORGET", {"status": "active"}, "forgotten"),
        ("RESTORE", {"status": "forgotten"}, "restored"),
        ("UNDO", {"status": "superseded"}, "restored"),
        ("UNDO", {"status": "active"}, "forgotten"),
        ("UNDO", {"content": "tea"}, "updated"),
    ],
)
def test_every_action_is_one_of_the_events(tx, action, old_values, event):
    memory = remember(tx, "tea")
    revise(tx, memory, action, old_values)
    assert outbox(tx) == [("created", memory), (event, memory)]


@pytest.mark.parametrize("action", ["ADD", "NOOP"])
def test_what_changed_nothing_is_no_event(tx, action):
    memory = remember(tx, "tea")
    revise(tx, memory, action, {})
    assert outbox(tx) == [("created", memory)]


def test_of_a_deleted_memory_an_event_without_content_remains(tx):
    memory = remember(tx, "tea is green")
    tx.execute("SELECT memoir._record_deleted('default', %s, 'user', 'private')", ([memory],))
    tx.execute("DELETE FROM memoir.memory")
    assert outbox(tx) == [("deleted", memory)]
    assert "green" not in value(tx, "SELECT e::text FROM memoir.event AS e")


def test_rows_of_one_user_have_names_of_their_own(tx):
    for content in ("tea", "milk", "green tea"):
        revise(tx, remember(tx, content), "UPDATE", {"importance": 0.1})
    assert value(tx, "SELECT count(DISTINCT event_id) FROM memoir.outbox") == 6
