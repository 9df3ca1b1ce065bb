#!/usr/bin/env python3
"""How long a sync of Markdown files takes, as a command and in SQL alone.

Nothing changed is what a watch and a Git hook meet all day: 2,000 memories have to take less than
a second as a whole command, and five times as many not much more than five times as long. Both bars
are of processor time, the command's and the server's together: other programs do not count.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import click
import psycopg
from common import DSN, PG, Database, ServerTime, opened

from pgmemoir import Memoir
from pgmemoir.calls import NewMemory
from pgmemoir.sync import Options, sync

SIZES = (2000, 10_000)
BAR_SECONDS = 1.0
# Of ten thousand against two thousand.
BAR_GROWTH = 7.0
_ROUNDS = 5
_KINDS = ("fact", "preference", "lesson", "learning")


@click.command()
@DSN
@PG
def main(dsn: str | None, version: int) -> None:
    """Print seconds by number of memories; exit code 1 when a bar is missed."""
    print("memories  command  cpu    sql    cpu    edit one  export  edit half  import all")
    with opened(dsn, version) as place, psycopg.connect(place.dsn, autocommit=True) as conn:
        figures = [_measure(conn, place, size) for size in SIZES]
    for size, row in zip(SIZES, figures, strict=True):
        command, command_cpu, sql, sql_cpu, one, export, half, everything = row
        print(
            f"{size:8,}  {command:7.2f}  {command_cpu:4.2f}  {sql:5.2f}  {sql_cpu:5.2f}  {one:8.2f}"
            f"  {export:6.2f}  {half:9.2f}  {everything:10.2f}"
        )
    growth = figures[1][3] / figures[0][3]
    print(f"SQL of {SIZES[1]:,} against {SIZES[0]:,}: {growth:.1f} times")
    sys.exit(figures[0][1] > BAR_SECONDS or growth > BAR_GROWTH)


def _measure(conn: psycopg.Connection[Any], place: Database, size: int) -> tuple[float, ...]:
    """Seconds: the command, and SQL alone, with nothing changed, each with its processor time; one
    edit, the first export, half of all memories edited, and all of them new."""
    server = ServerTime(conn, place)
    user = f"user-{size}"
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        folder = Path(name)
        _fill(conn, user, size)
        export = _seconds(lambda: _synced(conn, folder, user))
        conn.execute("ANALYZE")
        before = server.milliseconds()
        sql = median(_seconds(lambda: _synced(conn, folder, user)) for _ in range(_ROUNDS))
        sql_cpu = (server.milliseconds() - before) / 1000 / _ROUNDS
        spent = _children()
        command = median(
            _seconds(lambda: _command(place.dsn, folder, user)) for _ in range(_ROUNDS)
        )
        command_cpu = (_children() - spent) / _ROUNDS + sql_cpu
        _edit(folder, "answers after 4 ms", "answers soon")
        one = _seconds(lambda: _synced(conn, folder, user))
        _edit(folder, "answers after", "replies after")
        half = _seconds(lambda: _synced(conn, folder, user))
        for path in folder.glob("*.md"):
            (Path(other) / path.name).write_bytes(path.read_bytes())
        everything = _seconds(lambda: _synced(conn, Path(other), f"{user}-anew"))
    return command, command_cpu, sql, sql_cpu, one, export, half, everything


def _fill(conn: psycopg.Connection[Any], user: str, size: int) -> None:
    memories: list[NewMemory] = [
        {
            "content": f"Service {number}: the gateway answers after {number} ms, as of {number}.",
            "kind": _KINDS[number % len(_KINDS)],
            "subject": f"service {number}",
        }
        for number in range(size)
    ]
    Memoir(conn, user=user, embedder=None).remember_many(memories)


def _synced(conn: psycopg.Connection[Any], folder: Path, user: str) -> None:
    sync(conn, folder, Options(user=user))


def _command(dsn: str, folder: Path, user: str) -> None:
    command = [sys.executable, "-c", "from pgmemoir.cli import main; main()", "--dsn", dsn]
    subprocess.run([*command, "sync", str(folder), "--user", user], check=True, capture_output=True)


def _children() -> float:
    """Seconds of processor time of the commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _edit(folder: Path, old: str, new: str) -> None:
    path = folder / "memory.md"
    path.write_text(path.read_text().replace(old, new))


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
