"""``memoir model``: changing to another embedding model while recall goes on."""

from __future__ import annotations

from typing import Any

import click
import psycopg

from .. import embedding_models
from ..embedders import Embedder
from ..errors import ModelMismatch
from .app import App, main
from .backfill import fill as embed
from .backfill import fill_options, needed_embedder, show_backlog
from .options import AS_JSON
from .output import counted, one_line, plain, print_json, progress_bar, table

_INDEXED = b"SELECT count(*) FROM memoir.profile WHERE ann > 0"

_NAME = click.argument("name")


@main.group("model")
def group() -> None:
    """Change to another embedding model.

    \b
    memoir model add NAME --dimensions N   next to the one in use
    memoir model fill                      with the new embedder; recall still uses the old one
    memoir model switch NAME               one statement; back again the same way
    memoir model drop OLD                  deletes its vectors
    """


@group.command("list")
@AS_JSON
@click.pass_obj
def list_models(app: App, as_json: bool) -> None:
    """Show the models of this database, the one in use first."""
    with app.connect() as conn:
        found = embedding_models.models(conn)
    if as_json:
        print_json(found)
        return
    cells = [["model", "dimensions", "state", "vectors", "missing"]]
    for one in found:
        numbers = [f"{one.vectors:,}", f"{one.missing:,}"]
        cells.append([one.name or "(unnamed)", plain(one.dimensions), one.state, *numbers])
    click.echo(table(cells, flexible=0, right={1, 3, 4}))


@group.command()
@_NAME
@click.option("--dimensions", type=int, required=True, help="Length of its vectors, 1 to 4000.")
@click.pass_obj
def add(app: App, name: str, dimensions: int) -> None:
    """Add a model next to the one in use.

    NAME is what its embedder calls it, such as openai/text-embedding-3-large.
    """
    with app.connect() as conn:
        embedding_models.add(conn, name, dimensions)
        state = next(one.state for one in embedding_models.models(conn) if one.name == name)
    said = {
        "in use": "{} is in use",
        "ready": "{0}, {1} dimensions, has all vectors; next: memoir model switch {0}",
    }.get(state, "added {}, {} dimensions; next: memoir model fill")
    click.echo(said.format(one_line(name), dimensions))


@group.command()
@click.argument("name", required=False)
@fill_options
@click.pass_obj
def fill(
    app: App,
    name: str | None,
    batch: int,
    pause: float,
    dry_run: bool,
    price: float | None,
) -> None:
    """Compute the vectors of a model that was added.

    The embedder of this environment makes them. Recall goes on with the model in use. Each batch is
    stored before the next begins: if it is stopped or killed, the next run continues where it was.
    Memories written meanwhile are filled too, by this run or the next.

    Exit code 1 if a memory could not be embedded.
    """
    embedder = _embedder_of(name)
    with app.connect() as conn:
        if name is None:
            _check_waits(conn, embedder.name)
        if not dry_run:
            _prepare(conn, embedder.name, app.user)
        memories = show_backlog(conn, app.user, price, embedder.name)
        if not dry_run and memories:
            embed(conn, embedder, app.user, batch, pause, memories, embedder.name)


@group.command()
@_NAME
@click.option(
    "--force", is_flag=True, help="Switch even if memories lack its vectors: words still find them."
)
@click.pass_obj
def switch(app: App, name: str, force: bool) -> None:
    """Use this model from now on, in one statement."""
    with app.connect() as conn:
        if force:
            _prepare(conn, name, None)
        ((indexed,),) = conn.execute(_INDEXED).fetchall()
        embedding_models.switch(conn, name, force=force)
        click.echo(f"in use: {one_line(name)}")
        if indexed and not conn.execute(_INDEXED).fetchall()[0][0]:
            click.echo(
                "slower until memoir maintain: recall of "
                f"{counted(indexed, 'user')} with many memories",
                err=True,
            )


@group.command()
@_NAME
@click.confirmation_option("--yes", prompt="Delete its vectors for good?", help="Do not ask.")
@click.pass_obj
def drop(app: App, name: str) -> None:
    """Delete a model that is not in use, with its vectors.

    Memories stay. It works in small steps, so that nobody waits. If it is stopped or killed, the
    next run continues.
    """
    with app.connect() as conn:
        total = next((one.vectors for one in embedding_models.models(conn) if one.name == name), 0)
        deleted = 0
        with progress_bar(total, "deleting") as bar:
            for number in embedding_models.drop(conn, name):
                deleted += number
                bar.update(number)
    click.echo(f"dropped {one_line(name)}, vectors of {counted(deleted, 'memory')}")


def _prepare(conn: psycopg.Connection[Any], name: str, user: str | None) -> None:
    """Make the traces the vectors go into."""
    missing = next((one.missing for one in embedding_models.models(conn) if one.name == name), 0)
    with progress_bar(missing, "preparing") as bar:
        for number in embedding_models.make_traces(conn, name, user):
            bar.update(number)


def _embedder_of(name: str | None) -> Embedder:
    """The embedder of this environment, which must have that name."""
    embedder = needed_embedder()
    if name not in (None, embedder.name):
        raise _other_embedder(embedder.name, f'"{name}"')
    return embedder


def _check_waits(conn: psycopg.Connection[Any], name: str) -> None:
    """Refuse to fill this model unless it is the one that waits to be filled."""
    states = {one.name: one.state for one in embedding_models.models(conn)}
    waiting = [each for each, state in states.items() if state == "to be filled"]
    if waiting and name in states and name not in waiting:
        raise _other_embedder(name, " or ".join(f'"{each}"' for each in waiting))


def _other_embedder(name: str, wanted: str) -> ModelMismatch:
    return ModelMismatch(
        f'the embedder is "{name}", not {wanted}',
        hint="Choose it: MEMOIR_EMBEDDER, MEMOIR_EMBED_MODEL, MEMOIR_EMBED_DIMENSIONS, "
        "MEMOIR_EMBED_NAME.",
    )
