"""``memoir stats``, ``settings`` and ``sessions``: what a memory contains, and what it may do."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ..sessions import ListedSession
from .app import App, main
from .options import AFTER, AS_JSON, LIMIT
from .output import minute, print_found, print_page, table

_SWITCH = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}

# Statistics between 0 and 1 that are shares of a whole.
_SHARES = {"with_embedding", "with_keywords", "token_utilisation", "hit_rate", "used_share"}


@main.command()
@AS_JSON
@click.pass_obj
def stats(app: App, as_json: bool) -> None:
    """Show statistics of a user's memory."""
    with app.memoir() as memory:
        found = memory.stats()
    print_found(found, as_json, stats_table)


@main.command()
@click.argument("changes", metavar="[NAME=on|off]...", nargs=-1)
@AS_JSON
@click.pass_obj
def settings(app: App, changes: tuple[str, ...], as_json: bool) -> None:
    """Show or change what a user decided about memory.

    memory: whether memory is read and written at all. auto_extract: whether memories are drawn from
    conversations without asking. confirm: whether what an agent or a model adds waits for memoir
    confirm. show_references: whether blocks name the ids of their memories.

    memoir settings confirm=on auto_extract=off
    """
    given = dict(map(_switch, changes))
    with app.memoir() as memory:
        found = memory.set_settings(**given) if given else memory.settings()
    print_found(found, as_json, settings_table)


@main.command()
@click.option("--open", "only_open", is_flag=True, help="Only sessions that have not ended.")
@LIMIT
@AFTER
@AS_JSON
@click.pass_obj
def sessions(app: App, only_open: bool, limit: int, after: str | None, as_json: bool) -> None:
    """List sessions, the latest begun first."""
    with app.memoir() as memory:
        ask = partial(memory.sessions, is_open=only_open or None)
        print_page(ask, limit, after, as_json, session_table, "no sessions")


def stats_table(found: dict[str, Any]) -> str:
    """One line per number."""
    cells = [
        [name, f"{value:.1%}" if name in _SHARES and value is not None else _told(value)]
        for name, value in found.items()
    ]
    return table([["name", "value"], *cells], flexible=1, right=set())


def settings_table(found: dict[str, bool]) -> str:
    """One line per setting."""
    cells = [[name, "on" if value else "off"] for name, value in found.items()]
    return table([["setting", "value"], *cells], flexible=0, right=set())


def session_table(rows: list[ListedSession]) -> str:
    """One line per session."""
    heads = ["session", "begun", "ended", "messages", "tokens", "memories", ""]
    cells = [
        [
            row.session_id,
            minute(row.started_at),
            minute(row.ended_at),
            str(row.messages),
            str(row.tokens),
            str(row.memories),
            "temporary" if row.temporary else "",
        ]
        for row in rows
    ]
    return table([heads, *cells], flexible=0, right={3, 4, 5})


def _switch(text: str) -> tuple[str, bool]:
    """``name=on``."""
    name, _, value = text.partition("=")
    if value.lower() not in _SWITCH:
        raise click.BadParameter(f"{text!r} is not a setting like confirm=on")
    return name.strip(), _SWITCH[value.lower()]


def _told(value: Any) -> str:
    """A number, or an object or list of numbers, as text; a dash if there is none."""
    if isinstance(value, list):
        return ", ".join(map(_told, value)) or "-"
    if isinstance(value, dict):
        parts = [
            f"{name} ({_told(each)})" if isinstance(each, dict) else f"{name} {_told(each)}"
            for name, each in value.items()
        ]
        return ", ".join(parts) or "-"
    return "-" if value is None else str(value)
