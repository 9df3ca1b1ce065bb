"""``memoir backfill``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import psycopg

from ..backfill import BATCH, PAUSE, backfill, backlog
from ..embedders import (
    Embedder,
    default_embedder,
    missing_embedder_hint,
    wanted_embedder,
)
from ..errors import MemoirError
from .app import FAILED, App, Interrupted, main
from .options import USER_OR_ALL, Number
from .output import counted, one_line, progress_bar

# The command itself waits when a server asks for a pause.
_TIMEOUT = 120.0

_OPTIONS = (
    USER_OR_ALL,
    click.option(
        "--batch",
        type=click.IntRange(1, 256),
        default=BATCH,
        show_default=True,
        help="Memories per request.",
    ),
    click.option(
        "--pause",
        type=Number(0, 3600),
        default=PAUSE,
        show_default=True,
        help="Seconds between two requests.",
    ),
    click.option("--dry-run", is_flag=True, help="Count and estimate, embed nothing."),
    click.option(
        "--price", type=Number(0), help="Price of a million tokens, to estimate the cost."
    ),
)


def fill_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that embed what is stored."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@main.command("backfill")
@fill_options
@click.pass_obj
def backfill_command(
    app: App, batch: int, pause: float, dry_run: bool, price: float | None
) -> None:
    """Compute vectors for the memories that have none.

    Each batch is stored before the next begins. If it is stopped or killed, the next run continues
    where it was. A memory that cannot be embedded is reported with the reason, and the rest
    continues.

    Exit code 1 if a memory could not be embedded.
    """
    with app.connect() as conn:
        memories = show_backlog(conn, app.user, price)
        if not dry_run and memories:
            fill(conn, needed_embedder(), app.user, batch, pause, memories)


def show_backlog(
    conn: psycopg.Connection[Any],
    user: str | None,
    price: float | None,
    model: str | None = None,
) -> int:
    """Print what has no vector of a model (default: the one in use); returns how many memories."""
    waiting = backlog(conn, user, model)
    click.echo(
        f"without a vector: {counted(waiting.memories, 'memory')}, "
        f"{counted(waiting.users, 'user')}, about {counted(waiting.tokens, 'token')}"
        + ("" if price is None else f", {waiting.cost(price):.4f} at {price:g} a million")
    )
    return waiting.memories


def needed_embedder() -> Embedder:
    """The embedder of this environment."""
    embedder = default_embedder(timeout=_TIMEOUT, retries=0)
    if embedder is None:
        off = wanted_embedder() == "none"
        hint = "Unset MEMOIR_EMBEDDER: it is none." if off else missing_embedder_hint()
        raise MemoirError("there is no embedder", hint=hint)
    return embedder


def fill(
    conn: psycopg.Connection[Any],
    embedder: Embedder,
    user: str | None,
    batch: int,
    pause: float,
    memories: int,
    model: str | None = None,
) -> None:
    """Embed them, for the model in use or the named one, and show the progress."""
    done, failed, start = 0, 0, time.monotonic()

    def tell(reason: str, seconds: float) -> None:
        click.echo(f"{one_line(reason)}; asking again in {seconds:g} s", err=True)

    try:
        with progress_bar(memories, "embedding", lambda: _rate(done, start)) as bar:
            batches = backfill(
                conn, embedder, user, model=model, batch=batch, pause=pause, tell=tell
            )
            for filled in batches:
                done += filled.done
                failed += len(filled.failures)
                for memory_id, reason in filled.failures.items():
                    click.echo(f"memory {memory_id}: {one_line(reason)}")
                bar.update(filled.done + len(filled.failures))
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped after {counted(done, 'memory')}",
            hint="They are stored. Run it again for the rest.",
        ) from None
    click.echo(f"{done:,} embedded, {failed:,} failed, {_rate(done, start)}")
    if failed:
        raise click.exceptions.Exit(FAILED)


def _rate(done: int, start: float) -> str:
    return f"{done / max(time.monotonic() - start, 1e-3):,.0f} a second"
