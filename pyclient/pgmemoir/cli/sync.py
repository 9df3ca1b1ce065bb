"""``memoir sync``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import click

from ..sync import Change, Options, Synced, sync, watch
from .app import FAILED, App, explain_error, main
from .options import AS_JSON, DRY_RUN, USER
from .output import as_object, lines, one_line, plain, print_json, table

# Rows shown at most.
_LONGEST_LIST = 40


@main.command("sync")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--ours", is_flag=True, help="On a conflict, take the file's side.")
@click.option("--theirs", is_flag=True, help="On a conflict, take the database's side.")
@DRY_RUN
@click.option(
    "--allow-deletions",
    is_flag=True,
    help="Forget what is missing even if it is more than half of a file.",
)
@click.option(
    "--watch",
    "watched",
    is_flag=True,
    help="Keep running, and sync whenever a file or a memory changes.",
)
@USER
@AS_JSON
@click.pass_obj
def sync_command(
    app: App,
    folder: Path,
    ours: bool,
    theirs: bool,
    dry_run: bool,
    allow_deletions: bool,
    watched: bool,
    as_json: bool,
) -> None:
    """Merge memory.md and learnings.md in DIR and the database.

    A bullet is a memory, of the kind that the heading above it names. What was edited, added or
    deleted on one side is applied to the other. What was changed on both sides is a conflict: it is
    listed, and both sides stay. What is deleted from a file is forgotten; memoir restore brings it
    back, and memoir undo --run undoes a whole sync.

    DIR/.memoir-sync holds what the last sync agreed on; without it nothing counts as deleted.

    Exit code 1 if there are conflicts.
    """
    if watched and dry_run:
        raise click.UsageError("--watch changes files and memories: leave --dry-run out")
    if ours and theirs:
        raise click.UsageError("--ours or --theirs: not both")
    strategy = "ours" if ours else "theirs" if theirs else "report"
    options = Options(strategy, dry_run, allow_deletions, app.user)
    if watched:
        _watch(app, folder, options)
        return
    with app.connect() as conn:
        done = sync(conn, folder, options)
    if as_json:
        changes = [as_object(each) for each in done.changes]
        print_json({"changes": changes, "written": done.written, "run_id": done.run_id})
    else:
        click.echo(sync_report(done, dry_run))
    if done.conflicts:
        raise click.exceptions.Exit(FAILED)


def sync_report(done: Synced, dry_run: bool = False) -> str:
    """What was done, a line each, conflicts with both texts, and the numbers."""
    parts = [_change_table(done.changes)] if done.changes else []
    parts += [_conflict(each) for each in done.conflicts[:_LONGEST_LIST]]
    if done.conflicts:
        parts.append("--ours takes the side of the files, --theirs that of the database.")
    parts.append(_numbers(done, dry_run))
    return "\n\n".join(parts)


def _change_table(changes: Sequence[Change]) -> str:
    cells = [
        [
            _place(each),
            each.action,
            each.changed or "",
            plain(each.memory_id),
            _text_now(each),
            each.reason,
        ]
        for each in changes[:_LONGEST_LIST]
    ]
    heads = ["where", "action", "in the", "id", "content", "because"]
    shown = table([heads, *cells], flexible=4, right={3})
    left = len(changes) - len(cells)
    return f"{shown}\n... and {left:,} more (--json lists all)" if left else shown


def _text_now(change: Change) -> str:
    """What the side that follows has now; what is gone, as it was."""
    texts = (change.file_text or "", change.database_text or "")
    return (texts[1] or texts[0]) if change.changed == "file" else (texts[0] or texts[1])


def _conflict(change: Change) -> str:
    texts = {"file": change.file_text, "database": change.database_text}
    said = [
        f"  {side:<9} {one_line(text) if text else '(no longer there)'}"
        for side, text in texts.items()
    ]
    return "\n".join([f"conflict at {_place(change)}, memory {change.memory_id}", *said])


def _numbers(done: Synced, dry_run: bool) -> str:
    if not done.changes:
        return "files and database agree"
    sides = [each.changed for each in done.changes]
    would = "would be " if dry_run else ""
    counts = f"{sides.count('database')} in the database, {sides.count('file')} in the files"
    conflicts = f", {len(done.conflicts)} in conflict" if done.conflicts else ""
    back = f"; memoir undo --run {done.run_id} takes it back" if done.run_id else ""
    return f"{would}changed: {counts}{conflicts}{back}"


def _place(change: Change) -> str:
    return f"{change.file}.md" + ("" if change.line is None else f":{change.line}")


def _watch(app: App, folder: Path, options: Options) -> None:
    stop = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    def told(done: Synced) -> None:
        click.echo(sync_report(done) + "\n")

    def failed(error: Exception) -> None:
        click.echo(lines(str(explain_error(error)[0])), err=True)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    click.echo(f"watching {folder}; Ctrl-C ends it", err=True)
    watch(app.address, folder, options, told, failed, stop)
