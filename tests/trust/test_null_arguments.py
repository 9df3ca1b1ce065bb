"""Clients that pass every argument pass NULL for those nobody set: as if it were left out."""

from __future__ import annotations

import json

import psycopg
import pytest
from tests.rows import call, refused, remember, set_to, value


def log(*contents: str) -> str:
    """The log of a day, a minute an entry."""
    entries = [
        {"time": f"09:0{minute}:00", "type": "note", "content": content}
        for minute, content in enumerate(contents)
    ]
    return json.dumps({"date": "2026-03-04", "entries": entries})


def left(conn: psycopg.Connection) -> tuple[int, int]:
    """How many active memories and how many notes are stored."""
    return (
        value(conn, "SELECT count(*) FROM memoir.memory WHERE status = 'active'"),
        value(conn, "SELECT count(*) FROM memoir.event WHERE type = 'note'"),
    )


@pytest.mark.parametrize("function", ["forget", "purge", "purge_user"])
def test_a_call_that_is_no_dry_run_does_what_it_says(tx, function):
    tea = remember(tx, "drinks tea", user_id="ada")
    named = {} if function == "purge_user" else {"memory_id": tea}
    with tx.transaction(force_rollback=True):
        told = call(tx, function, **named, user_id="ada")
    assert call(tx, function, **named, user_id="ada", dry_run=None) == told
    assert left(tx) == (0, 0)


def test_what_was_forgotten_is_restored(tx):
    tea = remember(tx, "drinks tea")
    call(tx, "forget", memory_id=tea)
    assert call(tx, "restore", memory_id=tea, dry_run=None)[0].new_status == "active"
    assert left(tx) == (1, 0)


def test_a_shorter_log_deletes_nothing(tx):
    call(tx, "import_day_log", document=log("tea", "cake"), dry_run=None)
    call(tx, "import_day_log", document=log("tea"), dry_run=None, delete_missing=None)
    assert left(tx) == (0, 2)


def test_a_file_that_lost_its_lines_is_refused(tx):
    set_to(tx, deletions_at_once=0)
    remember(tx, "drinks tea")
    remember(tx, "has a piano")
    file = value(tx, "SELECT memoir.export_markdown()")
    given = {"content": "# Memory\n", "base": file, "dry_run": None, "allow_deletions": None}
    assert refused(tx, "import_markdown", **given).sqlstate == "ME017"
    call(tx, "import_markdown", **{**given, "content": file + "- plays chess\n"})
    assert left(tx) == (3, 0)


def test_days_are_those_of_utc(tx):
    call(tx, "import_day_log", document=log("tea"), zone=None)
    assert [row.day.isoformat() for row in call(tx, "log_days", zone=None)] == ["2026-03-04"]
    assert value(tx, "SELECT memoir.export_day_log('2026-03-04', zone => NULL)") is not None
