"""What an agent stores of its own accord."""

from __future__ import annotations

import pytest
from tests.rows import call, found, refused, remember, row_counts, value


def write(conn, content, **more):
    (row,) = call(conn, "memory_write", content=content, **more)
    return row


def test_it_becomes_a_memory_of_that_kind(tx):
    done = write(tx, "The user likes early flights", category="preferences", salience=0.8)
    kept = tx.execute("SELECT memory_id::text, kind, importance, origin FROM memoir.memory")
    assert done.action == "ADD"
    assert kept.fetchall() == [(done.key, "preference", 0.8, "agent")]


def test_without_salience_the_kind_decides(tx):
    write(tx, "The user likes early flights", category="preference")
    assert value(tx, "SELECT importance FROM memoir.memory") == 0.9


def test_what_is_stored_already_is_not_written_again(tx):
    known = remember(tx, "tea", "fact")
    done = write(tx, "tea", category="fact")
    assert (done.action, done.key) == ("NOOP", str(known))


def test_what_says_more_becomes_the_text_of_what_says_less(tx):
    first = write(tx, "Ada drinks tea", embedding="[1,0]")
    more = write(tx, "Ada drinks tea daily", embedding="[1,0]")
    assert (more.action, more.key) == ("UPDATE", first.key)
    assert value(tx, "SELECT content FROM memoir.memory") == "Ada drinks tea daily"


def test_it_waits_where_the_user_confirms_first(tx):
    tx.execute("""SELECT memoir.set_settings('{"confirm": true}')""")
    done = write(tx, "The user likes early flights")
    status = value(tx, "SELECT status FROM memoir.memory")
    assert (done.action, status, done.key is not None) == ("PENDING", "pending", True)


def test_nothing_is_written_while_memory_is_off(tx):
    tx.execute("""SELECT memoir.set_settings('{"memory": false}')""")
    for place in ("memory", "daily"):
        done = write(tx, "The user likes early flights", write_to=place)
        assert (done.action, done.key, done.reason) == ("NOOP", None, "memory is off")
    assert value(tx, "SELECT count(*) FROM memoir.event") == 0


def test_with_a_vector_it_is_found_by_meaning(tx):
    write(tx, "green tea", category="fact", embedding="[1,0]")
    assert found(tx, query_vec="[1,0]") == ["green tea"]


@pytest.mark.parametrize("place", ["memory", "daily"])
def test_a_refused_salience_is_called_by_that_name(tx, place):
    said = refused(tx, "memory_write", content="tea", salience=1.5, write_to=place)
    assert said.message_primary == "salience must be between 0 and 1, not 1.5"


def test_a_daily_note_is_an_event_of_today(tx):
    done = write(tx, "Wrote the API documentation", category="task", write_to="daily", salience=0.5)
    note = tx.execute("SELECT type, payload, created_at = now() FROM memoir.event").fetchall()
    payload = {"content": "Wrote the API documentation", "category": "task", "salience": 0.5}
    assert note == [("daily_note", payload, True)]
    assert (done.action, done.key) == ("ADD", None)
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 0


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("ME002", {"category": "nonsense"}),
        ("ME007", {"content": " "}),
        ("ME007", {"content": " ", "write_to": "daily"}),
        ("ME008", {"salience": 1.5}),
        ("ME008", {"salience": 1.5, "write_to": "daily"}),
        ("ME008", {"write_to": "diary"}),
        ("ME008", {"write_to": None}),
        ("ME006", {"user_id": " "}),
    ],
)
def test_bad_input_is_refused_and_writes_nothing(tx, code, arguments):
    before = row_counts(tx)
    error = refused(tx, "memory_write", **{"content": "tea", **arguments})
    assert (error.sqlstate, bool(error.message_hint)) == (code, True)
    assert row_counts(tx) == before
