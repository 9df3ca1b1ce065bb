"""Options and arguments that several commands have, and how what is given is read."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def _parse_time(value: str) -> datetime:
    """In ISO 8601, without a time zone UTC, or how long ago it was."""
    if span := re.fullmatch(r"(\d{1,5})([mhdw])", value):
        return datetime.now(UTC) - timedelta(**{_UNITS[span[2]]: int(span[1])})
    try:
        time = datetime.fromisoformat(value)
    except ValueError as error:
        raise click.BadParameter(
            f"{value!r} is not a time like 2025-03-01, 2025-03-01T09:30+02:00 or 7d (ago)"
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


TIME = click.types.FuncParamType(_parse_time)
TIME.name = "time"  # --help names it so


class Number(click.FloatRange):
    """A number in a range: NaN is in none, but `click.FloatRange` lets it through."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def _of_user(help: str) -> Callable[[_Command], _Command]:
    """An option for the user, after the command; memoir --user is the same before it."""

    def set_user(context: click.Context, _: click.Parameter, user: str | None) -> None:
        if user is not None:
            context.obj.user = user

    return click.option("--user", expose_value=False, callback=set_user, help=help)


USER = _of_user("User, same as memoir --user.")

USER_OR_ALL = _of_user("User, same as memoir --user; default: all users.")

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

DRY_RUN = click.option("--dry-run", is_flag=True, help="Change nothing, show what would happen.")

REASON = click.option("--reason", help="Why; kept in the history.")

LIMIT = click.option(
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Rows at most."
)

DATA = click.option(
    "--data", "data_text", metavar="JSON", help='Only if its data contains this: {"project": "x"}.'
)

AFTER = click.option("--after", metavar="PLACE", help="Continue after a page, which prints PLACE.")

ID = click.argument("memory_id", metavar="ID", type=int)

IDS = click.argument("memory_ids", metavar="ID...", type=int, nargs=-1, required=True)


def stem(file: str) -> str:
    """The name of a file without folder and ending; it may be in another encoding than UTF-8."""
    return os.fsencode(Path(file).stem).decode(errors="backslashreplace")


def read_text(value: str) -> str:
    """The argument itself, or what comes on stdin for ``-``, without a byte order mark."""
    return sys.stdin.read().removeprefix("\ufeff").strip() if value == "-" else value


def parse_data(text: str | None) -> dict[str, Any] | None:
    """What ``--data`` of a command says."""
    return None if text is None else parse_object(text, "--data")


def parse_object(text: str, what: str) -> dict[str, Any]:
    """A JSON object given on the command line."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        folder = "; the folder of the database goes before the command" * (what == "--data")
        raise click.UsageError(f"{what} is not JSON: {error}{folder}") from error
    if not isinstance(value, dict):
        raise click.UsageError(f'{what} is not a JSON object like {{"key": "value"}}')
    return value
