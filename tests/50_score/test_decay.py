"""Time decay of D0 1.2: half after a half-life, exact to 1e-9."""

from __future__ import annotations

import pytest
from tests.rows import MODES, NOW, add_event, ago, explain, lines, recall, remember

pytestmark = pytest.mark.usefixtures("planned_once")

EXACT = 1e-9
WEIGHTS = {"task": 1.0, "learning": 0.8, "okr": 1.5, "capability": 1.0}


def explained(conn, kind, days, **more):
    """The row of a memory of an age, asked for by all its words."""
    remember(conn, "tea", kind, created_at=ago(days=days))
    (row,) = explain(conn, "tea", as_of=NOW, **more)
    return row


@pytest.mark.parametrize("kind", ["okr", "capability"])
@pytest.mark.parametrize("days", [0, 30, 90, 3_650])
def test_goals_and_capabilities_do_not_decay(tx, kind, days):
    row = explained(tx, kind, days, mode="chat")
    assert (row.decay, row.score) == (1, pytest.approx(1, abs=EXACT))


@pytest.mark.parametrize("days", [0, 0.5, 1, 7, 30, 45, 90, 365])
@pytest.mark.parametrize(("kind", "half_life"), [("task", 30), ("learning", 90)])
def test_decay_is_a_half_to_the_power_of_half_lives(tx, kind, half_life, days):
    row = explained(tx, kind, days, mode="plan")
    assert row.decay == pytest.approx(0.5 ** (days / half_life), abs=EXACT)
    assert row.score == pytest.approx(row.decay * WEIGHTS[kind], abs=EXACT)


def test_an_event_of_a_day_scores_half_of_the_new_one(tx):
    add_event(tx, "alert", {"n": 1}, created_at=ago(days=1))
    (row,) = explain(tx, mode="debug", as_of=NOW)
    assert row.decay == pytest.approx(0.5, abs=EXACT)
    assert row.score == pytest.approx(0.5 * 0.5 * 1.5, abs=EXACT)


def test_a_memory_of_fifty_years_has_a_score(tx):
    row = explained(tx, "task", 20_000)
    assert 0 < row.score < 1e-20


@pytest.mark.parametrize("as_of", [None, NOW])
def test_a_task_of_fifty_years_does_not_stop_a_recall(tx, as_of):
    remember(tx, "tea", "task", created_at="1971-01-01")
    assert lines(recall(tx, "tea", as_of=as_of).block) == ["tea"]


def test_a_memory_of_tomorrow_counts_as_new(tx):
    tx.execute("SELECT memoir.remember('tea', 'task', created_at => now() + interval '1 hour')")
    (row,) = explain(tx, "tea", mode="plan")
    assert (row.decay, row.score) == (1, pytest.approx(1))


@pytest.mark.parametrize("mode", MODES)
def test_an_older_task_scores_less_in_every_mode(tx, mode):
    remember(tx, "tea new", "task", created_at=NOW)
    remember(tx, "tea old", "task", created_at=ago(days=30))
    new, old = explain(tx, "tea", mode=mode, as_of=NOW)
    assert old.score == pytest.approx(new.score / 2, abs=EXACT)
