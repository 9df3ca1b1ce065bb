"""The shared database with the tables of D0 in it."""

import psycopg
import pytest
from tests.application import make_tables


@pytest.fixture
def app(tx: psycopg.Connection) -> psycopg.Connection:
    """An application whose tables are empty and not attached."""
    make_tables(tx)
    return tx
