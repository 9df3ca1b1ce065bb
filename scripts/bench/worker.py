#!/usr/bin/env python3
"""What the worker adds to the time of the embedding model.

See the README beside this file. The model is the server of the tests, in a process of its own: it
takes a set time for a request and works on one at a time, so its own time is a sum. What the worker
does meanwhile costs nothing; what the model waits for is the overhead.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import psycopg
from common import DIMS, SECONDS, Figures, Where, benchmark, count, verdict

from pgmemoir import OpenAIEmbedder
from pgmemoir.worker import Options, Worker

BAR = 0.10

_SERVER = Path(__file__).resolve().parents[2] / "tests/openai_server.py"

_FILL = """SELECT memoir.remember_many(
    (SELECT jsonb_agg(jsonb_build_object('kind', 'fact', 'content', format(
        'note %%s of %%s: %%s', n, u, repeat(md5(n::text || u), %(length)s / 33))))
     FROM generate_series(1, %(each)s) AS n),
    user_id => 'user ' || u)
FROM generate_series(1, %(users)s) AS u"""


@contextmanager
def model(dims: int, seconds: float) -> Iterator[str]:
    """The URL of a model in a process of its own."""
    command = [sys.executable, str(_SERVER), "--dimensions", str(dims), "--seconds", str(seconds)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def spent(url: str) -> dict[str, float]:
    """Requests the model had, and how long it worked on them."""
    with urllib.request.urlopen(url) as answer:
        found: dict[str, float] = json.load(answer)
        return found


def measure(dsn: str, url: str, dims: int) -> dict[str, Any]:
    """Let a worker embed everything that waits."""
    embedder = OpenAIEmbedder("bench", dims, url, "none", timeout=120, retries=0)
    embedder.embed(["warm up"])  # imports the client, connects
    before = spent(url)
    worker = Worker(dsn, embedder, None, Options(), lambda _: None)
    start, cpu = time.perf_counter(), time.process_time()
    worker.run(once=True)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    after = spent(url)
    own = after["seconds"] - before["seconds"]
    return {
        "requests": round(after["requests"] - before["requests"]),
        "wall_s": wall,
        "model_s": own,
        "overhead": wall / own - 1,
        "worker_cpu_s": cpu,
    }


def fill(conn: psycopg.Connection[Any], memories: int, users: int, length: int) -> None:
    """Memories without vectors, the same number for each user."""
    each = {"each": memories // users, "users": users, "length": length}
    conn.execute(_FILL, each).fetchall()


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}, {result['memories']:,} memories of"
            f" {result['users']:,} users, {result['dims']} dimensions",
            f"{result['requests']} requests: the model worked {result['model_s']:.2f} s,"
            f" everything took {result['wall_s']:.2f} s",
            f"overhead of the worker {result['overhead']:.1%},"
            f" its own CPU time {result['worker_cpu_s']:.2f} s",
            verdict("the overhead", result["overhead"], BAR),
        )
    )


@benchmark(report)
@count("--memories", 10_000, "Memories without a vector.")
@count("--users", 100, "Users they belong to.")
@count("--length", 200, "Characters of a memory, about.")
@DIMS
@click.option("--seconds", type=SECONDS, default=0.5, show_default=True, help="Of a request.")
def main(
    where: Where, memories: int, users: int, length: int, dims: int, seconds: float
) -> Figures:
    """Time a worker that embeds memories, beside its model.

    Takes a minute; 256 memories are a request to the model.
    """
    if memories < users:
        raise click.UsageError(f"{memories} memories are less than one for each of {users} users")
    with where.opened() as place, model(dims, seconds) as url:
        with place.connect() as conn:
            fill(conn, memories, users, length)
        return {
            "server_version": place.server,
            "memories": memories,
            "users": users,
            "dims": dims,
            **measure(place.dsn, url, dims),
        }


if __name__ == "__main__":
    main()
