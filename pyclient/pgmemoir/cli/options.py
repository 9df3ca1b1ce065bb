"""Options and arguments that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


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
    "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Rows."
)

AFTER = click.option("--after", metavar="PLACE", help="Continue after a page, which prints PLACE.")

ID = click.argument("memory_id", metavar="ID", type=int)

IDS = click.argument("memory_ids", metavar="ID...", type=int, nargs=-1, required=True)
