#!/usr/bin/env python3
"""Many clients for minutes: nine of ten calls recall, one remembers; errors, times and memory.

See the README beside this file: what is stored, what is asked, and what it came to.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil
import psycopg
from common import (
    DIMS,
    SECONDS,
    Database,
    Figures,
    Where,
    benchmark,
    count,
    percentile,
    processes,
    scalar,
    table,
    vector_schema,
    vector_text,
)
from filled import BUDGET, Amount, Filled, about, name_of, synthetic

from pgmemoir.cli.output import progress_bar
from pgmemoir.worker import Options, Worker

# Of the calls, in tenths.
_RECALLS = 9
# A client makes at least so many, however slow the machine is.
_LEAST = 40
# Questions and new memories are made before; so many of each, used again and again.
_MADE = 1000
# Clients of a process: Python runs one of its threads at a time.
_THREADS = 8
# Seconds from the end of one maintain to the next: in 5 minutes it runs some 20 times instead of
# once a day.
_PAUSE = 10.0
_PERCENTILES = (50, 95, 99, 100)

_RECALL = """SELECT memoir.memory_context(%s::{schema}.halfvec, 'execute', {budget}, %s, %s)"""
_REMEMBER = """SELECT action FROM memoir.remember(%s, %s, %s, embedding => %s::{schema}.halfvec)"""


@dataclass(frozen=True)
class Made:
    """What the clients say, made before they begin.

    Attributes:
        statements: of recall and remember, for this database.
        questions: vector and text.
        memories: content, kind and vector.
        unembedded: the share of new memories that come without their vector.
    """

    statements: tuple[bytes, bytes]
    questions: list[tuple[str, str]]
    memories: list[tuple[str, str, str]]
    users: int
    unembedded: float


@dataclass
class Client:
    """One connection that asks and tells.

    Attributes:
        times: milliseconds by call.
        errors: by code and message.
        actions: what became of the memories.
    """

    conn: psycopg.Connection[Any]
    made: Made
    source: random.Random
    times: dict[str, list[float]] = field(default_factory=lambda: {"recall": [], "remember": []})
    errors: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)

    def run(self, end: float) -> None:
        """One call after the other until it is time; the first two warm the connection up."""
        self._call("recall")
        self._call("remember")
        self.times = {"recall": [], "remember": []}
        made = 0
        while made < _LEAST or time.time() < end:
            self._call("recall" if self.source.randrange(10) < _RECALLS else "remember")
            made += 1

    def _call(self, name: str) -> None:
        doing = self._recall if name == "recall" else self._remember
        start = time.perf_counter()
        try:
            doing(name_of(self.source.randrange(self.made.users)))
        except psycopg.Error as error:
            self.errors[f"{name}: {error.sqlstate} {error.diag.message_primary}"] += 1
        else:
            self.times[name].append((time.perf_counter() - start) * 1000)

    def _recall(self, user: str) -> None:
        vector, text = self.source.choice(self.made.questions)
        self.conn.execute(self.made.statements[0], (vector, text, user), prepare=True).fetchall()

    def _remember(self, user: str) -> None:
        text, kind, vector = self.source.choice(self.made.memories)
        text = f"{text} {self.source.randrange(10**9)}"
        given = None if self.source.random() < self.made.unembedded else vector
        values = (text, kind, user, given)
        rows = self.conn.execute(self.made.statements[1], values, prepare=True).fetchall()
        self.actions[rows[0][0]] += 1


Results = tuple[dict[str, list[float]], Counter[str], Counter[str]]


def clients(dsn: str, made: Made, seeds: Sequence[int], end: float) -> list[Results]:
    """Let some clients loose; what each of them saw."""

    def work(seed: int) -> Results:
        with psycopg.connect(dsn, autocommit=True) as conn:
            client = Client(conn, made, random.Random(seed))
            client.run(end)
            return client.times, client.errors, client.actions

    with ThreadPoolExecutor(len(seeds)) as pool:
        return list(pool.map(work, seeds))


class Memory:
    """Memory of a server's processes over time, where the system tells it.

    Attributes:
        samples: seconds, MB of all processes (what they share counted once), MB that belong to the
            backends of clients alone.
    """

    def __init__(self, place: Database) -> None:
        self.samples: list[tuple[float, float, float]] = []
        self._start = time.monotonic()
        self._server: psutil.Process | None = None
        if place.folder is not None and Path("/proc/self/smaps_rollup").exists():
            self._server = psutil.Process(place.postmaster)

    def look(self) -> None:
        """Take a sample."""
        if self._server is None:
            return
        shared = own = 0
        for process in [self._server, *self._server.children()]:
            try:
                named = " ".join(process.cmdline())
                found = _rollup(process.pid)
            except (psutil.Error, OSError):
                continue  # it has just ended
            shared += found["Pss"]
            own += found["Pss_Anon"] if "[local]" in named else 0
        seconds = time.monotonic() - self._start
        self.samples.append((seconds, shared / 1024, own / 1024))

    def result(self) -> dict[str, float]:
        """MB at the end, and how much is added a minute in the second half."""
        if len(self.samples) < 4:
            return {}
        half = np.asarray(self.samples[len(self.samples) // 2 :])
        return {
            "server_mb": half[-1, 1],
            "server_mb_a_minute": 60 * float(np.polyfit(half[:, 0], half[:, 1], 1)[0]),
            "backends_mb": half[-1, 2],
            "backends_mb_a_minute": 60 * float(np.polyfit(half[:, 0], half[:, 2], 1)[0]),
        }


def _rollup(pid: int) -> dict[str, int]:
    """Sums over the memory of a process, in kB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}


@dataclass
class Upkeep:
    """Calls maintain again and again.

    Attributes:
        seconds: of each run.
    """

    dsn: str
    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def run(self, over: threading.Event) -> None:
        """Until it is over, and once at least."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            while not (self.seconds and over.is_set()):
                start = time.perf_counter()
                try:
                    conn.execute("CALL memoir.maintain_all()")
                except psycopg.Error as error:
                    self.errors[f"maintain: {error.sqlstate} {error.diag.message_primary}"] += 1
                self.seconds.append(time.perf_counter() - start)
                over.wait(_PAUSE)


class _Vectors:
    """An embedder that has its vectors ready."""

    name = "synthetic"

    def __init__(self, made: Made, dims: int) -> None:
        self.dimensions = dims
        self._vectors: list[list[float]] = [
            json.loads(vector) for _, _, vector in made.memories[:100]
        ]

    def embed(self, texts: list[str]) -> list[list[float]]:
        """One of its vectors for each text."""
        return [self._vectors[hash(text) % len(self._vectors)] for text in texts]


@contextmanager
def beside(
    place: Database, made: Made, dims: int, maintain: bool, worker: bool
) -> Iterator[Upkeep]:
    """maintain and a worker at work meanwhile, where they are wanted."""
    upkeep, over = Upkeep(place.dsn), threading.Event()
    serves = Worker(place.dsn, _Vectors(made, dims), None, Options(), lambda _: None)
    runs: list[Callable[[], Any]] = [lambda: upkeep.run(over)] if maintain else []
    runs += [serves.run] if worker else []
    threads = [threading.Thread(target=run, daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    try:
        yield upkeep
    finally:
        over.set()
        serves.stop()
    for thread in threads:  # not after Ctrl-C: maintain may take minutes
        thread.join()


def make(filled: Filled, amount: Amount, unembedded: float) -> Made:
    """Questions and memories like those that are stored."""
    schema = vector_schema(filled.conn)
    questions = filled.questions(amount, range(amount.users), _MADE)
    sample = range(0, amount.users, max(1, amount.users // 100))
    new = [
        row
        for user in sample
        for row in filled.corpus.memories(user, amount.rows, amount.rows + 10).rows()
    ]
    return Made(
        (
            _RECALL.format(schema=schema, budget=BUDGET).encode(),
            _REMEMBER.format(schema=schema).encode(),
        ),
        [(vector_text(each.vector), each.text) for each in questions],
        [(row["content"], "fact", vector_text(row["vector"])) for row in new if row["vector"]
         is not None],
        amount.users,
        unembedded,
    )  # fmt: skip


def load(
    place: Database,
    made: Made,
    dims: int,
    number: int,
    seconds: float,
    maintain: bool,
    worker: bool,
) -> dict[str, Any]:
    """Let all clients loose, and look at the server meanwhile."""
    groups = [range(first, min(first + _THREADS, number)) for first in range(0, number, _THREADS)]
    memory = Memory(place)
    with processes(len(groups)) as pool, place.connect() as conn:
        before = scalar(conn, "SELECT pg_database_size(current_database())")
        end = time.time() + 2 + seconds  # the clients take a moment to begin
        with beside(place, made, dims, maintain, worker) as upkeep:
            found = [pool.submit(clients, place.dsn, made, list(each), end) for each in groups]
            pause = max(1.0, seconds / 60)
            with progress_bar(int(seconds), "load") as bar:
                while (left := end - time.time()) > pause:  # not when they leave
                    time.sleep(pause)
                    memory.look()
                    bar.update(max(0, int(seconds - max(0.0, left)) - bar.pos))
            results = [each for part in found for each in part.result()]
        after = scalar(conn, "SELECT pg_database_size(current_database())")
        waiting = scalar(
            conn,
            "SELECT count(*) FROM memoir.trace AS t JOIN memoir.embedding_model AS e"
            " ON e.active AND e.model_id = t.model WHERE t.active AND t.embedding IS NULL",
        )
    return {
        **_summed(results, seconds),
        "errors": dict(sum((each[1] for each in results), upkeep.errors)),
        "maintain_runs": len(upkeep.seconds),
        "maintain_s": max(upkeep.seconds, default=0.0),
        "without_vector": waiting,
        "database_mb": after / 2**20,
        "database_grew_mb": (after - before) / 2**20,
        **memory.result(),
    }


def _summed(results: Sequence[Results], seconds: float) -> dict[str, Any]:
    """Times and numbers of all clients together."""
    found: dict[str, Any] = {"actions": dict(sum((each[2] for each in results), Counter[str]()))}
    for name in ("recall", "remember"):
        times = [one for each in results for one in each[0][name]]
        found[f"{name}s"] = len(times)
        found[f"{name}s_per_second"] = len(times) / seconds
        for percent in _PERCENTILES:
            found[f"{name}_p{percent}_ms"] = percentile(times or [0.0], percent)
    return found


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    calls = (
        (
            name,
            result[f"{name}s"],
            f"{result[f'{name}s_per_second']:.0f}",
            *(f"{result[f'{name}_p{p}_ms']:.1f}" for p in _PERCENTILES),
        )
        for name in ("recall", "remember")
    )
    stored = ", ".join(f"{action} {count}" for action, count in sorted(result["actions"].items()))
    lines = [
        f"PostgreSQL {result['server_version']}, {result['clients']} clients,"
        f" {result['users']} users of {result['rows']} memories, {result['seconds']:g} s",
        table(("", "calls", "a second", "p50 ms", "p95 ms", "p99 ms", "most"), *calls),
        f"stored: {stored}; {result['without_vector']} wait for a vector",
    ]
    if result["maintain_runs"]:
        lines.append(
            f"maintain ran {result['maintain_runs']} times, {result['maintain_s']:.1f} s at most"
        )
    lines += [
        f"{what}: {result[f'{key}_mb']:.0f} MB, {result[f'{key}_mb_a_minute']:+.1f} MB a minute"
        " in the second half"
        for what, key in (("all processes", "server"), ("backends alone", "backends"))
        if f"{key}_mb" in result
    ]
    return "\n".join(
        (
            *lines,
            f"database: {result['database_mb']:.0f} MB,"
            f" {result['database_grew_mb']:+.0f} MB meanwhile",
            f"errors: {sum(result['errors'].values())}",
            *(f"{count} x {each}" for each, count in result["errors"].items()),
        )
    )


@benchmark(report)
@count("--clients", 32, "Connections at once.", "number")
@count("--users", 10_000, "Users, picked at random.")
@count("--rows", 10, "Memories of each at the start.")
@DIMS
@click.option("--seconds", type=SECONDS, default=300.0, show_default=True, help="For how long.")
@click.option("--maintain", is_flag=True, help="maintain runs meanwhile, again and again.")
@click.option("--worker", is_flag=True, help="Half of the new memories wait for a worker's vector.")
def main(
    where: Where,
    number: int,
    users: int,
    rows: int,
    dims: int,
    seconds: float,
    maintain: bool,
    worker: bool,
) -> Figures:
    """Put a database under load for minutes; exit 1 when a call failed.

    Takes as long as --seconds says, and 3 minutes to load 100,000 memories.
    """
    amount = Amount(users, rows, dims)
    with synthetic(where, amount) as filled:
        filled.conn.execute("SELECT memoir.use_model('synthetic', %s)", (dims,))
        loaded = filled.fill(amount)
        filled.conn.execute("CALL memoir.maintain_all()")
        filled.conn.execute("VACUUM (ANALYZE)")
        made = make(filled, amount, 0.5 if worker else 0.0)
        result = {
            **about(filled, amount),
            "clients": number,
            "seconds": seconds,
            "load_s": loaded,
            **load(filled.place, made, dims, number, seconds, maintain, worker),
        }
    return {**result, "failed": bool(result["errors"])}


if __name__ == "__main__":
    main()
