"""``memoir source``: tables of the application as memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .. import sources
from .app import FAILED, App, main
from .options import AS_JSON
from .output import counted, one_line, print_json, table

_NAME = click.argument("name")


@main.group("source")
def group() -> None:
    """Attach tables of the application as memory.

    \b
    memoir source attach tasks task app.tasks --content title,description --user-id alice
    memoir source fill tasks      what is in the table already; later rows come by themselves
    memoir source list
    memoir source detach tasks    the table is as it was
    """


@group.command()
@_NAME
@click.argument("kind")
@click.argument("relation", required=False)
@click.option(
    "--query",
    metavar="FILE",
    type=click.Path(exists=True, path_type=Path),
    help="One SELECT instead of RELATION; pulled, not followed.",
)
@click.option(
    "--content", metavar="COLUMNS", help="The text, such as title,description; default content."
)
@click.option("--source-id", metavar="COLUMNS", help="The key; default the primary key.")
@click.option("--user-id", help="The one user to whom all rows belong.")
@click.option("--user-column", help="The column that names the user of a row; default user_id.")
@click.option("--created-at", metavar="COLUMN", help="When it happened; default created_at.")
@click.option(
    "--changed-at",
    metavar="COLUMN",
    help="For a view: when a row changed, to pull only newer rows.",
)
@click.option("--summary", metavar="COLUMN", help="A short form.")
@click.option("--importance", metavar="COLUMN", help="0 to 1.")
@click.option("--data", metavar="COLUMNS", help="What else to keep, such as status,priority.")
@click.option("--subject", metavar="COLUMN", help="What it is about.")
@click.option("--status", metavar="COLUMN", help="active, archived or forgotten.")
@click.option("--valid-until", metavar="COLUMN", help="Until when it is true.")
@click.option("--type", metavar="COLUMN", help="For events: what happened; default type.")
@click.option("--payload", metavar="COLUMNS", help="For events: the details; default payload.")
@click.option(
    "--on-delete",
    default="forget",
    show_default=True,
    help="forget or purge the memory of a deleted row.",
)
@click.option(
    "--write-retrievals", is_flag=True, help="Write what was recalled into that table of events."
)
@click.pass_obj
def attach(
    app: App,
    /,
    name: str,
    kind: str,
    relation: str | None,
    query: Path | None,
    user_id: str | None,
    on_delete: str,
    write_retrievals: bool,
    **columns: str | None,
) -> None:
    """Attach a table or view as a source of memories of KIND.

    NAME is what the source is called, RELATION the table or view. A table is followed within the
    transactions that change it. memoir source fill reads the rows it already has. If the table is
    busy, this is tried again for some seconds.
    """
    if (relation is None) == (query is None):
        raise click.UsageError("give either RELATION or --query FILE")
    named: dict[str, Any] = {
        of: [part.strip() for part in said.split(",") if part.strip()]
        if of in sources.MANY
        else said
        for of, said in columns.items()
        if said is not None
    }
    text = None if query is None else query.read_text(encoding="utf-8")
    call = sources.attach(
        name,
        kind,
        relation,
        text,
        on_delete,
        write_retrievals,
        user_id,
        named,  # type: ignore[arg-type]
    )
    with app.connect() as conn:
        state = sources.patiently(conn, call)
    click.echo(f"attached {one_line(name)}: {state}; next: memoir source fill {one_line(name)}")


@group.command()
@_NAME
@click.option("--anew", is_flag=True, help="Start from the first row, and forget what is gone.")
@click.option("--batch", type=int, help="Rows per transaction; default 1000.")
@click.pass_obj
def fill(app: App, name: str, anew: bool, batch: int | None) -> None:
    """Take in the rows that a source already has.

    If it is stopped, the next call continues. Exit code 1 if rows could not be taken in.
    """
    _read(app, name, changes=False, anew=anew, most=batch)


@group.command()
@_NAME
@click.option("--batch", type=int, help="Rows per transaction; default 1000.")
@click.pass_obj
def pull(app: App, name: str, batch: int | None) -> None:
    """Take in what changed in a view or query.

    Rows that failed before are tried again. Exit code 1 if rows could not be taken in.
    """
    _read(app, name, changes=True, anew=False, most=batch)


@group.command("list")
@AS_JSON
@click.pass_obj
def list_sources(app: App, as_json: bool) -> None:
    """Show what is attached, and whether it works."""
    with app.memoir() as memory:
        found = memory.sources()
    if as_json:
        print_json(found)
        return
    cells = [["source", "kind", "of", "state", "rows", "waiting", "last error"]]
    for one in found:
        numbers = [f"{one.rows:,}", f"{one.waiting:,}"]
        words = (one.name, one.kind, one.relation, one.state)
        cells.append([*words, *numbers, one.last_error or ""])
    click.echo(table(cells, flexible=6, right={4, 5}))


@group.command()
@_NAME
@click.option("--memories", default="keep", show_default=True, help="keep, forget or purge.")
@click.pass_obj
def detach(app: App, name: str, memories: str) -> None:
    """End an attachment; the table is as it was before."""
    with app.connect() as conn:
        number = sources.patiently(conn, sources.detach(name, memories))
    click.echo(f"detached {one_line(name)}, memories: {number:,}, {one_line(memories)}")


def _read(app: App, name: str, **how: Any) -> None:
    read = written = waiting = 0
    with app.connect() as conn:
        for batch in sources.read(conn, name, **how):
            read, written = read + batch.read_rows, written + batch.written
            waiting = batch.waiting
    click.echo(
        f"{one_line(name)}: read {counted(read, 'row')}, changed {counted(written, 'memory')}"
    )
    if waiting:
        click.echo(
            f"waiting: {counted(waiting, 'row')}; SELECT * FROM memoir.source_error", err=True
        )
        raise click.exceptions.Exit(FAILED)
