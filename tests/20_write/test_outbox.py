"""The outbox: what was done to memories, for those who poll."""

from __future__ import annotations

from tests.listener import listening
from tests.rows import add_event, ago, call, remember, value


def outbox(conn):
    """Event and memory of every row."""
    events = "SELECT event, memory_id FROM memoir.outbox ORDER BY event_id"
    return conn.execute(events).fetchall()


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


def test_a_memory_that_goes_and_comes_back_is_told_each_time(tx):
    memory = remember(tx, "tea")
    call(tx, "forget", memory_id=memory)
    call(tx, "restore", memory_id=memory)
    call(tx, "update_memory", memory_id=memory, importance=0.1)
    call(tx, "undo", memory_id=memory)
    events = ["created", "forgotten", "restored", "updated", "updated"]
    assert outbox(tx) == [(event, memory) for event in events]


def test_what_was_said_again_is_no_event(tx):
    said = "The user drinks green tea with honey every morning before he opens the first mail"
    memory = remember(tx, said + " of the day")
    (again,) = call(tx, "remember", content=said, kind="fact")
    assert (again.action, again.memory_id) == ("NOOP", memory)
    assert outbox(tx) == [("created", memory)]


def test_listeners_are_told_the_same(db, dsn):
    with listening(dsn) as heard:
        call(db, "set_settings", settings={"confirm": True})
        remember(db, "tea", subject="user.drink", created_at=ago(days=2))
        milk = remember(db, "milk", subject="user.drink", source="agent")
        call(db, "confirm", memory_id=milk)
        call(db, "forget", memory_id=milk)
        told = [(m["event"], int(i)) for m in heard() for i in m["memory_ids"]]
    assert sorted(told) == sorted(outbox(db))


def test_of_a_deleted_memory_an_event_without_content_remains(tx):
    memory = remember(tx, "tea is green")
    call(tx, "purge", memory_id=memory)
    assert outbox(tx) == [("deleted", memory)]
    assert "green" not in value(tx, "SELECT e::text FROM memoir.event AS e")


def test_an_event_of_that_name_with_another_payload_is_in_nobodys_way(tx):
    add_event(tx, "memory_deleted", {"memory_id": "all of them"})
    assert outbox(tx) == [("deleted", None)]


def test_rows_of_one_user_have_names_of_their_own(tx):
    for content in ("tea", "milk", "green tea"):
        call(tx, "update_memory", memory_id=remember(tx, content), importance=0.1)
    assert value(tx, "SELECT count(DISTINCT event_id) FROM memoir.outbox") == 6
