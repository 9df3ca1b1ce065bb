"""What refresh_statistics learns of a user spares recall work and never changes what it finds."""

from __future__ import annotations

import pytest
from tests.rows import ago, call, candidate_scores, found, remember, remember_all, say, value

LONG = " ".join(f"word{number}" for number in range(250))


def plain(conn):
    """Whether the words of a user were counted and no row is too long for the index."""
    return value(conn, "SELECT narrow_for >= 0 AND counted_up_to > 0 FROM memoir.profile")


def scores(conn, *questions, **more):
    """Scores of the questions before the statistics, and after."""
    before = [candidate_scores(conn, each, **more) for each in questions]
    call(conn, "refresh_statistics")
    after = [candidate_scores(conn, each, **more) for each in questions]
    return before, [pytest.approx(each, abs=1e-6) for each in after]


def test_scores_are_the_same_with_statistics(tx):
    remember_all(tx, ["tea with milk", "green tea", "the k8s cluster", "柠檬茶和牛奶", "port 8080"])
    asked = ["tea and milk?", "kubernetes", "what tea, where", "红茶", "", "nothing"]
    before, after = scores(tx, *asked)
    assert before == after


def test_names_weigh_the_same_with_statistics(tx):
    say(tx, "a", "tea with milk", "lemon cake", speaker="Ann")
    say(tx, "b", "tea with sugar", "milk", speaker="Bob")
    before, after = scores(tx, "did Ann have tea", "Ann and Bob", "Ann", mode="conversation")
    assert before == after


def test_a_synonym_written_after_the_count_is_used(tx):
    remember(tx, "the frobnicator is broken")
    call(tx, "refresh_statistics")
    assert found(tx, "gizmo") == []
    tx.execute("INSERT INTO memoir.synonym VALUES ('gizmo', 'frobnicator')")
    assert found(tx, "gizmo") == ["the frobnicator is broken"]
    call(tx, "refresh_statistics")
    assert found(tx, "gizmo") == ["the frobnicator is broken"]


def test_each_of_many_words_with_a_synonym_is_used_after_the_count(tx):
    numbers = range(100, 120)
    tx.execute(
        "INSERT INTO memoir.synonym SELECT 'gizmo' || n, 'frobnicator' || n"
        " FROM unnest(%s::int[]) AS n",
        (list(numbers),),
    )
    remember_all(tx, [f"frobnicator{number} is broken" for number in numbers])
    call(tx, "refresh_statistics")
    for number in numbers:
        assert found(tx, f"gizmo{number}") == [f"frobnicator{number} is broken"]


def test_a_memory_that_expires_after_the_count_is_no_line(tx):
    for content in ("tea with milk", "green tea"):
        remember(tx, content, created_at=ago(days=1))
    call(tx, "refresh_statistics")
    assert found(tx, "green tea") == ["green tea", "tea with milk"]
    tx.execute("UPDATE memoir.memory SET valid_until = now() WHERE content = 'green tea'")
    assert found(tx, "green tea") == ["tea with milk"]
    call(tx, "refresh_statistics")
    assert found(tx, "green tea") == ["tea with milk"]


def test_a_long_memory_is_found_whenever_its_words_were_counted(tx):
    remember(tx, LONG)
    assert len(found(tx, "word7", budget=10_000)) == 1
    call(tx, "refresh_statistics")
    assert not plain(tx)
    assert len(found(tx, "word7", budget=10_000)) == 1


def test_a_memory_that_its_vector_makes_long_is_found(tx):
    call(tx, "use_model", name="m", dimensions=1000)
    memory_id = remember(tx, " ".join(LONG.split()[:80]))
    call(tx, "refresh_statistics")
    assert not plain(tx)
    tx.execute("SELECT memoir.set_embedding(%s, %s)", (memory_id, str([1.0] * 1000)))
    assert value(tx, "SELECT wide FROM memoir.trace")
    assert len(found(tx, "word7", budget=10_000)) == 1


def test_a_question_of_many_words_is_weighed_whole(tx):
    remember_all(tx, ["word7 and tea", LONG])
    before, after = scores(tx, LONG, " ".join(["tea", *LONG.split()[:95]]))
    assert before == after
