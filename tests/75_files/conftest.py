"""A user who did everything, once for all tests that move one."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from pytest_postgresql.executors import NoopExecutor
from tests.file_database import file_database
from tests.moving import live


@pytest.fixture(scope="session")
def life(installed: NoopExecutor) -> Iterator[tuple[psycopg.Connection, list[int]]]:
    """A database in which ada did everything, and the ids of some of her memories."""
    with file_database(installed, "lived") as conn:
        with conn.transaction():
            ids = live(conn, "ada")
        yield conn, ids


@pytest.fixture
def lived(life: tuple[psycopg.Connection, list[int]]) -> Iterator[psycopg.Connection]:
    """A connection to it, in a transaction that is rolled back."""
    conn, _ = life
    with conn.transaction(force_rollback=True):
        yield conn


@pytest.fixture
def hers(life: tuple[psycopg.Connection, list[int]]) -> list[int]:
    """The ids of some memories of ada."""
    return life[1]
