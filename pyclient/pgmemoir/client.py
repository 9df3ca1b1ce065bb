"""`Memoir` and `AsyncMemoir`: memory for an agent, in its PostgreSQL.

Their methods are written once, in `Client` and `Management`; what takes several steps is in
`steps`. The two differ only in how they carry a step out.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus

from . import calls, calls_replica, evaluation, sources
from .calls import (
    SEES_ONE_USER,
    SESSION,
    UNNAME_USER,
    Call,
    Explained,
    Fields,
    Found,
    Maintained,
    NewMemory,
    Question,
    Recall,
    Remembered,
    Search,
    VectorLike,
    name_user,
)
from .calls_memory import Applied, Changes, Filters, Id, Listed
from .checks import clean_text
from .cursors import AsyncCursor, Cursor, Pipelined, is_free
from .errors import MemoirError, translate
from .evaluation import Evaluation, GoldQuestion, Replayed
from .management import Management
from .methods import Method
from .sources import Filled
from .steps import DEFAULT, Batch, Embed, EmbedderChoice, Plan, Steps

T = TypeVar("T")

# Memories a page that is read only to give them one by one.
_PAGE = 500

Given = TypeVar("Given", psycopg.Connection[Any], psycopg.AsyncConnection[Any])


class Client(Management):
    """What both clients do, each method written once: see `Method`."""

    @Method
    def context(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Plan[str]:
        """The block of memory for a prompt, at most ``budget`` tokens; arguments as `recall`."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return (yield from self._steps.recall(question)).block

    @Method
    def recall(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Plan[Recall]:
        """The block and what is known about it.

        Args:
            query: the question; it is embedded unless ``vector`` is given.
            mode: how it is weighted: a name in ``memoir.mode`` (plan, execute, debug, chat).
            budget: tokens, 1..100000.
            vector: the question as a vector, in the model that filled the database.
            session: the conversation it belongs to.
            as_of: recall as it was then, without a time zone UTC; default now.
        """
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._steps.recall(question)

    @Method
    def explain(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Plan[list[Explained]]:
        """Every candidate of that recall with the parts of its score, the block's first."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._steps.explain(question)

    @Method
    def search(
        self,
        query: str,
        search_mode: str = "hybrid",
        *,
        keywords: Iterable[str] | None = None,
        memory_types: Iterable[str] | None = None,
        time_from: datetime | None = None,
        time_until: datetime | None = None,
        max_results: int = 5,
        min_relevance_score: float = 0.6,
        vector: VectorLike | None = None,
    ) -> Plan[list[Found]]:
        """The best memories for a query, one by one, without a budget.

        Args:
            query: what to look for; may be "" when ``keywords`` are given.
            search_mode: semantic, keyword or hybrid.
            keywords: exact filter: a memory must carry one of them.
            memory_types: only these kinds.
            time_from, time_until: only memories of this time, without a time zone UTC.
            max_results: 1..20.
            min_relevance_score: 0..1.
            vector: the query as a vector; it is embedded unless given.
        """
        search = Search.of(
            query,
            vector,
            search_mode,
            keywords,
            memory_types,
            time_from,
            time_until,
            max_results,
            min_relevance_score,
        )
        return self._steps.search(search)

    @Method
    def tools(self, language: str = "en") -> Call[list[dict[str, Any]]]:
        """The tools of an agent, as ``tools`` of OpenAI's chat completions; en or zh."""
        return calls.tools(language)

    @Method
    def system_prompt(self, language: str = "en") -> Call[str]:
        """Instructions for an agent that has the `tools`; en or zh."""
        return calls.system_prompt(language)

    @Method
    def call_tool(
        self, name: str, arguments: dict[str, Any] | str | None = None, session: str | None = None
    ) -> Plan[dict[str, Any]]:
        """Carry out a tool call of a model and return the answer, which is JSON.

        Args:
            name: one of `tools`.
            arguments: a dictionary, or the JSON text as the model wrote it. The text in it
                (``query`` or ``content``) is embedded.
            session: the conversation; in a temporary one the answer is empty.
        """
        return self._steps.call_tool(name, arguments, session)

    @Method
    def remember(
        self, content: str, kind: str = "general", **fields: Unpack[Fields]
    ) -> Plan[Remembered]:
        """Store one memory and decide what it means for those stored before: see `Remembered`.

        Args:
            content: the text, at most 10 MB; its first 4000 characters are embedded.
            kind: a name in ``memoir.kind`` (task, learning, preference, fact, turn, ...).
            fields: see `calls.Fields`.
        """
        memory = cast(NewMemory, {"content": content, "kind": kind, **fields})
        return self._steps.remember(memory)

    @Method
    def remember_many(
        self,
        memories: Iterable[NewMemory],
        progress: Callable[[int], None] | None = None,
    ) -> Plan[list[Remembered]]:
        """Store many memories, up to 1000 in a batch; a batch is stored whole or not at all.

        When more than a few are new, the word statistics of recall are counted anew.

        Args:
            memories: dictionaries with ``content``, ``kind`` and any of `calls.Fields`.
            progress: called after each batch with the number stored so far.
        """
        return self._steps.remember_many(memories, progress)

    @Method
    def update(
        self,
        memory_id: Id,
        *,
        reason: str | None = None,
        author: str = "user",
        **changes: Unpack[Changes],
    ) -> Plan[str]:
        """Change a stored memory in place; a new text is embedded.

        Args:
            memory_id: an active or pending memory; its id stays.
            reason, author: why and by whom, for its history.
            changes: see `calls_memory.Changes`.

        Returns:
            UPDATE, or NOOP when it was so already.
        """
        return self._steps.update(memory_id, changes, reason, author)

    @Method
    def apply_decisions(
        self,
        decisions: Iterable[Mapping[str, Any]] | str,
        *,
        author: str = "model",
        session: str | None = None,
        at: datetime | None = None,
    ) -> Plan[list[Applied]]:
        """Carry out decisions about memories, all of them or none; texts are embedded.

        Args:
            decisions: dictionaries that satisfy ``memoir.decision_schema()``, or the JSON text a
                model wrote.
            author: who decided. Where the user confirms first, what agent and model decide waits.
            session: the conversation they are from.
            at: when that became known, without a time zone UTC; default now.
        """
        return self._steps.apply_decisions(decisions, author, session, at)

    @Method
    def maintain(
        self, everybody: bool = False, build_up_to: int | None = None, dry_run: bool = False
    ) -> Call[list[Maintained]]:
        """The daily upkeep: forget what has had its time, tidy logs, keep recall fast, report.

        It is one transaction: with very many memories use the command ``memoir maintain``.

        Args:
            everybody: every user of the database; default this one.
            build_up_to: builds indexes of up to so many memories at once, during which writers
                wait; default the setting ``ann_inline``. The command ``memoir maintain`` makes
                nobody wait.
            dry_run: only tell what would be done.

        Returns:
            what was done, and what is left to the command.
        """
        return calls.maintain(self._user, everybody, build_up_to, dry_run)

    @Method
    def add_event(
        self, type: str, payload: dict[str, Any], at: datetime | None = None
    ) -> Call[int | None]:
        """Append an event and return its id; None while memory is off.

        Args:
            type: for example task_failed, task_completed, alert: recalled while recent.
            payload: what happened.
            at: when, without a time zone UTC; default now.
        """
        return calls.add_event(type, payload, at, self._user)

    @Method
    def mark_used(self, recall: Recall | int, memory_ids: Iterable[int]) -> Plan[int]:
        """Tell which memories of a recall were of use; returns how many were in it."""
        return self._steps.mark_used(recall, memory_ids)

    @Method
    def add_gold(self, gold_set: str, questions: Iterable[GoldQuestion]) -> Plan[int]:
        """Put questions into a gold set; returns how many.

        A question that is in the set gets the new answers. Questions without a vector are embedded.

        Args:
            gold_set: its name.
            questions: see `evaluation.GoldQuestion`.
        """
        return self._steps.add_gold(gold_set, questions)

    @Method
    def evaluate(
        self,
        gold_set: str,
        modes: Sequence[str] = ("execute",),
        budgets: Sequence[int] = (800,),
        k: int = 10,
    ) -> Plan[list[Evaluation]]:
        """Measure recall on a gold set, once for each mode and budget; nothing is logged.

        A question is asked with its stored vector; without one, or in a mode that leaves words out
        of what is embedded, with one of the embedder.
        """
        return self._steps.evaluate(gold_set, modes, budgets, k)

    @Method
    def replay(
        self,
        since: datetime | None = None,
        settings: dict[str, Any] | None = None,
        mode: str | None = None,
    ) -> Call[list[Replayed]]:
        """Choose the blocks of logged recalls again, under other settings; writes nothing.

        Args:
            since: the oldest recall; default all that are in the log.
            settings: for example ``{"mmr_lambda": 0.9, "weights": {"task": 1.5}}``.
            mode: only recalls of that mode.
        """
        return evaluation.replay(since, settings or {}, mode, self._user)

    @Method
    def fill_source(
        self, name: str, *, most: int | None = None, anew: bool = False
    ) -> Plan[Filled]:
        """Take over one batch of the rows a source has already; call it until it is complete.

        A query that takes 60 seconds is stopped; earlier, where the session's own
        ``statement_timeout`` is shorter.

        Args:
            name: of the source.
            most: rows; default the setting source_batch.
            anew: begin with the first row again, and forget at last what is gone.
        """
        return self._steps.read_source(sources.fill(name, most, anew))

    @Method
    def pull_source(self, name: str, *, most: int | None = None) -> Plan[Filled]:
        """Take over one batch of what changed in a view or query, as `fill_source`."""
        return self._steps.read_source(sources.pull(name, most))


class Memoir(Client):
    """The memory of one user in one database.

    Args:
        conn_or_dsn: a psycopg connection, whose transaction stays the caller's: it is never
            committed or rolled back here. Or a connection string: an own connection is opened at
            the first call, in autocommit. Default: ``MEMOIR_DSN``, else the embedded server of
            the data directory, started when it is not running.
        user: whose memory; default: the setting ``memoir.user_id`` of the session, else "default".
            A role that row-level security shows one user alone (memoir_reader, memoir_agent) is
            shown this one, for the transaction of each call, where ``memoir.user_id`` is not set.
        embedder: makes vectors of texts; None recalls by words alone; default:
            `embedders.default_embedder`.

    Every method raises the classes of `errors` for what the database refuses, and psycopg's own
    for what is not memoir's (a connection lost during the call; an own one that the server ended
    before is opened anew). Threads may share a client; they take turns.

    A call may be interrupted, by Ctrl-C or as a cancelled task: nothing of it is half done. Where
    it sent several statements at once (as a role that is shown one user, or for gold sets and
    sources) the connection is closed, since psycopg leaves it unusable; an own one is opened again.
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
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._names_user: bool | None = None
        self._user = clean_text(user, "the user")
        self._steps = Steps(self._user, embedder, lambda: _keeps_writes(given))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, if it is the client's own; a later call opens another."""
        with self._lock:
            if self._own and self._conn is not None:
                if self._process == os.getpid():  # else it is of the process this one comes from
                    self._conn.close()
                self._conn = None

    def memories(self, **filters: Unpack[Filters]) -> Iterator[Listed]:
        """All memories of a list, one by one, as `list_memories` has them; read page by page."""
        page = self.list_memories(page_size=_PAGE, **filters)
        while page:
            yield from page
            page = self.list_memories(page_size=_PAGE, after=page[-1].next, **filters)

    def wait_for(self, token: str, timeout: float = 1.0) -> bool:
        """On a replica: wait until what a token speaks of can be read here.

        Args:
            token: of `written_at`, on the primary.
            timeout: seconds, 0..3600.

        Returns:
            False when it is not here in time: read on the primary instead.
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
                    answer = self._perform(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as done:
            return cast(T, done.value)

    def _perform(self, step: Call[Any] | Batch | Embed) -> Any:
        if isinstance(step, Embed):
            return step.embedder.embed(step.texts)
        with self._lock:
            conn = self._connection()
            try:
                if self._user is None:
                    return _carry_out(conn, step)
                if self._names_user is None:
                    self._names_user = _execute(conn, SEES_ONE_USER)
                if not self._names_user:
                    return _carry_out(conn, step)
                with _in_the_name_of(conn, self._user):
                    return _carry_out(conn, step)
            except psycopg.Error as error:
                raise translate(error) from error

    def _connection(self) -> psycopg.Connection[Any]:
        """The connection; an own one is opened when there is none that takes a statement."""
        if self._conn is None or (self._own and not self._is_usable(self._conn)):
            self.close()
            conn = psycopg.connect(
                resolve_dsn(self._dsn),
                autocommit=True,
                client_encoding="utf8",
                fallback_application_name="pgmemoir",
            )
            _mind_a_pooler(conn, _execute(conn, SESSION))
            self._conn = conn
            self._process = os.getpid()
        return self._conn

    def _is_usable(self, conn: psycopg.Connection[Any]) -> bool:
        """Whether an own connection takes a statement, and was not inherited by a fork."""
        return self._process == os.getpid() and is_free(conn)


class AsyncMemoir(Client):
    """`Memoir` for asyncio: the same arguments and methods, to be awaited.

    The embedder runs in a thread. Tasks may share a client; they take turns at the database.
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
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._names_user: bool | None = None
        self._user = clean_text(user, "the user")
        self._steps = Steps(self._user, embedder, lambda: _keeps_writes(given))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """See `Memoir.close`."""
        async with self._turn():
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
                    answer = await self._perform(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as done:
            return cast(T, done.value)

    async def _perform(self, step: Call[Any] | Batch | Embed) -> Any:
        if isinstance(step, Embed):
            return await asyncio.to_thread(step.embedder.embed, step.texts)
        async with self._turn():
            conn = await self._connection()
            try:
                if self._user is None:
                    return await _carry_out_async(conn, step)
                if self._names_user is None:
                    self._names_user = await _execute_async(conn, SEES_ONE_USER)
                if not self._names_user:
                    return await _carry_out_async(conn, step)
                async with _in_the_name_of_async(conn, self._user):
                    return await _carry_out_async(conn, step)
            except psycopg.Error as error:
                raise translate(error) from error

    def _turn(self) -> asyncio.Lock:
        """What tasks take turns by; of this event loop: a script may run one after the other."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._lock = loop, asyncio.Lock()
        return self._lock

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
            _mind_a_pooler(conn, await _execute_async(conn, SESSION))
            self._conn = conn
        return self._conn


def resolve_dsn(dsn: str | None) -> str:
    """The given one, else ``MEMOIR_DSN``, else the embedded server of the data directory."""
    return dsn or os.environ.get("MEMOIR_DSN") or embedded_dsn()


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
    """Which of the two it is that a client was made with."""
    if value is None or isinstance(value, str):
        return value, None
    if isinstance(value, kind):
        if not value.closed and value.info.encoding == "ascii":
            raise MemoirError(
                "this connection is set to SQL_ASCII: psycopg reads text from it as bytes",
                hint="Before you pass it: conn.execute(\"SET client_encoding TO 'UTF8'\")",
            )
        return None, value
    given = type(value).__name__
    raise TypeError(f"{given} is neither a connection string nor a psycopg.{kind.__name__}")


def _mind_a_pooler(conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], pid: int) -> None:
    """Prepare nothing where a pooler answers, which gives out pids of its own.

    The next statement may go to another session: a name there is another client's statement. On the
    server itself a recall is prepared: 6 % of its processor time.
    """
    if pid != conn.info.backend_pid:
        conn.prepare_threshold = None


def _keeps_writes(given: psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None) -> bool:
    """Whether a write on this connection is committed at once; the client's own (None) always."""
    if given is None:
        return True
    return given.autocommit and given.info.transaction_status == TransactionStatus.IDLE


def _send(conn: psycopg.Connection[Any], call: Call[T]) -> Cursor:
    return Cursor(conn).execute(call.statement, call.params, prepare=call.prepare)


def _execute(conn: psycopg.Connection[Any], call: Call[T]) -> T:
    return call.parse(_send(conn, call).fetchall())


def _carry_out(conn: psycopg.Connection[Any], step: Call[Any] | Batch) -> Any:
    if isinstance(step, Call):
        return _execute(conn, step)
    with Pipelined(conn) as inside, conn.pipeline(), inside:
        cursors = [_send(conn, call) for call in step.calls]
    sent = zip(step.calls, cursors, strict=True)
    return [call.parse(cursor.fetchall()) for call, cursor in sent]


@contextmanager
def _in_the_name_of(conn: psycopg.Connection[Any], user: str) -> Iterator[None]:
    """What is done within it the role does for this user; one that the caller named stays.

    In a transaction of the client's own, or for this part of the caller's: nothing is left in the
    session, which a pooler may give to others.
    """
    if _keeps_writes(conn):
        with Pipelined(conn) as inside, conn.pipeline(), conn.transaction(), inside:
            _send(conn, name_user(user))
            yield
    else:
        named = _execute(conn, name_user(user))
        try:
            yield
        finally:
            if named and _is_whole(conn):
                _execute(conn, UNNAME_USER)


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
async def _in_the_name_of_async(
    conn: psycopg.AsyncConnection[Any], user: str
) -> AsyncIterator[None]:
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
    """Whether the caller's transaction goes on; one that failed forgets what was set in it.

    In a pipeline of the caller's its status comes later than the failure.
    """
    return (
        conn.info.transaction_status == TransactionStatus.INTRANS
        and conn.pgconn.pipeline_status != PipelineStatus.ABORTED
    )
