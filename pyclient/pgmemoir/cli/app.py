"""The group ``memoir``: its options, the connection they lead to, and errors for people."""

from __future__ import annotations

import io
import logging
import os
import re
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

import click
import psycopg
from click.core import ParameterSource
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .. import __version__
from ..connections import connect, end_with_the_client
from ..errors import MemoirError, NotInstalled, advice, translate
from .hints import in_commands
from .output import lines

if TYPE_CHECKING:
    from ..client import Memoir

FAILED = 1
WRONG_USAGE = 2
NOT_CONNECTED = 3
READER_GONE = 128 + signal.SIGPIPE  # the shell's exit code for a program that head has ended
INTERRUPTED = 130

# SQLSTATE classes of a connection that was refused or lost: connection exception, authorization,
# unknown database, too many connections, shutdown.
_CONNECTION = ("08", "28", "3D", "53300", "57P")
# A connection that was there is gone: ended by a shutdown or a crash, or in libpq's words.
_ENDED = ("57P01", "57P02")
_LOST = re.compile(
    "(consuming input|flushing|sending .+) failed|server closed|the connection is (lost|closed)"
)

# Parameters of a connection string that must not be shown.
_SECRET = ("password", "sslpassword", "oauth_client_secret")

_BEFORE_THE_COMMAND = ("--dsn", "--data", "--user")

# Which module has which commands: one command reads the modules it needs.
_COMMANDS = {
    "backfill": "backfill",
    "change": "confirm edit forget reject restore supersede undo",
    "control": "sessions settings stats",
    "database": "migrate psql server",
    "demo": "demo",
    "doctor": "doctor",
    "evaluate": "eval replay",
    "files": "files",
    "look": "history list show",
    "memory": "context event explain remember search",
    "model": "model",
    "move": "export import",
    "purge": "purge",
    "source": "source",
    "sync": "sync",
    "upkeep": "maintain",
    "worker": "worker",
}
_MODULES = {name: module for module, names in _COMMANDS.items() for name in names.split()}

# psycopg also warns of lost connections; without a handler that would be printed.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


@dataclass
class App:
    """Where the commands of one call work.

    Attributes:
        dsn: the connection string, None for the embedded server.
        data: folder of the embedded server, None for its default.
        user: whose memory, None for the default.
    """

    dsn: str | None
    data: Path | None
    user: str | None

    @property
    def data_dir(self) -> Path:
        """The folder of the embedded server."""
        from .. import server

        return self.data or server.default_data_dir()

    @cached_property
    def address(self) -> str:
        """A connection string of a database with the schema of this version.

        Only the embedded server is brought up to date here; a database of the user's own is
        changed by ``memoir migrate`` alone.
        """
        if self.dsn:
            return self.dsn
        from ..client import embedded_dsn

        self.announce_server()
        return embedded_dsn(self.data_dir)

    @cached_property
    def bare_address(self) -> str:
        """A connection string of the database as it is."""
        from .. import server

        if self.dsn:
            return self.dsn
        self.announce_server()
        return server.start(self.data_dir)

    @property
    def best_address(self) -> str:
        """As `address`; if the update is refused, the database as it is. For commands that only
        look.
        """
        from ..migrations import MigrationError

        try:
            return self.address
        except MigrationError:
            return self.bare_address

    def without_password(self, text: str) -> str:
        """The text without a password of the dsn, for streams other than stderr."""
        return _masked(text, [self.dsn or ""])

    def announce_server(self) -> None:
        """Say that the embedded server starts: it takes seconds, and stays."""
        from .. import server

        if not server.running(self.data_dir):
            server.check_installed()
            stop = shlex.join(["memoir", *self.options(), "server", "stop"])
            click.echo(f"starting PostgreSQL in {self.data_dir} ({stop} ends it)", err=True)

    def options(self) -> list[str]:
        """The options with which another call reaches the same database, without a password."""
        dsn, data = os.environ.get("MEMOIR_DSN"), os.environ.get("MEMOIR_DATA")
        if self.dsn:
            told = conninfo_to_dict(self.dsn).items()
            shown = make_conninfo("", **{k: v for k, v in told if k not in _SECRET})
            return [] if self.dsn == dsn else ["--dsn", shown]
        if self.data and (dsn or self.data != Path(data or ".memoir")):
            return ["--data", str(self.data)]
        return []

    def connect(self) -> psycopg.Connection[Any]:
        """A connection to a database with the schema of this version."""
        return connect(self.address)

    @contextmanager
    def memoir(self) -> Iterator[Memoir]:
        """A client that commits every call."""
        from ..client import Memoir

        with Memoir(self.address, user=self.user) as client:
            yield client

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[psycopg.Connection[Any]]:
        """A connection whose statements are committed together, or not at all.

        It waits as long as it takes for models, and for who reads what is exported.
        """
        with connect(self.address, autocommit=False) as conn:
            try:
                conn.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                end_with_the_client(conn)
                yield conn
            except KeyboardInterrupt:
                conn.close()
                raise Interrupted("stopped", hint="Nothing was changed: run it again.") from None
            if not keep:
                conn.rollback()


class Interrupted(MemoirError):
    """Ctrl-C, or SIGTERM, ended a command that has something to say about what it has done."""


class _Group(click.Group):
    """Ends with the project's exit codes, and with sentences instead of tracebacks."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _MODULES:
            self.read_module([cmd_name])
        else:
            self.list_commands(ctx)  # the error names one that is spelled alike
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        for name in _MODULES:
            self.read_module([name])
        return super().list_commands(ctx)

    def read_module(self, arguments: Sequence[str]) -> None:
        """Read the module of the command that these arguments name first."""
        name = next((each for each in arguments if each in _MODULES), None)
        if name is not None:
            import_module(f".{_MODULES[name]}", __package__)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        _open_streams()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # not every terminal shows Chinese
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                code = super().main(arguments, *rest, **extra)
                sys.stdout.flush()
        except click.exceptions.NoArgsIsHelpError as error:  # a group without a command
            click.echo(error.format_message(), err=True)
            sys.exit(WRONG_USAGE)
        except (BrokenPipeError, SystemExit) as error:
            if isinstance(error, SystemExit) and not error.code:
                raise  # the shell's completion is done; otherwise click exits for a broken pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(READER_GONE)
        except Exception as error:
            if os.environ.get("MEMOIR_DEBUG"):
                _say(traceback.format_exc(), arguments)
            report, code = explain_error(error)
            _say(str(report), arguments)
        except KeyboardInterrupt:  # at a moment at which click does not wait for it
            _say(str(Report("stopped")), arguments)
            code = INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)


def _open_streams() -> None:
    """Point a stream that was closed before the start to nowhere, not to a file opened later."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


@dataclass(frozen=True)
class Report:
    """What to tell about an error."""

    message: str
    detail: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        parts = (("error", self.message), ("detail", self.detail), ("hint", self.hint))
        return "\n".join(f"{name}: {text}" for name, text in parts if text)


def explain_error(error: Exception) -> tuple[Report, int]:
    """What to tell about an error, and the exit code."""
    if isinstance(error, psycopg.Error):
        error = translate(error)
    if isinstance(error, click.ClickException | click.Abort):
        return _usage_error(error)
    if isinstance(error, MemoirError):
        hint = error.hint and in_commands(error.hint)
        return Report(error.message, error.detail, hint), _exit_code(error)
    if isinstance(error, psycopg.Error):
        return _database_error(error)
    if isinstance(error, UnicodeError):
        hint = "Write it in UTF-8. The encoding of a terminal is set by LANG."
        return Report("what was given is not UTF-8", str(error), hint), FAILED
    if isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return Report(message), FAILED
    hint = "MEMOIR_DEBUG=1 shows where; please report it."
    return Report(f"{type(error).__name__}: {error}", hint=hint), FAILED


def _usage_error(error: click.ClickException | click.Abort) -> tuple[Report, int]:
    """An error of click's own."""
    if isinstance(error, click.Abort):  # of Ctrl-C, of the end of stdin, or of a "no"
        cause = error.__cause__ or error.__context__
        if isinstance(cause, EOFError):
            return Report("there is nobody to ask: add --yes"), WRONG_USAGE
        return Report("stopped"), INTERRUPTED if isinstance(cause, KeyboardInterrupt) else FAILED
    if not isinstance(error, click.UsageError):
        return Report(error.format_message()), FAILED
    path = error.ctx.command_path if error.ctx else "memoir"
    hint = f"{path} --help shows how."
    if isinstance(error, click.NoSuchOption) and error.option_name in _BEFORE_THE_COMMAND:
        hint = f"It goes before the command: memoir {error.option_name} ..."
    return Report(error.format_message(), hint=hint), WRONG_USAGE


def _exit_code(error: MemoirError) -> int:
    from ..server import ServerError

    if isinstance(error, Interrupted):
        return INTERRUPTED
    return NOT_CONNECTED if isinstance(error, NotInstalled | ServerError) else FAILED


def _database_error(error: psycopg.Error) -> tuple[Report, int]:
    """An error that is PostgreSQL's own."""
    message = error.diag.message_primary or str(error).strip()
    code = error.sqlstate
    hint = advice(error)
    if code in _ENDED or (code is None and _LOST.match(message)):
        said = message.splitlines()[0].removeprefix("consuming input failed: ")
        hint = "Each step is stored as a whole or not at all: look what is there, and run it again."
        return Report("the connection to the database was lost", said, hint), NOT_CONNECTED
    lost = isinstance(error, psycopg.OperationalError)
    if lost and (code is None or code.startswith(_CONNECTION)):
        hint = hint or "Check --dsn or MEMOIR_DSN. Without one, memoir uses an embedded server."
        return Report(message, error.diag.message_detail, hint), NOT_CONNECTED
    if code == "25006" and hint is None:
        hint = "A standby, or a role that only reads? Give --dsn the primary."
    return Report(message, error.diag.message_detail, hint), FAILED


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}", sys.argv)


def _say(text: str, arguments: Sequence[str]) -> None:
    """Print on stderr, without the password of any connection string of this call."""
    text = _masked(text, [*arguments, os.environ.get("MEMOIR_DSN", "")])
    click.echo(lines(text), err=True)


def _masked(text: str, arguments: Sequence[str]) -> str:
    """The text without the passwords of these arguments."""
    for secret in _secrets(arguments):
        text = text.replace(secret, "***")
    return text


def _secrets(arguments: Sequence[str]) -> list[str]:
    """Passwords, and parts of unescaped ones that libpq may quote."""
    found: set[str] = set()
    for argument in arguments:
        for password in re.findall(r"://[^:/@]*:(.*)@", argument):
            found |= {password, unquote(password), *re.split("[@:/?]", password)}
        found |= set(re.findall(r"(?:password|_secret)\s*=\s*([^\s&']+)", argument))
        found |= set(re.findall(r"(?:password|_secret)\s*=\s*'([^']+)'", argument))
    return sorted(filter(None, found), key=len, reverse=True)


@click.group(
    "memoir",
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="TIME: 2025-03-01, 2025-03-01T09:30+02:00 (without an offset UTC), or how long ago: "
    "30m, 12h, 7d, 2w.\n\n"
    "Exit code 0: done. 1: refused, failed, or something was found (conflicts, checks that fail). "
    "2: the command line is wrong. 3: no database, or one without pgmemoir. 130: stopped.",
)
@click.version_option(__version__, message="pgmemoir %(version)s")
@click.option(
    "--dsn",
    envvar="MEMOIR_DSN",
    metavar="DSN",
    help="Connection string of the database (MEMOIR_DSN). Default: an embedded server.",
)
@click.option(
    "--data",
    envvar="MEMOIR_DATA",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the embedded server (MEMOIR_DATA). Default: .memoir",
)
@click.option(
    "--user",
    envvar="MEMOIR_USER",
    metavar="USER",
    help="User whose memory it is (MEMOIR_USER). Default: default",
)
@click.pass_context
def main(context: click.Context, dsn: str | None, data: Path | None, user: str | None) -> None:
    """Long-term memory for agents, in PostgreSQL."""
    if _is_given(context, "data"):
        if _is_given(context, "dsn"):
            raise click.UsageError("--dsn is a database of yours, --data an embedded one: give one")
        dsn = None  # of MEMOIR_DSN
    if dsn is not None and not _is_conninfo(dsn):
        raise click.UsageError(
            "--dsn (or MEMOIR_DSN) is not a connection string like "
            "postgresql://user@host:5432/database"
        )
    context.obj = App(dsn, data, user)


def _is_given(context: click.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _is_conninfo(dsn: str) -> bool:
    """Whether it is a connection string; not if empty, as from a variable that was not set."""
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        return False
    return bool(dsn.strip())
