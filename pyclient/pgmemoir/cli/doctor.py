"""``memoir doctor``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ..chat_models import default_chat_model
from ..connections import connect
from ..doctor import Check, examine
from ..embedders import default_embedder
from .app import FAILED, App, explain_error, main
from .hints import in_commands
from .options import AS_JSON
from .output import one_line, print_json


@main.command()
@AS_JSON
@click.pass_obj
def doctor(app: App, as_json: bool) -> None:
    """Check everything a recall needs.

    Server, pgvector, migrations, embedder, what memoir.health() finds, jobs, and a recall. Exit
    code 1 on a failure.
    """
    checks = []
    for check in _checks(app):
        checks.append(check)
        if not as_json:
            click.echo(f"{check.state:<6}{check.name:<12}{one_line(check.text)}")
            if check.hint:
                click.echo(f"{'':<18}{one_line(in_commands(check.hint))}")
    if as_json:
        print_json(checks)
    if any(check.state == "fail" for check in checks):
        raise click.exceptions.Exit(FAILED)


def _checks(app: App) -> Iterator[Check]:
    embedder = default_embedder()
    try:
        conn = connect(app.best_address)
    except Exception as error:
        report, _ = explain_error(error)
        yield Check("connection", "fail", app.without_password(report.message), report.hint)
        return
    with conn:
        yield from examine(conn, embedder, app.user, default_chat_model())
