"""Features stand beside the words of a memory and never count as words."""

from __future__ import annotations

import hashlib

import pytest
from tests.rows import add_mode, call, candidate_scores, explain, recall, remember, say, value

pytestmark = pytest.mark.usefixtures("side_by_side")

SIX = ["one", "two", "three", "four", "five", "six"]


def test_features_have_places_behind_all_words(tx):
    low, high = tx.execute(
        "SELECT min(memoir._feature('name ' || n)), max(memoir._term('x' || n))"
        " FROM generate_series(1, 2000) AS n"
    ).fetchone()
    assert high <= 2**28 < low


def test_a_word_with_the_hash_of_a_feature_can_be_remembered(tx):
    def place(text):
        return hashlib.sha256(text.encode()).hexdigest()[:7]

    names = {place(f"=name n{number}"): f"n{number}" for number in range(40_000)}
    word, name = next(
        (f"w{number}", names[place(f"w{number}")])
        for number in range(100_000)
        if place(f"w{number}") in names
    )
    memory_id = remember(tx, word, "turn", speaker=name)
    question = f"{word} {name}"
    assert recall(tx, question, mode="conversation").memory_ids == [memory_id]


def test_a_speaker_who_is_the_subject_too_is_named_once(tx):
    remember(tx, "tea", "turn", speaker="Ann", subject="ann.tea")
    assert value(tx, "SELECT terms::text FROM memoir.trace").count("0.000244") == 3


def test_a_name_is_not_one_of_its_characters(tx):
    remember(tx, "去公园", "turn", speaker="小雪")
    boosts = [row.boost for row in explain(tx, "公园下雪了", mode="conversation")]
    assert boosts == [0]


def test_features_make_no_near_duplicates(tx):
    mode = add_mode(tx, word_weight=1, name_boost=0.3)
    for turn, word in enumerate(SIX):
        place = {"session_id": "a", "turn": turn}
        remember(tx, f"{word}?", "turn", speaker="Ann", subject="Bob", **place)
    assert len(recall(tx, " ".join(SIX), mode=mode).memory_ids) == 6


def test_features_leave_the_jaccard_of_texts_alone(tx):
    for speaker in ("Ann", "Bob"):
        said = {"speaker": speaker, "session_id": speaker, "turn": 0}
        remember(tx, "tea with milk yesterday?", "turn", **said)
    overlap = value(
        tx,
        "SELECT -(a.terms <#> b.terms) / (a.term_count + b.term_count + (a.terms <#> b.terms))"
        " FROM memoir.trace AS a JOIN memoir.trace AS b ON a.memory_id < b.memory_id",
    )
    assert overlap == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("question", ["name", "asks", "when", "=asks", "name ann", "ann"])
def test_features_are_no_words_of_the_memory(tx, question):
    remember(tx, "tea on Monday?", "turn", speaker="Ann")
    (row,) = explain(tx, question, mode="conversation")
    assert not row.coverage
    assert set(row.matched) <= {"name ann", "says when"}


def test_a_speaker_is_no_word_in_a_mode_without_names(tx):
    say(tx, "a", "tea", "milk", speaker="Ann")
    assert candidate_scores(tx, "Ann") == {}


def test_statistics_do_not_take_a_name_for_a_word(tx):
    say(tx, "a", "tea with Bob", "milk", speaker="Ann")
    before = [row.coverage for row in explain(tx, "Ann tea")]
    call(tx, "refresh_statistics")
    asked = "SELECT memoir._question('default', 'Ann tea', 2, 0, '') <#> terms FROM memoir.trace"
    shown = [-product for (product,) in tx.execute(asked + " ORDER BY 1")]
    assert shown == pytest.approx(before, abs=1e-6)


def test_a_memory_has_the_features_that_a_question_asks_for(tx):
    features = tx.execute(
        "SELECT w.terms::text ~ (memoir._feature('asks') || ':0.000'),"
        " w.terms::text ~ (memoir._feature('when') || ':0.000')"
        " FROM memoir._word_vector('Did she call yesterday?', 'yesterday', NULL) AS w"
    ).fetchone()
    assert features == (True, True)


@pytest.mark.parametrize(
    ("content", "details"),
    [
        ("Sounds great, I agree! Ann Lee and I", 1),
        ("We met Ann Lee at Blue Hill", 3),
        ("we met Ann, Bob, and the dog", 1),
        ("I have 2 dogs and 3 cats", 2),
        ('I read "Dune" again', 2),
        ("我读了《三体》", 2),
        ("we leave tomorrow", 1),
        ('Yesterday we read "It" with Ann Lee and Bob until 5', 8),
        ("ok", 0),
        ("", 0),
        (" " * 1000 + "at 5 with Ann", 0),
    ],
)
def test_details_are_names_numbers_quotations_and_times(tx, content, details):
    asked = "SELECT w.details FROM memoir._word_vector(%s, %s, '') AS w"
    assert value(tx, asked, content, content) == details
