"""Each setting for conversations alone: what its comment says, and nothing at zero."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.rows import NOW, add_mode, ago, call, candidate_scores, explain, found, remember, say

pytestmark = pytest.mark.usefixtures("planned_once")

SPOKEN = datetime(2023, 5, 10, 12, tzinfo=UTC)


def scores(conn, question, **settings):
    """Scores by content in a mode of words with these settings."""
    name = f"m{len(settings)}{abs(hash(str(settings)))}"
    return candidate_scores(conn, question, mode=add_mode(conn, name, **settings))


def gained(conn, question, **settings):
    """What the settings add to each score, where they add anything."""
    plain, more = scores(conn, question), scores(conn, question, **settings)
    gain = {text: more.get(text, 0) - plain.get(text, 0) for text in {*plain, *more}}
    return {text: round(by, 4) for text, by in gain.items() if abs(by) > 1e-6}


@pytest.mark.parametrize("question", ["What did Ann say of tea?", "Did ann like it", "Ann's tea"])
def test_what_a_named_speaker_said_is_lifted(tx, question):
    say(tx, "a", "tea is good", "tea is fine", speaker="Bob")
    say(tx, "b", "tea is red", speaker="Ann")
    assert gained(tx, question, name_boost=0.3) == {"tea is red": 0.3}


def test_two_names_of_a_question_share_the_boost(tx):
    for name in ("Ann", "Bob", "Cleo"):
        say(tx, name, f"{name} drinks tea", speaker=name)
    assert gained(tx, "Do Ann and Bob drink tea", name_boost=0.3) == {
        "Ann drinks tea": 0.15,
        "Bob drinks tea": 0.15,
    }


def test_a_name_nobody_has_takes_no_share(tx):
    say(tx, "a", "tea", speaker="Ann")
    assert gained(tx, "Ann told Zoe of tea", name_boost=0.3) == {"tea": 0.3}


def test_a_name_heard_later_takes_no_share_in_the_past(tx):
    say(tx, "a", "tea", speaker="Ann", created_at=ago(days=9))
    say(tx, "b", "milk", speaker="Bob", created_at=ago(days=1))
    mode = add_mode(tx, name_boost=0.3)
    (row,) = explain(tx, "Ann Bob", mode=mode, as_of=ago(days=5))[:1]
    assert row.boost == pytest.approx(0.3)


def test_a_chinese_name_is_lifted(tx):
    say(tx, "a", "喝红茶", speaker="小明")
    say(tx, "b", "喝绿茶", speaker="小红")
    assert gained(tx, "小明昨天说了什么", name_boost=0.3) == {"喝红茶": 0.3}


def test_a_subject_is_a_name(tx):
    remember(tx, "likes tea", subject="Ann Lee")
    remember(tx, "likes milk", subject="Bob")
    assert gained(tx, "What does Lee like?", name_boost=0.3) == {"likes tea": 0.3}


def test_statistics_know_the_names(tx):
    say(tx, "a", "tea", "milk", speaker="Ann")
    call(tx, "refresh_statistics")
    say(tx, "b", "lemon", speaker="Bob")
    expected = {"tea": 0.15, "milk": 0.15, "lemon": 0.15}
    assert gained(tx, "Ann or Bob: tea", name_boost=0.3) == expected


def test_a_name_late_in_a_long_question_counts_alike_with_statistics(tx):
    say(tx, "a", "tea", speaker="Ann")
    question = "tea " + " ".join(f"word{number}" for number in range(300)) + " Ann"
    mode = add_mode(tx, name_boost=0.3)
    before = candidate_scores(tx, question, mode=mode)
    call(tx, "refresh_statistics")
    assert candidate_scores(tx, question, mode=mode) == pytest.approx(before)


@pytest.mark.parametrize(
    "question", ["tea on 8 May 2023", "tea on May 8th, 2023", "2023年5月8日喝的tea"]
)
def test_a_named_day_is_lifted_and_half_as_much_the_ten_days_after(tx, question):
    for days in (-3, -1, 0, 5, 10, 12):
        at = datetime(2023, 5, 8 + days, 12, tzinfo=UTC)
        remember(tx, f"tea {days}", "turn", created_at=at)
    lifted = gained(tx, question, time_boost=0.4)
    assert lifted == {"tea 0": 0.4, "tea 5": 0.2, "tea 10": 0.2, "tea -1": 0.2}


def test_a_named_month_is_lifted_and_half_as_much_the_week_after(tx):
    for day, month in ((29, 4), (30, 4), (1, 5), (31, 5), (6, 6), (9, 6)):
        remember(tx, f"tea {day}.{month}", created_at=datetime(2023, month, day, 12, tzinfo=UTC))
    lifted = gained(tx, "tea in May 2023", time_boost=0.4)
    assert lifted == {"tea 30.4": 0.2, "tea 1.5": 0.4, "tea 31.5": 0.4, "tea 6.6": 0.2}


def test_the_widths_of_a_time_are_settings(tx):
    for day in (7, 8, 9):
        remember(tx, f"tea {day}", created_at=datetime(2023, 5, day, 12, tzinfo=UTC))
    narrow = {"time_before": "0", "time_after": "0", "time_after_day": "0"}
    assert gained(tx, "tea on 8 May 2023", time_boost=0.4, **narrow) == {"tea 8": 0.4}


def test_yesterday_is_that_of_as_of(tx):
    remember(tx, "tea old", created_at=ago(days=30))
    remember(tx, "tea new", created_at=ago(days=1))
    mode = add_mode(tx, time_boost=0.4)
    rows = explain(tx, "tea yesterday", mode=mode, as_of=NOW)
    assert {row.content: row.boost for row in rows} == {"tea old": 0, "tea new": 0.4}


def test_a_time_counts_by_the_share_of_words_where_vectors_are_compared(tx):
    remember(tx, "tea with", created_at=SPOKEN, embedding="[1,0]")
    remember(tx, "tea without", created_at=SPOKEN)
    mode = add_mode(tx, time_boost=0.5)
    rows = explain(tx, "tea in May 2023", mode=mode, query_vec="[1,0]")
    shown = {row.content: row.boost for row in rows}
    assert shown == pytest.approx({"tea with": 0.2, "tea without": 0.5})


@pytest.mark.parametrize("question", ["When was tea served?", "tea 是什么时候喝的"])
def test_a_question_of_when_prefers_what_says_when(tx, question):
    say(tx, "a", "tea on Monday", "tea was served")
    assert gained(tx, question, when_boost=0.1) == {"tea on Monday": 0.1}


def test_another_question_does_not_prefer_what_says_when(tx):
    say(tx, "a", "tea on Monday", "tea was served")
    assert gained(tx, "Who served tea?", when_boost=0.1) == {}


def test_a_question_is_no_answer(tx):
    say(tx, "a", "is tea good?", "tea is good", "茶tea好吗")
    lost = gained(tx, "Is tea good?", question_penalty=0.1)
    assert lost == {"is tea good?": -0.1, "茶tea好吗": -0.1}


def test_a_turn_gains_from_the_turns_beside_it(tx):
    say(tx, "a", "one", "two", "three", "tea", "five", "six", "seven")
    assert gained(tx, "tea", neighbour_weight=0.3) == {"three": 0.3, "five": 0.3}


def test_a_turn_gains_from_the_turns_beyond(tx):
    say(tx, "a", "one", "two", "three", "tea", "five", "six", "seven")
    assert gained(tx, "tea", second_neighbour_weight=0.2) == {"two": 0.4, "six": 0.2}


@pytest.mark.parametrize(
    ("question", "weights", "gain"),
    [
        ("tea", {"neighbour_weight": 0.1}, {"first": 0.2, "third": 0.1}),
        ("milk", {"neighbour_weight": 0.1}, {"third": 0.1, "last": 0.1}),
        ("third", {"second_neighbour_weight": 0.1}, {"first": 0.2, "last": 0.1}),
    ],
)
def test_the_first_turns_of_a_session_gain_twice_from_those_after(tx, question, weights, gain):
    say(tx, "a", "first", "tea", "third", "milk", "last")
    assert gained(tx, question, **weights) == gain


def test_neighbours_are_the_next_turns_whatever_their_numbers(tx):
    for turn, content in ((3, "tea"), (70, "after"), (0, "before")):
        remember(tx, content, "turn", session_id="a", turn=turn)
    assert gained(tx, "tea", neighbour_weight=0.3) == {"before": 0.6, "after": 0.3}


def test_neighbours_never_cross_a_session(tx):
    for session in range(9):
        say(tx, f"session {session}", f"tea {session}", f"milk {session}", f"tea again {session}")
    settings = {"neighbour_weight": 0.3, "second_neighbour_weight": 0.2, "answer_weight": 0.2}
    gain = gained(tx, "milk", **settings)
    assert set(gain.values()) == {0.6, 0.3}
    assert not [text for text in gain if text.startswith("milk")]


def test_what_is_no_turn_has_no_neighbours(tx):
    remember(tx, "fact of it", session_id="a")
    say(tx, "a", "tea", "milk")
    remember(tx, "alone", "turn", turn=0)
    settings = {"neighbour_weight": 0.3, "second_neighbour_weight": 0.2}
    assert gained(tx, "tea", **settings) == {"milk": 0.3}


def test_the_answer_to_a_question_is_lifted(tx):
    say(tx, "a", "before", "who wants tea?", "me", "him")
    assert gained(tx, "tea", answer_weight=0.2) == {"me": 0.2}


def test_what_follows_a_statement_is_no_answer(tx):
    say(tx, "a", "I want tea.", "me too")
    assert gained(tx, "tea", answer_weight=0.2) == {}


def test_a_turn_gains_a_share_of_the_best_of_its_session(tx):
    say(tx, "a", "tea", "milk", "sugar")
    say(tx, "b", "lemon")
    gain = gained(tx, "tea", session_weight=0.2)
    assert gain == {"tea": 0.2, "milk": 0.2, "sugar": 0.2}


def test_a_squared_score_lends_its_square(tx):
    say(tx, "a", "tea", "fine")
    say(tx, "b", "milk", "good")
    half = {"tea": 0.25, "fine": 0.05, "milk": 0.25, "good": 0.05}
    assert scores(tx, "tea milk", neighbour_weight=0.2, squared=True) == pytest.approx(half)


def test_a_squared_score_below_zero_stays_there(tx):
    remember(tx, "tea", embedding="[1,0]")
    remember(tx, "milk", embedding="[-1,0]")
    mode = add_mode(tx, session_weight=0.2, squared=True)
    assert found(tx, None, mode=mode, query_vec="[1,0]") == ["tea"]


def test_the_smallest_score_can_be_squared(tx):
    remember(tx, "tea", "event", created_at=ago(days=400))
    mode = add_mode(tx, session_weight=0.2, squared=True)
    assert found(tx, "tea " + " ".join(f"word{n}" for n in range(30)), mode=mode) == ["tea"]


def test_a_memory_that_asks_keeps_a_factor_of_its_score(tx):
    say(tx, "a", "is tea good?", "fine")
    expected = {"is tea good?": 0.5 * 1.2, "fine": 0.5 + 0.2}
    kept = scores(tx, "tea", answer_weight=0.5, session_weight=0.2, question_factor=0.5)
    assert kept == pytest.approx(expected)


def test_of_two_lines_with_the_same_words_the_shorter_is_worth_more(tx):
    say(tx, "a", "tea", "tea of a leaf of a bush that grows on a hill in the rain")
    costs = dict(tx.execute("SELECT line, cost FROM memoir.trace").fetchall())
    worth = scores(tx, "tea", session_weight=0.2, cost_power=0.5)
    assert worth == pytest.approx({line: 1.2 / cost**0.5 for line, cost in costs.items()})


def test_details_make_a_line_worth_more(tx):
    say(tx, "a", "tea", "tea with Ann on 5 May")
    worth = scores(tx, "tea", session_weight=0.2, detail_weight=0.1)
    assert worth == pytest.approx({"tea": 1.2, "tea with Ann on 5 May": 1.2 * 1.4})


def test_candidates_are_the_best_whatever_their_lines_are_worth(tx):
    say(tx, "a", "tea of milk and more of it, and more, and more", "tea", "milk")
    limits = {"candidate_limit": 1, "session_weight": 0.2}
    plain = scores(tx, "tea milk", **limits)
    assert list(scores(tx, "tea milk", cost_power=1, **limits)) == list(plain)


@pytest.mark.parametrize(("query_vec", "share"), [(None, 0.5), ("[1,0]", 1)])
def test_names_and_times_count_less_without_a_vector(tx, query_vec, share):
    say(tx, "a", "tea", speaker="Ann", created_at=SPOKEN)
    question = "What did Ann drink in May 2023?"
    boosts = {"name_boost": 0.4, "time_boost": 0.2, "vector_weight": 1, "word_weight": 1}
    mode = add_mode(tx, boost_without_vector=0.5, **boosts)
    for as_of in (None, NOW):
        (row,) = explain(tx, question, mode=mode, query_vec=query_vec, as_of=as_of)
        assert row.boost == pytest.approx(0.6 * share)


def test_explain_names_the_turn_that_lent(tx):
    asks, answers, after = say(tx, "a", "who wants tea?", "me", "sure")
    rows = {row.memory_id: row for row in explain(tx, "tea", mode="conversation")}
    assert rows[answers].via == f"answers memory {asks}"
    assert rows[after].via == f"near memory {asks}"
    assert rows[asks].via is None


def test_the_turns_of_another_user_lend_nothing(tx):
    remember(tx, "milk", "turn", session_id="a", turn=0, user_id="ann")
    remember(tx, "tea", "turn", session_id="a", turn=1, user_id="bob")
    assert found(tx, "tea", mode="conversation", user_id="ann") == []


def test_a_conversation_of_the_past_knows_no_later_turn(tx):
    for turn, content in enumerate(("milk", "tea", "sugar")):
        at = ago(days=10 - 4 * turn)
        remember(tx, content, "turn", session_id="a", turn=turn, created_at=at)
    assert found(tx, "tea", mode="conversation", as_of=ago(days=5)) == ["milk", "tea"]
    assert found(tx, "tea", mode="conversation", as_of=ago(days=9)) == []
