"""A database that the tests of a file share: they read it, or roll back what they write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from pytest_postgresql.executors import NoopExecutor
from pytest_postgresql.janitor import DatabaseJanitor


@contextmanager
def file_database(installed: NoopExecutor, name: str) -> Iterator[psycopg.Connection]:
    """An autocommit connection to a new database of that name, with memoir in it."""
    address = {"host": installed.host, "port": installed.port, "user": installed.user}
    janitor = DatabaseJanitor(**address, dbname=name, template_dbname=installed.template_dbname)
    with janitor, psycopg.connect(**address, dbname=name, autocommit=True) as conn:
        yield conn
