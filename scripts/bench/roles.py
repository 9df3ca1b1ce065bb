#!/usr/bin/env python3
"""What row-level security costs a recall: each role against the owner of the tables, in one run.

Processor time of the server process, so that other programs do not count.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from statistics import median
from typing import Any

import click
import psycopg
from common import AS_JSON, PG, ServerTime, opened, vector_schema
from filled import AT_LEAST_1, BUDGET, Amount, Filled, name_of, settings_for
from psycopg.conninfo import make_conninfo
from synthetic import Question

from pgmemoir.calls import vector_text

ROUNDS = 8
_LOGIN = "DO $$BEGIN CREATE ROLE bench_{0} LOGIN IN ROLE memoir_{0};"
_LOGIN += " EXCEPTION WHEN duplicate_object THEN NULL; END$$"
_SAY = "SELECT set_config('memoir.user_id', %s, {})"

Ask = Callable[[psycopg.Connection[Any], str, tuple[Any, ...]], None]


def plain(conn: psycopg.Connection[Any], call: str, params: tuple[Any, ...]) -> None:
    """The call alone."""
    conn.execute(call.encode(), params, prepare=True)


def in_session(conn: psycopg.Connection[Any], call: str, params: tuple[Any, ...]) -> None:
    """The user is said once for many calls; here before each, which takes some 30 microseconds."""
    conn.execute(_SAY.format("false").encode(), params[-1:], prepare=True)
    conn.execute(call.encode(), params, prepare=True)


def in_transaction(conn: psycopg.Connection[Any], call: str, params: tuple[Any, ...]) -> None:
    """As the Python client does: the user is said for the transaction of the call."""
    with conn.pipeline(), conn.transaction():
        conn.execute(_SAY.format("true").encode(), params[-1:], prepare=True)
        conn.execute(call.encode(), params, prepare=True)


WAYS: dict[str, tuple[str | None, Ask]] = {
    "owner": (None, plain),
    "admin": ("admin", plain),
    "agent": ("agent", in_session),
    "agent, set local": ("agent", in_transaction),
}


def costs(
    conns: dict[str, tuple[psycopg.Connection[Any], ServerTime]],
    call: str,
    questions: list[Question],
    vectors: bool,
) -> dict[str, float]:
    """Milliseconds a recall by way: medians of rounds, in which the ways take turns."""
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(ROUNDS + 1):
        for way, (_, ask) in WAYS.items():
            conn, clock = conns[way]
            before = clock.milliseconds()
            for question in questions:
                vector = vector_text(question.vector) if vectors else None
                ask(conn, call, (vector, question.text, name_of(question.user)))
            spent[way].append((clock.milliseconds() - before) / len(questions))
    return {way: median(times[1:]) for way, times in spent.items()}


@click.command()
@click.option("--users", type=AT_LEAST_1, default=50, show_default=True, help="Of 120 memories.")
@click.option("--giant", type=AT_LEAST_1, default=30_000, show_default=True)
@click.option("--questions", type=AT_LEAST_1, default=20, show_default=True)
@click.option("--mode", default="execute", show_default=True)
@PG
@AS_JSON
def main(users: int, giant: int, questions: int, mode: str, version: int, as_json: bool) -> None:
    """Time recalls by the owner, memoir_admin and memoir_agent."""
    amount = Amount(users=users, rows=120, dims=384, giant=giant, seed=1)
    result: dict[str, dict[str, float]] = {}
    with opened(None, version, None, settings_for(amount, None)) as place:
        filled = Filled(place, amount.seed, amount.dims)
        filled.check(mode)
        filled.fill(amount)
        filled.tidy()
        for name in ("admin", "agent"):
            filled.conn.execute(_LOGIN.format(name).encode())
        call = f"""SELECT memoir.memory_context(%s::{vector_schema(filled.conn)}.halfvec,
            '{mode}', {BUDGET}, %s, %s)"""
        conns = {}
        for way, (role, _) in WAYS.items():
            dsn = make_conninfo(place.dsn, user=f"bench_{role}") if role else place.dsn
            conn = psycopg.connect(dsn, autocommit=True)
            conns[way] = conn, ServerTime(conn, place)
        for title, who in (("of 120", range(users)), (f"of {giant}", range(users, users + 1))):
            asked = filled.questions(amount, who, questions)
            for signals, vectors in (("vector and words", True), ("words", False)):
                result[f"{title}, {signals}"] = costs(conns, call, asked, vectors)
        for conn, _ in conns.values():
            conn.close()
        filled.close()
    click.echo(json.dumps(result) if as_json else report(result))


def report(result: dict[str, dict[str, float]]) -> str:
    """The figures for people."""
    lines = [f"{'CPU of a recall, ms':<32}" + "".join(f"{way:>18}" for way in WAYS)]
    for case, times in result.items():
        own = times["owner"]
        cells = [f"{ms:.2f} ({ms / own:.2f}x)" for ms in times.values()]
        lines.append(f"{case:<32}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
