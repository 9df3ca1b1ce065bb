"""``memoir list``, ``show`` and ``history``: looking through what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

import click

from ..calls import Detail
from ..memories import Listed, Revision
from .app import App, main
from .options import AFTER, AS_JSON, DATA, ID, LIMIT, TIME, parse_data
from .output import fit, lines, minute, one_line, print_found, print_page, table

# Columns for what was before a change, and the values of it that are not shown there.
_LONGEST_BEFORE = 32
_SHOWN_ELSEWHERE = ("content", "retired_at")


@main.command("list")
@click.option("--kind", "kinds", multiple=True, help="Only these kinds; may be repeated.")
@click.option(
    "--status",
    multiple=True,
    default=("active",),
    show_default=True,
    help="pending, active, superseded, archived, forgotten, or all; may be repeated.",
)
@click.option("--since", type=TIME, help="Created at this time or later.")
@click.option("--until", type=TIME, help="Created up to this time; a day means its beginning.")
@click.option("--search", help="Words it contains; memoir search finds by meaning.")
@click.option("--subject", help="The slot it fills.")
@click.option("--session", help="The conversation it comes from.")
@DATA
@click.option(
    "--sort", default="created", show_default=True, help="created, updated, importance, accessed."
)
@LIMIT
@AFTER
@AS_JSON
@click.pass_obj
def list_command(
    app: App,
    /,
    kinds: tuple[str, ...],
    status: tuple[str, ...],
    data_text: str | None,
    limit: int,
    after: str | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """List memories, the newest first."""
    data = parse_data(data_text)
    with app.memoir() as memory:
        ask = partial(
            memory.list_memories,
            kinds=kinds or None,
            status=None if "all" in status else status,
            data=data,
            **filters,
        )
        print_page(ask, limit, after, as_json, listed_table, "no such memories")


@main.command()
@ID
@AS_JSON
@click.pass_obj
def show(app: App, memory_id: int, as_json: bool) -> None:
    """Show one memory in full."""
    with app.memoir() as memory:
        found = memory.memory_detail(memory_id)
    print_found(found, as_json, detail_text)


@main.command()
@ID
@AS_JSON
@click.pass_obj
def history(app: App, memory_id: int, as_json: bool) -> None:
    """Show what happened to a memory, oldest first."""
    with app.memoir() as memory:
        rows = memory.history(memory_id)
    print_found(rows, as_json, history_table)


def listed_table(rows: Sequence[Listed]) -> str:
    """One line per memory."""
    cells = [
        [
            row.key,
            row.kind,
            row.status,
            f"{row.importance:.2f}",
            f"{row.created_at:%Y-%m-%d}",
            row.preview,
        ]
        for row in rows
    ]
    heads = ["id", "kind", "status", "importance", "created", "content"]
    return table([heads, *cells], flexible=5, right={0, 3})


def detail_text(row: Detail) -> str:
    """The text, and below it what else is known, one line each."""
    place = f"turn {row.turn}" if row.turn is not None else None
    parts = {
        "summary": row.summary,
        "subject": row.subject,
        "importance": f"{row.importance:g}",
        "confidence": f"{row.confidence:g}",
        "keywords": ", ".join(row.keywords),
        "said": _joined(row.speaker, row.session_id, place),
        "created": f"{minute(row.created_at)} by {row.origin}",
        "true": _span(row.valid_from, row.valid_until),
        "recalled": f"{row.access_count} times" if row.access_count else None,
        "data": row.data and json.dumps(row.data, ensure_ascii=False),
        "relations": _joined(*map(_relation, row.relations), _further(row)),
        "entities": _joined(*(f"{each['name']} ({each['type']})" for each in row.entities)),
    }
    told = [f"{name:<11} {one_line(str(value))}" for name, value in parts.items() if value]
    head = f"memory {row.key}, {row.kind}, {row.status}"
    return "\n".join([head, "", lines(row.content), "", *told])


def history_table(rows: Sequence[Revision]) -> str:
    """A line for each thing that happened: the text from then on, what else was before, and why."""
    cells = [
        [
            minute(row.changed_at),
            row.action + (" (undone)" if row.undone else ""),
            row.author,
            row.content,
            fit(_before(row.old_values or {}), _LONGEST_BEFORE),
            row.reason or "",
        ]
        for row in rows
    ]
    heads = ["when", "action", "by", "text", "before", "because"]
    return table([heads, *cells], flexible=3, right=set())


def _before(values: dict[str, Any]) -> str:
    """What a change replaced besides the text, which is one line above."""
    named = {name: value for name, value in values.items() if name not in _SHOWN_ELSEWHERE}
    return ", ".join(f"{name} {'-' if value is None else value}" for name, value in named.items())


def _further(row: Detail) -> str | None:
    """How many relations are not shown."""
    further = row.relation_count - len(row.relations)
    return f"{further} more" if further else None


def _relation(relation: dict[str, Any]) -> str:
    if relation["direction"] == "to":
        return f"{relation['type']} {relation['key']}"
    return f"{relation['key']} {relation['type']} it"


def _joined(*parts: str | None) -> str:
    return ", ".join(filter(None, parts))


def _span(start: datetime, end: datetime | None) -> str:
    return f"{minute(start)} to {minute(end)}" if end else f"since {minute(start)}"
