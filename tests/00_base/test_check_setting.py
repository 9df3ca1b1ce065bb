"""A wrong value of a setting is refused when it is written, unless a dump brings it."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import call, value

CHANGE = "UPDATE memoir.setting SET value = %s WHERE name = %s"


@pytest.mark.parametrize(
    ("name", "wrong", "hint"),
    [
        ("notify", '"on"', "Write 'true' or 'false'."),
        ("notify", "1", "Write 'true' or 'false'."),
        ("lower_by", "2", "Write a number from 0 to 1."),
        ("lower_by", "-0.1", "Write a number from 0 to 1."),
        ("job_attempts", "0", "Write a number from 1 on."),
        ("embed_batch", "0", "Write a number from 1 to 10000."),
        ("embed_batch", "10001", "Write a number from 1 to 10000."),
        ("working_days", '"30"', "Write a number from 0 on."),
        ("working_days", "null", "Write a number from 0 on."),
        ("extract_every", "2147483648", "Write a number from 0 on."),
        ("installation", "3", "Leave the name that the installation made."),
    ],
)
def test_a_wrong_value_is_refused(tx, name, wrong, hint):
    with pytest.raises(psycopg.Error) as error, tx.transaction():
        tx.execute(CHANGE, (wrong, name))
    assert (error.value.sqlstate, error.value.diag.message_hint) == ("ME008", hint)
    assert error.value.diag.message_primary == f"setting {name} cannot be {wrong}"


def test_what_a_setting_can_have_is_taken(tx):
    for name, right in (("notify", "false"), ("lower_by", "1"), ("extract_every", "0")):
        tx.execute(CHANGE, (right, name))
        assert str(value(tx, "SELECT memoir._fits_setting(%s, %s)", name, right)) == "True"
    tx.execute("INSERT INTO memoir.setting VALUES ('of_mine', '\"anything\"', '')")
    assert value(tx, "SELECT value FROM memoir.setting WHERE name = 'of_mine'") == "anything"


def test_every_setting_of_the_installation_is_known_and_fits(tx):
    known = "SELECT array_agg(name ORDER BY name) FROM memoir._known_settings()"
    there = "SELECT array_agg(name ORDER BY name) FROM memoir.setting"
    assert value(tx, known) == value(tx, there)
    assert {row.status for row in call(tx, "health") if row.name == "settings"} == {"ok"}


def test_a_wrong_value_from_an_older_version_is_not_in_the_way(tx):
    tx.execute("SET LOCAL check_function_bodies = off")
    tx.execute(CHANGE, ("-3", "line_length"))
    tx.execute("SET LOCAL check_function_bodies = on")
    tx.execute("UPDATE memoir.setting SET value = value, description = 'mine'")
    said = "SELECT value FROM memoir.health() WHERE name = 'settings'"
    assert value(tx, said) == "out of range: line_length = -3"
