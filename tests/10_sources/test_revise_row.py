"""A changed row of the application leaves what any change of a memory leaves, in less time."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import call, value

COLUMNS = ("content", "summary", "importance", "data", "subject", "status", "valid_until")
TRACES = "SELECT to_jsonb(t) - 'memory_id' FROM memoir.trace AS t ORDER BY memory_id"
KEYWORDS = "SELECT array_agg(keyword ORDER BY keyword) FROM memoir.keyword WHERE memory_id = %s"
REVISIONS = """SELECT action, author, old_values, model FROM memoir.revision
WHERE memory_id = %s ORDER BY revision_id"""
MENTION = "SELECT memoir.mention(memory_id, 'Bob', user_id => 'u') FROM memoir.memory"
REVISE = "SELECT memoir._revise('u', ARRAY[%s], ARRAY[%s], 'UPDATE', 'source', '', NULL, NULL)"


@pytest.fixture
def twins(tx):
    """Two equal rows of an attached table, with vectors and a name; the ids of their memories."""
    tx.execute(
        "SET LOCAL TimeZone = 'UTC'; CREATE TABLE twin (id int PRIMARY KEY, content text,"
        " summary text, importance float8, data jsonb, subject text, status text,"
        " valid_until timestamptz)"
    )
    mapped = {name: [name] if name in ("content", "data") else name for name in COLUMNS}
    call(tx, "attach_source", name="twin", kind="fact", relation="twin", user_id="u", **mapped)
    tx.execute("INSERT INTO twin VALUES (1, 'tea', 'cup', 0.5, '{}'), (2, 'tea', 'cup', 0.5, '{}')")
    tx.execute("UPDATE memoir.trace SET embedding = '[1,0,0]'")
    tx.execute(MENTION)
    return [row[0] for row in tx.execute("SELECT memory_id FROM memoir.memory ORDER BY source_key")]


@pytest.mark.parametrize(
    "change",
    [
        {"content": "Ada's 茶, yesterday?\nhot"},
        {"content": "milk " * 200, "summary": "milk", "importance": 0.25},
        {"summary": None},
        {"subject": "ada"},
        {"data": {"cups": 2}, "valid_until": "2999-01-01T00:00:00+00:00"},
        {"status": "archived", "importance": 1},
        {"content": "rum", "status": "forgotten"},
    ],
)
def test_it_leaves_what_the_change_of_any_memory_does(tx, twins, change):
    row, memory = twins
    given = {name: Jsonb(new) if isinstance(new, dict) else new for name, new in change.items()}
    names = ", ".join(f"{name} = %({name})s" for name in given)
    tx.execute(f"UPDATE twin SET {names} WHERE id = 1", given)
    if "status" in change:
        change = change | {"retired_at": value(tx, "SELECT to_jsonb(now())")}
    tx.execute(REVISE, (memory, Jsonb(change)))
    first, second = tx.execute(TRACES).fetchall()
    assert first == second
    assert tx.execute(REVISIONS, (row,)).fetchall() == tx.execute(REVISIONS, (memory,)).fetchall()


def test_keywords_of_the_new_text_are_found_by_maintain_and_tags_of_the_user_stay(tx, twins):
    row, memory = twins
    for each in twins:
        tagged = {"keywords": ["mine"], "origin": "user_tag", "user_id": "u"}
        call(tx, "set_keywords", memory_id=each, **tagged)
    tx.execute("UPDATE twin SET content = 'the gateway is slow' WHERE id = 1")
    call(tx, "maintain")
    assert value(tx, KEYWORDS, row) == ["gateway", "mine", "slow"]
    tx.execute("UPDATE twin SET content = 'the printer is fast' WHERE id = 1")
    assert value(tx, KEYWORDS, row) == ["mine"]
    call(tx, "maintain")
    tx.execute(REVISE, (memory, Jsonb({"content": "the printer is fast"})))
    assert value(tx, KEYWORDS, row) == value(tx, KEYWORDS, memory) == ["fast", "mine", "printer"]


@pytest.mark.usefixtures("twins")
def test_what_is_the_same_already_is_left_alone(tx):
    tx.execute("UPDATE twin SET summary = ' cup ', importance = NULL, status = 'active'")
    assert value(tx, "SELECT count(*) FROM memoir.revision") == 0


def test_the_row_of_what_somebody_has_forgotten_leaves_nothing_more_when_it_goes(tx, twins):
    call(tx, "forget", memory_id=twins[0], user_id="u")
    tx.execute("UPDATE memoir.memory SET retired_at = retired_at - interval '1 day'")
    tx.execute("DELETE FROM twin WHERE id = 1")
    assert value(tx, "SELECT count(*) FROM memoir.revision") == 1


def test_what_a_row_made_active_again_is_not_retired(tx, twins):
    for status in ("archived", None):
        tx.execute("UPDATE twin SET status = %s WHERE id = 1", (status,))
    is_now = "SELECT status, retired_at FROM memoir.memory WHERE memory_id = %s"
    assert tx.execute(is_now, (twins[0],)).fetchone() == ("active", None)
