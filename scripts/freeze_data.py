#!/usr/bin/env python3
"""Remake the data set of the version in pyproject.toml, until it is released.

Runs tests/install/frozen/fill.sql in a fresh database and keeps the rows as plain SQL, and what
recall says of them. Every time of this run becomes one of 2026-04-01, in the same order, so that
two runs write the same files.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import frozen_data  # noqa: E402

from pgmemoir import migrations, paths, server, sqlfiles  # noqa: E402

TIME = re.compile(r"20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?\+00(?::00)?")
FIRST = datetime(2026, 4, 1, tzinfo=UTC)
HEAD = """\
-- Rows as pgmemoir {version} stored them, in the tables that its migrations make. Made by
-- scripts/freeze_data.py from fill.sql; of configuration only what differs from the installation.
"""


def main() -> None:
    """Write data.sql and answers.json."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    if version in sqlfiles.releases(paths.installed()):
        sys.exit(f"{version} is released: its data stays as it is")
    folder = frozen_data.FROZEN / version
    folder.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="pgmemoir-freeze-"))
    try:
        dsn = server.start(work, settings={"fsync": "off", "timezone": "UTC"})
        with psycopg.connect(dsn, autocommit=True) as admin:
            for name in ("fresh", "filled", "frozen"):
                admin.execute(f"CREATE DATABASE {name}")
        fresh, filled, frozen = (
            psycopg.connect(dsn, dbname=name, autocommit=True)
            for name in ("fresh", "filled", "frozen")
        )
        with fresh, filled, frozen:
            began = datetime.now(UTC)
            migrations.up(fresh)
            migrations.up(filled)
            _fill(dsn)
            text = HEAD.format(version=version) + _with_fixed_times(_rows(filled, fresh), began)
            _write(folder / "data.sql", text)
            frozen_data.install(frozen, version)
            migrations.up(frozen)
            answers = json.dumps(frozen_data.ask(frozen), indent=1, ensure_ascii=False)
            _write(folder / "answers.json", answers + "\n")
    finally:
        server.stop(work)
        shutil.rmtree(work)


def _fill(dsn: str) -> None:
    fill = frozen_data.FROZEN / "fill.sql"
    command = [
        server.psql(),
        "-d",
        make_conninfo(dsn, dbname="filled"),
        "-q",
        "-o",
        "/dev/null",
        "-f",
        fill,
    ]
    subprocess.run([*command, "-v", "ON_ERROR_STOP=1"], check=True)
    with psycopg.connect(dsn, dbname="filled") as conn:
        # What depends on the moment.
        conn.execute(
            "UPDATE memoir.retrieval"
            " SET elapsed_ms = 1, score = array_fill(0.5::float8, ARRAY[cardinality(ids)])"
        )
        conn.execute("UPDATE memoir.tool_call SET elapsed_ms = 1")
        conn.execute("UPDATE memoir.import SET checksum = sha256('')")


def _rows(filled: psycopg.Connection, fresh: psycopg.Connection) -> str:
    """The rows of a database that another has not, as INSERTs, and the sequences."""
    parts = []
    for table in frozen_data.tables(filled):
        columns = frozen_data.given_columns(filled, table)
        here, there = (_literals(conn, table, columns) for conn in (filled, fresh))
        if gone := {row[0] for row in there} - {row[0] for row in here}:
            sys.exit(f"fill.sql takes rows out of {table}, which data.sql cannot say: {gone}")
        if new := [row[1] for row in here if row not in there]:
            head = f"INSERT INTO memoir.{table} ({', '.join(columns)}) VALUES\n"
            parts.append(head + ",\n".join(new) + _instead(filled, table, columns) + ";\n")
    for name, last in filled.execute(
        "SELECT sequencename, last_value FROM pg_sequences"
        " WHERE schemaname = 'memoir' AND last_value IS NOT NULL ORDER BY 1"
    ):
        parts.append(f"SELECT setval('memoir.{name}', {last});\n")
    return "\n".join(["", *parts])


def _literals(conn: psycopg.Connection, table: str, columns: list[str]) -> list[tuple[str, str]]:
    """The rows of a table as (key, values) in SQL, in the order of their keys."""
    key = [f'"{column}"' for column in _key(conn, table)]
    values = (f'quote_nullable("{column}"::text)' for column in columns)
    return conn.execute(
        f"SELECT concat_ws(' ', {', '.join(key)}), '(' || concat_ws(', ', {', '.join(values)})"
        f" || ')' FROM memoir.{table} ORDER BY {', '.join(key)}"
    ).fetchall()


def _instead(conn: psycopg.Connection, table: str, columns: list[str]) -> str:
    """Configuration stands in the place of what the installation brought."""
    if "user_id" in columns:
        return ""
    key = ", ".join(_key(conn, table))
    changed = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return f"\nON CONFLICT ({key}) DO UPDATE SET {changed}"


def _key(conn: psycopg.Connection, table: str) -> list[str]:
    found = conn.execute(
        "SELECT a.attname FROM pg_constraint c,"
        " unnest(c.conkey) WITH ORDINALITY AS k (number, place)"
        " JOIN pg_attribute a ON a.attnum = k.number"
        " WHERE c.conrelid = ('memoir.' || %s)::regclass AND c.contype = 'p'"
        " AND a.attrelid = c.conrelid ORDER BY k.place",
        (table,),
    )
    return [row[0] for row in found]


def _with_fixed_times(text: str, began: datetime) -> str:
    """Times since ``began`` become the seconds after `FIRST`, in their order."""
    times = {datetime.fromisoformat(found) for found in TIME.findall(text)}
    since = sorted(time for time in times if time >= began)
    fixed = {time: FIRST + timedelta(seconds=place) for place, time in enumerate(since)}

    def replaced(match: re.Match[str]) -> str:
        time = datetime.fromisoformat(match[0])
        return fixed[time].isoformat(match[0][10]) if time in fixed else match[0]

    return TIME.sub(replaced, text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    print(f"{path.relative_to(ROOT)}  {len(text) // 1024} kB")


if __name__ == "__main__":
    main()
