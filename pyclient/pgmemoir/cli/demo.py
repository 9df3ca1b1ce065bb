"""``memoir demo``: a question to a year of memory, in four modes."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from statistics import median

import click
import psycopg

from .. import demo as year
from ..calls import Explained, Recall
from ..client import Memoir
from .app import App, main
from .memory import explain_table
from .output import counted, fit, one_line, progress_bar

_BUDGET = 800
_REPEATS = 5
_ROWS_IN_BLOCK = 12
_ROWS_LEFT_OUT = 5
_ENGLISH_ROWS = 3


@main.command("demo")
@click.pass_obj
def demo_command(app: App) -> None:
    """Ask a year of memory one question in four modes.

    The first time loads the year: tasks, learnings, goals and events of a coding agent.
    """
    user = year.USER if app.user is None else app.user
    with app.connect() as conn:
        memory = Memoir(conn, user=user)
        _load(conn, memory, user)
        click.echo(f"\nquestion: {year.QUESTION}")
        for mode in year.MODES:
            _show(memory, mode)
        _heading("explain, mode execute")
        rows = memory.explain(year.QUESTION, "execute", _BUDGET)
        click.echo(explain_table(_sample(rows)))
        click.echo(f"({counted(len(rows), 'candidate')}; memoir explain shows them all)")
        _show_words(Memoir(conn, user=user, embedder=None))
    _farewell(app, user)


def _load(conn: psycopg.Connection, memory: Memoir, user: str) -> None:
    with conn.transaction(), progress_bar(year.size(), "loading a year") as bar:
        memories, events = year.load(memory, lambda count: bar.update(count - bar.pos))
    if memories or events:
        click.echo(
            f"loaded {counted(memories, 'memory')} and {counted(events, 'event')} into user {user}"
        )
    else:
        click.echo(f"user {user} has the year already")


def _show(memory: Memoir, mode: str) -> None:
    """One block, with what it cost."""
    found = memory.recall(year.QUESTION, mode, _BUDGET)
    # The client has the question's vector by now: what is timed is the SQL call.
    elapsed = median(_milliseconds(memory, mode) for _ in range(_REPEATS))
    _heading(f"mode {mode}: {_cost(found)}, {elapsed:.1f} ms")
    click.echo(found.block.rstrip())


def _show_words(memory: Memoir) -> None:
    """What is written in English, found by a Chinese question without a model."""
    _heading(f"without a model, {year.IN_CHINESE} finds English by synonyms")
    rows = memory.explain(year.IN_CHINESE, "execute", _BUDGET)
    english = [row for row in rows if row.memory_id and row.content.isascii() and row.matched]
    for row in english[:_ENGLISH_ROWS]:
        click.echo(f"{fit(one_line(row.content), 80)}  ({', '.join(row.matched or ())})")


def _milliseconds(memory: Memoir, mode: str) -> float:
    start = time.perf_counter()
    memory.recall(year.QUESTION, mode, _BUDGET)
    return (time.perf_counter() - start) * 1000


def _cost(found: Recall) -> str:
    return (
        f"{found.tokens} of {_BUDGET} tokens, {counted(len(found.memory_ids), 'memory')} "
        f"of {counted(found.candidates, 'candidate')}"
    )


def _sample(rows: list[Explained]) -> list[Explained]:
    """The first lines of the block, and the best memory for each reason to be left out."""
    inside = [row for row in rows if row.place is not None]
    reasons: dict[str, Explained] = {}
    for row in rows:
        if row.place is None:
            reasons.setdefault(row.reason.rstrip("0123456789 "), row)
    outside = [row for row in rows if row.place is None and row not in reasons.values()]
    chosen = [*reasons.values(), *outside][:_ROWS_LEFT_OUT]
    return [*inside[:_ROWS_IN_BLOCK], *chosen]


def _heading(text: str) -> None:
    click.echo(f"\n=== {text} ===")


def _farewell(app: App, user: str) -> None:
    _heading("go on by hand")
    call = shlex.join([*_program(), *app.options(), "--user", user, "psql"])
    click.echo(call)
    click.echo("    SELECT memory_context(NULL, 'debug', 800, 'JWKS 缓存');")
    click.echo("    SELECT place, content, score, reason FROM memory_explain(NULL, 'debug', 800,")
    click.echo("        'JWKS 缓存');")


def _program() -> list[str]:
    """How this program was called, in a form that works again from here."""
    if shutil.which("memoir") or not Path(sys.argv[0]).is_file():
        return ["memoir"]
    if Path(sys.argv[0]).name == "__main__.py":
        return [os.path.relpath(sys.executable), "-m", "pgmemoir"]
    return [os.path.relpath(sys.argv[0])]
