#!/usr/bin/env python3
"""How many memories a second an export writes and an import reads, beside remember_many.

See the README beside this file: what is stored, and what it came to.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import psycopg
from common import Database, Figures, ServerTime, Where, benchmark, count, table

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


def timed(
    place: Database, rows: int, act: Callable[[psycopg.Connection[Any]], None]
) -> dict[str, float]:
    """Seconds that passed, those of the server's processor, and memories in a second of either."""
    with psycopg.connect(place.dsn) as conn:
        clock, begun = ServerTime(conn, place), time.perf_counter()
        before = clock.milliseconds()
        act(conn)
        conn.commit()
        seconds = time.perf_counter() - begun
        cpu = (clock.milliseconds() - before) / 1000
    return {"s": seconds, "rows/s": rows / seconds, "CPU, s": cpu, "rows/CPU s": rows / cpu}


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    done = result["done"]
    rows = (
        (what, *(f"{each:,.1f}" if key.endswith("s") and "/" not in key else f"{each:,.0f}"
                 for key, each in row.items()))
        for what, row in done.items()
    )  # fmt: skip
    sizes = (f"{name}: {size:,.0f} bytes a memory" for name, size in result["bytes"].items())
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}, {result['rows']:,} memories,"
            f" {result['dims']} dimensions",
            table(("", *done["export"]), *rows),
            *sizes,
        )
    )


@benchmark(report)
@count("--rows", 10_000, "Memories of the user.")
@click.option(
    "--dims",
    type=click.IntRange(0, 4000),
    default=384,
    show_default=True,
    help="Dimensions of the vectors; 0: none.",
)
def main(where: Where, rows: int, dims: int) -> Figures:
    """Store a user, export him, and import him as others. Takes a minute."""
    with where.opened() as place, TemporaryDirectory() as folder:
        plain, full = Path(folder) / "plain.jsonl", Path(folder) / "full.jsonl"
        contents = sentences(rows)
        acts: dict[str, Callable[[psycopg.Connection[Any]], None]] = {
            "remember_many": lambda conn: store(conn, contents, dims),
            "export": lambda conn: export(conn, plain, False),
            "import": lambda conn: move_in(conn, plain, "bob"),
        }
        if dims:
            acts["export with vectors"] = lambda conn: export(conn, full, True)
            acts["import with vectors"] = lambda conn: move_in(conn, full, "eve")
        return {
            "server_version": place.server,
            "rows": rows,
            "dims": dims,
            "done": {what: timed(place, rows, act) for what, act in acts.items()},
            "bytes": {
                file.stem: file.stat().st_size / rows for file in (plain, full) if file.exists()
            },
        }


if __name__ == "__main__":
    main()
