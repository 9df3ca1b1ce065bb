"""Notifications: what a write did, said on channel memoir when it commits."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.listener import listening
from tests.rows import call, remember


def notify(conn, event, ids, user="ada"):
    """Say that this happened to the memories."""
    conn.execute("SELECT memoir._notify(%s, %s, %s::bigint[])", (user, event, ids))


def test_a_listener_hears_what_happened_to_whose_memories(db, dsn):
    with listening(dsn) as heard:
        notify(db, "created", [7, 8])
        assert heard() == [{"event": "created", "user_id": "ada", "memory_ids": ["7", "8"]}]


def test_what_is_rolled_back_is_not_said(db, dsn):
    with listening(dsn) as heard:
        with db.transaction(force_rollback=True):
            notify(db, "created", [7])
        assert heard() == []


def test_a_change_that_names_no_author_is_said(db, dsn):
    tea = remember(db, "tea is green")
    with listening(dsn) as heard:
        call(db, "forget", memory_id=tea, author=None)
        assert [(m["event"], m["memory_ids"]) for m in heard()] == [("forgotten", [str(tea)])]


def test_what_is_merged_is_said_to_be_forgotten(db, dsn):
    ids = [remember(db, text) for text in ("drinks tea", "likes espresso")]
    merged = {"action": "MERGE", "memory_ids": ids, "content": "drinks all sorts", "kind": "fact"}
    with listening(dsn) as heard:
        (done,) = call(db, "apply_decisions", decisions=Jsonb([merged]))
        said = {m["event"]: m["memory_ids"] for m in heard()}
        assert said == {"created": [str(done.memory_id)], "forgotten": [*map(str, ids)]}


def test_a_message_has_at_most_a_hundred_ids(db, dsn):
    with listening(dsn) as heard:
        notify(db, "forgotten", list(range(250)))
        messages = heard()
    assert [len(m["memory_ids"]) for m in messages] == [100, 100, 50]
    assert [int(i) for m in messages for i in m["memory_ids"]] == list(range(250))


@pytest.mark.parametrize("character", ["a", "\U0001f600", "\x01", '"'])
def test_the_longest_name_and_the_largest_ids_fit_a_message(db, dsn, character):
    with listening(dsn) as heard:
        notify(db, "deleted", [2**63 - 1 - i for i in range(100)], user=character * 200)
        assert heard()[0]["user_id"] == character * 200


@pytest.mark.parametrize("ids", [[], None])
def test_without_memories_nothing_is_said(db, dsn, ids):
    with listening(dsn) as heard:
        notify(db, "created", ids)
        assert heard() == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memoir.setting SET value = 'false' WHERE name = 'notify'",
        "DELETE FROM memoir.setting WHERE name = 'notify'",
    ],
)
def test_notifications_can_be_switched_off(db, dsn, statement):
    db.execute(statement)
    with listening(dsn) as heard:
        notify(db, "created", [7])
        assert heard() == []
