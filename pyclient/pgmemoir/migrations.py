"""Brings a database to the SQL of this package, and back.

Two kinds of text. ``migrations/NNNN_name.sql`` makes tables, types, indexes and seed rows; each
runs once and is never edited after release. ``sql/`` makes functions, views, triggers and policies;
all of it runs again when any of it changed or a migration ran. Every call is one transaction under
one advisory lock: all of it happens or nothing, and only one of several processes does the work.

`ledger` says what ran.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import errors, generators, pq
from psycopg.rows import tuple_row

from . import ledger, sqlfiles, sqltext
from .paths import Source, installed
from .prerequisites import (
    RESTORE,
    Cursor,
    left_schema,
    provide,
    reading,
    refuse_extension,
    role,
    value,
    values,
    vector_schema,
)
from .sqlfiles import CODE, MigrationError, SqlFile, number
from .sqltext import line_of, statement_starts

__all__ = ["MigrationError", "Row", "down", "outdated", "status", "up"]

Connection = psycopg.Connection[Any]

# transaction_timeout is there from PostgreSQL 17 on. With session_replication_role = replica the
# triggers that make functions would not run; only a superuser sets that, so it is left if not set.
_WITHOUT_LIMITS = """
SELECT pg_catalog.set_config(
    name, CASE name WHEN 'session_replication_role' THEN 'origin' ELSE '0' END, true)
FROM pg_catalog.pg_settings
WHERE name IN ('statement_timeout', 'transaction_timeout')
   OR name = 'session_replication_role' AND setting <> 'origin'"""

_TRANSACTION = "SELECT pg_current_xact_id()::text"

_OWN_INDEXES = """
SELECT c.oid::regclass::text
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('memoir.trace') AND c.relname ~ '^trace_(leading|near|words)_[0-9]+$'
"""

# What sql/95_access granted of the objects that stay when the code goes. The roles are of the whole
# cluster and stay, too.
_REVOKE = """
SELECT format('REVOKE ALL ON ALL TABLES IN SCHEMA memoir FROM %1$I;'
              'REVOKE ALL ON ALL SEQUENCES IN SCHEMA memoir FROM %1$I;'
              'REVOKE ALL ON SCHEMA memoir FROM %1$I', rolname)
FROM pg_roles
WHERE rolname IN ('memoir_reader', 'memoir_agent', 'memoir_worker', 'memoir_admin')
UNION ALL
SELECT format('REVOKE ALL ON ROUTINE %s FROM %I', p.oid::regprocedure, r.rolname)
FROM pg_proc AS p, aclexplode(p.proacl) AS a JOIN pg_roles AS r ON r.oid = a.grantee
WHERE r.rolname IN ('memoir_reader', 'memoir_agent', 'memoir_worker', 'memoir_admin')
  AND p.oid IN (SELECT d.objid FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
                WHERE d.classid = 'pg_proc'::regclass AND e.extname = 'vector')
"""

_NAME = re.compile(r"^[\w ]+? (?:memoir\.)?(\w+)")
# What a text makes, also with a statement that it puts together of strings.
_MADE = re.compile(r"(?:FUNCTION|PROCEDURE|VIEW|TRIGGER|POLICY) (\w+)|'(\w+)'")


@dataclass(frozen=True)
class Row:
    """One line of `status`.

    ``state`` is ``applied``, ``pending`` (not here yet; for the code: or changed since), ``edited``
    (the file is not the one that ran) or ``unknown`` (a newer package applied it). The last three
    fields are None while nothing was applied.
    """

    name: str
    kind: str
    state: str
    applied_at: datetime | None = None
    applied_by: str | None = None
    ms: int | None = None


def up(
    conn: Connection,
    target: int | None = None,
    dry_run: bool = False,
    *,
    anew: bool = False,
    source: Source | None = None,
) -> list[str]:
    """Apply what is missing.

    Args:
        conn: a connection outside any transaction; its settings are left as they were.
        target: number of the last migration to apply, None for all. The code of ``sql/`` belongs to
            the newest migration and is left alone while one is missing.
        dry_run: run everything, then roll back.
        anew: run the code also where it is the same: it puts back what somebody dropped or rewrote.
        source: the SQL to use instead of the package's own.

    Returns:
        the files that ran, in order; empty when there was nothing to do.

    Raises:
        MigrationError: nothing was changed.
    """
    source = source or installed()
    migrations, code = sqlfiles.migrations(source), sqlfiles.code(source)
    with _transaction(conn, keep=not dry_run) as cur:
        made = provide(cur)
        ran = ledger.read(cur)
        if ran and "extension vector" in made:
            raise MigrationError(
                "the extension vector was dropped here, and with it columns of memoir's tables",
                hint=RESTORE,
            )
        if not ran and value(cur, "SELECT to_regclass('memoir.migration')"):
            raise MigrationError(
                "memoir's tables are here without their rows, as a dump of the schema alone"
                " leaves them out",
                hint=f"{RESTORE} Make such a dump without it: pg_dump --schema-only -N memoir",
            )
        if not ran:
            cur.execute(ledger.TABLE)
            ledger.record(cur, ledger.MIGRATE, "", "base", time.monotonic(), made)
        _check_history(migrations, ran)
        _set_path(cur)
        missing = [file for file in migrations if file.name not in ran]
        todo = [file for file in missing if target is None or number(file.name) <= target]
        before = ran.get(CODE)
        runs_code = todo == missing and (bool(todo) or anew or not _is_fresh(cur, before, code))
        if todo or runs_code:
            _check_owner(cur)
        for file in todo:
            began = time.monotonic()
            _run(cur, file)
            ledger.record(cur, file.name, file.sha256, "migration", began)
        if not runs_code:
            return [file.name for file in todo]
        _run_code(cur, code, before)
        return [file.name for file in (*todo, *code)]


def down(conn: Connection, target: int, *, source: Source | None = None) -> list[str]:
    """Undo every migration after ``target``; 0 leaves the database as before the first `up`.

    Drops the tables with their rows. The schema stays while something else is in it, and so does an
    extension ``vector`` that existed before or that others now use.

    Args:
        conn: as for `up`.
        target: number of the last migration to keep.
        source: the SQL to use instead of the package's own.

    Returns:
        the names of what was undone, in order.

    Raises:
        MigrationError: nothing was changed.
    """
    source = source or installed()
    if target < 0:
        raise MigrationError(f"there is no migration {target}", hint="0 undoes all of them.")
    with _transaction(conn, keep=True) as cur:
        refuse_extension(cur, "DROP EXTENSION pgmemoir; deletes it, and the memories.")
        ran = ledger.read(cur)
        applied = ledger.applied(ran)
        undo = [sqlfiles.undoing(source, n) for n in reversed(applied) if number(n) > target]
        if not ran or (not undo and target > 0):
            return []
        _check_owner(cur)
        if target == 0:
            _refuse_sources(cur)
        _set_path(cur)
        undone = [file.path.name for file in undo]
        if code := ran.get(CODE):
            _drop_own_indexes(cur)
            _drop(cur, code.objects)
            for statement in values(cur, _REVOKE):
                cur.execute(statement.encode())
            ledger.forget(cur, CODE)
            undone.insert(0, CODE)
        for file in undo:
            _run(cur, file)
            ledger.forget(cur, file.path.name)
        if target == 0:
            cur.execute("DROP TABLE memoir.migration")
            _drop(cur, reversed(ran[ledger.MIGRATE].objects), keep_used=True)
        return undone


def status(conn: Connection, *, source: Source | None = None) -> list[Row]:
    """What is applied and what is not: one row per migration, then one for the code of ``sql/``.

    Only reads. Works without an installation, and inside a transaction of the caller.
    """
    source = source or installed()
    with reading(conn) as cur:
        ran = ledger.read(cur)
        fresh = _is_fresh(cur, ran.get(CODE), sqlfiles.code(source))
    rows = []
    for file in sqlfiles.migrations(source):
        entry = ran.pop(file.name, None)
        edited = entry is not None and entry.sha256 != file.sha256
        rows.append(_row(file.name, "migration", entry, "edited" if edited else "applied"))
    code = ran.pop(CODE, None)
    rows += [_row(name, "migration", ran[name], "unknown") for name in ledger.applied(ran)]
    return [*rows, _row(CODE, "code", code, "applied" if fresh else "pending")]


def outdated(conn: Connection, *, source: Source | None = None) -> list[str]:
    """What the next `up` drops: what is not in the code of ``sql/``, or there with another header.

    Only reads. A function with another header is made again as it is there, and so is what of ours
    was built on it.
    """
    code = sqlfiles.code(source or installed())
    made_now = {a or b for file in code for a, b in _MADE.findall(file.text)}
    with conn.transaction(force_rollback=True), psycopg.Cursor(conn, row_factory=tuple_row) as cur:
        before = ledger.read(cur).get(CODE)
        if before is None or before.sha256 == sqlfiles.digest(code):
            return []
        cur.execute(ledger.PLAIN_NAMES)
        _set_path(cur)
        changed = [item for item, is_changed, _ in _in_the_way(cur, code) if is_changed]
        made = values(cur, ledger.MADE_BEFORE)
    gone = [item for item in made if (name := _NAME.match(item)) and name[1] not in made_now]
    return sorted(item.replace("pg_catalog.", "") for item in {*changed, *gone})


def _row(name: str, kind: str, entry: ledger.Entry | None, state: str) -> Row:
    if entry is None:
        return Row(name, kind, "pending")
    return Row(name, kind, state, entry.applied_at, entry.applied_by, entry.ms)


def _is_fresh(cur: Cursor, before: ledger.Entry | None, code: list[SqlFile]) -> bool:
    """Whether this text of the code ran here, and pgvector is where it was then."""
    same = before is not None and before.sha256 == sqlfiles.digest(code)
    return same and left_schema(cur) is None


def _check_history(migrations: list[SqlFile], ran: dict[str, ledger.Entry]) -> None:
    """Stop when this package and this database do not share one history of migrations."""
    known = {file.name: file for file in migrations}
    applied = ledger.applied(ran)
    for name in applied:
        if name not in known:
            raise MigrationError(
                f"the database has {name}, which this version of pgmemoir does not know",
                hint="Upgrade the package: pip install -U pgmemoir",
            )
        if known[name].sha256 != ran[name].sha256:
            raise MigrationError(
                f"{name} was edited after it ran here",
                detail=f"it ran as {ran[name].sha256}, the file is now {known[name].sha256}",
                hint="If a version ran here that was never released: memoir export each user with"
                " that version, then memoir import into a new database. If you edited the file:"
                " restore it and put the change into a new migration. If the data may go:"
                f" memoir migrate down {number(name) - 1}, then up.",
                file=known[name].path,
            )
    for file in migrations:
        if file.name not in ran and applied and file.name < applied[-1]:
            raise MigrationError(
                f"{file.name} comes before {applied[-1]}, which is already applied",
                hint="Give it a number after the last one applied.",
                file=file.path,
            )


class _Cursor(psycopg.Cursor[tuple[Any, ...]]):
    """A cursor in a transaction whose number it knows."""

    transaction: str


@contextmanager
def _transaction(conn: Connection, keep: bool) -> Iterator[_Cursor]:
    """One transaction under the lock, kept or rolled back; the connection is left as it was."""
    if conn.info.transaction_status is not pq.TransactionStatus.IDLE:
        raise MigrationError(
            "the connection is closed" if conn.closed else "the connection is in a transaction",
            hint="Pass a connection outside a transaction: commit or roll back first.",
        )
    autocommit = conn.autocommit
    conn.autocommit = True
    try:
        with _Cursor(conn, row_factory=tuple_row) as cur:
            # READ COMMITTED: what another process applied while this one waited must be seen.
            cur.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            try:
                cur.execute("SET LOCAL client_encoding = 'UTF8'")
                cur.execute("SET LOCAL client_min_messages = warning")
                cur.execute("SET LOCAL standard_conforming_strings = on")
                cur.execute("SET LOCAL plpgsql.extra_errors = ''")
                cur.execute(ledger.PLAIN_NAMES)
                cur.execute(_WITHOUT_LIMITS)
                # Ends with the transaction, also behind a pooler that shares sessions.
                cur.execute("SELECT pg_advisory_xact_lock(%s)", (ledger.LOCK,))
                cur.transaction = value(cur, _TRANSACTION)
                yield cur
            except BaseException:
                if not conn.closed:
                    cur.execute("ROLLBACK")
                raise
            cur.execute("COMMIT" if keep else "ROLLBACK")
    finally:
        if not conn.closed:
            conn.autocommit = autocommit


def _set_path(cur: Cursor) -> None:
    """The path every SQL file is written for."""
    path = ", ".join(filter(None, ("memoir", vector_schema(cur), "pg_temp")))
    cur.execute("SELECT set_config('search_path', %s, true)", (path,))


def _run_code(cur: _Cursor, code: list[SqlFile], before: ledger.Entry | None) -> None:
    """Run all of ``sql/``, and drop what an earlier text of it made and this one does not.

    A function with other parameters goes before: the new text would be built on the one or the
    other. So do one with another result and a view with other columns, which nothing can replace.
    """
    began = time.monotonic()
    rights = _make_way(cur, _in_the_way(cur, code)) if before else {}
    for file in code:
        if before and (views := sqltext.views(file.text)):
            rights |= _run_views(cur, file, views)
        else:
            _run(cur, file)
    made = values(cur, ledger.MADE_NOW)
    for statement in [s for item in made for s in rights.get(item, [])]:
        cur.execute(statement.encode())
    if before:
        _drop(cur, (item for item in values(cur, ledger.MADE_BEFORE) if item not in made))
        ledger.forget(cur, CODE)
    ledger.record(cur, CODE, sqlfiles.digest(code), "code", began, made)


def _run_views(cur: _Cursor, file: SqlFile, views: list[str]) -> dict[str, list[str]]:
    """Run a file with views; those with other columns are dropped first (`_make_way`)."""
    try:
        with cur.connection.transaction():
            _run(cur, file)
    except MigrationError as error:
        if error.server_sqlstate != errors.InvalidTableDefinition.sqlstate:
            raise
        rights = _make_way(cur, _in_the_way(cur, views=views))
        _run(cur, file)
        return rights
    return {}


def _in_the_way(
    cur: Cursor, code: Iterable[SqlFile] = (), views: Iterable[str] = ()
) -> list[tuple[str, bool, list[str]]]:
    """Objects to drop before these files can run, or these views be made: see `ledger`."""
    headers = json.dumps([r._asdict() for file in code for r in sqltext.routines(file.text)])
    cur.execute(ledger.IN_THE_WAY.encode(), (headers, list(views)), prepare=False)
    return [(item, is_changed, rights) for item, is_changed, rights in cur]


def _make_way(cur: Cursor, found: list[tuple[str, bool, list[str]]]) -> dict[str, list[str]]:
    """Drop them; returns for each the statements that restore the rights granted on it."""
    _drop(cur, [item for item, _, _ in found])
    return {item: rights for item, _, rights in found}


def _drop(cur: Cursor, objects: Iterable[str], keep_used: bool = False) -> None:
    """Drop each ``type name``, never what others have built on it.

    Args:
        keep_used: leave an object that is still used, or that this role may not drop.
    """
    waiting = list(objects)
    while waiting:
        blocked: dict[str, psycopg.Error] = {}
        for item in waiting:
            try:
                with cur.connection.transaction():
                    cur.execute(f"DROP {item}".encode())
            except (
                errors.UndefinedFunction,
                errors.UndefinedObject,
                errors.UndefinedTable,
                errors.InvalidSchemaName,
            ):
                pass  # somebody dropped it by hand, or renamed the schema of pgvector
            except (errors.DependentObjectsStillExist, errors.InsufficientPrivilege) as error:
                blocked[item] = error
        if len(blocked) == len(waiting) and not keep_used:
            item, cause = blocked.popitem()
            raise MigrationError(
                f"cannot drop {item}: {cause.diag.message_primary}",
                detail=cause.diag.message_detail,
                hint="Drop what was built on it first.",
                server_sqlstate=cause.sqlstate,
            )
        waiting = [] if len(blocked) == len(waiting) else list(blocked)


def _check_owner(cur: Cursor) -> None:
    """Stop if this role may not change what another installed."""
    query = """SELECT relowner::regrole::text FROM pg_class
        WHERE oid = to_regclass('memoir.migration') AND NOT pg_has_role(relowner, 'USAGE')"""
    if owner := value(cur, query):
        raise MigrationError(
            f"memoir belongs to {owner}, and {role(cur)} may not change it",
            hint=f"Run this as {owner}.",
        )


def _refuse_sources(cur: Cursor) -> None:
    """Stop while tables are attached: their triggers would fail at every row."""
    if value(cur, "SELECT to_regclass('memoir.source') IS NULL"):
        return
    attached = values(cur, "SELECT name FROM memoir.source ORDER BY source_id")
    if attached:
        raise MigrationError(
            f"tables are attached: {', '.join(attached)}",
            hint=f"memoir source detach {shlex.quote(attached[0])}",
        )


def _drop_own_indexes(cur: Cursor) -> None:
    """Drop the indexes of single users, which upkeep made with functions of the code."""
    names = values(cur, _OWN_INDEXES)
    for name in names:
        cur.execute(f"DROP INDEX {name}".encode())
    if names:
        cur.execute(
            "UPDATE memoir.profile SET ann = 0, counted = 0, counted_up_to = 0 WHERE ann > 0"
        )


def _run(cur: _Cursor, file: SqlFile) -> None:
    """Send a file as one text; on failure say which line of it.

    The number of the transaction is asked for in the same message: asked before and after each of
    250 files, it took half of the client's time.

    Raises:
        MigrationError: with the file, the line and first line of the statement, and all that the
            server said.
    """
    conn = cur.connection
    conn.pgconn.send_query(f"{file.text}\n;{_TRANSACTION}".encode())
    results = conn.wait(generators.execute(conn.pgconn))
    if results[-1].status == pq.ExecStatus.FATAL_ERROR:
        raise _failure(file, len(results) - 1, errors.error_from_result(results[-1]))
    if results[-1].get_value(0, 0) != cur.transaction.encode():
        raise MigrationError(
            f"{_shown(file.path)} ends the transaction that it runs in",
            hint="Remove COMMIT and ROLLBACK from it.",
            file=file.path,
        )


def _failure(file: SqlFile, succeeded: int, error: psycopg.Error) -> MigrationError:
    """The error for the statement after ``succeeded`` others."""
    diag = error.diag
    starts = statement_starts(file.text)
    start = starts[succeeded] if succeeded < len(starts) else 0
    at = int(diag.statement_position) - 1 if diag.statement_position else start
    statement = file.text[start:].split("\n", 1)[0]
    line = line_of(file.text, at)
    said = (f"statement: {statement}", diag.message_detail, diag.context)
    return MigrationError(
        f"{_shown(file.path)}:{line}: {diag.message_primary} (SQLSTATE {error.sqlstate})",
        detail="\n".join(filter(None, said)),
        hint=diag.message_hint,
        file=file.path,
        line=line,
        server_sqlstate=error.sqlstate,
    )


def _shown(path: Path) -> str:
    """A path as short as it can be from here."""
    return min(str(path), os.path.relpath(path), key=len)
