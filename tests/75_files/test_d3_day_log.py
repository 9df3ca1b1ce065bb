"""logs/YYYY-MM-DD.json of D3: what goes in and comes out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from tests.d3_files import LOG, LOGS, Json, actions, printed_log, take_log, text
from tests.examples import examples
from tests.jobs import answered, claim
from tests.rows import add_event, call, refused, row_counts, value

ENTRY: Json = {"time": "09:00:00", "type": "event", "content": "stand-up"}


def of(*entries: Json, **fields: Any) -> Json:
    """The log of a day with these entries."""
    return {"date": "2026-02-21", "entries": list(entries), "summary": None, "archived": False} | (
        fields
    )


def entries(conn: Any, day: str = "2026-02-21", zone: str = "UTC") -> list[Json]:
    """The entries of the exported log."""
    return json.loads(printed_log(conn, day, zone))["entries"]


def test_the_example_of_the_document_comes_back_byte_by_byte(tx):
    assert actions(take_log(tx, LOG)) == ["ADD"] * 3
    assert printed_log(tx) == text(LOG)


def test_importing_twice_changes_nothing(tx):
    take_log(tx, LOG)
    before = row_counts(tx)
    assert actions(take_log(tx, LOG)) == ["NOOP"] * 3
    assert row_counts(tx) == before


@examples(30)
@given(document=LOGS)
def test_what_a_person_wrote_comes_back_as_it_was(tx, document):
    tx.execute("SAVEPOINT clean")
    try:
        take_log(tx, document)
        once = printed_log(tx)
        assert once == text(document)
        take_log(tx, once)
        assert printed_log(tx) == once
    finally:
        tx.execute("ROLLBACK TO clean")


def test_a_dry_run_tells_the_same_and_changes_nothing(tx):
    before = row_counts(tx)
    assert actions(take_log(tx, LOG, dry_run=True)) == ["ADD"] * 3
    assert row_counts(tx) == before


def test_an_entry_becomes_an_event_of_its_time(tx):
    take_log(tx, LOG)
    query = "SELECT type, payload, created_at = '2026-02-21T15:45Z' FROM memoir.event"
    assert tx.execute(query + " WHERE type = 'auto_extract'").fetchone() == (
        "auto_extract",
        {"content": "用户喜欢在下午3点开会", "category": "preference"},
        True,
    )


def test_a_note_of_the_day_is_an_entry(tx):
    call(tx, "memory_write", content="订机票", category="task", write_to="daily", salience=0.4)
    today, clock = tx.execute(
        "SELECT to_char(u.t, 'YYYY-MM-DD'), to_char(u.t, 'HH24:MI:SS')"
        " FROM (SELECT now() AT TIME ZONE 'UTC') AS u (t)"
    ).fetchone()
    note = {"time": clock, "type": "daily_note", "content": "订机票", "category": "tasks"}
    assert entries(tx, today) == [note | {"salience": 0.4}]
    assert actions(take_log(tx, printed_log(tx, today))) == ["NOOP"]


def test_an_event_without_content_is_told_by_its_payload(tx):
    add_event(tx, "task_failed", {"task": "deploy"}, created_at="2026-02-21T09:00:00.5Z")
    assert entries(tx) == [
        {"time": "09:00:00", "type": "task_failed", "content": '{"task": "deploy"}'}
    ]
    assert actions(take_log(tx, printed_log(tx))) == ["NOOP"]


def test_what_pgmemoir_notes_for_itself_is_in_no_log(tx):
    add_event(tx, "memory_retrieval", {"query": "x"}, created_at="2026-02-21")
    assert printed_log(tx) is None
    assert call(tx, "log_days") == []


def test_equal_entries_are_two_events(tx):
    assert actions(take_log(tx, of(ENTRY, ENTRY))) == ["ADD", "ADD"]
    assert actions(take_log(tx, of(ENTRY, ENTRY, ENTRY))) == ["NOOP", "NOOP", "ADD"]
    assert printed_log(tx) == text(of(ENTRY, ENTRY, ENTRY))


def test_entries_keep_the_order_of_the_file_and_others_follow(tx):
    late = ENTRY | {"time": "08:00:00"}
    take_log(tx, of(ENTRY, late))
    add_event(tx, "event", {"content": "later"}, created_at="2026-02-21T07:00Z")
    assert [entry["time"] for entry in entries(tx)] == ["09:00:00", "08:00:00", "07:00:00"]


def test_an_edited_entry_replaces_the_old_one_if_asked(tx):
    take_log(tx, LOG)
    document = of(*LOG["entries"][:2], LOG["entries"][2] | {"content": "it works"})
    assert actions(take_log(tx, document)) == ["NOOP", "NOOP", "ADD"]
    assert actions(take_log(tx, document, delete_missing=True)) == ["NOOP"] * 3 + ["DELETE"]
    assert printed_log(tx) == text(document)


def test_an_event_that_was_never_in_the_file_is_not_deleted(tx):
    add_event(tx, "alert", {"content": "disk"}, created_at="2026-02-21T07:00Z")
    take_log(tx, LOG, delete_missing=True)
    assert len(entries(tx)) == 4


def test_a_day_is_one_of_the_zone(tx):
    take_log(tx, of(ENTRY), zone="Asia/Shanghai")
    assert value(tx, "SELECT created_at = '2026-02-21T01:00Z' FROM memoir.event")
    assert entries(tx, zone="Asia/Shanghai") == [ENTRY]
    assert entries(tx, "2026-02-20", "America/New_York") == [ENTRY | {"time": "20:00:00"}]
    assert [str(row.day) for row in call(tx, "log_days", zone="America/New_York")] == ["2026-02-20"]


def test_a_time_that_a_zone_skips_comes_back_as_written(tx):
    document = of(ENTRY | {"time": "02:30:00"}, date="2025-03-30")
    take_log(tx, document, zone="Europe/Berlin")
    assert printed_log(tx, "2025-03-30", "Europe/Berlin") == text(document)


def test_an_archived_log_is_not_archived_again(tx):
    take_log(tx, of(ENTRY, date="2026-01-05", summary="一天", archived=True))
    done = call(tx, "maintain", at="2026-02-20")
    assert "archive queued" not in actions(done)
    assert actions(call(tx, "maintain", at="2026-04-01")).count("old rows deleted") == 1
    assert printed_log(tx, "2026-01-05") is None


def test_a_log_is_archived_once_its_summary_is_made(tx):
    take_log(tx, LOG)
    call(tx, "maintain", at="2026-04-01")
    (job,) = claim(tx, kinds=["archive"])
    answered(tx, job, {"summary": "那天写完了文档。", "memories": []})
    told = json.loads(printed_log(tx))
    assert (told["summary"], told["archived"]) == ("那天写完了文档。", True)


def test_a_secret_is_redacted(tx):
    take_log(tx, of(ENTRY | {"content": "The wifi password is hunter2"}))
    assert "hunter2" not in value(
        tx, "SELECT string_agg(concat(payload, line, log_entry), '') FROM memoir.event"
    )
    assert actions(take_log(tx, of(ENTRY | {"content": "The wifi password is hunter2"}))) == [
        "NOOP"
    ]


def test_nothing_is_taken_while_memory_is_off(tx):
    call(tx, "set_settings", settings='{"memory": false}')
    before = row_counts(tx)
    assert {row.reason for row in take_log(tx, LOG)} == {"memory is off"}
    assert row_counts(tx) == before


def test_users_do_not_meet(tx):
    take_log(tx, LOG, user_id="ada")
    assert printed_log(tx) is None
    assert actions(take_log(tx, LOG)) == ["ADD"] * 3


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[]", "log must be of type object"),
        ({"date": "2026-02-21"}, 'log lacks "entries"'),
        (of(date="2026-02-30"), 'log.date "2026-02-30" is not a day'),
        (of(date="21.02.2026"), 'log.date "21.02.2026" is not a day'),
        (of(date="2999-01-01"), "log.date 2999-01-01 is before 1970 or has not come yet"),
        (
            of(ENTRY | {"time": "24:00:00"}),
            'log.entries[0].time "24:00:00" is not a time of that day',
        ),
        (
            of(ENTRY, ENTRY | {"time": "2026-02-22T09:00:00"}),
            'log.entries[1].time "2026-02-22T09:00:00" is not a time of that day',
        ),
        (of({"time": "09:00", "type": "event"}), 'log.entries[0] lacks "content"'),
        (of(ENTRY | {"content": " "}), "log.entries[0].content is empty"),
        (of(ENTRY | {"type": " "}), "log.entries[0].type is empty"),
        (of(ENTRY | {"type": "memory_deleted"}), 'log.entries[0].type "memory_deleted" is one of'),
        (of(ENTRY | {"tool": 1}), "log.entries[0].tool must be of type string or null"),
        (of(archived="no"), "log.archived must be of type boolean"),
        (
            '{"date": "2026-02-21", "date": "2026-02-22", "entries": []}',
            'log has the key "date" twice',
        ),
    ],
)
def test_a_bad_document_is_refused_with_its_path(tx, document, message):
    given = document if isinstance(document, str) else text(document)
    before = row_counts(tx)
    told = refused(tx, "import_day_log", document=given)
    assert (told.sqlstate, told.message_primary[: len(message)]) == ("ME015", message)
    assert row_counts(tx) == before
