"""``memoir maintain``."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .. import upkeep
from ..calls import Maintained
from ..errors import MemoirError
from ..recalling import COUNT_FROM
from .app import App, Interrupted, main
from .options import AS_JSON, DRY_RUN, USER_OR_ALL
from .output import counted, fit, one_line, print_json, progress_bar, table

_STEPS = 1000
_LABEL = 40


@main.command()
@USER_OR_ALL
@DRY_RUN
@AS_JSON
@click.pass_obj
def maintain(app: App, dry_run: bool, as_json: bool) -> None:
    """Forget what is due, keep recall fast, and report.

    It blocks nobody: memories can be stored and recalled meanwhile. If it is stopped halfway,
    nothing is lost, and the next run continues. Run it once a day, and after loading many memories.
    """
    everybody = app.user is None
    done: list[Maintained] = []
    try:
        if dry_run:
            done = upkeep.planned(app.address, app.user, everybody)
        else:
            with _stoppable():
                done.extend(upkeep.maintain(app.address, app.user, everybody, _watch))
    finally:
        if as_json:
            print_json(done)
        else:
            _show(done)
    if any(row.action == "failed" for row in done):
        raise MemoirError(
            "some steps failed, the others are done",
            hint="Each is tried again next time; because tells what it failed at.",
        )


def index_loaded(app: App, added: int) -> None:
    """Build the user's indexes after many memories were stored; silent if there is no need."""
    if added < COUNT_FROM:
        return
    try:
        with _stoppable():
            for row in upkeep.tend_recall(app.address, app.user, _watch):
                if row.action == "failed":
                    click.echo(f"warning: not indexed: {_because(row)}", err=True)
                elif row.action != "words counted":
                    click.echo(f"{row.action} for {counted(row.memories or 0, 'memory')}")
    except upkeep.LeftUndone as error:
        click.echo(f"warning: {error.message}", err=True)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM cancel what the server does, and half an index is dropped.

    In the background of a shell it ignores Ctrl-C, as programs do there; SIGTERM stops it.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            "stopped",
            hint="Nothing is lost: recall compares all memories until memoir maintain ends.",
        ) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(done: list[Maintained]) -> None:
    """Print what was done as a table, and the report."""
    things = [row for row in done if row.action != "report"]
    cells = [["user", "done", "memories", "because"]]
    for row in things:
        memories = "" if row.memories is None else f"{row.memories:,}"
        cells.append([row.user or "", row.action, memories, _because(row)])
    if things:
        click.echo(table(cells, flexible=3, right={2}))
    elif done:
        click.echo("nothing to do")
    for row in done:
        if row.action == "report" and row.details:
            click.echo(_report(row.details))


def _because(row: Maintained) -> str:
    """Why, and what numbers and names there are."""
    details = row.details or {}
    parts = [details.get("why", ""), details.get("table", "")]
    if row.action == "contradiction":
        parts.append(", ".join(details["ids"]))
    parts += [f"{count:,} {name}" for name, count in details.items() if isinstance(count, int)]
    if row.action == "failed":
        parts.append(details["step"])
    if "run_id" in details:
        parts.append(f"run {details['run_id']}")
    return "; ".join(filter(None, parts)).replace("tool_calls", "tool calls")


def _report(details: dict[str, Any]) -> str:
    """The quality report in two lines."""
    lines = []
    for name in ("status", "relevance"):
        counts = sorted(details[name].items(), key=lambda each: -each[1])
        told = ", ".join(f"{count:,} {word}" for word, count in counts)
        lines.append(f"{name}: {told or 'no memories'}")
    coverage = details["keyword_coverage"]
    if coverage is not None:
        lines[0] += f"; {details['without_vector']:,} without a vector"
        lines[0] += f"; {coverage:.1%} with keywords"
    return "\n".join(lines)


@contextmanager
def _watch(what: str) -> Iterator[upkeep.Report]:
    """A progress bar for one index."""
    label = fit(one_line(what), _LABEL)
    with progress_bar(_STEPS, label) as bar:

        def report(share: float, waits: str) -> None:
            bar.label = f"{label}, {waits}" if waits else label
            bar.update(max(0, int(share * _STEPS) - bar.pos))
            bar.render_progress()

        yield report
        bar.update(_STEPS - bar.pos)
