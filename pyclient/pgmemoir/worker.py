"""`Worker` takes jobs from the queue, asks the models, and stores the results.

One thread talks to the database, on one connection; the models are asked in separate threads. So a
model that hangs delays only its own job, and a lost connection loses no answer: it is stored when
PostgreSQL is back. The jobs of a killed worker are handed out again after their lease.
"""

from __future__ import annotations

import hashlib
import os
import random
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

import psycopg

from .chat_models import ChatModel
from .connections import connect, has_own_session, is_starting
from .embedders import Embedder, OpenAIEmbedder
from .errors import MemoirError, NotFound, UnknownKind, translate, translated
from .jobs import Fail, Finish, Job, Jobs, Result
from .lanes import ChatLane, EmbedLane, Lane

Log = Callable[[dict[str, Any]], None]
"""Takes one entry of the log. None holds a text, a name or a secret."""

# Users per query.
_USERS = 256
# Between two such queries: this many times what the last one took (1 s if 100,000 users wait).
_REST = 20
_FIRST_RECONNECT = 0.25
_LONGEST_RECONNECT = 10.0
# The server is away, starting, stopping, now a standby, or short of something: another connection
# may do what this one could not.
_PASSING = (psycopg.OperationalError, psycopg.InternalError)
# The server takes no writes: a refusal is not the result's fault.
_TAKES_NOTHING = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.DiskFull)
# The user is busy: the same result can be stored when the other's transaction has ended.
_BUSY = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
)
_BUSY_WAIT = 0.5
# How often a lease is extended before it would end.
_EXTENSIONS = 3
# Tasks whose results wait for busy users; with more of them, no other task is started.
_MAX_UNREPORTED = 32


@dataclass(frozen=True)
class Options:
    """How a worker works.

    Attributes:
        name: unique among workers.
        kinds: kinds of jobs it takes; None: all that its models can do.
        concurrency: chat jobs at once.
        poll: seconds after which a worker looks again who has jobs, even without a notification.
        lease: seconds after which the jobs of a killed worker are handed out again.
        grace: seconds in which running jobs may finish when the worker is stopped.
    """

    name: str = ""
    kinds: Sequence[str] | None = None
    concurrency: int = 4
    poll: float = 5.0
    lease: float = 300.0
    grace: float = 25.0


@dataclass(eq=False)
class _Task:
    """Jobs that one thread works on."""

    lane: Lane
    jobs: Sequence[Job]
    began: float


_Worked = tuple[_Task, list[Result]]
"""A task with results that are not stored yet."""


@dataclass
class Summary:
    """How many jobs were done, and how many attempts failed."""

    done: int = 0
    failed: int = 0


class Worker:
    """Works until it is stopped.

    Args:
        dsn: where to connect.
        embedder: for jobs that embed; None leaves them to others.
        chat: for jobs that ask a chat model; None leaves them waiting.
        log: takes the entries of the log.
    """

    def __init__(
        self,
        dsn: str,
        embedder: Embedder | None,
        chat: ChatModel | None,
        options: Options,
        log: Log,
    ) -> None:
        self._dsn = dsn
        self._embedder = embedder
        self._chat = chat
        self._options = options
        self._name = options.name or f"{socket.gethostname()}-{os.getpid()}"
        self._log = log
        self._lanes: list[Lane] = []
        self._running: set[_Task] = set()
        self._worked: SimpleQueue[_Worked] = SimpleQueue()
        self._unreported: list[_Worked] = []
        self._retry_at = 0.0
        self._reconnect_wait = _FIRST_RECONNECT
        self._hinted = False
        self._summary = Summary()
        self._stop_at: float | None = None
        self._extend_at = 0.0
        self._woken, self._waker = socket.socketpair()
        self._woken.setblocking(False)
        self._waker.setblocking(False)

    def stop(self) -> None:
        """Claim nothing more, and end after the running jobs. A signal handler may call it."""
        self._stop_at = time.monotonic() + self._options.grace
        self._wake()

    def run(self, once: bool = False) -> Summary:
        """Work.

        Args:
            once: until nothing is left that can be claimed now.

        Raises:
            MemoirError: nothing can be done here: pgmemoir is not installed, another model filled
                this database, or a requested kind has no model.
            psycopg.Error: the database cannot be reached at the start, unless its server is only
                starting or recovering; with ``once`` also later, for about twelve seconds.
        """
        with translated():
            try:
                self._connect()
            except psycopg.OperationalError as error:
                if not is_starting(self._dsn):
                    raise
                if not self._reconnect(error, once):
                    return self._summary
            self._lanes = self._make_lanes()
        try:
            self._work(once)
        finally:
            self._release()
            self._conn.close()
            self._say("stop", done=self._summary.done, failed=self._summary.failed)
            self._woken.close()
            self._waker.close()
        return self._summary

    def _work(self, once: bool) -> None:
        while True:
            try:
                self._report()
                self._extend()
                self._claim()
                self._reconnect_wait = _FIRST_RECONNECT
                if self._is_over() or (once and not self._running):
                    return
                self._wait()
            except psycopg.Error as error:
                if not isinstance(error, _PASSING):
                    raise translate(error) from error
                self._conn.close()
                if not self._reconnect(error, once):
                    return

    def _is_over(self) -> bool:
        """Whether it is stopped, and nothing is running or no time is left."""
        if self._stop_at is None:
            return False
        return not self._running or time.monotonic() >= self._stop_at

    def _connect(self) -> None:
        # Of several hosts the primary; a standby, or a read-only role, is reported at once.
        conn = connect(
            self._dsn,
            application_name=f"pgmemoir {self._name}",
            target_session_attrs="read-write",
        )
        try:
            conn.add_notify_handler(self._hint)
            if has_own_session(conn):
                conn.execute("LISTEN memoir_jobs")
            self._jobs = Jobs(conn, self._name, self._options.lease)
        except BaseException:
            conn.close()
            raise
        self._conn = conn

    def _make_lanes(self) -> list[Lane]:
        """One for each model, with its kinds of jobs."""
        kinds = {needs: self._kinds(needs) for needs in ("embedding", "chat")}
        self._check_asked({kind for known in kinds.values() for kind in known})
        lanes: list[Lane] = []
        if self._embedder is not None and kinds["embedding"]:
            lanes.append(self._embed_lane(self._embedder, kinds["embedding"]))
        if self._chat is not None and kinds["chat"]:
            lanes.append(ChatLane(self._chat, kinds["chat"], self._options.concurrency))
        served = {kind for lane in lanes for kind in lane.kinds}
        left = sorted({*kinds["embedding"], *kinds["chat"]} - served)
        if not lanes or (self._options.kinds is not None and left):
            raise MemoirError(
                f"no model for jobs of kind {', '.join(left)}",
                hint="Set MEMOIR_CHAT_MODEL and OPENAI_API_KEY, or MEMOIR_EMBEDDER.",
            )
        self._say("start", kinds=sorted(served), without_model=left)
        return lanes

    def _embed_lane(self, embedder: Embedder, kinds: Sequence[str]) -> EmbedLane:
        known = self._jobs.dimensions(embedder.name)
        if known is not None and isinstance(embedder, OpenAIEmbedder):
            embedder.expect(known)
        return EmbedLane(embedder, kinds, self._jobs.embed_batch)

    def _kinds(self, needs: str) -> list[str]:
        """The requested kinds that need this."""
        asked = self._options.kinds
        return [kind for kind in self._jobs.kinds(needs) if asked is None or kind in asked]

    def _check_asked(self, known: set[str]) -> None:
        unknown = sorted(set(self._options.kinds or ()) - known)
        if unknown:
            raise UnknownKind(
                f"no jobs of kind {', '.join(unknown)} that a model does",
                hint="SELECT name FROM memoir.job_kind WHERE needs <> 'nothing' lists them.",
            )

    def _claim(self) -> None:
        """Start tasks while there is room and users have jobs."""
        self._hinted = False
        if self._stop_at is not None or len(self._unreported) >= _MAX_UNREPORTED:
            return
        unreported = {task for task, _ in self._unreported}
        for lane in self._lanes:
            while not lane.pause.left():
                tasks = sum(task.lane is lane for task in self._running - unreported)
                jobs = self._next_jobs(lane, lane.room(tasks))
                if not jobs:
                    break
                for together in lane.tasks(jobs):
                    self._start(_Task(lane, together, time.monotonic()))

    def _next_jobs(self, lane: Lane, room: int) -> list[Job]:
        """Jobs to fill the room, from the users who have waited longest."""
        found: list[Job] = []
        busy = {result.job.user for _, results in self._unreported for result in results}
        asked = False
        while room > 0:
            if not asked and (not lane.ready or time.monotonic() >= lane.ask_at):
                self._add_users(lane)
                asked = True
            if not lane.ready:
                break
            wanted = [(user, number) for user, number in lane.next_users(room) if user not in busy]
            jobs = self._jobs.claim(wanted, lane.kinds, lane.model())
            room -= sum(lane.size(job) for job in jobs)
            found += jobs
        return found

    def _add_users(self, lane: Lane) -> None:
        """Append users with jobs to those who wait for their turn."""
        began = time.monotonic()
        users = self._jobs.ready_users(_USERS, lane.kinds)
        asked = time.monotonic()
        lane.ask_at = asked + max(self._options.poll, _REST * (asked - began))
        random.shuffle(users)  # other workers have the same list
        known = {user for user, _ in lane.ready}
        lane.ready.extend((user, number) for user, number in users if user not in known)

    def _start(self, task: _Task) -> None:
        def work() -> None:
            try:
                results = task.lane.work(task.jobs)
            except BaseException as error:  # without a result the task would never end
                results = [Fail(job, type(error).__name__) for job in task.jobs]
            self._worked.put((task, results))
            self._wake()

        self._running.add(task)
        # A daemon: a model that never answers must not keep the process from ending.
        threading.Thread(target=work, daemon=True).start()

    def _report(self) -> None:
        """Store the available results; those of busy users later, so that others need not wait."""
        old = list(self._unreported)
        new = [self._worked.get() for _ in range(self._worked.qsize())]
        self._unreported += new
        for worked in new:
            self._store(worked)
        for worked in old:
            if time.monotonic() < self._retry_at:
                break
            self._store(worked)

    def _store(self, worked: _Worked) -> None:
        """Store the results of a task; those of busy users go to the end of the queue."""
        task, results = worked
        self._name_model(task.lane)
        outcomes = self._submit(results)
        self._unreported.remove(worked)
        left = []
        for result, outcome in zip(results, outcomes, strict=True):
            if outcome is None:
                left.append(result)
            else:
                self._say_job(task, result, outcome)
        if left:
            self._unreported.append((task, left))
            self._retry_at = time.monotonic() + _BUSY_WAIT
            return
        self._running.discard(task)
        if (pause := task.lane.pause.left()) > 0:
            self._say("pause", kinds=list(task.lane.kinds), seconds=round(pause, 1))

    def _name_model(self, lane: Lane) -> None:
        """Name the model of the vectors; some embedders know theirs only after an answer.

        Each time, because the database may have switched to another model.
        """
        model = lane.model()
        if model is not None:
            self._jobs.use_model(*model)

    def _submit(self, results: Sequence[Result]) -> list[str | None]:
        """Report results together or, if one is refused, one by one. None: the user is busy."""
        try:
            return [*self._jobs.report(results)]
        except psycopg.Error as error:
            if self._conn.closed or isinstance(error, _TAKES_NOTHING):
                raise
            if len(results) == 1:
                is_busy = isinstance(error, _BUSY)
                return [None if is_busy else self._submit_failure(results[0], error)]
        return [outcome for result in results for outcome in self._submit([result])]

    def _submit_failure(self, result: Result, error: psycopg.Error) -> str:
        """Report a failed attempt instead of a result that PostgreSQL refuses."""
        reason = error.diag.message_primary or type(error).__name__
        try:
            return self._jobs.report([Fail(result.job, reason)])[0]
        except psycopg.Error as again:
            if self._conn.closed:
                raise
            return again.sqlstate or "refused"  # gone, or free when its lease ends

    def _extend(self) -> None:
        """Extend the leases of running jobs when a third of a lease is over."""
        now = time.monotonic()
        if now < self._extend_at:
            return
        self._extend_at = now + self._options.lease / _EXTENSIONS
        self._extend_leases([job for task in self._running for job in task.jobs])

    def _extend_leases(self, jobs: Sequence[Job]) -> None:
        """Extend leases together or, if a job was purged or is being purged, one by one."""
        try:
            self._jobs.extend(jobs)
        except psycopg.Error as error:
            if error.sqlstate != NotFound.sqlstate and not isinstance(error, _BUSY):
                raise
            if len(jobs) > 1:
                for job in jobs:
                    self._extend_leases([job])

    def _release(self) -> None:
        """Give back unfinished jobs, without counting an attempt."""
        jobs = [job for task in self._running for job in task.jobs]
        if not jobs:
            return
        with suppress(psycopg.Error):
            self._submit([Fail(job, "the worker stopped", retry_after=0.0) for job in jobs])

    def _wait(self) -> None:
        """Wait until a result arrives, a job is enqueued, or the next deadline."""
        now = time.monotonic()
        waits = [self._options.poll, self._extend_at - now]
        waits += [left for lane in self._lanes if (left := lane.pause.left())]
        waits += [_BUSY_WAIT] if self._unreported else []
        waits += [] if self._stop_at is None else [self._stop_at - now]
        if not self._hinted and self._sleep(min(waits), self._conn.fileno()):
            # The server sent something: a notification, or that it shuts down.
            self._conn.pgconn.consume_input()
            while self._conn.pgconn.notifies():
                self._hinted = True

    def _hint(self, _notify: psycopg.Notify) -> None:
        """A notification that arrived while another statement ran."""
        self._hinted = True

    def _sleep(self, seconds: float, *descriptors: int) -> bool:
        """Sleep, unless woken; returns whether a descriptor has something to read."""
        watched = [self._woken.fileno(), *descriptors]
        found, _, _ = select.select(watched, [], [], max(0.0, seconds))
        if watched[0] in found:
            self._woken.recv(4096)
        return any(descriptor in found for descriptor in descriptors)

    def _wake(self) -> None:
        with suppress(OSError):  # a full pipe wakes it already, and after the end nothing has to
            self._waker.send(b".")

    def _reconnect(self, error: psycopg.Error, once: bool) -> bool:
        """Try until the database is back or the worker is stopped; returns whether it is back."""
        self._say("database lost", error=error.sqlstate or type(error).__name__)
        while not self._is_over():
            if once and self._reconnect_wait == _LONGEST_RECONNECT:
                raise error
            self._sleep(self._reconnect_wait * random.uniform(0.5, 1))
            self._reconnect_wait = min(2 * self._reconnect_wait, _LONGEST_RECONNECT)
            with suppress(*_PASSING):
                self._connect()
                self._say("database back")
                return True
        return False

    def _say_job(self, task: _Task, result: Result, outcome: str) -> None:
        entry: dict[str, Any] = {
            "job": str(result.job.job_id),
            "kind": result.job.kind,
            "user": hashlib.sha256(result.job.user.encode()).hexdigest()[:12],
            "attempt": result.job.attempts,
            "ms": round((time.monotonic() - task.began) * 1000),
            "outcome": outcome,
        }
        if isinstance(result, Fail):
            entry["reason"] = result.reason
        elif outcome in ("failed", "dead"):  # why may quote the model, and so a user
            entry["reason"] = "the answer was refused: memoir.job_errors says why"
        if outcome.startswith("done"):
            self._summary.done += 1
            if isinstance(result, Finish) and result.without_vector:
                entry["without_vector"] = result.without_vector
                self._summary.failed += 1  # the attempt at these texts, which have jobs now
        elif outcome != "lost":
            self._summary.failed += 1
        self._say("job", **entry)

    def _say(self, event: str, **fields: Any) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._log({"at": at, "worker": self._name, "event": event, **fields})
