"""`Memoir` and `AsyncMemoir`: memory for an agent, in its PostgreSQL.

Their methods are written once, in `Recalling` and `Management`. The two differ only in how they
carry out a step.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, cast
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import PipelineStatus, TransactionStatus

from . import calls_replica
from .calls import (
    SEES_ONE_USER,
    SESSION,
    UNNAME_USER,
    Call,
    name_user,
)
from .cursors import AsyncCursor, Pipelined, is_free
from .embedders import embedded
from .errors import MemoirError, translate
from .forks import mind_forks
from .memories import Filters, Listed
from .recalling import Recalling
from .statements import answer, send
from .steps import DEFAULT, Batch, Embed, EmbedderChoice, Plan

T = TypeVar("T")


class _Turns:
    """The lock by which tasks take turns, one for each event loop: a script may run several."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def lock(self) -> asyncio.Lock:
        """The lock of the running loop."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock


# Locks of connections that callers passed: a call is several statements, and no other client of the
# connection may send its own in between.
_LOCKS: WeakKeyDictionary[psycopg.Connection[Any], threading.RLock] = WeakKeyDictionary()
_TURNS: WeakKeyDictionary[psycopg.AsyncConnection[Any], _Turns] = WeakKeyDictionary()
_MAKING_ONE = threading.Lock()

# Memories per page, where pages are read only to return memories one by one.
_PAGE = 500

Given = TypeVar("Given", psycopg.Connection[Any], psycopg.AsyncConnection[Any])


class Memoir(Recalling):
    """The memory of one user in one database.

    Args:
        conn_or_dsn: a psycopg connection, whose transaction stays the caller's: it is never
            committed or rolled back here. Or a connection string: the client opens its own
            connection at the first call, in autocommit. Default: ``MEMOIR_DSN``, else the
            embedded server of the data directory, which is started if it is not running.
        user: whose memory; default: the setting ``memoir.user_id`` of the session, else "default".
            A role that row-level security shows only one user (memoir_reader, memoir_agent) is
            shown this one, for the transaction of each call, if ``memoir.user_id`` is not set.
        embedder: makes vectors of texts; None recalls by words alone; default:
            `embedders.default_embedder`.

    Every method raises the classes of `errors` for what the database refuses, and psycopg's own
    errors for the rest (such as a connection lost during the call). If the server has closed the
    client's own connection between calls, it is opened again. Threads may share a client, or a
    connection with a client each; they take turns. A forked process opens a connection of its own.

    A call may be interrupted, by Ctrl-C or as a cancelled task: nothing of it is half done. If it
    sent several statements at once (as a role that is shown one user, or for gold sets and
    sources), the connection is closed, since psycopg leaves it unusable; the client's own is opened
    again.
    """

    def __init__(
        self,
        conn_or_dsn: psycopg.Connection[Any] | str | None = None,
        *,
        user: str | None = None,
        embedder: EmbedderChoice = DEFAULT,
    ) -> None:
        self._dsn, given = _dsn_or_given(conn_or_dsn, psycopg.Connection)
        self._own = given is None
        self._conn = given
        self._lock = _lock_of(given)
        self._names_user: bool | None = None
        super().__init__(user, embedder, lambda: _keeps_writes(given))
        if self._own:
            mind_forks(self)

    def _begin_anew(self) -> None:
        """In a forked process; the connection is that of the process it comes from."""
        self._conn, self._lock = None, threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, if it is the client's own; a later call opens another."""
        with self._lock:
            if self._own and self._conn is not None:
                self._conn.close()
                self._conn = None

    def memories(self, **filters: Unpack[Filters]) -> Iterator[Listed]:
        """All memories of a list, one by one, as `list_memories` has them; read page by page."""
        page = self.list_memories(page_size=_PAGE, **filters)
        while page:
            yield from page
            page = self.list_memories(page_size=_PAGE, after=page[-1].next, **filters)

    def wait_for(self, token: str, timeout: float = 1.0) -> bool:
        """On a replica: wait until everything the token stands for can be read here.

        Args:
            token: of `written_at`, on the primary.
            timeout: seconds, 0..3600.

        Returns:
            False if it is not here in time: read on the primary instead.
        """
        for pause in calls_replica.pauses(timeout):
            time.sleep(pause)
            if self._run(calls_replica.has(token)):
                return True
        return False

    def _run(self, plan: Call[T] | Plan[T]) -> T:
        """Carry out a call, or the steps of a plan, and return the answer."""
        if isinstance(plan, Call):
            return cast(T, self._perform(plan))
        try:
            step = next(plan)
            while True:
                try:
                    done = self._perform(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(done)
        except StopIteration as end:
            return cast(T, end.value)

    def _perform(self, step: Call[Any] | Batch | Embed) -> Any:
        if isinstance(step, Embed):
            return embedded(step.embedder, step.texts)
        with self._lock:
            conn = self._connection()
            try:
                if self._user is None:
                    return _carry_out(conn, step)
                if self._names_user is None:
                    self._names_user = answer(conn, SEES_ONE_USER)
                if not self._names_user:
                    return _carry_out(conn, step)
                with _as_user(conn, self._user):
                    return _carry_out(conn, step)
            except psycopg.Error as error:
                raise translate(error) from error

    def _connection(self) -> psycopg.Connection[Any]:
        """The connection; an own one is opened when there is none that takes a statement."""
        if self._conn is None or (self._own and not is_free(self._conn)):
            self.close()
            conn = psycopg.connect(
                resolve_dsn(self._dsn),
                autocommit=True,
                client_encoding="utf8",
                fallback_application_name="pgmemoir",
            )
            try:
                _prepare_nothing_if_pooled(conn, answer(conn, SESSION))
            except BaseException:  # Ctrl-C too
                conn.close()
                raise
            self._conn = conn
        return self._conn


class AsyncMemoir(Recalling):
    """`Memoir` for asyncio: the same arguments and methods, to be awaited.

    The embedder runs in a thread. Tasks may share a client, or a connection with a client each;
    they take turns at the database.
    """

    _is_async = True

    def __init__(
        self,
        conn_or_dsn: psycopg.AsyncConnection[Any] | str | None = None,
        *,
        user: str | None = None,
        embedder: EmbedderChoice = DEFAULT,
    ) -> None:
        self._dsn, given = _dsn_or_given(conn_or_dsn, psycopg.AsyncConnection)
        self._own = given is None
        self._conn = given
        self._turns = _turns_of(given)
        self._names_user: bool | None = None
        super().__init__(user, embedder, lambda: _keeps_writes(given))
        if self._own:
            mind_forks(self)

    def _begin_anew(self) -> None:
        """See `Memoir._begin_anew`."""
        self._conn, self._turns = None, _Turns()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """See `Memoir.close`."""
        async with self._turns.lock():
            await self._discard()

    async def _discard(self) -> None:
        if self._own and self._conn is not None:
            await self._conn.close()
            self._conn = None

    async def memories(self, **filters: Unpack[Filters]) -> AsyncIterator[Listed]:
        """See `Memoir.memories`; for ``async for``."""
        page = await self.list_memories(page_size=_PAGE, **filters)
        while page:
            for memory in page:
                yield memory
            page = await self.list_memories(page_size=_PAGE, after=page[-1].next, **filters)

    async def wait_for(self, token: str, timeout: float = 1.0) -> bool:
        """See `Memoir.wait_for`."""
        for pause in calls_replica.pauses(timeout):
            await asyncio.sleep(pause)
            if await self._run(calls_replica.has(token)):
                return True
        return False

    async def _run(self, plan: Call[T] | Plan[T]) -> T:
        if isinstance(plan, Call):
            return cast(T, await self._perform(plan))
        try:
            step = next(plan)
            while True:
                try:
                    done = await self._perform(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(done)
        except StopIteration as end:
            return cast(T, end.value)

    async def _perform(self, step: Call[Any] | Batch | Embed) -> Any:
        if isinstance(step, Embed):
            return await asyncio.to_thread(embedded, step.embedder, step.texts)
        async with self._turns.lock():
            conn = await self._connection()
            try:
                if self._user is None:
                    return await _carry_out_async(conn, step)
                if self._names_user is None:
                    self._names_user = await _execute_async(conn, SEES_ONE_USER)
                if not self._names_user:
                    return await _carry_out_async(conn, step)
                async with _as_user_async(conn, self._user):
                    return await _carry_out_async(conn, step)
            except psycopg.Error as error:
                raise translate(error) from error

    async def _connection(self) -> psycopg.AsyncConnection[Any]:
        if self._conn is None or (self._own and not is_free(self._conn)):
            await self._discard()
            dsn = await asyncio.to_thread(resolve_dsn, self._dsn)
            conn = await psycopg.AsyncConnection.connect(
                dsn,
                autocommit=True,
                client_encoding="utf8",
                fallback_application_name="pgmemoir",
            )
            try:
                _prepare_nothing_if_pooled(conn, await _execute_async(conn, SESSION))
            except BaseException:  # a cancelled task too
                await conn.close()
                raise
            self._conn = conn
        return self._conn


def _lock_of(given: psycopg.Connection[Any] | None) -> threading.RLock:
    if given is None:
        return threading.RLock()
    with _MAKING_ONE:
        return _LOCKS.setdefault(given, threading.RLock())


def _turns_of(given: psycopg.AsyncConnection[Any] | None) -> _Turns:
    if given is None:
        return _Turns()
    with _MAKING_ONE:
        return _TURNS.setdefault(given, _Turns())


def resolve_dsn(dsn: str | None) -> str:
    """The given one, else ``MEMOIR_DSN``, else the embedded server of the data directory."""
    dsn = dsn or os.environ.get("MEMOIR_DSN")
    if not dsn:
        return embedded_dsn()
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:  # its text quotes the string, with a password
        raise MemoirError(
            "that is no connection string of PostgreSQL",
            hint="One is postgresql://user@host:5432/database; SQLAlchemy's +psycopg is not in it.",
        ) from None
    return dsn


def embedded_dsn(data_dir: Path | None = None) -> str:
    """Start the embedded server when it is not running, and bring its schema up to date.

    Args:
        data_dir: where its data is; default `server.default_data_dir`.
    """
    from . import migrations, server

    dsn = server.start(data_dir or server.default_data_dir())
    with psycopg.connect(dsn, autocommit=True) as conn:
        migrations.up(conn)
    return dsn


def _dsn_or_given(value: Any, kind: type[Given]) -> tuple[str | None, Given | None]:
    """The connection string, or the connection, that a client was made with."""
    if isinstance(value, str) and not value.strip():  # of a variable that was not set
        raise MemoirError(
            "the connection string is empty",
            hint="Without one it is that of MEMOIR_DSN, else the embedded server's.",
        )
    if value is None or isinstance(value, str):
        return value, None
    if isinstance(value, kind):
        if not value.closed and value.info.encoding != "utf-8":
            # Of SQL_ASCII psycopg reads bytes, and JSON it sends and reads as UTF-8 all the same.
            encoding = (value.pgconn.parameter_status(b"client_encoding") or b"").decode()
            raise MemoirError(
                f"this connection is set to {encoding}: memory is text and JSON in UTF-8",
                hint="Before you pass it: conn.execute(\"SET client_encoding TO 'UTF8'\")",
            )
        return None, value
    given = type(value).__name__
    raise TypeError(f"{given} is neither a connection string nor a psycopg.{kind.__name__}")


def _prepare_nothing_if_pooled(
    conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], pid: int
) -> None:
    """Prepare no statements behind a pooler, which reports pids of its own.

    There the next statement may go to another session, where the same name is another client's
    statement.
    On a direct connection a recall is prepared, which saves 6 % of its processor time.
    """
    if pid != conn.info.backend_pid:
        conn.prepare_threshold = None


def _keeps_writes(given: psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None) -> bool:
    """Whether a write on this connection is committed at once; the client's own (None) always."""
    if given is None:
        return True
    return given.autocommit and given.info.transaction_status == TransactionStatus.IDLE


def _carry_out(conn: psycopg.Connection[Any], step: Call[Any] | Batch) -> Any:
    if isinstance(step, Call):
        return answer(conn, step)
    with Pipelined(conn) as inside, conn.pipeline(), inside:
        cursors = [send(conn, call) for call in step.calls]
    sent = zip(step.calls, cursors, strict=True)
    return [call.parse(cursor.fetchall()) for call, cursor in sent]


@contextmanager
def _as_user(conn: psycopg.Connection[Any], user: str) -> Iterator[None]:
    """Set ``memoir.user_id`` to this user for the block, unless the caller has set it.

    It is set for the client's own transaction, or for this part of the caller's: nothing is left in
    the session, which a pooler may give to others.
    """
    if _keeps_writes(conn):
        with Pipelined(conn) as inside, conn.pipeline(), conn.transaction(), inside:
            send(conn, name_user(user))
            yield
    else:
        named = answer(conn, name_user(user))
        try:
            yield
        finally:
            if named and _is_whole(conn):
                answer(conn, UNNAME_USER)


async def _send_async(conn: psycopg.AsyncConnection[Any], call: Call[T]) -> AsyncCursor:
    return await AsyncCursor(conn).execute(call.statement, call.params, prepare=call.prepare)


async def _execute_async(conn: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
    cursor = await _send_async(conn, call)
    return call.parse(await cursor.fetchall())


async def _carry_out_async(conn: psycopg.AsyncConnection[Any], step: Call[Any] | Batch) -> Any:
    if isinstance(step, Call):
        return await _execute_async(conn, step)
    with Pipelined(conn) as inside:
        async with conn.pipeline():
            with inside:
                cursors = [await _send_async(conn, call) for call in step.calls]
    sent = zip(step.calls, cursors, strict=True)
    return [call.parse(await cursor.fetchall()) for call, cursor in sent]


@asynccontextmanager
async def _as_user_async(conn: psycopg.AsyncConnection[Any], user: str) -> AsyncIterator[None]:
    if _keeps_writes(conn):
        with Pipelined(conn) as inside:
            async with conn.pipeline(), conn.transaction():
                with inside:
                    await _send_async(conn, name_user(user))
                    yield
    else:
        named = await _execute_async(conn, name_user(user))
        try:
            yield
        finally:
            if named and _is_whole(conn):
                await _execute_async(conn, UNNAME_USER)


def _is_whole(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    """Whether the caller's transaction has not failed; if it has, its settings are gone anyway.

    In a pipeline of the caller's its status comes later than the failure.
    """
    return (
        conn.info.transaction_status == TransactionStatus.INTRANS
        and conn.pgconn.pipeline_status != PipelineStatus.ABORTED
    )
