"""Databases that tests use one after another.

Making one and dropping it costs the server 35 ms, looking at what a test left and clearing it 3.
So a database gets the rows back that memoir's tables were made with, what a test made in it is
dropped, and it serves the next test. With any other change it is dropped itself: another function
or trigger of memoir, a setting of the database, a table that was analysed or is so large that it is
planned otherwise.

A connection is lent with it, and serves the next test too; so do the sessions of others that tests
have closed, see `sessions`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.errors import DependentObjectsStillExist, UndefinedTable
from pytest_postgresql.executors import NoopExecutor
from tests.sessions import AS_NEW, Kept

# The planner takes a table that was never analysed for ten pages, if it is not larger. A table that
# was made with rows is read by its key or as a whole, however large it is.
LARGEST = 10 * 8192
LARGEST_WITH_ROWS = 200 * 8192

# What may lie in a database that tests have rolled back.
ROLLED_BACK = 4 << 20

# Triggers and foreign keys do not look when rows are cleared; statements are planned once.
QUIET = "-c session_replication_role=replica -c plan_cache_mode=force_generic_plan"

# File by file it takes half as long as through the log.
CREATE = "CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy"

TABLES = """
SELECT oid::regclass::text FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'memoir'::regnamespace
"""
TABLE = """
SELECT '{0}', count(*), count(*) FILTER (WHERE age(xmin) < (SELECT age(%(since)s::text::xid))),
       pg_relation_size('{0}')
FROM {0}
"""
# Of the catalogues it is enough that something was written, and the server counts that. Besides,
# what VACUUM and CREATE INDEX write without a new version of a row, and ALTER DATABASE SET.
BESIDES = """
SELECT
    (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_sys_tables
     WHERE schemaname = 'pg_catalog'
       AND relid NOT IN (SELECT oid FROM pg_class WHERE relisshared)) AS catalogues,
    (SELECT sum(relpages + reltuples::bigint)::bigint FROM pg_class) AS statistics,
    (SELECT count(*) FROM pg_db_role_setting AS s JOIN pg_database AS d ON d.oid = s.setdatabase
     WHERE d.datname = current_database()) AS settings
"""
# What a test made: the database has an oid, too, and what is older came with the template.
MADE_SINCE = """
SELECT format('DROP %s IF EXISTS %s CASCADE', type, name)
FROM (
    SELECT oid, 'SCHEMA', quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^pg_.*temp_'
    UNION ALL
    SELECT oid, CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, oid::regclass::text
    FROM pg_class WHERE relkind IN ('r', 'p', 'v')
    UNION ALL
    SELECT oid, 'ROUTINE', oid::regprocedure::text FROM pg_proc
) AS made (oid, type, name)
WHERE oid > (SELECT oid FROM pg_database WHERE datname = current_database())
"""
CATALOGUES = """
SELECT oid::regclass::text FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'pg_catalog'::regnamespace AND NOT relisshared
"""
CATALOGUE = """
SELECT '{0}', count(*), count(*) FILTER (WHERE age(xmin) < (SELECT age(%(since)s::text::xid)))
FROM {0}{1}
"""
# A connection keeps its schema of temporary tables.
LASTING = {"pg_namespace": " WHERE nspname !~ '^pg_.*temp_'"}
OTHERS = """
SELECT FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
  AND pid <> pg_backend_pid() AND pid <> ALL (%s)
"""
RESTART = """
SELECT setval(format('%I.%I', schemaname, sequencename), start_value, false)
FROM pg_sequences WHERE last_value IS NOT NULL
"""


@contextmanager
def database(template: NoopExecutor, name: str, of: str | None = None) -> Iterator[dict[str, Any]]:
    """A copy of a template, or of a database there, gone at the end: how to connect to it."""
    where = {"host": template.host, "port": template.port, "user": template.user}
    with psycopg.connect(**where, dbname="postgres", autocommit=True) as admin:
        admin.execute(CREATE.format(name, of or template.template_dbname))
    yield {**where, "dbname": name}
    with psycopg.connect(**where, dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Shared:
    """The database of tests that roll back what they write.

    What is rolled back stays in the files, and is read over by whatever scans a table: at the end
    of a run a recall took three times as long as in a new database. So a large one is made anew.

    Args:
        change: what is done to each that is made.
    """

    def __init__(self, template: NoopExecutor, name: str, change: str = "SELECT") -> None:
        self._template = template
        self._name = name
        self._change = change
        self._exists = ExitStack()
        self._make()

    def connect(self) -> psycopg.Connection:
        """A connection to it, or to a new one."""
        conn = psycopg.connect(**self._address)
        if _size(conn) < self._largest:
            return conn
        conn.close()
        self.drop()
        self._make()
        return psycopg.connect(**self._address)

    def drop(self) -> None:
        self._exists.close()

    def _make(self) -> None:
        self._address = self._exists.enter_context(database(self._template, self._name))
        with psycopg.connect(**self._address) as conn:
            conn.execute(self._change)
            conn.commit()
            self._largest = _size(conn) + ROLLED_BACK


def _size(conn: psycopg.Connection) -> int:
    """Bytes of the files of a database."""
    (size,) = conn.execute("SELECT pg_database_size(current_database())").fetchone()
    conn.rollback()
    return size


class Seen(NamedTuple):
    """Of a table: how many rows it has, how many of them are new, its size in bytes."""

    rows: int
    new: int
    size: int


class Made:
    """What every database of a template has in its tables when it is made.

    Attributes:
        look: the statement that gives what is seen of each table.
        rows: of each table, its rows as COPY writes them, one a line.
        catalogues: the statement that gives of each catalogue how many rows it has, and new ones.
        described: what it gives when nothing is changed.
    """

    def __init__(self, template: NoopExecutor) -> None:
        where = {"host": template.host, "port": template.port, "user": template.user}
        with psycopg.connect(**where, dbname=template.template_dbname) as conn:
            tables = [name for (name,) in conn.execute(TABLES)]
            self.look = " UNION ALL ".join(map(TABLE.format, tables))
            self.rows = {table: _copied(conn, table) for table in tables}
            catalogues = [name for (name,) in conn.execute(CATALOGUES)]
            self.catalogues = " UNION ALL ".join(
                CATALOGUE.format(name, LASTING.get(name, "")) for name in catalogues
            )
            now = conn.execute("SELECT pg_current_xact_id()::xid::text").fetchone()[0]
            self.described = conn.execute(self.catalogues, {"since": now}).fetchall()

    def changed(self, seen: dict[str, Seen]) -> list[str]:
        """The tables that have other rows now."""
        return [
            table
            for table, now in seen.items()
            if now.new or now.rows != self.rows[table].count(b"\n")
        ]

    def is_large(self, table: str, now: Seen) -> bool:
        return now.size > (LARGEST_WITH_ROWS if self.rows[table] else LARGEST)


def _copied(conn: psycopg.Connection, table: str) -> bytes:
    """The rows of a table."""
    with conn.cursor().copy(f"COPY {table} TO STDOUT") as copy:
        return b"".join(map(bytes, copy))


class Database:
    """A database that is lent to tests, and what it was like when it was made.

    Attributes:
        dsn: its address, as psql of any version understands it.
        conn: an autocommit connection to it.
    """

    def __init__(self, template: NoopExecutor, name: str, made: Made, kept: Kept) -> None:
        self._exists = ExitStack()
        self.dsn = make_conninfo(**self._exists.enter_context(database(template, name)))
        self.conn = psycopg.connect(self.dsn, autocommit=True)
        self._conn = psycopg.connect(self.dsn, options=QUIET, autocommit=True)
        self._conn.prepare_threshold = 0
        self._made = made
        self._besides = self._conn.execute(BESIDES).fetchone()
        self._mark()
        self._sessions = self._exists.enter_context(kept.of(self.dsn))

    def clear(self) -> bool:
        """Make it what it was; whether that could be done."""
        try:
            self.conn.execute(AS_NEW)
            return self._is_left() and (self._is_whole() or self._undo()) and self._restore()
        # All connections or memoir were ended, or what was made cannot be dropped.
        except (psycopg.OperationalError, UndefinedTable, DependentObjectsStillExist):
            return False

    def drop(self) -> None:
        self.conn.close()
        self._conn.close()
        self._exists.close()

    def _mark(self) -> None:
        """Rows written from now on are new."""
        (self._since,) = self._conn.execute("SELECT pg_current_xact_id()::xid::text").fetchone()

    def _is_left(self) -> bool:
        """Whether the connections of the test are gone, which takes some milliseconds."""
        for _ in range(200):
            ours = [self.conn.info.backend_pid, *self._sessions.pids]
            if not self._conn.execute(OTHERS, (ours,)).fetchall():
                return True
            time.sleep(0.001)
        return False

    def _is_whole(self) -> bool:
        """Whether nothing but rows is changed. Only then the tables are looked at: the first time
        that takes 20 ms.
        """
        return self._conn.execute(BESIDES).fetchone() == self._besides

    def _undo(self) -> bool:
        """Drop what was made; whether memoir is then what it was."""
        if self._conn.execute(BESIDES).fetchone()[2] != self._besides[2]:
            return False
        for (statement,) in self._conn.execute(MADE_SINCE).fetchall():
            self._conn.execute(statement, prepare=False)
        described = self._conn.execute(self._made.catalogues, {"since": self._since}).fetchall()
        return (
            described == self._made.described
            and self._conn.execute(BESIDES).fetchone()[1:] == self._besides[1:]
        )

    def _restore(self) -> bool:
        """Give the tables the rows they were made with, unless one is too large for that."""
        look = self._conn.execute(self._made.look, {"since": self._since})
        seen = {table: Seen(*numbers) for table, *numbers in look}
        if any(map(self._made.is_large, seen, seen.values())):
            return False
        for table in self._made.changed(seen):
            self._conn.execute(f"DELETE FROM {table}")
            if self._made.rows[table]:
                with self._conn.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write(self._made.rows[table])
        self._conn.execute(RESTART)
        self._conn.execute("SELECT pg_stat_force_next_flush()")
        self._conn.execute("SELECT pg_stat_reset()")
        self._mark()
        return True


class Lender:
    """Lends databases of one template, with the sessions kept of them."""

    def __init__(self, template: NoopExecutor, kept: Kept) -> None:
        self._template = template
        self._kept = kept
        self._made = Made(template)
        self._numbers = count(1)
        self._free: list[Database] = []

    @contextmanager
    def lent(self) -> Iterator[Database]:
        """A database of one's own."""
        database = self._free.pop() if self._free else self._make()
        yield database
        if database.clear():
            self._free.append(database)
        else:
            database.drop()

    def close(self) -> None:
        for database in self._free:
            database.drop()

    def _make(self) -> Database:
        return Database(self._template, f"lent{next(self._numbers)}", self._made, self._kept)
