"""``memoir files``: the memory folder of D3, ``memory.json`` and ``logs/YYYY-MM-DD.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..memory_folder import Done, MemoryFolder
from .app import App, main
from .options import AS_JSON, DRY_RUN
from .output import one_line, print_json
from .upkeep import index_loaded

_SHOWN = 20


def _folder_options(command: Callable[..., None]) -> Callable[..., None]:
    """What every command about a folder takes."""
    zone = click.option(
        "--zone",
        default="UTC",
        show_default=True,
        help="Time zone of days, and of times without an offset, such as Asia/Shanghai.",
    )
    folder = click.argument("folder", type=click.Path(path_type=Path))
    return folder(DRY_RUN(zone(AS_JSON(click.pass_obj(command)))))


@main.group()
def files() -> None:
    """Keep memory as files: memory.json and daily logs in a folder."""


@files.command("import")
@click.option("--delete-missing", is_flag=True, help="Forget what was in a file and no longer is.")
@_folder_options
def import_files(
    app: App, folder: Path, dry_run: bool, zone: str, as_json: bool, delete_missing: bool
) -> None:
    """Import the files of FOLDER into memory, all of them or none.

    Edits in memory.json change memory, and can be undone. Similar entries stay separate. Importing
    the same files again changes nothing.
    """
    with _open(app, folder, zone) as found:
        done = found.import_files(dry_run=dry_run, delete_missing=delete_missing)
    _show_taken(done, dry_run, as_json)
    _index(app, done, dry_run)


@files.command("export")
@click.option(
    "--force", is_flag=True, help="Replace files even if they say what memory does not know."
)
@_folder_options
def export_files(
    app: App, folder: Path, dry_run: bool, zone: str, as_json: bool, force: bool
) -> None:
    """Write memory into the files of FOLDER.

    A file that already says the same is not touched. If a file is replaced, the old one is kept as
    NAME.bak.
    """
    with _open(app, folder, zone) as found:
        done = found.export_files(dry_run=dry_run, force=force)
    if as_json:
        print_json([{"file": each.name, "written": each.written} for each in done])
        return
    written = [each.name for each in done if each.written]
    for name in written[:_SHOWN]:
        click.echo(f"{'would write' if dry_run else 'wrote'} {name}")
    if len(written) > _SHOWN:
        click.echo(f"... and {len(written) - _SHOWN} more")
    count = f"{len(written)} {'to write' if dry_run else 'written'}"
    click.echo(f"{count}, {len(done) - len(written)} as they were")


@files.command()
@click.option("--export", is_flag=True, help="Also write memory.json and the logs.")
@_folder_options
def migrate(app: App, folder: Path, dry_run: bool, zone: str, as_json: bool, export: bool) -> None:
    """Import MEMORY.md and logs/*.md of FOLDER into memory.

    The files are renamed to NAME.migrated. If it is stopped halfway, nothing is lost: run it again.
    """
    with _open(app, folder, zone) as found:
        done = found.migrate(dry_run=dry_run, export=export)
    if not done and not as_json:
        click.echo("nothing to migrate: no MEMORY.md and no logs/YYYY-MM-DD.md")
        return
    _show_taken(done, dry_run, as_json)
    _index(app, done, dry_run)


@contextmanager
def _open(app: App, folder: Path, zone: str) -> Iterator[MemoryFolder]:
    with app.connect() as conn:
        yield MemoryFolder(conn, folder, user=app.user, zone=zone)


def _show_taken(done: list[Done], dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "file": each.name,
                    **each.actions,
                    "news": [
                        {"action": action, "entry": key, "reason": reason}
                        for action, reason, key in each.news
                    ],
                }
                for each in done
            ]
        )
        return
    for each in done:
        click.echo(f"{each.name}: {_counts(each.actions)}")
        for action, reason, key in each.news[:_SHOWN]:
            if action != "ADD":
                click.echo(f"  {action} {one_line(key)}: {one_line(reason)}")
    if dry_run:
        click.echo("nothing was changed")


def _counts(actions: Counter[str]) -> str:
    """For example "2 added, 1 changed"."""
    words = {"ADD": "added", "UPDATE": "changed", "FORGET": "forgotten", "DELETE": "deleted"}
    words["NOOP"] = "as they were"
    told = [f"{actions[name]} {word}" for name, word in words.items() if actions[name]]
    return ", ".join(told) or "nothing in it"


def _index(app: App, done: list[Done], dry_run: bool) -> None:
    """What to do after many new memories."""
    added = sum(each.actions["ADD"] for each in done)
    if added and not dry_run:
        click.echo("vectors come from memoir worker, or memoir backfill", err=True)
        index_loaded(app, added)
