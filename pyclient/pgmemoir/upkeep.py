"""`maintain` is the daily upkeep, and `tend_recall` what many new memories call for.

The server commits in between (``memoir.maintain_all``). Here is what it leaves to the command: the
indexes of users with many memories, and the one of all recalls where it is half empty. CREATE and
REINDEX INDEX CONCURRENTLY run outside a transaction, so that memories are written meanwhile.
Whatever stops it (Ctrl-C, a crash) leaves an index that nobody uses: recall goes on as before, and
the next run drops it and builds it again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import tuple_row

from . import calls
from .calls import Maintained
from .connections import connect, has_own_session
from .errors import MemoirError
from .prerequisites import value, vector_schema
from .statements import answer

Cursor = psycopg.Cursor[Any]

Report = Callable[[float, str], None]
"""Takes how much of an index is built, from 0 to 1, and what it waits for, or nothing."""

Watch = Callable[[str], AbstractContextManager[Report]]
"""Takes what is built, for example "vectors of ada"."""

# In the order of _index_statements.
_CONTENTS = {"words": "words", "near": "vectors", "leading": "importance"}
# Shares of an index that is built concurrently: the build, then its validation.
_BUILD = 0.85
_SECONDS_BETWEEN_LOOKS = 0.2

_PROGRESS = b"""SELECT phase, tuples_done, blocks_done, blocks_total
FROM pg_stat_progress_create_index WHERE pid = %s"""

# SQLSTATEs of statements and sessions that somebody ended: then nothing more is done.
_ENDED = "57"

# Only if rebuilding the index is worth it.
_BLOAT = b"""SELECT bytes, needed FROM _scan_bloat() WHERE _is_bloated(bytes, needed)"""
_PACK = "REINDEX INDEX CONCURRENTLY trace_scan"
_MB = 1024 * 1024

_TAKEN = ("drop", "repair")

# What interrupted builds and rebuilds left.
_LEFT_OVER = "SELECT _left_over_indexes()::text[]"
_COPIES = "SELECT _left_over_copies()::text[]"

# transaction_timeout is there from PostgreSQL 17 on.
_WITHOUT_LIMITS = """SELECT set_config(name, '0', false) FROM pg_settings
WHERE name IN ('statement_timeout', 'transaction_timeout', 'lock_timeout')"""

# With the name of the schema, so that a database without it is told apart.
_MAY_BUILD = "SELECT memoir._owns_tables() AND pg_try_advisory_lock(memoir._index_lock())"
_OWNER = """SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'trace'::regclass"""


class LeftUndone(MemoirError):
    """Indexes are left that this role may not build, or that another session is busy with."""


def maintain(dsn: str, user: str | None, everybody: bool, watch: Watch) -> Iterator[Maintained]:
    """Everything that is due; yields each thing when it is done, and the report last.

    Args:
        dsn: where to connect; through a pooler no index is built.
        user: whose; None for the default user, unless everybody's.
        everybody: all users of the database.
        watch: shows the progress of one index.

    Raises:
        LeftUndone: after everything else, when indexes are left.
    """
    yield from _upkeep(dsn, calls.maintain_all(user, everybody), everybody, watch)


def planned(dsn: str, user: str | None, everybody: bool) -> list[Maintained]:
    """What `maintain` would do; changes nothing."""
    call = calls.maintain(user, everybody, build_up_to=0, dry_run=True)
    with connect(dsn) as conn:
        cur, has_session = _settled(conn)
        rows = answer(conn, call)
        half_empty = _half_empty(cur) if everybody and has_session else None
        return [half_empty, *rows] if half_empty else rows


def tend_recall(dsn: str, user: str | None, watch: Watch) -> Iterator[Maintained]:
    """Count the words of a user and build their indexes; otherwise as `maintain`."""
    yield from _upkeep(dsn, calls.tend_recall(user, build_up_to=0), False, watch)


def _upkeep(
    dsn: str, call: calls.Call[list[Maintained]], everybody: bool, watch: Watch
) -> Iterator[Maintained]:
    with connect(dsn) as conn:
        cur, has_session = _settled(conn)
        may_build = has_session and value(cur, _MAY_BUILD)
        rows = answer(conn, call)
        if may_build:
            yield from _indexes(cur, dsn, rows, everybody, watch)
            # At once: the server ends a closed session a moment later than the client.
            cur.execute("SELECT pg_advisory_unlock(_index_lock())")
        yield from (row for row in rows if not (may_build and row.left))
        if not may_build and any(row.left for row in rows):
            _refuse(cur, has_session)


def _settled(conn: psycopg.Connection[Any]) -> tuple[Cursor, bool]:
    """A cursor, and whether the session is this connection's own.

    That of a pooler goes to others, who would meet its search_path, limits and lock.
    """
    cur = conn.cursor(row_factory=tuple_row)
    has_session = has_own_session(conn)
    if has_session:
        _settle(cur)
    return cur, has_session


def _settle(cur: Cursor) -> None:
    """Names without a schema, and no limit of time: a large index takes minutes.

    What was written while a step waited is no error.
    """
    path = f"memoir, {vector_schema(cur)}, pg_temp"
    cur.execute("SELECT set_config('search_path', %s, false)", (path,))
    cur.execute(_WITHOUT_LIMITS)
    cur.execute("SET default_transaction_isolation = 'read committed'")
    with suppress(psycopg.Error):  # not on every system: end a build whose command has ended
        cur.execute("SET client_connection_check_interval = '1s'")


def _refuse(cur: Cursor, has_session: bool) -> None:
    if not has_session:
        raise LeftUndone(
            "indexes are not built through a pooler, so the ones above are left",
            hint="Connect to the server itself, with --dsn or MEMOIR_DSN.",
        )
    if value(cur, "SELECT _owns_tables()"):
        raise LeftUndone(
            "another session builds or drops indexes now, so the ones above are left",
            hint="When it is done, run memoir maintain again.",
        )
    owner, role = value(cur, _OWNER), value(cur, "SELECT current_user")
    raise LeftUndone(
        f'only the owner of the tables, "{owner}", can build indexes; this is "{role}"',
        hint=f"Run memoir maintain as {owner}, with --dsn or MEMOIR_DSN.",
    )


def _indexes(
    cur: Cursor, dsn: str, rows: list[Maintained], everybody: bool, watch: Watch
) -> Iterator[Maintained]:
    """Drop before building, which frees numbers. If the server refuses one index, go on."""
    steps: list[tuple[str | None, Callable[[], Maintained | None]]] = [
        (None, partial(_clear_up, cur, everybody))
    ]
    steps += [(row.user, partial(_take_away, cur, row)) for row in rows if row.left in _TAKEN]
    steps += [
        (row.user, partial(_build, cur, dsn, row, watch)) for row in rows if row.left == "build"
    ]
    if everybody:
        steps += [(None, partial(_clear, cur, _COPIES)), (None, partial(_pack, cur, dsn, watch))]
    for user, step in steps:
        try:
            done = step()
        except psycopg.Error as error:
            if error.sqlstate is None or error.sqlstate.startswith(_ENDED):
                raise
            why = {"why": error.diag.message_primary, "code": error.sqlstate}
            done = Maintained(user, "failed", None, why | {"step": "tend_indexes"})
        if done:
            yield done


def _clear_up(cur: Cursor, everybody: bool) -> Maintained | None:
    if everybody:
        cur.execute("SELECT _compile_near_rows()")
    return _clear(cur, _LEFT_OVER)


def _take_away(cur: Cursor, row: Maintained) -> Maintained:
    cur.execute("SELECT _use_own_index(%s, 0)", (row.user,))
    cur.execute("SELECT refresh_statistics(%s)", (row.user,))
    _drop(cur, value(cur, _LEFT_OVER))
    word = "index" if row.left == "drop" else "unusable index"
    return replace(row, action=f"{word} dropped")


def _clear(cur: Cursor, which: str) -> Maintained | None:
    """Drop what was left of these; None: nothing."""
    names = value(cur, which)
    _drop(cur, names)
    return Maintained(None, "left-over index dropped", None) if names else None


def _pack(cur: Cursor, dsn: str, watch: Watch) -> Maintained | None:
    """Rebuild the index of all recalls if it is half empty."""
    half_empty = _half_empty(cur)
    if half_empty:
        try:
            with watch("index of recalls") as report, _watched(dsn, cur, half_empty, report):
                _create(cur, "trace_scan_ccnew", _PACK)
        except BaseException:
            _give_up(cur, _COPIES)
            raise
    return half_empty


def _half_empty(cur: Cursor) -> Maintained | None:
    """The rebuild of the index of all recalls as an action; None if it gains too little."""
    found = cur.execute(_BLOAT).fetchone()
    if found is None:
        return None
    why = "half empty: {:,.0f} MB where {:,.0f} do".format(*(size / _MB for size in found))
    return Maintained(None, "index packed", None, {"why": why})


def _drop(cur: Cursor, names: list[str], option: str = "CONCURRENTLY") -> None:
    for name in names:
        cur.execute(sql.SQL(f"DROP INDEX {option} IF EXISTS {{}}").format(sql.Identifier(name)))


def _give_up(cur: Cursor, which: str) -> None:
    """Drop those that are half built, if that can be done soon."""
    with suppress(psycopg.Error):
        cur.execute("SET lock_timeout = '500ms'")
        _drop(cur, value(cur, which), option="")
    with suppress(psycopg.Error):
        cur.execute("SET lock_timeout = 0")


def _build(cur: Cursor, dsn: str, row: Maintained, watch: Watch) -> Maintained:
    number = value(cur, "SELECT _free_number()")
    cur.execute(
        "SELECT set_config('maintenance_work_mem', _build_memory(%s), false)", (row.memories,)
    )
    statements = value(cur, "SELECT _index_statements(%s, %s, 'CONCURRENTLY')", row.user, number)
    try:
        for name, statement in zip(_CONTENTS, statements, strict=True):
            what = f"{_CONTENTS[name]} of {row.user}"
            with watch(what) as report, _watched(dsn, cur, row, report):
                _create(cur, f"trace_{name}_{number}", statement)
        cur.execute("SELECT _use_own_index(%s, %s)", (row.user, number))
    except BaseException:
        _give_up(cur, _LEFT_OVER)
        raise
    return replace(row, action="index built")


def _create(cur: Cursor, name: str, statement: str) -> None:
    """Without parallel workers where a container has not the shared memory for them."""
    try:
        cur.execute(statement.encode())
    except psycopg.errors.DiskFull:
        _drop(cur, [name])
        cur.execute("SET max_parallel_maintenance_workers = 0")
        cur.execute(statement.encode())


@contextmanager
def _watched(dsn: str, cur: Cursor, row: Maintained, report: Report) -> Iterator[None]:
    """Report the progress of the build, from a second connection, until it ends."""
    ended = threading.Event()
    pid = cur.connection.info.backend_pid

    def look() -> None:
        with suppress(psycopg.Error), connect(dsn) as conn:
            while not ended.wait(_SECONDS_BETWEEN_LOOKS):
                found = conn.execute(_PROGRESS, (pid,)).fetchone()
                if found:
                    report(*_share(row.memories or 1, *found))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _share(memories: int, phase: str, tuples: int, block: int, blocks: int) -> tuple[float, str]:
    """How much is done, and what is waited for.

    An index by vector counts the rows it took in, any other the part of the table it has read.
    """
    part = min(1.0, tuples / memories if tuples else block / (blocks or 1))
    waits = phase if phase.startswith("waiting") else ""
    if phase.startswith("building index"):
        return _BUILD * part, ""
    if phase == "index validation: scanning table":
        return _BUILD + (1 - _BUILD) * block / (blocks or 1), ""
    before = phase in ("initializing", "waiting for writers before build")
    return 0.0 if before else _BUILD, waits
