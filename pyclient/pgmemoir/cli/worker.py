"""``memoir worker``."""

from __future__ import annotations

import json
import signal
from types import FrameType
from typing import Any

import click

from ..chat_models import TIMEOUT, default_chat_model
from ..embedders import default_embedder
from ..worker import Options, Worker
from .app import FAILED, App, main
from .options import Number


@main.command()
@click.option("--once", is_flag=True, help="Do the waiting jobs, then exit.")
@click.option(
    "--kinds", metavar="KIND,...", help="Only jobs of these kinds, for example embed,extract."
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    default=Options.concurrency,
    show_default=True,
    help="Chat jobs at once.",
)
@click.option(
    "--poll",
    type=Number(0.1, 3600),
    default=Options.poll,
    show_default=True,
    help="Seconds after which an idle worker polls again.",
)
@click.option("--model", help="The chat model (MEMOIR_CHAT_MODEL).")
@click.option("--name", default="", help="Its name in the queue. Default: host and process.")
@click.option(
    "--lease",
    type=Number(1, 86_400),
    default=Options.lease,
    show_default=True,
    help="Seconds after which the jobs of a killed worker are handed out again.",
)
@click.option(
    "--grace",
    type=Number(0, 3600),
    default=Options.grace,
    show_default=True,
    help="Seconds that running jobs get to finish after SIGTERM.",
)
@click.option(
    "--timeout",
    type=Number(0.1, 3600),
    default=TIMEOUT,
    show_default=True,
    help="Seconds that a model gets for one request; without an accelerator it may need more.",
)
@click.pass_obj
def worker(
    app: App, /, once: bool, kinds: str | None, model: str | None, timeout: float, **options: Any
) -> None:
    """Run the jobs that need a model.

    Vectors for new memories by the embedder (MEMOIR_EMBEDDER, OPENAI_API_KEY), everything else by
    the chat model, when there is one. Any number of workers may run. On Ctrl-C, SIGTERM or SIGHUP
    it finishes what it has begun; on a second one it stops at once. Each job is logged as a line of
    JSON on stderr, without content.

    Exit code 1 with --once if an attempt failed.
    """
    wanted = None if kinds is None else [kind.strip() for kind in kinds.split(",")]
    serves = Worker(
        app.address,
        default_embedder(timeout=timeout, retries=0),  # the queue repeats what failed
        default_chat_model(model, timeout=timeout),
        Options(kinds=wanted, **options),
        lambda entry: click.echo(json.dumps(entry), err=True),
    )

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        serves.stop()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # SIGHUP says that the terminal was closed; nohup has it ignored.
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    done = serves.run(once)
    if once and done.failed:
        raise click.exceptions.Exit(FAILED)
