"""Whose memory a call is about."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import refused, remember, value


def owner(conn, memory_id):
    return value(conn, "SELECT user_id FROM memoir.memory WHERE memory_id = %s", memory_id)


def test_without_a_word_about_it_the_user_is_default(tx):
    assert owner(tx, remember(tx, "tea")) == "default"


def test_the_setting_names_the_user(tx):
    tx.execute("SET LOCAL memoir.user_id = 'ada'")
    assert owner(tx, remember(tx, "tea")) == "ada"


def test_the_argument_wins_over_the_setting(tx):
    tx.execute("SET LOCAL memoir.user_id = 'ada'")
    assert owner(tx, remember(tx, "tea", user_id="bob")) == "bob"


def test_an_empty_setting_is_no_setting(tx):
    tx.execute("SET LOCAL memoir.user_id = ''")
    assert owner(tx, remember(tx, "tea")) == "default"


def test_a_user_may_have_200_characters(tx):
    assert owner(tx, remember(tx, "tea", user_id="a" * 200)) == "a" * 200


@pytest.mark.parametrize("user_id", ["", "  ", "\n", "\t\r\n", "a" * 201])
def test_a_user_without_a_usable_name_is_refused(tx, user_id):
    said = refused(tx, "recall", user_id=user_id)
    assert said.sqlstate == "ME006"
    assert "memoir.user_id" in said.message_hint


def test_a_blank_setting_is_refused(tx):
    tx.execute("SET LOCAL memoir.user_id = ' '")
    said = refused(tx, "recall")
    assert said.sqlstate == "ME006"
    assert said.message_primary == "user_id must have 1 to 200 characters, not 0"


@pytest.mark.parametrize(
    "blank",
    [
        "INSERT INTO memoir.profile (user_id) VALUES (E'\\n')",
        "SELECT E'\\n'::memoir.memory_user_id",
    ],
)
def test_no_row_is_of_a_user_whose_name_is_blank(tx, blank):
    with pytest.raises(psycopg.errors.CheckViolation, match="user_id"):
        tx.execute(blank)
