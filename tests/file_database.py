"""A database that the tests of a file share: they read it, or roll back what they write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from pytest_postgresql.executors import NoopExecutor
from tests.databases import database


@contextmanager
def file_database(installed: NoopExecutor, name: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to a new database of that name, with memoir in it."""
    with (
        database(installed, name) as address,
        psycopg.connect(**address, autocommit=True) as conn,
    ):
        yield conn
