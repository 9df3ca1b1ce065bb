#!/usr/bin/env python3
"""What redaction changes that it should not, and what it costs.

Redacts real texts by the default rules and shows every one that changes; times the function alone
on plain and on hostile texts, and remember and recall with the rules and without. The README
beside this file says what is measured and shows the figures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import click
import psycopg
from common import ServerTime, Statement, measuring, milliseconds, opened, placed, scalar
from conversations import Turn, read
from tokens import chunks, lines

from pgmemoir.cli.output import progress_bar

# Of the turns of a conversation at most so many per cent may change.
BAR = 0.1
LENGTHS = (100, 1000, 10_000)
# A text of each kind is redacted so often in one statement, and the statement run so often.
_REPEATED = {100: 2000, 1000: 300, 10_000: 30}
_ROUNDS = 5
# Blocks with the rules and without, in turn; calls of a block that count, and before them.
_BLOCKS = 6
_CALLS = 150
_WARM = 30

_CHANGED = """SELECT said.text, memoir._redact(said.text)
FROM unnest(%s::text[]) AS said (text) WHERE memoir._redact(said.text) <> said.text"""
_BASE = b"SELECT count(said.text) FROM memoir_redaction_said AS said WHERE said.text <> ''"
_COST = b"SELECT count(memoir._redact(said.text)) FROM memoir_redaction_said AS said"
_REMEMBER = b"""SELECT action FROM memoir.remember(%s::text, 'turn', %s::text,
    session_id => %s::text, turn => %s::int, speaker => %s::text)"""
_RECALL = b"SELECT memoir.memory_context(NULL, 'execute', 800, %s::text, %s::text)"

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


@click.command()
@click.argument(
    "data", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--chinese",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of Chinese documents (*.txt): each line is a text.",
)
@placed
def main(
    data: Path | None, chinese: Path | None, dsn: str | None, version: int, as_json: bool
) -> None:
    """Measure redaction on the turns of DATA, a JSON file as locomo.py reads it."""
    turns = read(data).turns if data else []
    with opened(dsn, version) as place, place.connect() as conn:
        result: dict[str, Any] = {
            "server_version": scalar(conn, "SHOW server_version"),
            "texts": [changed(conn, *of) for of in sources(data, chinese).items()],
            "costs": costs(conn),
        }
        if turns:
            server = ServerTime(conn, place)
            with progress_bar(2 * 2 * _BLOCKS, "remembering and recalling") as bar:
                result["remember"] = compared(conn, server, remembered(turns), bar)
                result["recall"] = compared(conn, server, recalled(turns), bar)
    click.echo(json.dumps(result, ensure_ascii=False) if as_json else report(result))


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


def remembered(turns: Sequence[Turn]) -> Iterator[Statement]:
    """Every turn as a memory of its own, for one user after the other, without end."""
    number = 0
    while True:
        number += 1
        for turn in turns:
            place = (f"{turn.user} {number}", turn.session, turn.position, turn.speaker)
            yield Statement(_REMEMBER, (turn.text, *place))


def recalled(turns: Sequence[Turn]) -> Iterator[Statement]:
    """The beginning of every turn as a question to what `remembered` stored, without end."""
    while True:
        for turn in turns:
            yield Statement(_RECALL, (turn.text[:80], f"{turn.user} 1"))


@contextmanager
def _without_rules(conn: psycopg.Connection[Any]) -> Iterator[None]:
    known = [n for (n,) in conn.execute("SELECT name FROM memoir.redaction_rule WHERE enabled")]
    conn.execute("UPDATE memoir.redaction_rule SET enabled = false")
    yield
    conn.execute("UPDATE memoir.redaction_rule SET enabled = true WHERE name = ANY (%s)", (known,))


def compared(
    conn: psycopg.Connection[Any],
    server: ServerTime,
    calls: Iterator[Statement],
    bar: Any,
) -> dict[str, float]:
    """Time calls with the rules and without, block by block; medians over all of a kind."""
    times: dict[str, list[tuple[float, float]]] = {"with": [], "without": []}
    with measuring(conn):
        for _ in range(_BLOCKS):
            times["with"] += _block(conn, server, calls)
            bar.update(1)
            with _without_rules(conn):
                times["without"] += _block(conn, server, calls)
            bar.update(1)
    found = {}
    for name, pairs in times.items():
        found[f"{name}_p50_ms"] = round(median(wall for wall, _ in pairs), 4)
        found[f"{name}_cpu_p50_ms"] = round(median(cpu for _, cpu in pairs), 4)
    found["ratio_p50"] = round(found["with_p50_ms"] / found["without_p50_ms"], 3)
    found["ratio_cpu"] = round(found["with_cpu_p50_ms"] / found["without_cpu_p50_ms"], 3)
    return found


def _block(
    conn: psycopg.Connection[Any], server: ServerTime, calls: Iterator[Statement]
) -> list[tuple[float, float]]:
    """Wall and processor time of some calls, after some that do not count."""
    times = []
    for number in range(_WARM + _CALLS):
        before = server.milliseconds()
        wall = milliseconds(conn, next(calls))
        if number >= _WARM:
            times.append((wall, server.milliseconds() - before))
    return times


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    found = [
        f"PostgreSQL {result['server_version'].split()[0]}",
        "",
        f"{'texts':<26}{'number':>9}{'changed':>9}{'%':>8}",
    ]
    for row in result["texts"]:
        found.append(
            f"{row['source']:<26}{row['texts']:>9}{row['changed']:>9}{row['percent']:>8.3f}"
        )
        found += [f"  {after!r}" for _, after in row["examples"]]
    turns = [row for row in result["texts"] if row["source"] == "turns"]
    found += [f"bar: {BAR} % of turns, {_verdict(row['percent'])}" for row in turns]
    heads = "".join(f"{f'{length} characters':>18}" for length in LENGTHS)
    found += ["", f"{'_redact, µs a text':<26}{heads}"]
    for row in result["costs"]:
        figures = "".join(f"{row[f'us_{length}']:>18.1f}" for length in LENGTHS)
        found.append(f"{row['source']:<26}{figures}")
    if "remember" in result:
        found += ["", f"{'ms a call':<26}{'with':>9}{'without':>9}{'ratio':>8}{'CPU':>9}"]
        for name in ("remember", "recall"):
            row = result[name]
            found.append(
                f"{name:<26}{row['with_p50_ms']:>9.3f}{row['without_p50_ms']:>9.3f}"
                f"{row['ratio_p50']:>8.3f}{row['ratio_cpu']:>9.3f}"
            )
    return "\n".join(found)


def _verdict(percent: float) -> str:
    return "kept" if percent < BAR else "NOT kept"


if __name__ == "__main__":
    main()
