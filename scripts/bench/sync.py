#!/usr/bin/env python3
"""How long a sync of Markdown files takes, as a command and in SQL alone.

Nothing changed is what a watch and a Git hook meet all day: 2,000 memories have to take less than
a second as a whole command, and five times as many not much more than five times as long. Both bars
are of processor time, so other programs do not count: the command's, with bytecode kept, as where
pgmemoir is installed, and that of a server process that has no plans yet.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from common import Database, Figures, ServerTime, Where, benchmark, table, verdict

from pgmemoir import Memoir
from pgmemoir.calls import NewMemory
from pgmemoir.sync import Options, sync

SIZES = (2000, 10_000)
BAR_SECONDS = 1.0
# Of ten thousand against two thousand.
BAR_GROWTH = 7.0
_ROUNDS = 5
_KINDS = ("fact", "preference", "lesson", "learning")


def measured(conn: psycopg.Connection[Any], place: Database, size: int) -> dict[str, float]:
    """Seconds by what is done, and processor time where nothing changed."""
    clock = ServerTime(conn, place)
    user = f"user-{size}"
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
        folder = Path(name)
        _fill(conn, user, size)
        export = _seconds(lambda: _synced(conn, folder, user))
        conn.execute("ANALYZE")
        before = clock.milliseconds()
        sql = median(_seconds(lambda: _synced(conn, folder, user)) for _ in range(_ROUNDS))
        sql_cpu = (clock.milliseconds() - before) / 1000 / _ROUNDS
        _command(place.dsn, folder, user)
        spent = _children()
        command = median(
            _seconds(lambda: _command(place.dsn, folder, user)) for _ in range(_ROUNDS)
        )
        command_cpu = (_children() - spent) / _ROUNDS + _first_cpu(place, folder, user)
        _edit(folder, "answers after 4 ms", "answers soon")
        edit_one = _seconds(lambda: _synced(conn, folder, user))
        _edit(folder, "answers after", "replies after")
        edit_half = _seconds(lambda: _synced(conn, folder, user))
        for path in folder.glob("*.md"):
            (Path(other) / path.name).write_bytes(path.read_bytes())
        import_all = _seconds(lambda: _synced(conn, Path(other), f"{user}-anew"))
    return {
        "command": command,
        "command, CPU": command_cpu,
        "SQL": sql,
        "SQL, CPU": sql_cpu,
        "edit one": edit_one,
        "export": export,
        "edit half": edit_half,
        "import all": import_all,
    }


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
    command = [sys.executable, "-m", "pgmemoir", "--dsn", dsn]
    subprocess.run(
        [*command, "sync", str(folder), "--user", user],
        check=True,
        capture_output=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": ""},
    )


def _first_cpu(place: Database, folder: Path, user: str) -> float:
    """Seconds of the server's processor for a connection that syncs once."""
    spent = []
    for _ in range(_ROUNDS):
        with place.connect() as conn:
            _synced(conn, folder, user)
            spent.append(ServerTime(conn, place).milliseconds() / 1000)
    return median(spent)


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


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    sizes = result["seconds"]
    head = ("seconds", *next(iter(sizes.values())))
    rows = ((size, *(f"{each:.2f}" for each in row.values())) for size, row in sizes.items())
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}",
            table(head, *rows),
            verdict(f"the command's CPU, {SIZES[0]}", result["command_cpu_s"], BAR_SECONDS),
            verdict(f"SQL of {SIZES[1]} against {SIZES[0]}, CPU", result["growth"], BAR_GROWTH),
        )
    )


@benchmark(report)
def main(where: Where) -> Figures:
    """Time a sync of Markdown files by number of memories; exit 1 when a bar is missed.

    Takes 2 minutes.
    """
    with where.opened() as place, place.connect() as conn:
        found = {f"{size:,}": measured(conn, place, size) for size in SIZES}
        server = place.server
    small, large = found.values()
    growth = large["SQL, CPU"] / small["SQL, CPU"]
    return {
        "server_version": server,
        "seconds": found,
        "command_cpu_s": small["command, CPU"],
        "growth": growth,
        "failed": small["command, CPU"] > BAR_SECONDS or growth > BAR_GROWTH,
    }


if __name__ == "__main__":
    main()
