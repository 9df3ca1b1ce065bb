"""Cursors: where a list goes on."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import value

YEARS = {"min_value": datetime(1970, 1, 1), "max_value": datetime(2100, 1, 1)}


@given(key=st.floats(-1e16, 1e16), id=st.integers(-(2**63), 2**63 - 1))
def test_what_was_written_is_read_exactly(tx, key, id):
    query = "SELECT * FROM memoir._read_cursor(memoir._cursor('created', %s, %s), 'created')"
    read = tx.execute(query, (key, id)).fetchone()
    assert read == (key, id)


@given(at=st.datetimes(**YEARS, timezones=st.just(UTC)))
def test_a_time_is_exact_to_the_microsecond(tx, at):
    assert value(tx, "SELECT memoir._time_of(memoir._microseconds(%s))", at) == at


def test_without_a_cursor_a_list_begins(tx):
    row = tx.execute("SELECT * FROM memoir._read_cursor(NULL, 'created')").fetchone()
    assert row == (None, None)


NOWHERE = """created created_1 created__1 created_1_ created_1_2_3 updated_1_2 created_x_1
created_1_x created_NaN_1 created_-inf_1 created_1e17_1 created_1_99999999999999999999"""


@pytest.mark.parametrize("cursor", ["", *NOWHERE.split()])
def test_what_is_no_place_in_the_list_is_refused(tx, cursor):
    with pytest.raises(psycopg.Error) as caught, tx.transaction():
        tx.execute("SELECT memoir._read_cursor(%s, 'created')", (cursor,))
    assert caught.value.sqlstate == "ME008"
