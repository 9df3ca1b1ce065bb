#!/usr/bin/env python3
"""Kill the server under mixed load, start it again, and see whether all it had said is there.

See the README beside this file: what is done, what must hold after each crash, what it came to.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import click
import psycopg
from common import PRODUCTION, SECONDS, Database, Figures, Where, benchmark, count, scalar, table
from workers import COUNTED, ENQUEUE, KIND, work
from writers import REFUSALS, USER, Writer, faults

from pgmemoir import doctor, upkeep
from pgmemoir.chat_models import ChatModel
from pgmemoir.worker import Options, Worker

# 20 memories earn indexes of their own here, but of three users at most; nothing is enqueued for a
# chat model, which nobody is.
_SETTINGS = """UPDATE memoir.setting SET value = x.value::jsonb
FROM (VALUES ('ann_gain', '0.2'), ('ann_limit', '3'), ('nightly_jobs', '0')) AS x (name, value)
WHERE setting.name = x.name"""
_OTHERS = """SELECT pid FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type <> 'logical replication launcher'"""
_ALL_OF = "SELECT memory_id, content, status FROM memoir.memory WHERE user_id = %s"
_UNKNOWN_JOBS = """SELECT count(*) FROM unnest(%s::bigint[]) AS i (job_id)
WHERE NOT EXISTS (SELECT FROM memoir.job AS j WHERE j.job_id = i.job_id)"""
_TWICE = "SELECT count(*) - count(DISTINCT job_id) FROM memoir_bench_done"
_UNDONE = """SELECT count(*) FROM memoir.job AS j
WHERE j.kind = 'nothing' AND j.status <> 'done'"""
_BROKEN = """SELECT i.indexrelid::regclass::text FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
WHERE c.relnamespace = 'memoir'::regnamespace AND NOT i.indisvalid"""
_ATTACH = """CREATE TABLE public.task (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, user_id text NOT NULL, content text,
    created_at timestamptz NOT NULL DEFAULT now());
SELECT memoir.attach_source('tasks', 'fact', 'public.task');
CALL memoir.read_source('tasks')"""
# Rows of the application that are no memory, and memories of rows that are gone. What its trigger
# could not do within 200 ms it has noted, for maintain.
_STRAYED = """SELECT count(*)
FROM (SELECT t.id::text AS key, t.content FROM public.task AS t) AS t
FULL JOIN (SELECT m.source_key AS key, m.content FROM memoir.memory AS m
           WHERE m.source = 'tasks' AND m.status = 'active') AS m USING (key)
WHERE t.content IS DISTINCT FROM m.content
  AND NOT EXISTS (SELECT FROM memoir.source_error AS e
                  WHERE e.source = 'tasks' AND e.source_key = key)"""
_NOTED = "SELECT count(*) FROM memoir.source_error"
# The rows of a table as its indexes and as its pages have them.
_HASH = "SELECT count(*), sum(hashtextextended(t::text, 0)) FROM memoir.{} AS t WHERE user_id > ''"
_BY_INDEX = "SET LOCAL enable_seqscan = off"
_BY_PAGE = """SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off"""
# Steps of the load between two kills, at least.
_LEAST = 30


class Gate:
    """Lets steps of the load through while it is open; who closes it waits until all are out."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._open = True
        self.over = False

    @contextmanager
    def step(self) -> Iterator[bool]:
        """Wait until the gate is open; False: there is nothing more to do."""
        with self._changed:
            self._changed.wait_for(lambda: self._open or self.over)
            self._inside += 1
        try:
            yield not self.over
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Nobody is inside meanwhile."""
        with self._changed:
            self._open = False
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._open = True
                self._changed.notify_all()

    def end(self) -> None:
        """Nobody comes in any more."""
        with self._changed:
            self.over = True
            self._changed.notify_all()


def lost(error: psycopg.Error) -> bool:
    """Whether the server went away, so that nobody knows what became of the call."""
    state = error.sqlstate or "57P"
    return isinstance(error, psycopg.OperationalError) and state.startswith("57P")


@dataclass
class Actor(ABC):
    """Does one step after the other, on a connection it opens anew when it was lost.

    Attributes:
        did: steps by what came of them.
        errors: what should not have happened.
    """

    place: Database
    source: random.Random
    did: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    name: ClassVar[str]

    @abstractmethod
    def step(self, conn: psycopg.Connection[Any]) -> None:
        """Do one thing."""

    def wrong(self, _conn: psycopg.Connection[Any]) -> list[str]:
        """What this actor was told and does not find, after a crash."""
        return []

    def run(self, gate: Gate) -> None:
        """Work until the gate says that it is over."""
        conn: psycopg.Connection[Any] | None = None
        while not gate.over:
            with gate.step() as going:
                if going:
                    conn = self._attempt(conn)
        if conn is not None:
            conn.close()

    def _attempt(self, conn: psycopg.Connection[Any] | None) -> psycopg.Connection[Any] | None:
        try:
            if conn is None:
                conn = self.place.connect()
            self.step(conn)
        except psycopg.Error as error:
            if lost(error):
                self.did["lost"] += 1
                time.sleep(0.05)
                return None
            if error.sqlstate in REFUSALS:
                self.did["refused"] += 1
            else:
                self.errors.append(f"{self.name}: {error.sqlstate} {error.diag.message_primary}")
        else:
            self.did["done"] += 1
        return conn


class _Storm(Writer):
    """A writer of writers.py whose lost calls are not errors."""

    def _refused(self, error: psycopg.Error) -> None:
        if lost(error):
            raise error
        super()._refused(error)


@dataclass
class Storming(Actor):
    """One of several who say the same things of one user and take them back."""

    name = "writer"
    writer: _Storm | None = None

    def step(self, conn: psycopg.Connection[Any]) -> None:
        if self.writer is None:
            self.writer = _Storm(conn, self.source)
        self.writer.conn = conn
        self.writer.step()

    @property
    def texts(self) -> set[str]:
        """What was told to memory, and that it has been."""
        return self.writer.texts if self.writer else set()


@dataclass
class Ledger(Actor):
    """The only one who writes for his user, and who knows what must be stored.

    Attributes:
        known: content and status of his memories.
        unsure: a memory whose change was asked for and never answered; 0: a new one.
    """

    name = "ledger"
    known: dict[int, tuple[str, str]] = field(default_factory=dict)
    unsure: int | None = None

    def __post_init__(self) -> None:
        self.user = f"ledger {self.source.random()}"

    def step(self, conn: psycopg.Connection[Any]) -> None:
        if self.unsure is not None:
            self._learn(conn)
        doing = self.source.choice([self._add, self._add, self._add_many, self._change])
        doing(conn)
        self.unsure = None

    def _text(self) -> str:
        """No two are alike."""
        return " ".join(f"{self.source.randrange(16**6):06x}" for _ in range(5))

    def _add(self, conn: psycopg.Connection[Any]) -> None:
        text = self._text()
        self.unsure = 0
        row = conn.execute(
            "SELECT memory_id FROM memoir.remember(%s, 'fact', %s)", (text, self.user)
        ).fetchone()
        assert row is not None
        self.known[row[0]] = (text, "active")

    def _add_many(self, conn: psycopg.Connection[Any]) -> None:
        texts = [self._text() for _ in range(20)]
        memories = json.dumps([{"content": text, "kind": "fact"} for text in texts])
        self.unsure = 0
        rows = conn.execute(
            "SELECT memory_id FROM memoir.remember_many(%s, NULL, %s) ORDER BY place",
            (memories, self.user),
        ).fetchall()
        for (memory_id,), text in zip(rows, texts, strict=True):
            self.known[memory_id] = (text, "active")

    def _change(self, conn: psycopg.Connection[Any]) -> None:
        if not self.known:
            return
        self.unsure = memory_id = self.source.choice(list(self.known))
        text, status = self.known[memory_id]
        if status == "forgotten":
            call, status = "restore(%s, user_id => %s)", "active"
        elif self.source.random() < 0.5:
            call, status = "forget(%s, user_id => %s)", "forgotten"
        else:
            text = self._text()
            call = f"update_memory(%s, user_id => %s, content => '{text}')"
        conn.execute(f"SELECT memoir.{call}".encode(), (memory_id, self.user))
        self.known[memory_id] = (text, status)

    def _learn(self, conn: psycopg.Connection[Any]) -> None:
        """Take what the server has for what nobody knows."""
        stored = conn.execute(_ALL_OF.encode(), (self.user,)).fetchall()
        self.known = {memory_id: (text, status) for memory_id, text, status in stored}

    def wrong(self, conn: psycopg.Connection[Any]) -> list[str]:
        rows = conn.execute(_ALL_OF.encode(), (self.user,)).fetchall()
        stored = {memory_id: (text, status) for memory_id, text, status in rows}
        new = stored.keys() - self.known.keys()
        # A call that was not answered is done whole or not at all.
        whole = len(new) in ({0, 1, 20} if self.unsure == 0 else {0})
        differing = [
            f"ledger: {memory_id} is {stored.get(memory_id)}, and was to be {known}"
            for memory_id, known in self.known.items()
            if memory_id != self.unsure and stored.get(memory_id) != known
        ]
        return differing + ([] if whole else [f"ledger: {len(new)} memories nobody knows of"])


@dataclass
class Reader(Actor):
    """Asks, and looks at the numbers of the log, which must never come again."""

    name = "reader"
    newest: int = 0

    def step(self, conn: psycopg.Connection[Any]) -> None:
        asked = self.source.choice(("tea with friends", "Oslo", "chess on Sundays", "a1b2c3"))
        if self.source.random() < 0.2:
            conn.execute("SELECT * FROM memoir.search_memories(%s, user_id => %s)", (asked, USER))
            return
        row = conn.execute(
            "SELECT retrieval_id FROM memoir.recall('[1,0.5]', query_text => %s, user_id => %s)",
            (asked, USER),
        ).fetchone()
        assert row is not None
        if row[0] <= self.newest:
            self.errors.append(f"reader: retrieval {row[0]} after {self.newest}")
        self.newest = row[0]


class Keeper(Actor):
    """Calls maintain, of the server and of the command, which builds and drops indexes."""

    name = "maintain"

    def step(self, conn: psycopg.Connection[Any]) -> None:
        if self.source.random() < 0.5:
            conn.execute("CALL memoir.maintain_all()")
        else:
            keep(self.place.dsn)
        time.sleep(0.1)


def keep(dsn: str) -> None:
    """``memoir maintain``."""
    with suppress(upkeep.LeftUndone):  # somebody else is building
        list(upkeep.maintain(dsn, None, True, _unwatched))


def _unwatched(_what: str) -> AbstractContextManager[upkeep.Report]:
    return nullcontext(lambda _share, _waits: None)


@dataclass
class Asker(Actor):
    """Enqueues jobs."""

    name = "enqueue"
    job_ids: list[int] = field(default_factory=list)

    def step(self, conn: psycopg.Connection[Any]) -> None:
        user = f"user {self.source.randrange(5)}"
        self.job_ids.append(conn.execute(ENQUEUE, ('{"n": 1}', user)).fetchall()[0][0])
        time.sleep(0.005)

    def wrong(self, conn: psycopg.Connection[Any]) -> list[str]:
        number = conn.execute(_UNKNOWN_JOBS.encode(), (self.job_ids,)).fetchall()[0][0]
        return [f"jobs: {number} are gone"] if number else []


class Application(Actor):
    """Writes a table of its own that is attached as a source."""

    name = "tasks"

    def step(self, conn: psycopg.Connection[Any]) -> None:
        values = {"text": " ".join(f"{self.source.randrange(16**6):06x}" for _ in range(5))}
        statement = self.source.choice(
            (
                "INSERT INTO public.task (user_id, content) VALUES ('tasks', %(text)s)",
                "INSERT INTO public.task (user_id, content) VALUES ('tasks', %(text)s)",
                "UPDATE public.task SET content = %(text)s WHERE id = (SELECT max(id)"
                " FROM public.task)",
                "DELETE FROM public.task WHERE id = (SELECT min(id) FROM public.task)",
            )
        )
        conn.execute(statement.encode(), values)

    def wrong(self, conn: psycopg.Connection[Any]) -> list[str]:
        number = scalar(conn, _STRAYED)
        return [f"tasks: {number} rows and memories differ"] if number else []


class Doer(Actor):
    """Claims jobs and finishes them, without waiting for the disk, as a worker does."""

    name = "worker"

    def step(self, _conn: psycopg.Connection[Any]) -> None:
        self.did["jobs"] += work(self.place.dsn, "off", f"w{self.source.random()}", "1 second")
        time.sleep(0.05)


class Pairs:
    """An embedder of two dimensions."""

    name = "pairs"
    dimensions = 2

    def embed(self, texts: list[str]) -> list[list[float]]:
        """A number of the text beside 1."""
        return [[1.0, (sum(text.encode()) % 97) / 97] for text in texts]


class _Nobody:
    """A chat model for doctor, who only asks for its name."""

    name = "nobody"


class Crashes:
    """The load, and what is killed."""

    def __init__(self, place: Database, seed: int) -> None:
        self._place, self._source = place, random.Random(seed)
        self._gate = Gate()
        crowd = [Storming] * 3 + [Ledger] * 2 + [Reader] * 2 + [Keeper, Asker, Application, Doer]
        self.actors: list[Actor] = [
            each(place, random.Random(seed * 1000 + number)) for number, each in enumerate(crowd)
        ]
        self._worker = Worker(place.dsn, Pairs(), None, Options(poll=0.5, lease=2), _quiet)
        self.killed: Counter[str] = Counter()
        self.problems: list[str] = []

    def prepare(self) -> None:
        """What the load needs."""
        with self._place.connect() as conn:
            conn.execute("SELECT memoir.use_model('pairs', 2)")
            for statement in (_SETTINGS, KIND, COUNTED, *_ATTACH.split(";\n")):
                conn.execute(statement.encode())

    def run(self, rounds: int, seconds: float) -> None:
        """Kill something after a while, again and again; then end everything in peace."""
        threads = [threading.Thread(target=each.run, args=(self._gate,)) for each in self.actors]
        threads.append(threading.Thread(target=self._worker.run))
        for thread in threads:
            thread.start()
        try:
            for number in range(rounds):
                before = self._steps()
                time.sleep(self._source.uniform(0.2, 2 * seconds))
                for _ in range(12_000):  # two minutes, on a slow machine
                    if self._steps() >= before + _LEAST:
                        break
                    time.sleep(0.01)
                kind = "backend" if self._source.random() < 0.3 else "server"
                self._kill(kind)
                with self._gate.closed():
                    self._restart(f"round {number + 1}, {kind} killed")
        finally:
            self._gate.end()
            self._worker.stop()
            for thread in threads:
                thread.join()
        self._end()

    def _steps(self) -> int:
        """How many have been done."""
        return sum(each.did["done"] for each in self.actors)

    def _kill(self, kind: str) -> None:
        """The server, or one process of it, whereupon it ends all others and recovers."""
        self.killed[kind] += 1
        if kind == "server":
            self._place.kill()
            return
        with self._place.connect() as conn:
            pids = [pid for (pid,) in conn.execute(_OTHERS)]
            self._source.shuffle(pids)
            for pid in pids:
                with suppress(ProcessLookupError):  # it has just ended by itself
                    os.kill(pid, signal.SIGKILL)
                    break
            with suppress(psycopg.OperationalError):  # the server notices, and ends this one, too
                conn.execute("SELECT pg_sleep(60)")

    def _restart(self, when: str) -> None:
        self._place.start()
        with self._connected() as conn:
            found = self.wrong(conn)
            for log in ("retrieval", "tool_call"):
                if scalar(conn, f"SELECT count(*) FROM memoir.{log}"):
                    found.append(f"{log} is not empty")
        self.problems += [f"{when}: {problem}" for problem in found]

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection; the server may be about to end all of them."""
        while True:
            try:
                conn = self._place.connect()
                conn.execute("SELECT count(*) FROM memoir.memory")
                break
            except psycopg.OperationalError:
                time.sleep(0.05)
        with conn:
            yield conn

    def wrong(self, conn: psycopg.Connection[Any]) -> list[str]:
        """What is not as it must be."""
        storming = [each for each in self.actors if isinstance(each, Storming)]
        texts = sorted(set().union(*(each.texts for each in storming)))
        found = faults(conn, USER, texts)
        for each in self.actors:
            found += each.wrong(conn)
            if isinstance(each, Ledger):
                found += faults(conn, each.user)
        if twice := scalar(conn, _TWICE):
            found.append(f"jobs: {twice} were done twice")
        return found + _differing_indexes(conn)

    def _end(self) -> None:
        """Do what is left, and look at everything once more."""
        with self._place.connect() as conn:
            while scalar(conn, _UNDONE):
                work(self._place.dsn, "off", "the last", "1 second")
                time.sleep(0.1)
            # Upkeep takes over rows that waited: they have no vectors yet. And the leases of
            # workers that were killed run out.
            keep(self._place.dsn)
            conn.execute("UPDATE memoir.job SET run_at = now() WHERE status = 'running'")
            Worker(self._place.dsn, Pairs(), None, Options(), _quiet).run(once=True)
            found = self.wrong(conn)
            if noted := scalar(conn, _NOTED):
                found.append(f"tasks: {noted} rows are still not taken over")
            found += [f"index {name} is not valid" for (name,) in conn.execute(_BROKEN.encode())]
            chat: ChatModel = _Nobody()  # type: ignore[assignment]
            doctor.SLOW_RECALL_MS = 60_000.0  # a machine that is busy is no problem
            found += [
                f"doctor: {check.name}: {check.text}"
                for check in doctor.examine(conn, Pairs(), USER, chat)
                if check.state != "ok"
            ]
        self.problems += [f"at the end: {problem}" for problem in found]
        self.problems += [error for each in self.actors for error in each.errors]
        self.problems += [
            error for each in self.actors if isinstance(each, Storming) and each.writer
            for error in each.writer.errors
        ]  # fmt: skip

    def result(self) -> dict[str, Any]:
        """What was done, what was killed, and what was wrong."""
        did: dict[str, Counter[str]] = {}
        for each in self.actors:
            did.setdefault(each.name, Counter()).update(each.did)
        with self._place.connect() as conn:
            return {
                "killed": dict(self.killed),
                "did": {name: dict(counted) for name, counted in did.items()},
                "memories": scalar(conn, "SELECT count(*) FROM memoir.memory"),
                "jobs_done": scalar(conn, "SELECT count(*) FROM memoir_bench_done"),
                "own_indexes": scalar(conn, "SELECT count(*) FROM memoir.profile WHERE ann > 0"),
                "problems": self.problems,
            }


def _differing_indexes(conn: psycopg.Connection[Any]) -> list[str]:
    """Tables whose indexes have other rows than their pages, as one snapshot sees them."""
    found = []
    for name in ("memory", "trace", "keyword", "revision", "job"):
        seen = set()
        with conn.transaction():
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for way in (_BY_INDEX, _BY_PAGE):
                conn.execute(way.encode())
                seen.add(tuple(conn.execute(_HASH.format(name).encode()).fetchall()[0]))
        if len(seen) > 1:
            found.append(f"{name}: its indexes have other rows than its pages")
    return found


def _quiet(_entry: dict[str, Any]) -> None:
    """No log."""


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    killed = ", ".join(f"{number} x {kind}" for kind, number in sorted(result["killed"].items()))
    what = ("done", "lost", "refused")
    did = ((name, *(each.get(w, 0) for w in what)) for name, each in result["did"].items())
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}, seed {result['seed']}: killed {killed}",
            table(("", *what), *did),
            f"left: {result['memories']} memories, {result['jobs_done']} jobs done,"
            f" {result['own_indexes']} users with indexes of their own",
            f"problems: {len(result['problems'])}",
            *dict.fromkeys(result["problems"][:20]),
        )
    )


@benchmark(report, own=True)
@count("--rounds", 20, "How often something is killed.")
@click.option("--seconds", type=SECONDS, default=2.0, show_default=True, help="Between two kills.")
@count("--seed", 1, "Another seed, other things happen.")
@click.option("--forgetful", is_flag=True, help="synchronous_commit off: losses must be found.")
def main(where: Where, rounds: int, seconds: float, seed: int, forgetful: bool) -> Figures:
    """Kill the server under load, and see what is left; exit 1 when something is wrong.

    Takes 2 minutes.
    """
    forgetting = {"synchronous_commit": "off"} if forgetful else {}
    with where.opened({**PRODUCTION, **forgetting}) as place:
        crashes = Crashes(place, seed)
        crashes.prepare()
        crashes.run(rounds, seconds)
        result = crashes.result()
        server = place.server
    about = {"server_version": server, "rounds": rounds, "seed": seed}
    return {**about, **result, "failed": bool(result["problems"])}


if __name__ == "__main__":
    main()
