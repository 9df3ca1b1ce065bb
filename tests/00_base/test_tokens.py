"""The words of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import value

ASCII = st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=60)


def tokens(conn, text):
    return set(value(conn, "SELECT memoir.tokens(%s)", text))


def test_english_words_are_stems_without_stop_words(tx):
    assert tokens(tx, "The cats were running to us") == {"cat", "run", "us"}


def test_a_chinese_run_gives_its_pairs_of_characters(tx):
    assert tokens(tx, "认证失败") == {"认证", "证失", "失败"}


def test_a_single_chinese_character_is_a_word(tx):
    assert tokens(tx, "错") == {"错"}


def test_japanese_and_korean_give_pairs_too(tx):
    assert tokens(tx, "カタカナ, 서울에") == {"カタ", "タカ", "カナ", "서울", "울에"}


def test_full_width_letters_and_digits_equal_plain_ones(tx):
    assert tokens(tx, "ＰＯＲＴ ８０８０") == {"8080", "port"}


def test_full_width_punctuation_separates(tx):
    assert tokens(tx, "认证，失败。") == {"认证", "失败"}


def test_a_text_of_two_languages_gives_the_words_of_both(tx):
    assert tokens(tx, "token过期 errors") == {"error", "token", "过期"}


def test_punctuation_separates_words(tx):
    assert tokens(tx, "user_id/foo-bar:42,baz") == {"42", "bar", "baz", "foo", "id", "user"}


def test_letters_with_accents_are_letters(tx):
    assert tokens(tx, "café Привет") == {"café", "привет"}


@pytest.mark.parametrize("text", ["", "   ", "???", "the of and", "，。！", "😀"])
def test_a_text_without_words_has_none(tx, text):
    assert tokens(tx, text) == set()


@pytest.mark.parametrize(("filler", "word"), [("a ", "zebra"), ("的 ", "斑马")])
def test_only_the_first_20000_characters_count(tx, filler, word):
    assert word in tokens(tx, filler * 9_990 + word)
    assert word not in tokens(tx, filler * 10_000 + word)


@given(text=ASCII)
def test_a_chinese_character_beside_it_does_not_change_english_text(tx, text):
    assert tokens(tx, text + " 错") == tokens(tx, text) | {"错"}
