"""``memoir purge``: deleting for good, which asks first."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ..client import Memoir
from ..memories import Deleted
from .app import App, main
from .options import AS_JSON, DRY_RUN
from .output import one_line, print_json, table


@main.command()
@click.argument("memory_ids", metavar="[ID...]", type=int, nargs=-1)
@click.option("--user-data", is_flag=True, help="Everything of the user named by memoir --user.")
@DRY_RUN
@click.option("--yes", is_flag=True, help="Do not ask.")
@AS_JSON
@click.pass_obj
def purge(
    app: App,
    memory_ids: tuple[int, ...],
    user_data: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete memories for good, or everything of a user.

    This cannot be undone; memoir forget can. Shows what would be deleted, and asks first.
    """
    if bool(memory_ids) == user_data:
        raise click.UsageError("give the ids of memories, or --user-data")
    if user_data and app.user is None:
        raise click.UsageError("whose? memoir --user NAME purge --user-data")
    if not (dry_run or yes or _watched()):
        raise click.UsageError("there is nobody to ask: add --yes to delete, or --dry-run")
    with app.memoir() as memory:
        rows = _purge(memory, memory_ids, dry_run=True)
        if rows and not dry_run:
            if not yes:
                _ask(memory, memory_ids, rows, app.user)
            rows = _purge(memory, memory_ids, dry_run=False)
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo("nothing to delete")
    elif dry_run or yes:
        click.echo(deleted_table(rows))
    else:
        click.echo("deleted")


def _watched() -> bool:
    """Whether there is somebody to ask."""
    return sys.stdin.isatty()


def _purge(memory: Memoir, memory_ids: Sequence[int], dry_run: bool) -> list[Deleted]:
    if memory_ids:
        return memory.purge(*memory_ids, dry_run=dry_run)
    return memory.purge_user(dry_run=dry_run)


def _ask(
    memory: Memoir, memory_ids: Sequence[int], found: Sequence[Deleted], user: str | None
) -> None:
    """Show what would be deleted, and stop unless confirmed; a user's name has to be typed."""
    for each in memory_ids:
        click.echo(f"memory {each}: {one_line(memory.memory_detail(each).content)}", err=True)
    click.echo(deleted_table(found), err=True)
    if memory_ids:
        click.confirm("Delete this for good?", abort=True, err=True)
    elif click.prompt(f"Type {user} to delete all of it for good", err=True) != user:
        raise click.Abort


def deleted_table(rows: Sequence[Deleted]) -> str:
    """One line per table."""
    cells = [["table", "rows"], *([row.table, f"{row.rows:,}"] for row in rows)]
    return table(cells, flexible=0, right={1})
