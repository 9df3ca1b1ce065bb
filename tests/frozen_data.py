"""Data sets of releases: rows as a version stored them, and what recall said of them.

``install/frozen/VERSION/`` has ``data.sql``, which fills the tables that the migrations of that
version make, and ``answers.json``. They are never edited: ``scripts/freeze_data.py`` makes those of
the version that is not released yet.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
from tests.rows import plan_once

from pgmemoir import migrations, paths, sqlfiles

FROZEN = Path(__file__).with_name("install") / "frozen"
QUESTIONS = (FROZEN / "questions.sql").read_text(encoding="utf-8")

# All that was remembered is known by then, and the recall of a past time is always the same.
AS_OF = "2026-04-02 12:00+00"

# Made of other rows, or of the installation itself.
_MADE = ("expansion", "migration")
_COMPILED = {
    "mode": [
        *("expansions", "model_id", "dimensions", "log_recalls", "asks_feature", "when_feature"),
        *("plain_kinds", "kind_weights", "kind_rates", "kind_priorities", "kind_headings"),
        "heading_costs",
    ],
}


def versions() -> list[str]:
    """The versions whose data is kept, oldest first."""
    found = [path.parent.name for path in FROZEN.glob("*/data.sql")]
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def install(conn: psycopg.Connection, version: str) -> None:
    """Make the tables of a version, and fill them with its data; its code is not kept.

    A version that is not released has all the migrations there are.
    """
    names = sqlfiles.releases(paths.installed()).get(version)
    last = max(names) if names else None
    migrations.up(conn, target=sqlfiles.number(last) if last else None)
    load(conn, version)


def load(conn: psycopg.Connection, version: str) -> None:
    """Fill the tables that are there."""
    with conn.transaction():
        conn.execute((FROZEN / version / "data.sql").read_text(encoding="utf-8"))


def ask(conn: psycopg.Connection, as_of: str | None = AS_OF) -> dict[str, list[str]]:
    """What recall says to the questions: the lines of the block, then those of the explanation."""
    with conn.transaction():
        conn.execute("SET TRANSACTION READ ONLY")  # no recall of these is logged
        plan_once(conn)
        rows = conn.execute(QUESTIONS, {"as_of": as_of}).fetchall()
    return {name: [*block.splitlines(), *explained] for name, block, explained in rows}


def answers(version: str) -> dict[str, list[str]]:
    """What recall said when the data was frozen."""
    found = json.loads((FROZEN / version / "answers.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def tables(conn: psycopg.Connection) -> list[str]:
    """The tables with rows of their own, one before those that refer to it."""
    found = conn.execute(
        "SELECT c.relname, ARRAY(SELECT DISTINCT f.confrelid::regclass::text"
        " FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid"
        " AND f.confrelid <> c.oid ORDER BY 1)"
        " FROM pg_class c WHERE c.relnamespace = 'memoir'::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> ALL (%s)"
        " ORDER BY 1",
        (list(_MADE),),
    ).fetchall()
    needs = {name: [other.removeprefix("memoir.") for other in others] for name, others in found}
    ordered: list[str] = []
    while len(ordered) < len(needs):
        ready = [n for n, others in needs.items() if n not in ordered and {*others} <= {*ordered}]
        assert ready, f"tables refer to each other in a circle: {sorted({*needs} - {*ordered})}"
        ordered += ready
    return ordered


def contents(
    conn: psycopg.Connection, only: dict[str, list[str]] | None = None
) -> dict[str, dict[str, Any]]:
    """By table the columns, how many rows there are and a hash of them; also of the sequences.

    Args:
        only: the columns of each table to look at, None for all that are not computed.
    """
    found: dict[str, dict[str, Any]] = {}
    for table in tables(conn):
        columns = (only or {}).get(table) or given_columns(conn, table)
        row = ", ".join(f't."{column}"' for column in columns)
        count, md5 = conn.execute(
            "SELECT count(*), md5(string_agg(r::text, '' ORDER BY r::text))"
            f" FROM (SELECT ROW({row}) AS r FROM memoir.{table} AS t) AS all_rows"
        ).fetchone()
        found[table] = {"columns": columns, "rows": count, "md5": md5}
    for name, last in conn.execute(
        "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'memoir'"
    ):
        found[name] = {"last": last}
    return found


def given_columns(conn: psycopg.Connection, table: str) -> list[str]:
    """The columns of a table that are neither computed nor compiled from other rows."""
    found = conn.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = ('memoir.' || %s)::regclass"
        " AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> ALL (%s)"
        " ORDER BY attnum",
        (table, _COMPILED.get(table, [])),
    )
    return [row[0] for row in found]
