"""``memoir edit``, ``forget``, ``undo`` and the others that change what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import click

from ..memories import Changed, Undone
from .app import App, main
from .memory import outcome
from .options import AS_JSON, DRY_RUN, ID, IDS, REASON, parse_data, read_text
from .output import print_found, table


@main.command()
@ID
@click.option("--content", help="Its text (- reads it from stdin).")
@click.option("--summary", help='A short form; "" removes it.')
@click.option("--importance", type=float, help="0 to 1.")
@click.option("--confidence", type=float, help="0 to 1.")
@click.option("--kind", help="task, learning, fact, ...")
@click.option("--subject", help='The slot it fills; "" removes it.')
@click.option("--lifetime", help="core, working (30 days) or temporary (7 days).")
@click.option("--data", "data_text", metavar="JSON", help="A JSON object to replace the old one.")
@REASON
@AS_JSON
@click.pass_obj
def edit(
    app: App,
    /,
    memory_id: int,
    content: str | None,
    data_text: str | None,
    reason: str | None,
    as_json: bool,
    **changes: Any,
) -> None:
    """Change a memory in place; memoir undo brings back what was."""
    changes["content"] = None if content is None else read_text(content)
    changes["data"] = parse_data(data_text)
    if all(value is None for value in changes.values()):
        raise click.UsageError("nothing to change: give --content, --importance, ...")
    with app.memoir() as memory:
        action = memory.update(memory_id, reason=reason, **changes)
    done = {"action": action, "memory_id": memory_id}
    print_found(done, as_json, lambda _: f"{action} memory {memory_id}")


@main.command()
@ID
@click.argument("by_id", metavar="NEWER", type=int)
@REASON
@AS_JSON
@click.pass_obj
def supersede(app: App, memory_id: int, by_id: int, reason: str | None, as_json: bool) -> None:
    """Replace memory ID by memory NEWER."""
    with app.memoir() as memory:
        memory.supersede(memory_id, by_id, reason=reason)
    done = {"memory_id": memory_id, "by_id": by_id}
    print_found(done, as_json, lambda _: f"memory {by_id} takes the place of memory {memory_id}")


@main.command()
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
    print_found(rows, as_json, partial(changed_table, dry_run=dry_run))


@main.command()
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
    print_found(rows, as_json, partial(changed_table, dry_run=dry_run))


@main.command()
@click.argument("memory_id", metavar="[ID]", type=int, required=False)
@click.option(
    "--run",
    "run_id",
    type=int,
    help="Everything that one maintain, import, sync or job changed.",
)
@AS_JSON
@click.pass_obj
def undo(app: App, memory_id: int | None, run_id: int | None, as_json: bool) -> None:
    """Undo the last change of a memory, or all changes of a run.

    Everything the same decision changed is undone with it: a superseded memory is active again.
    Call it again to undo the change before, and in the end the adding of the memory itself.
    """
    if (memory_id is None) == (run_id is None):
        raise click.UsageError("give the ID of a memory, or --run with the id of a run")
    with app.memoir() as memory:
        rows = memory.undo(cast(int, memory_id)) if run_id is None else memory.undo_run(run_id)
    print_found(rows, as_json, undone_table)


@main.command()
@IDS
@AS_JSON
@click.pass_obj
def confirm(app: App, memory_ids: tuple[int, ...], as_json: bool) -> None:
    """Accept pending memories, all of them or none.

    memoir list --status pending lists them.
    """
    with app.memoir() as memory:
        rows = memory.confirm(*memory_ids)
    print_found(rows, as_json, lambda rows: "\n".join(map(outcome, rows)))


@main.command()
@IDS
@REASON
@AS_JSON
@click.pass_obj
def reject(app: App, memory_ids: tuple[int, ...], reason: str | None, as_json: bool) -> None:
    """Forget pending memories, all of them or none."""
    with app.memoir() as memory:
        memory.reject(*memory_ids, reason=reason)
    done = [{"memory_id": each} for each in memory_ids]
    print_found(
        done, as_json, lambda _: "\n".join(f"rejected memory {each}" for each in memory_ids)
    )


def undone_table(rows: Sequence[Undone]) -> str:
    """One line per memory, with what it is now."""
    cells = [[str(row.memory_id), row.action, row.status, row.line] for row in rows]
    return table([["id", "what", "now", "content"], *cells], flexible=3, right={0})


def changed_table(rows: Sequence[Changed], dry_run: bool) -> str:
    """One line per memory, with what it was and is."""
    heads = ["id", "was", "would be" if dry_run else "is", "content"]
    cells = [[str(row.memory_id), row.old_status, row.new_status, row.line] for row in rows]
    return table([heads, *cells], flexible=3, right={0})
