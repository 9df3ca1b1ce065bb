"""Recent events in a block: by time and type, never by words."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.rows import MODES, NOW, add_event, ago, found, headings, lines, recall, remember

TYPES = ("task_failed", "task_completed", "alert", "layer2_health", "escalation")


def happened(conn, query_text=None, **more):
    """The event lines of a block of NOW."""
    return found(conn, query_text, as_of=NOW, **more)


@pytest.mark.parametrize(("mode", "hours"), list(zip(MODES, (24, 24, 72, 24), strict=True)))
def test_a_mode_looks_back_so_many_hours(tx, mode, hours):
    add_event(tx, "alert", {"n": "inside"}, created_at=ago(hours=hours, seconds=-1))
    add_event(tx, "alert", {"n": "outside"}, created_at=ago(hours=hours))
    assert happened(tx, mode=mode) == ['[alert] {"n": "inside"}']


@pytest.mark.parametrize(("hours", "modes"), [(23, set(MODES)), (25, {"debug"}), (73, set())])
def test_a_live_recall_looks_back_as_far(tx, hours, modes):
    tx.execute(
        "SELECT memoir.event_add('alert', '{}', created_at => now() - make_interval(hours => %s))",
        (hours,),
    )
    assert {mode for mode in MODES if lines(recall(tx, mode=mode).block)} == modes


@pytest.mark.parametrize("type", TYPES)
def test_these_types_are_recalled(tx, type):
    add_event(tx, type, {"n": 1}, created_at=NOW)
    assert happened(tx) == [f'[{type}] {{"n": 1}}']


@pytest.mark.parametrize("type", ["task_started", "ALERT", "memory_retrieval"])
def test_other_types_are_not(tx, type):
    add_event(tx, type, {"n": 1}, created_at=NOW)
    assert happened(tx) == []


def test_the_newest_ten_are_recalled(tx):
    for number in range(15):
        add_event(tx, "alert", {"text": f"word{number}"}, created_at=ago(minutes=number))
    shown = happened(tx)
    assert len(shown) == 10
    assert set(shown) == {f'[alert] {{"text": "word{number}"}}' for number in range(10)}


@pytest.mark.parametrize("more", [{}, {"as_of": NOW}, {"mode": "balanced"}])
def test_of_one_moment_the_ten_added_last_are_recalled(tx, more):
    at = NOW if "as_of" in more else None
    tx.execute("UPDATE memoir.mode SET event_limit = 10")
    for number in range(15):
        add_event(tx, "alert", {"text": f"word{number}"}, created_at=at)
    assert set(found(tx, **more)) == {f'[alert] {{"text": "word{n}"}}' for n in range(5, 15)}


def test_an_event_of_later_is_not_known(tx):
    add_event(tx, "alert", {"n": 1}, created_at=NOW + timedelta(seconds=1))
    assert happened(tx) == []


@pytest.mark.parametrize("counted", [False, True])
def test_an_event_of_later_is_not_in_a_live_recall(tx, counted):
    if counted:
        remember(tx, "tea")
        tx.execute("SELECT memoir.refresh_statistics(user_id => 'default')")
    tx.execute("SELECT memoir.event_add('alert', '{}', created_at => now() + interval '1 hour')")
    assert lines(recall(tx).block) == ["tea"] * counted


def test_events_stand_under_their_heading(tx):
    add_event(tx, "alert", {"n": 1}, created_at=NOW)
    assert headings(recall(tx, as_of=NOW).block) == ["Recent events"]


def test_an_event_needs_no_word_of_the_question(tx):
    add_event(tx, "alert", {"disk": 91}, created_at=NOW)
    assert happened(tx, "tea") == ['[alert] {"disk": 91}']


def fill(conn):
    """A task that shares half a question, and a fresh failure."""
    remember(conn, "deploy the tea house", "task", created_at=NOW)
    remember(conn, "unrelated", created_at=NOW)
    add_event(conn, "task_failed", {"task": "deploy"}, created_at=NOW)


def test_debug_puts_a_fresh_failure_above_a_half_fitting_task(tx):
    fill(tx)
    block = recall(tx, "deploy coffee", mode="debug", as_of=NOW).block
    assert headings(block) == ["Recent events", "Tasks"]


def test_chat_puts_it_below(tx):
    fill(tx)
    block = recall(tx, "deploy coffee", mode="chat", as_of=NOW).block
    assert headings(block) == ["Tasks", "Recent events"]


def test_events_are_not_among_the_ids(tx):
    add_event(tx, "alert", {"n": 1}, created_at=NOW)
    memory_id = remember(tx, "tea", created_at=NOW)
    assert recall(tx, "tea", as_of=NOW).memory_ids == [memory_id]


def test_two_like_events_give_one_line(tx):
    for minutes in (1, 2):
        add_event(tx, "alert", {"disk": "full"}, created_at=ago(minutes=minutes))
    assert happened(tx) == ['[alert] {"disk": "full"}']
