"""Databases that tests use one after another.

Making one and dropping it costs the server 45 ms, looking at what a test left and clearing it 6.
So a database in which nothing but rows of memoir's tables changed gets the rows back it was made
with, and serves the next test. With any other change it is dropped: a new table, another function,
a setting of the database, a table that was analysed or is so large that it is planned otherwise.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import psycopg
from psycopg.errors import UndefinedTable
from pytest_postgresql.executors import NoopExecutor
from pytest_postgresql.janitor import DatabaseJanitor

# The planner takes a table that was never analysed for ten pages, if it is not larger. What is
# never empty is read by its key or as a whole, however large.
LARGEST = {False: 10 * 8192, True: 100 * 8192}

# Triggers and foreign keys do not look when rows are cleared; statements are planned once.
QUIET = "-c session_replication_role=replica -c plan_cache_mode=force_generic_plan"

TABLES = """
SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND NOT relisshared
AND relnamespace IN ('memoir'::regnamespace, 'pg_catalog'::regnamespace)
"""
TABLE = """
SELECT '{0}', count(*), count(*) FILTER (WHERE age(xmin) < (SELECT age(%(since)s::text::xid))),
       pg_relation_size('{0}')
FROM {0}
"""
# What VACUUM and CREATE INDEX write without a new version of the row, and ALTER DATABASE SET.
BESIDES = """
SELECT 'statistics', sum(relpages + reltuples::bigint)::bigint, 0, 0 FROM pg_class
UNION ALL
SELECT 'settings', count(*), 0, 0 FROM pg_db_role_setting AS s
JOIN pg_database AS d ON d.oid = s.setdatabase WHERE d.datname = current_database()
"""
OTHERS = """
SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
RESTART = """
SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)
FROM pg_sequences WHERE last_value IS NOT NULL
"""


class Database:
    """A database that is lent to tests."""

    def __init__(self, janitor: DatabaseJanitor) -> None:
        janitor.init()
        self._janitor = janitor
        where = {"host": janitor.host, "port": janitor.port, "user": janitor.user}
        self.address: dict[str, Any] = {**where, "dbname": janitor.dbname}
        self.conn = psycopg.connect(**self.address, options=QUIET, autocommit=True)
        self.conn.prepare_threshold = 0
        self.mark()

    def mark(self) -> None:
        """Rows written from now on are new."""
        self.since = self.conn.execute("SELECT pg_current_xact_id()::xid::text").fetchone()[0]

    def is_left(self) -> bool:
        """Whether the connections of the test are gone, which takes some milliseconds."""
        for _ in range(200):
            if not self.conn.execute(OTHERS).fetchall():
                return True
            time.sleep(0.001)
        return False

    def drop(self) -> None:
        self.conn.close()
        self._janitor.drop()


class Lender:
    """Lends databases of one template."""

    def __init__(self, template: NoopExecutor) -> None:
        self._template = template
        self._numbers = itertools.count(1)
        self._free: list[Database] = []
        first = self._make()
        self._tables = [name for (name,) in first.conn.execute(TABLES)]
        self._look = " UNION ALL ".join([*(TABLE.format(t) for t in self._tables), BESIDES])
        self._origin = self._seen(first)
        self._rows = {name: _copied(first, name) for name in self._tables if _is_ours(name)}
        self._free.append(first)

    def lend(self) -> Database:
        return self._free.pop() if self._free else self._make()

    def take_back(self, database: Database) -> None:
        """Clear it, or drop it where that is not enough."""
        try:
            is_as_made = database.is_left() and self._restored(database)
        except (psycopg.OperationalError, UndefinedTable):  # it ended all, or memoir is gone
            is_as_made = False
        if is_as_made:
            self._free.append(database)
        else:
            database.drop()

    def close(self) -> None:
        for database in self._free:
            database.drop()

    def _make(self) -> Database:
        t = self._template
        name = f"lent{next(self._numbers)}"
        where = {"host": t.host, "port": t.port, "user": t.user}
        return Database(DatabaseJanitor(**where, dbname=name, template_dbname=t.template_dbname))

    def _seen(self, database: Database) -> dict[str, tuple[int, int, int]]:
        """Of every table: how many rows it has, how many of them are new, how large it is."""
        look = database.conn.execute(self._look, {"since": database.since})
        return {name: numbers for name, *numbers in look.fetchall()}

    def _restored(self, database: Database) -> bool:
        """Give the tables the rows they were made with; whether nothing else is changed."""
        conn = database.conn
        for name, (rows, new, size) in self._seen(database).items():
            were, _, _ = self._origin[name]
            if _is_ours(name) and size > LARGEST[were > 0]:
                return False
            if new or rows != were:
                if not _is_ours(name):
                    return False
                conn.execute(f"DELETE FROM {name}")
                with conn.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                    copy.write(self._rows[name])
        conn.execute(RESTART)
        conn.execute("SELECT pg_stat_force_next_flush()")
        conn.execute("SELECT pg_stat_reset()")
        database.mark()
        return True


def _is_ours(table: str) -> bool:
    return table.startswith("memoir.")


def _copied(database: Database, table: str) -> bytes:
    """The rows of a table."""
    with database.conn.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(bytes(part) for part in copy)
