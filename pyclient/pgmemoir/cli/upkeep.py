"""``memoir maintain``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from .. import upkeep
from ..calls import Maintained
from ..errors import MemoirError
from .app import App
from .output import fit, one_line, progress_bar, table

_STEPS = 1000
_LABEL = 40


@click.command()
@click.option("--user", help="Whose memory, as memoir --user; default everybody's.")
@click.pass_obj
def maintain(app: App, user: str | None) -> None:
    """Keep recall fast: count words, and index users with many memories.

    Nobody waits for it: memories can be stored and recalled meanwhile. Stopped halfway nothing is
    lost, and the next run goes on. Run it now and then, and after loading many memories.
    """
    user = app.user if user is None else user
    done: list[Maintained] = []
    try:
        done.extend(upkeep.maintain(app.address, user, user is None, _watch))
        if not done:
            click.echo("nothing to do")
    except KeyboardInterrupt:
        raise _stopped() from None
    finally:
        if done:
            _show(done)


def index_loaded(app: App) -> None:
    """Index the user of this call when many memories were stored; silent when there is no need."""
    try:
        for row in upkeep.maintain(app.address, app.user, False, _watch):
            if row.action != "words counted":
                click.echo(f"{row.action} for {row.memories:,} memories")
    except upkeep.LeftUndone as error:
        click.echo(f"warning: {error.message}", err=True)
    except KeyboardInterrupt:
        raise _stopped() from None


def _stopped() -> MemoirError:
    """What to tell when a build is interrupted."""
    return MemoirError(
        "stopped", hint="Nothing is lost: recall compares all memories until memoir maintain ends."
    )


def _show(done: list[Maintained]) -> None:
    """Print what was done as a table."""
    cells = [["user", "done", "memories"]]
    for row in done:
        memories = "" if row.memories is None else f"{row.memories:,}"
        cells.append([one_line(row.user or ""), row.action, memories])
    click.echo(table(cells, flexible=0, right={2}))


@contextmanager
def _watch(what: str) -> Iterator[upkeep.Report]:
    """A progress bar for one index."""
    label = fit(one_line(what), _LABEL)
    with progress_bar(_STEPS, label) as bar:

        def report(share: float, waits: str) -> None:
            bar.label = f"{label}, {waits}" if waits else label
            bar.update(max(0, int(share * _STEPS) - bar.pos))
            bar.render_progress()

        yield report
        bar.update(_STEPS - bar.pos)


COMMANDS = (maintain,)
