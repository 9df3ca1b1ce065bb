"""The role of docs/security.md for who writes his own SQL: whatever he sets, the policies hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.rows import call, fill, found, remember, set_to, value

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROLE = "ada_alone"
WITH_HIS_WORD = """
SELECT memoir._own_words('bob', memoir._word_query('bob', memoir._term_set(
    ARRAY[memoir._term('note7'::text)], '{}'), 500, true), '-infinity', 'infinity', NULL)
"""


def set_up() -> str:
    """The statements of the page that make the role."""
    page = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"^CREATE ROLE ada_sql.*?^END \$\$;", page, re.MULTILINE | re.DOTALL)
    return str(block).replace("ada_sql", ROLE)


@pytest.fixture
def alone(db: psycopg.Connection, dsn: str) -> Iterator[psycopg.Connection]:
    """A connection as the role for Ada, that has set Bob's name; both have indexes of their own."""
    for user in ("ada", "bob"):
        fill(db, 60, user)
    set_to(db, ann_gain=0.01)
    call(db, "maintain")
    assert value(db, "SELECT count(*) FROM memoir.profile WHERE ann > 0") == 2
    db.execute(set_up())
    with psycopg.connect(dsn, user=ROLE, autocommit=True) as conn:
        conn.execute("SET memoir.user_id = 'bob'")
        yield conn
    db.execute(f"DROP OWNED BY {ROLE}")
    db.execute(f"DROP ROLE {ROLE}")


def test_it_sees_no_row_of_another(alone):
    assert value(alone, "SELECT count(*) FROM memoir.memory") == 0
    assert found(alone, "note7", user_id="bob") == []


def test_it_cannot_become_a_role_that_the_policies_do_not_bind(alone):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        alone.execute("SET ROLE memoir_reader")


def test_it_is_not_told_which_words_another_has(alone):
    assert value(alone, WITH_HIS_WORD) == []


def test_its_own_words_are_found_as_before(db, alone):
    remember(db, "The key of the harbor is blue", user_id="ada", created_at="2020-01-01")
    alone.execute("SET memoir.user_id = 'ada'")
    assert value(alone, "SELECT count(*) FROM memoir.memory") == 61
    assert "The key of the harbor is blue" in found(alone, "harbor")
