"""``memoir import``: a conversation becomes memories."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import click

from ..importer import parse
from ..steps import COUNT_FROM
from .app import App
from .output import progress_bar
from .upkeep import index_loaded


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--session", help="For messages that name none; default the file's name.")
@click.pass_obj
def import_conversation(app: App, file: BinaryIO, session: str | None) -> None:
    """Store a conversation, each message a memory.

    FILE is JSON or JSONL; - reads it from stdin. All of the file is stored, or nothing; the same
    file again adds only what is new in it.
    """
    name = session or (Path(file.name).stem if file.name != "<stdin>" else "stdin")
    conversation = parse(file.read(), name)
    with (
        app.transaction() as memory,
        progress_bar(len(conversation.turns), "remembering") as bar,
    ):
        done = memory.remember_many(conversation.turns, lambda count: bar.update(count - bar.pos))
    added = sum(result.action == "ADD" for result in done)
    refused = [result.reason for result in done if result.memory_id is None]
    click.echo(
        f"{added} messages stored, {len(done) - added - len(refused)} known already, "
        f"{conversation.skipped} without text, {len(conversation.sessions)} sessions"
        + (f"; {len(refused)} not stored: {refused[0]}" if refused else "")
    )
    if added >= COUNT_FROM:
        index_loaded(app)


COMMANDS = (import_conversation,)
