"""A year of a coding agent's memory, to try recall on.

``year.jsonl`` holds memories and events with their age in days or hours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any, cast

from ..calls import NewMemory
from ..client import Memoir

USER = "demo"
QUESTION = "Why do logins fail after the key rotation? 认证失败怎么排查?"
IN_CHINESE = "认证失败"
MODES = ("plan", "execute", "debug", "chat")


def load(memory: Memoir, progress: Callable[[int], None] | None = None) -> tuple[int, int]:
    """Store the year, its last day being today; a second time stores nothing.

    Args:
        memory: a client inside a transaction, so that a load is whole or absent.
        progress: called with the number of memories stored so far.

    Returns:
        how many memories and how many events were added.
    """
    now = datetime.now(UTC)
    rows = _rows()
    done = memory.remember_many((_memory(row, now) for row in rows if "kind" in row), progress)
    added = sum(result.action != "NOOP" for result in done)
    if added < len(done):  # an earlier load brought the events, which are never duplicates
        return added, 0
    events = [row for row in rows if "event" in row]
    for row in events:
        memory.add_event(row["event"], row["payload"], now - timedelta(hours=row["hours_ago"]))
    return added, len(events)


def size() -> int:
    """How many memories the year has."""
    return sum("kind" in row for row in _rows())


def _rows() -> list[dict[str, Any]]:
    text = files(__package__).joinpath("year.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def _memory(row: dict[str, Any], now: datetime) -> NewMemory:
    fields = {key: value for key, value in row.items() if key != "days_ago"}
    fields["created_at"] = now - timedelta(days=row["days_ago"])
    return cast(NewMemory, fields)
