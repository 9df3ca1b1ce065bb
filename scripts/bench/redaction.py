#!/usr/bin/env python3
"""What redaction changes that it should not, and what it costs.

Redacts real texts by the default rules and shows every one that changes; times the function alone
on plain and on hostile texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click
import psycopg
from common import (
    FILE,
    FOLDER,
    Figures,
    Statement,
    Where,
    benchmark,
    measuring,
    milliseconds,
    table,
    verdict,
)
from conversations import read
from tokens import chunks, lines

# Of the turns of a conversation at most so many per cent may change.
BAR = 0.1
LENGTHS = (100, 1000, 10_000)
# A text of each kind is redacted so often in one statement, and the statement run so often.
_REPEATED = {100: 2000, 1000: 300, 10_000: 30}
_ROUNDS = 5

_CHANGED = """SELECT said.text, memoir._redact(said.text)
FROM unnest(%s::text[]) AS said (text) WHERE memoir._redact(said.text) <> said.text"""
_BASE = b"SELECT count(said.text) FROM memoir_redaction_said AS said WHERE said.text <> ''"
_COST = b"SELECT count(memoir._redact(said.text)) FROM memoir_redaction_said AS said"

_PROSE = (
    "On Tuesday we talked about the trip to the lake, and she said that her sister, who lives in "
    "the north, would bring the old boat; nobody knew whether it still floats. "
)
_CHINESE = (
    "我们周二聊到了去湖边的旅行，她说住在北方的姐姐会带来那条旧船，谁也不知道它还能不能浮起来。"
)
# Made up, and put together so that no scanner takes it for a real one.
_KEY = "gh" + "p_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
TEXTS = {
    "English prose": _PROSE,
    "Chinese prose": _CHINESE,
    "hashes and paths": "3f786850e387550fdab836ed7e6dc881de23001b src/memory/recall_public.sql ",
    "names, no secret": "The password reset flow sends a token; its secret key is rotated. ",
    "a secret": "",
    "nothing but secrets": f"password=hunter2 {_KEY} 4111 1111 1111 1111 ",
    "nothing but near misses": "4111 1111 1111 1112 pwd=a, token: b, 123456789012345678 ",
}


def sources(data: Path | None, chinese: Path | None) -> dict[str, list[str]]:
    """The texts of every class there is data for."""
    found = {}
    if data:
        held = read(data)
        found["turns"] = [turn.text for turn in held.turns]
        found["facts"] = [fact.text for fact in held.facts]
        found["questions"] = [asked.text for asked in held.questions]
    if chinese:
        found["Chinese"] = [t for path in sorted(chinese.glob("*.txt")) for t in lines(path)]
    found["Python"] = chunks("pyclient/**/*.py")
    found["SQL"] = chunks("sql/**/*.sql")
    return {name: texts for name, texts in found.items() if texts}


def changed(conn: psycopg.Connection[Any], name: str, texts: Sequence[str]) -> dict[str, Any]:
    """How many texts of a class the rules change, and each that they do."""
    rows = conn.execute(_CHANGED.encode(), (list(texts),)).fetchall()
    return {
        "source": name,
        "texts": len(texts),
        "changed": len(rows),
        "percent": round(100 * len(rows) / len(texts), 3),
        "examples": [[*row] for row in rows],
    }


def text_of(name: str, length: int) -> str:
    """A text of a class; the one with a secret is prose with a secret in its middle."""
    if name == "a secret":
        prose = text_of("English prose", length - len(_KEY) - 2)
        return f"{prose[: length // 2]} {_KEY} {prose[length // 2 :]}"
    unit = TEXTS[name]
    return (unit * (length // len(unit) + 1))[:length]


def costs(conn: psycopg.Connection[Any]) -> list[dict[str, Any]]:
    """Microseconds of _redact, less those of reading the text, by class and length."""
    conn.execute("CREATE TEMP TABLE memoir_redaction_said (text text NOT NULL)")
    found = []
    with measuring(conn):
        for name in TEXTS:
            row: dict[str, Any] = {"source": name}
            for length in LENGTHS:
                conn.execute("TRUNCATE memoir_redaction_said")
                conn.execute(
                    "INSERT INTO memoir_redaction_said"
                    " SELECT %s || n FROM generate_series(1, %s::int) AS n",
                    (text_of(name, length), _REPEATED[length]),
                )
                row[f"us_{length}"] = round(_microseconds(conn, length), 1)
            found.append(row)
    return found


def _microseconds(conn: psycopg.Connection[Any], length: int) -> float:
    base, cost = Statement(_BASE, ()), Statement(_COST, ())
    pairs = [(milliseconds(conn, base), milliseconds(conn, cost)) for _ in range(_ROUNDS + 1)]
    spent = median(ours - floor for floor, ours in pairs[1:])
    return 1000 * spent / _REPEATED[length]


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    names = ("source", "texts", "changed", "percent")
    counts = table(
        ("texts", "number", "changed", "%"),
        *(tuple(row[name] for name in names) for row in result["texts"]),
    )
    cost = table(
        ("_redact, µs a text", *(f"{length} characters" for length in LENGTHS)),
        *(
            (row["source"], *(f"{row[f'us_{length}']:.1f}" for length in LENGTHS))
            for row in result["costs"]
        ),
    )
    return "\n".join(
        (
            f"PostgreSQL {result['server_version']}",
            "",
            counts,
            *(
                f"  {row['source']}: {after!r}"
                for row in result["texts"]
                for _, after in row["examples"]
            ),
            *(
                verdict("% of turns", row["percent"], BAR)
                for row in result["texts"]
                if row["source"] == "turns"
            ),
            "",
            cost,
        )
    )


@benchmark(report)
@click.argument("data", required=False, type=FILE)
@click.option("--chinese", type=FOLDER, help="A folder of Chinese *.txt: each line is a text.")
def main(where: Where, data: Path | None, chinese: Path | None) -> Figures:
    """Count what redaction changes in DATA, a file as locomo.py reads it, and time it.

    Takes a minute.
    """
    with where.opened() as place, place.connect() as conn:
        return {
            "server_version": place.server,
            "texts": [changed(conn, *of) for of in sources(data, chinese).items()],
            "costs": costs(conn),
        }


if __name__ == "__main__":
    main()
