"""Settings of a user: what he decided about his memory."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.types.json import Jsonb
from tests.rows import call, refused, row_counts, value

DEFAULTS = {"memory": True, "auto_extract": True, "confirm": False, "show_references": False}


def get(conn, **more):
    """All settings."""
    return call(conn, "get_settings", **more)[0].get_settings


def change(conn, user_id=None, **settings):
    """Change some; all settings."""
    return call(conn, "set_settings", settings=settings, user_id=user_id)[0].set_settings


def test_a_user_who_chose_nothing_has_the_defaults(tx):
    assert get(tx, user_id="ada") == DEFAULTS


def test_settings_change_one_by_one(tx):
    assert change(tx, memory=False) == {**DEFAULTS, "memory": False}
    assert change(tx, confirm=True) == {**DEFAULTS, "memory": False, "confirm": True}
    assert change(tx, memory=True) == get(tx) == {**DEFAULTS, "confirm": True}


def test_the_settings_of_another_user_stay(tx):
    change(tx, "ada", memory=False)
    assert get(tx) == DEFAULTS


def test_a_change_to_what_is_so_writes_nothing(tx):
    change(tx, memory=False)
    version = "SELECT ctid::text FROM memoir.profile"
    before = value(tx, version)
    change(tx, memory=False)
    change(tx)
    assert value(tx, version) == before


def test_the_profile_computes_the_same_with_the_same_defaults(tx):
    columns = "SELECT memory_on, auto_extract, confirm, show_references FROM memoir.profile"
    for chosen in ({}, {name: not default for name, default in DEFAULTS.items()}):
        change(tx, **chosen)
        assert tx.execute(columns).fetchone() == tuple((DEFAULTS | chosen).values())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"memmory": True}, 'unknown setting "memmory"'),
        ({"memory": "off"}, 'setting "memory" must be true or false, not "off"'),
        ({"memory": 1}, 'setting "memory" must be true or false, not 1'),
        ({"memory": None}, 'setting "memory" must be true or false, not null'),
        ([], "settings must be a JSON object, not []"),
        (None, "settings must be a JSON object, not null"),
    ],
)
def test_what_is_no_setting_is_refused_and_the_known_ones_are_listed(tx, settings, said):
    before = row_counts(tx)
    diagnosis = refused(tx, "set_settings", settings=Jsonb(settings))
    assert (diagnosis.sqlstate, diagnosis.message_primary) == ("ME008", said)
    assert set(diagnosis.message_detail.removeprefix("Settings: ").split(", ")) == set(DEFAULTS)
    assert row_counts(tx) == before


def test_settings_missing_altogether_are_refused(tx):
    assert refused(tx, "set_settings", settings=None).message_primary.endswith("not NULL")


def test_of_settings_one_of_which_is_wrong_none_counts(tx):
    refused(tx, "set_settings", settings={"memory": False, "colour": True})
    assert get(tx) == DEFAULTS


def test_a_transaction_that_still_sees_a_purged_user_is_to_be_tried_again(db, dsn):
    db.execute("SELECT memoir.set_settings('{\"confirm\": true}')")
    with psycopg.connect(dsn) as late:
        late.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        value(late, "SELECT count(*) FROM memoir.profile")
        db.execute("SELECT memoir.purge_user('default')")
        with pytest.raises(psycopg.errors.SerializationFailure):
            late.execute("SELECT memoir.set_settings('{\"memory\": false}')")
