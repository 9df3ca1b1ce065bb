#!/usr/bin/env python3
"""How many memories a second an export writes and an import reads, beside remember_many.

See the README beside this file: what is stored, and what it came to.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import psycopg
from common import DSN, PG, opened, scalar

from pgmemoir import Memoir
from pgmemoir.move import export_lines, import_lines, read_lines


class Random:
    """An embedder without a model: every text gets some vector."""

    name = "random"
    local = True

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._source = np.random.default_rng(1)

    def embed(self, texts: list[str]) -> list[Any]:
        """A vector for each."""
        return list(self._source.normal(size=(len(texts), self.dimensions)).astype(np.float32))


def sentences(count: int) -> list[str]:
    """Sentences of twelve words of a vocabulary of 20,000, some with a name."""
    source = random.Random(1)
    words = ["".join(source.choices("abcdefghiklmnoprstuvw", k=6)) for _ in range(20_000)]
    return [" ".join([f"Note{n}", *source.choices(words, k=11)]) for n in range(count)]


def store(conn: psycopg.Connection[Any], contents: list[str], dimensions: int) -> None:
    """Store them as the client does; every tenth is changed once, and related to another."""
    memory = Memoir(conn, user="ada", embedder=Random(dimensions) if dimensions else None)
    memory.remember_many({"content": each, "kind": "fact"} for each in contents)
    conn.execute(
        "SELECT memoir.update_memory(memory_id, importance => 0.4, user_id => 'ada'),"
        " memoir.relate(memory_id, memory_id + 1, user_id => 'ada')"
        " FROM memoir.memory WHERE user_id = 'ada' AND memory_id %% 10 = 1"
        " AND memory_id < %s",
        (len(contents),),
    )


def export(conn: psycopg.Connection[Any], file: Path, vectors: bool) -> None:
    """Everything of ada into a file."""
    with file.open("wb") as output:
        for line in export_lines(conn, "ada", vectors):
            output.write(line.encode() + b"\n")


def move_in(conn: psycopg.Connection[Any], file: Path, user: str) -> None:
    """The file as another user."""
    with file.open("rb") as source:
        import_lines(conn, read_lines(source), user)


def processor_seconds(pid: int) -> float:
    """What a server process on this machine has used; 0 where that cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


Act = Callable[[psycopg.Connection[Any]], None]


def timed(dsn: str, what: str, rows: int, act: Act, per: float = 0.0) -> float:
    """Say how long it takes, and the server's processor; the seconds of that."""
    with psycopg.connect(dsn) as conn:
        begun = time.perf_counter()
        act(conn)
        conn.commit()
        seconds = time.perf_counter() - begun
        used = processor_seconds(conn.info.backend_pid)
    beside = f"{per / used:>8.1f} x" if per and used else ""
    click.echo(
        f"{what:<22}{seconds:>8.1f} s{rows / seconds:>9,.0f}/s"
        f"{used:>10.1f} s{rows / max(used, 0.01):>9,.0f}/s{beside}"
    )
    return used


@click.command()
@click.option("--rows", default=10_000, show_default=True, help="Memories of the user.")
@click.option("--dims", default=384, show_default=True, help="Dimensions; 0: no vectors.")
@DSN
@PG
def main(rows: int, dims: int, dsn: str | None, version: int) -> None:
    """Store a user, export him, and import him as others."""
    with opened(dsn, version) as database, TemporaryDirectory() as folder:
        plain, full = Path(folder) / "plain.jsonl", Path(folder) / "full.jsonl"
        contents = sentences(rows)
        click.echo(f"PostgreSQL {version}, {rows:,} memories, {dims} dimensions")
        click.echo(f"{'':<22}{'elapsed':>21}{'processor of server':>21}   remember_many / it")
        at = database.dsn
        stored = timed(at, "remember_many", rows, lambda conn: store(conn, contents, dims))
        timed(at, "export", rows, lambda conn: export(conn, plain, False), stored)
        timed(at, "import", rows, lambda conn: move_in(conn, plain, "bob"), stored)
        if dims:
            timed(at, "export with vectors", rows, lambda conn: export(conn, full, True), stored)
            timed(at, "import with vectors", rows, lambda conn: move_in(conn, full, "eve"), stored)
        for file in (plain, full):
            if file.exists():
                click.echo(f"{file.name}: {file.stat().st_size / rows:,.0f} bytes a memory")
        with database.connect() as conn:
            count = scalar(conn, "SELECT count(*) FROM memoir.memory WHERE user_id = 'bob'")
            assert count == rows, count


if __name__ == "__main__":
    main()
