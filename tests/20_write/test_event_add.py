"""What happened, appended."""

from __future__ import annotations

from tests.rows import NOW, add_event, explain, lines, recall, value


def test_an_event_is_kept_with_type_payload_and_time(tx):
    event_id = add_event(tx, "alert", {"disk": 91}, created_at=NOW, user_id="ada")
    row = tx.execute("SELECT user_id, event_id, type, payload, created_at FROM memoir.event")
    assert row.fetchall() == [("ada", event_id, "alert", {"disk": 91}, NOW)]


def test_an_event_is_of_now_unless_told(tx):
    add_event(tx, "alert", {"disk": 91})
    assert value(tx, "SELECT created_at = now() FROM memoir.event")


def test_the_same_event_twice_is_two_events(tx):
    assert add_event(tx, "alert", {"disk": 91}) != add_event(tx, "alert", {"disk": 91})


def test_the_line_is_the_type_and_200_characters_of_the_payload(tx):
    add_event(tx, "alert", {"text": "x" * 500})
    payload = '{"text": "' + "x" * 490
    assert lines(recall(tx).block) == ["[alert] " + payload[:200]]


def test_a_short_payload_is_whole(tx):
    add_event(tx, "alert", {"磁盘": "满了"})
    assert lines(recall(tx).block) == ['[alert] {"磁盘": "满了"}']


def test_an_event_of_another_type_is_kept_and_not_recalled(tx):
    add_event(tx, "heartbeat", {"n": 1})
    assert value(tx, "SELECT count(*) FROM memoir.event") == 1
    assert lines(recall(tx).block) == []
    assert explain(tx, mode="search") == []  # it recalls no events at all
    (told,) = explain(tx)
    assert (told.content, told.reason) == ('[heartbeat] {"n": 1}', "not in mode.event_types")
    tx.execute("UPDATE memoir.mode SET event_types = event_types || '{heartbeat}'")
    assert lines(recall(tx).block) == [told.content]


def test_a_call_in_plain_sql_works(tx):
    assert value(tx, """SELECT memoir.event_add('task_failed', '{"task": "deploy"}')""") > 0
