"""Weights of kinds as feedback would have them, with the certainty it has."""

from __future__ import annotations

import math

import pytest
from tests.rows import NOW, call, recall, refused, remember, row_counts, value


def suggestions(conn, **more):
    """One row a kind, by its name."""
    return {row.kind: row for row in call(conn, "suggest_weights", **more)}


def feedback(conn, shown, user="default", **used):
    """So many recalls of a task and a learning; of so many each was of use."""
    ids = {kind: remember(conn, f"tea {kind}", kind, user_id=user) for kind in ("task", "learning")}
    for number in range(shown):
        made = recall(conn, "tea", mode="execute", user_id=user)
        marked = [ids[kind] for kind in ids if number < used.get(kind, 0)]
        call(conn, "mark_used", retrieval_id=made.retrieval_id, memory_ids=marked, user_id=user)


def wilson(used, shown):
    """The 95 % interval of a share (Wilson 1927)."""
    share, z = used / shown, 1.96
    middle = share + z * z / (2 * shown)
    half = z * math.sqrt(share * (1 - share) / shown + z * z / (4 * shown * shown))
    return [(middle + side * half) / (1 + z * z / shown) for side in (-1, 1)]


@pytest.mark.parametrize("used", [0, 1, 7, 20])
@pytest.mark.parametrize("shown", [20, 1000])
def test_the_interval_is_wilsons(tx, used, shown):
    ends = [value(tx, "SELECT memoir._wilson(%s, %s, %s)", used, shown, n) for n in (-1, 1)]
    assert ends == pytest.approx(wilson(used, shown))


def test_what_is_used_more_should_weigh_more(tx):
    feedback(tx, 30, task=27, learning=3)
    found = suggestions(tx)
    task, learning = found["task"], found["learning"]
    assert (task.shown, task.used, task.hit_rate, task.weight) == (30, 27, 0.9, 1.2)
    assert [task.hit_rate_low, task.hit_rate_high] == pytest.approx(wilson(27, 30))
    # All lines were used in 30 of 60; the interval of the task begins at 0.744.
    assert task.suggested == round(1.2 * wilson(27, 30)[0] / 0.5, 2)
    assert learning.suggested == round(max(1.0 * wilson(3, 30)[1] / 0.5, 1 / 1.5), 2)


def test_a_weight_moves_no_further_than_allowed(tx):
    feedback(tx, 30, task=27, learning=3)
    found = suggestions(tx, max_change=0.1)
    assert [found[kind].suggested for kind in ("task", "learning")] == [1.32, 0.91]


def test_what_may_be_chance_moves_nothing(tx):
    tx.execute("UPDATE memoir.mode_weight SET weight = 1.2345 WHERE kind = 'task'")
    feedback(tx, 30, task=16, learning=14)
    found = [(row.suggested, row.statement) for row in suggestions(tx).values()]
    assert found == [(1.0, None), (1.2345, None)]


def test_too_little_feedback_suggests_nothing(tx):
    feedback(tx, 10, task=10)
    assert [row.suggested for row in suggestions(tx).values()] == [None, None]
    assert suggestions(tx, minimum=10)["task"].suggested > 1.2


def test_feedback_that_nothing_was_used_moves_nothing(tx):
    feedback(tx, 30)
    rows = suggestions(tx).values()
    assert [(row.suggested, row.hit_rate) for row in rows] == [(1.0, 0), (1.2, 0)]


def test_the_statement_sets_the_suggested_weight(tx):
    feedback(tx, 30, task=27, learning=3)
    for row in suggestions(tx).values():
        tx.execute(row.statement)
        query = "SELECT weight FROM memoir.mode_weight WHERE mode = 'execute' AND kind = %s"
        assert value(tx, query, row.kind) == row.suggested


def test_recalls_without_feedback_do_not_count(tx):
    feedback(tx, 20, task=20)
    recall(tx, "tea", mode="execute")
    assert suggestions(tx)["task"].shown == 20


def test_only_recalls_since_then_count(tx):
    feedback(tx, 20, task=20)
    tx.execute("UPDATE memoir.retrieval SET created_at = %s WHERE retrieval_id %% 2 = 0", (NOW,))
    assert suggestions(tx, since=NOW.replace(year=2026))["task"].shown == 10


def test_users_have_their_own_feedback(tx):
    feedback(tx, 20, user="ada", task=20)
    feedback(tx, 3, user="bob", task=1)
    assert suggestions(tx, user_id="bob")["task"].shown == 3
    assert suggestions(tx) == {}


def test_it_only_suggests(tx):
    feedback(tx, 30, task=27, learning=3)
    before = row_counts(tx), value(tx, "SELECT sum(weight) FROM memoir.mode_weight")
    tx.execute("SET TRANSACTION READ ONLY")
    assert len(suggestions(tx)) == 2
    assert (row_counts(tx), value(tx, "SELECT sum(weight) FROM memoir.mode_weight")) == before


def test_the_view_has_the_suggestions_for_every_user(tx):
    feedback(tx, 20, user="ada", task=20)
    feedback(tx, 3, user="bob", task=1)
    found = tx.execute("SELECT user_id, kind, shown, suggested FROM memoir.suggested_weights")
    assert {row[:3] for row in found} == {
        (user, kind, shown)
        for user, shown in (("ada", 20), ("bob", 3))
        for kind in ("task", "learning")
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"minimum": 0}, "ME008"),
        ({"minimum": None}, "ME008"),
        ({"max_change": 0}, "ME008"),
        ({"max_change": 11}, "ME008"),
        ({"max_change": "NaN"}, "ME008"),
        ({"since": "1800-01-01"}, "ME011"),
        ({"user_id": " "}, "ME006"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(tx, arguments, code):
    assert refused(tx, "suggest_weights", **arguments).sqlstate == code
