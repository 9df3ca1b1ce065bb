"""``memoir list``, ``show`` and ``history``, and the commands that change what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from ..calls import Detail
from ..calls_memory import Changed, Changes, Listed, Revision, Undone
from .app import App
from .options import AFTER, AS_JSON, DRY_RUN, ID, IDS, LIMIT, REASON
from .output import (
    fit,
    lines,
    one_line,
    outcome,
    parse_object,
    parse_time,
    print_json,
    read_text,
    table,
)

# Columns for what was before a change, and the values of it that are not shown there.
_LONGEST_BEFORE = 32
_SHOWN_ELSEWHERE = ("content", "retired_at")


@click.command("list")
@click.option("--kind", "kinds", multiple=True, help="Only these kinds (repeat it).")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    default=("active",),
    show_default=True,
    help="pending, active, superseded, archived, forgotten (repeat it), or all.",
)
@click.option("--since", type=parse_time, metavar="TIME", help="Made at this time or later.")
@click.option("--until", type=parse_time, metavar="TIME", help="Made at this time or before.")
@click.option("--search", help="Words that are in it; memoir search goes by meaning.")
@click.option("--subject", help="The slot it fills.")
@click.option("--session", help="The conversation it comes from.")
@click.option(
    "--sort", default="created", show_default=True, help="created, updated, importance, accessed."
)
@LIMIT
@AFTER
@AS_JSON
@click.pass_obj
def list_command(
    app: App,
    kinds: tuple[str, ...],
    statuses: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    search: str | None,
    subject: str | None,
    session: str | None,
    sort: str,
    limit: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List memories, the newest first."""
    with app.memoir() as memory:
        rows = memory.list_memories(
            kinds=kinds or None,
            status=None if "all" in statuses else statuses,
            since=since,
            until=until,
            search=search,
            subject=subject,
            session=session,
            sort=sort,
            page_size=limit,
            after=after,
        )
    if as_json:
        print_json(rows)
    elif rows:
        click.echo(listed_table(rows))
        if len(rows) == limit:
            click.echo(f"{limit} listed; the list goes on with --after {rows[-1].next}")
    else:
        click.echo("no such memories")


@click.command()
@ID
@AS_JSON
@click.pass_obj
def show(app: App, memory_id: int, as_json: bool) -> None:
    """Show one memory, whole."""
    with app.memoir() as memory:
        found = memory.memory_detail(memory_id)
    if as_json:
        print_json(found)
    else:
        click.echo(detail_text(found))


@click.command()
@ID
@AS_JSON
@click.pass_obj
def history(app: App, memory_id: int, as_json: bool) -> None:
    """Show what happened to a memory, oldest first."""
    with app.memoir() as memory:
        rows = memory.history(memory_id)
    if as_json:
        print_json(rows)
    else:
        click.echo(history_table(rows))


@click.command()
@ID
@click.option("--content", help="Its text (- reads it from stdin).")
@click.option("--summary", help='A short form; "" takes it away.')
@click.option("--importance", type=float, help="0 to 1.")
@click.option("--confidence", type=float, help="0 to 1.")
@click.option("--kind", help="task, learning, fact, ...")
@click.option("--subject", help='The slot it fills; "" takes it away.')
@click.option("--lifetime", help="core, working (30 days) or temporary (7 days).")
@click.option("--data", "data_text", metavar="JSON", help="A JSON object instead of the old one.")
@REASON
@AS_JSON
@click.pass_obj
def edit(
    app: App,
    memory_id: int,
    content: str | None,
    summary: str | None,
    importance: float | None,
    confidence: float | None,
    kind: str | None,
    subject: str | None,
    lifetime: str | None,
    data_text: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Change a memory in place; memoir undo brings back what was."""
    changes: Changes = {
        "content": None if content is None else read_text(content),
        "summary": summary,
        "importance": importance,
        "confidence": confidence,
        "kind": kind,
        "subject": subject,
        "lifetime": lifetime,
        "data": None if data_text is None else parse_object(data_text, "--data"),
    }
    if all(value is None for value in changes.values()):
        raise click.UsageError("nothing to change: give --content, --importance, ...")
    with app.memoir() as memory:
        action = memory.update(memory_id, reason=reason, **changes)
    if as_json:
        print_json({"action": action, "memory_id": memory_id})
    else:
        click.echo(f"{action} memory {memory_id}")


@click.command()
@ID
@click.argument("by_id", metavar="NEWER", type=int)
@REASON
@AS_JSON
@click.pass_obj
def supersede(app: App, memory_id: int, by_id: int, reason: str | None, as_json: bool) -> None:
    """Say that memory NEWER takes the place of memory ID."""
    with app.memoir() as memory:
        memory.supersede(memory_id, by_id, reason=reason)
    if as_json:
        print_json({"memory_id": memory_id, "by_id": by_id})
    else:
        click.echo(f"memory {by_id} takes the place of memory {memory_id}")


@click.command()
@IDS
@REASON
@DRY_RUN
@AS_JSON
@click.pass_obj
def forget(
    app: App, memory_ids: tuple[int, ...], reason: str | None, dry_run: bool, as_json: bool
) -> None:
    """Take memories out of recall; memoir restore brings them back.

    They stay stored and listed. All of them are forgotten, or none.
    """
    with app.memoir() as memory:
        rows = memory.forget(*memory_ids, reason=reason, dry_run=dry_run)
    _show_changed(rows, dry_run, as_json)


@click.command()
@IDS
@REASON
@DRY_RUN
@AS_JSON
@click.pass_obj
def restore(
    app: App, memory_ids: tuple[int, ...], reason: str | None, dry_run: bool, as_json: bool
) -> None:
    """Bring back forgotten or archived memories, all of them or none."""
    with app.memoir() as memory:
        rows = memory.restore(*memory_ids, reason=reason, dry_run=dry_run)
    _show_changed(rows, dry_run, as_json)


@click.command()
@click.argument("memory_id", metavar="[ID]", type=int, required=False)
@click.option("--run", "run_id", type=int, help="All of one upkeep or call of apply_decisions.")
@AS_JSON
@click.pass_obj
def undo(app: App, memory_id: int | None, run_id: int | None, as_json: bool) -> None:
    """Take back the last change of a memory, or all changes of a run.

    What the same decision changed goes back with it: a superseded memory is active again. Called
    again it takes back the change before, at last that the memory was added.
    """
    if (memory_id is None) == (run_id is None):
        raise click.UsageError("give the ID of a memory, or --run with the id of a run")
    with app.memoir() as memory:
        rows = memory.undo_run(run_id) if run_id is not None else memory.undo(memory_id or 0)
    if as_json:
        print_json(rows)
    else:
        click.echo(undone_table(rows))


@click.command()
@IDS
@AS_JSON
@click.pass_obj
def confirm(app: App, memory_ids: tuple[int, ...], as_json: bool) -> None:
    """Take up pending memories, all of them or none.

    memoir list --status pending lists what waits.
    """
    with app.memoir() as memory:
        rows = memory.confirm(*memory_ids)
    if as_json:
        print_json(rows)
    else:
        click.echo("\n".join(map(outcome, rows)))


@click.command()
@IDS
@REASON
@AS_JSON
@click.pass_obj
def reject(app: App, memory_ids: tuple[int, ...], reason: str | None, as_json: bool) -> None:
    """Forget pending memories, all of them or none."""
    with app.memoir() as memory:
        memory.reject(*memory_ids, reason=reason)
    if as_json:
        print_json([{"memory_id": each} for each in memory_ids])
    else:
        click.echo("\n".join(f"rejected memory {each}" for each in memory_ids))


def listed_table(rows: Sequence[Listed]) -> str:
    """A line a memory."""
    return _table(
        ["id", "kind", "status", "import", "created", "content"],
        [
            [
                row.key,
                row.kind,
                row.status,
                f"{row.importance:.2f}",
                f"{row.created_at:%Y-%m-%d}",
                one_line(row.preview),
            ]
            for row in rows
        ],
        flexible=5,
        right={0, 3},
    )


def detail_text(row: Detail) -> str:
    """The text, and below it what else is known, a line each."""
    place = f"turn {row.turn}" if row.turn is not None else None
    parts = {
        "summary": row.summary,
        "subject": row.subject,
        "importance": f"{row.importance:g}",
        "confidence": f"{row.confidence:g}",
        "keywords": ", ".join(row.keywords),
        "said": _joined(row.speaker, row.session_id, place),
        "created": f"{_minute(row.created_at)} by {row.origin}",
        "true": _span(row.valid_from, row.valid_until),
        "recalled": f"{row.access_count} times" if row.access_count else None,
        "data": row.data and json.dumps(row.data, ensure_ascii=False),
        "relations": _joined(*map(_relation, row.relations)),
        "entities": _joined(*(f"{each['name']} ({each['type']})" for each in row.entities)),
    }
    told = [f"{name:<11} {one_line(str(value))}" for name, value in parts.items() if value]
    head = f"memory {row.key}, {row.kind}, {row.status}"
    return "\n".join([head, "", lines(row.content), "", *told])


def history_table(rows: Sequence[Revision]) -> str:
    """A line for each thing that happened: the text from then on, what else was before, and why."""
    return _table(
        ["when", "action", "by", "text", "before", "because"],
        [
            [
                _minute(row.changed_at),
                row.action + (" (undone)" if row.undone else ""),
                one_line(row.author),
                one_line(row.content),
                fit(one_line(_before(row.old_values or {})), _LONGEST_BEFORE),
                one_line(row.reason or ""),
            ]
            for row in rows
        ],
        flexible=3,
        right=set(),
    )


def undone_table(rows: Sequence[Undone]) -> str:
    """A line a memory, with what it is now."""
    cells = [[str(row.memory_id), row.action, row.status, one_line(row.line)] for row in rows]
    return _table(["id", "what", "now", "content"], cells, flexible=3, right={0})


def _show_changed(rows: Sequence[Changed], dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    cells = [
        [str(row.memory_id), row.old_status, row.new_status, one_line(row.line)] for row in rows
    ]
    now = "would be" if dry_run else "is"
    click.echo(_table(["id", "was", now, "content"], cells, flexible=3, right={0}))


def _table(heads: list[str], cells: list[list[str]], flexible: int, right: set[int]) -> str:
    return table([heads, *cells], flexible, right)


def _before(values: dict[str, Any]) -> str:
    """What a change replaced besides the text, which stands a line above."""
    named = {name: value for name, value in values.items() if name not in _SHOWN_ELSEWHERE}
    return ", ".join(f"{name} {'-' if value is None else value}" for name, value in named.items())


def _relation(relation: dict[str, Any]) -> str:
    if relation["direction"] == "to":
        return f"{relation['type']} {relation['key']}"
    return f"{relation['key']} {relation['type']} it"


def _joined(*parts: str | None) -> str:
    return ", ".join(filter(None, parts))


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M}"


def _span(start: datetime, end: datetime | None) -> str:
    return f"{_minute(start)} to {_minute(end)}" if end else f"since {_minute(start)}"


COMMANDS = (
    list_command,
    show,
    history,
    edit,
    supersede,
    forget,
    restore,
    undo,
    confirm,
    reject,
)
