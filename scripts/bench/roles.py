#!/usr/bin/env python3
"""What row-level security costs a recall: each role against the owner of the tables, in one run.

Processor time of the server process, so that other programs do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from statistics import median
from typing import Any

import psycopg
from common import (
    MODE,
    Figures,
    ServerTime,
    Where,
    benchmark,
    count,
    table,
    vector_schema,
    vector_text,
)
from filled import BUDGET, Amount, about, name_of, synthetic, told
from psycopg.conninfo import make_conninfo
from synthetic import Question

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


def report(result: Mapping[str, Any]) -> str:
    """The figures for people."""
    rows = (
        (case, *(f"{ms:.2f} ({ms / times['owner']:.2f}x)" for ms in times.values()))
        for case, times in result["cpu_ms"].items()
    )
    return f"{told(result)}\n\n{table(('CPU of a recall, ms', *WAYS), *rows)}"


@benchmark(report, own=True)
@count("--users", 50, "Of 120 memories.")
@count("--giant", 30_000, "Memories of one user more.")
@count("--questions", 20, "Asked in each round, by each role.")
@MODE
def main(where: Where, users: int, giant: int, questions: int, mode: str) -> Figures:
    """Processor time of recalls by the owner, memoir_admin and memoir_agent, in turn.

    Takes 3 minutes.
    """
    amount = Amount(users=users, rows=120, dims=384, giant=giant, seed=1)
    with synthetic(where, amount) as filled, ExitStack() as stack:
        filled.check(mode)
        filled.fill(amount)
        filled.tidy()
        for name in ("admin", "agent"):
            filled.conn.execute(_LOGIN.format(name).encode())
        call = f"""SELECT memoir.memory_context(%s::{vector_schema(filled.conn)}.halfvec,
            '{mode}', {BUDGET}, %s, %s)"""
        conns = {}
        for way, (role, _) in WAYS.items():
            dsn = filled.place.dsn
            own = make_conninfo(dsn, user=f"bench_{role}") if role else dsn
            conn = stack.enter_context(psycopg.connect(own, autocommit=True))
            conns[way] = conn, ServerTime(conn, filled.place)
        found = {}
        for title, who in (("of 120", range(users)), (f"of {giant}", range(users, users + 1))):
            asked = filled.questions(amount, who, questions)
            for signals, vectors in (("vector and words", True), ("words", False)):
                found[f"{title}, {signals}"] = costs(conns, call, asked, vectors)
        return {**about(filled, amount), "cpu_ms": found}


if __name__ == "__main__":
    main()
