"""Which words of a question are left out before it is embedded."""

from __future__ import annotations

import pytest
from tests.rows import call, recall, refused, remember, remember_all, say, value

QUESTION = "What did Ann say about the tea trip to Paris?"


def terms(conn, question, **more):
    """The words, those to leave out in brackets."""
    rows = call(conn, "query_terms", query_text=question, **more)
    return " ".join(f"({row.word})" if row.leave_out else row.word for row in rows)


def text(conn, question, **more):
    """The text to embed."""
    return call(conn, "embedding_text", query_text=question, **more)[0].embedding_text


def fill(conn):
    """Ten turns of Ann, all about tea, one about Paris and one about a trip."""
    say(conn, "a", *(f"tea {number}" for number in range(8)), "Paris tea", "a trip", speaker="Ann")


@pytest.mark.parametrize("counted", [True, False])
def test_names_and_common_words_are_left_out(tx, counted):
    fill(tx)
    if counted:
        call(tx, "refresh_statistics")
    assert terms(tx, QUESTION) == "What did (Ann) say about the (tea) trip to Paris?"
    assert text(tx, QUESTION) == "What did say about the trip to Paris?"


def test_a_row_says_why(tx):
    fill(tx)
    rows = call(tx, "query_terms", query_text="ann's tea, the Oslo")
    assert [(row.word, row.share, row.name, row.leave_out) for row in rows] == [
        ("ann's", 0, True, True),
        ("tea,", pytest.approx(0.9), False, True),
        ("the", 0, False, False),
        ("Oslo", 0, False, False),
    ]


def test_memories_newer_than_the_statistics_count(tx):
    fill(tx)
    before = terms(tx, QUESTION + " milk Bob")
    call(tx, "refresh_statistics")
    say(tx, "b", *(f"milk {number}" for number in range(5)), speaker="Bob")
    assert (before[-9:], terms(tx, QUESTION + " milk Bob")[-12:]) == (" milk Bob", "(milk) (Bob)")


def test_a_word_in_exactly_the_common_share_stays(tx):
    remember_all(tx, ["tea a1", "tea a2", *(f"milk b{number}" for number in range(8))])
    assert terms(tx, "tea milk") == "tea (milk)"


def test_the_common_share_is_a_setting(tx):
    fill(tx)
    tx.execute("UPDATE memoir.mode SET common_share = 0.95 WHERE name = 'conversation'")
    assert terms(tx, QUESTION) == "What did (Ann) say about the tea trip to Paris?"


def test_a_question_of_nothing_else_stays_whole(tx):
    fill(tx)
    assert text(tx, "  Ann  tea ") == "  Ann  tea "


def test_a_question_of_which_only_stop_words_would_be_left_stays_whole(tx):
    fill(tx)
    assert text(tx, "When does Ann have the tea?") == "When does Ann have the tea?"


def test_a_word_of_two_memories_is_not_common_in_a_small_memory(tx):
    remember_all(tx, ["tea one", "tea two", "milk"])
    assert terms(tx, "tea milk") == "tea milk"


@pytest.mark.parametrize("mode", ["execute", "chat", "balanced"])
def test_a_mode_without_common_share_changes_nothing(tx, mode):
    fill(tx)
    assert terms(tx, QUESTION, mode=mode) == QUESTION
    assert text(tx, "Ann's  tea\n", mode=mode) == "Ann's  tea\n"


@pytest.mark.parametrize("question", ["", "   ", "???", "the of", "a  b\n c", None])
def test_a_question_with_nothing_to_leave_out_is_unchanged(tx, question):
    fill(tx)
    assert text(tx, question) == question


def test_an_empty_memory_leaves_out_nothing(tx):
    assert text(tx, QUESTION) == QUESTION


def test_a_chinese_question_is_one_word_and_stays(tx):
    say(tx, "a", "喝红茶", "喝绿茶", speaker="小明")
    (row,) = call(tx, "query_terms", query_text="小明昨天说了什么")
    assert (row.name, row.leave_out) == (True, False)
    assert text(tx, "小明 昨天 说了什么") == "昨天 说了什么"


def test_the_memories_of_another_user_do_not_count(tx):
    remember_all(tx, ["tea one", "tea two"], user="bob")
    remember(tx, "milk", "turn", user_id="bob", speaker="Ann")
    remember_all(tx, [f"w{number}" for number in range(9)], user="eve")
    assert text(tx, "Ann tea", user_id="eve") == "Ann tea"


@pytest.mark.parametrize("counted", [True, False])
def test_a_question_of_10000_characters_is_answered(tx, counted):
    fill(tx)
    if counted:
        call(tx, "refresh_statistics")
    filler = " ".join(f"word{number}" for number in range(1_200))[:9_990]
    assert text(tx, f"Ann tea {filler}") == filler


@pytest.mark.parametrize("function", ["query_terms", "embedding_text"])
def test_an_unknown_mode_is_refused(tx, function):
    diag = refused(tx, function, query_text="tea", mode="poetry")
    assert (diag.sqlstate, diag.message_primary) == ("ME001", 'unknown mode "poetry"')


def test_what_is_left_out_of_the_vector_still_counts_as_a_word(tx):
    fill(tx)
    assert value(tx, "SELECT count(*) FROM memoir.query_terms('Ann') WHERE leave_out") == 1
    assert len(recall(tx, "Ann", mode="conversation").memory_ids) == 10


def test_a_long_question_without_spaces_is_not_copied_for_each_of_its_words(tx):
    tx.execute("SET LOCAL temp_file_limit = '10MB'")
    question = "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    assert terms(tx, question) == question
