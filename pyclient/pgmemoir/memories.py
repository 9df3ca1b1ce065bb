"""What methods about stored memories take and return."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from .checks import check_json
from .errors import SchemaMismatch
from .vectors import VectorLike

Id = int | str
"""The id of a memory, or its text as JSON has it."""


@dataclass(frozen=True)
class Listed:
    """A row of a list of memories; ``next`` is where the list continues after it.

    ``preview`` is the beginning as one line, ``origin`` who or what made it; ``access_count`` and
    ``last_access`` say how often and when it was last recalled, as of the last upkeep.
    """

    key: str
    kind: str
    preview: str
    content: str
    summary: str | None
    data: dict[str, Any]
    importance: float
    confidence: float
    status: str
    subject: str | None
    origin: str
    session_id: str | None
    turn: int | None
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_until: datetime | None
    access_count: int
    last_access: datetime | None
    next: str


@dataclass(frozen=True)
class Revision:
    """Something that happened to a memory.

    Attributes:
        action: ADD, UPDATE, SUPERSEDE, FORGET, RESTORE, CONFIRM, UNDO, ...
        content: its text from then on.
        old_values: what the change replaced; None where it was made.
        other_ids: memories that the same decision changed.
        undone: whether it was undone.
        run_id: the upkeep or the decisions it belongs to, for `Memoir.undo_run`.
    """

    changed_at: datetime
    action: str
    author: str
    reason: str | None
    content: str
    old_values: dict[str, Any] | None
    other_ids: list[int]
    undone: bool
    change_id: int | None
    run_id: int | None


@dataclass(frozen=True)
class Changed:
    """A memory that was forgotten or restored; ``line`` is its beginning."""

    memory_id: int
    line: str
    old_status: str
    new_status: str


@dataclass(frozen=True)
class Undone:
    """A memory of a change that was undone: what was undone, and its status now."""

    memory_id: int
    action: str
    line: str
    status: str


@dataclass(frozen=True)
class Deleted:
    """How many rows of a table were deleted for good."""

    table: str
    rows: int


@dataclass(frozen=True)
class Related:
    """A relation of a memory with another.

    ``direction`` is "to" where this memory supports, refines, ... the other, "from" where the other
    does; ``strength`` is 0 to 1; kind, content and status are those of the other.
    """

    memory_id: int
    direction: str
    type: str
    strength: float
    kind: str
    content: str
    status: str
    created_at: datetime


@dataclass(frozen=True)
class Entity:
    """A person or thing that memories mention: how many of them, and when the latest was made."""

    name: str
    type: str
    mentions: int
    newest: datetime | None
    entity_id: int
    next: str


@dataclass(frozen=True)
class Applied:
    """What became of a decision; ``place`` counts from 1, ``run_id`` is that of all of them."""

    place: int
    action: str
    memory_id: int | None
    other_ids: list[int]
    reason: str
    run_id: int | None


class Filters(TypedDict, total=False):
    """Which memories are listed, and in which order.

    ``status`` is of pending, active, superseded, archived, forgotten: by default only active ones,
    with None all. ``since`` and ``until`` are of their creation, without a time zone UTC. Every
    word of ``search`` is part of content, summary or subject. ``data`` is part of theirs:
    ``{"project": "x"}``. ``sort`` is created, updated, importance or accessed, the greatest first.
    """

    kinds: Iterable[str] | None
    status: Iterable[str] | None
    since: datetime | None
    until: datetime | None
    search: str | None
    subject: str | None
    session: str | None
    data: dict[str, Any] | None
    sort: str


class Changes(TypedDict, total=False):
    """What to change in a memory; what is left out or None stays.

    An empty ``summary`` or ``subject`` removes it, ``data`` replaces the old; ``lifetime`` is core,
    working or temporary. ``vector`` is used instead of the embedder's.
    """

    content: str | None
    summary: str | None
    data: dict[str, Any] | None
    importance: float | None
    confidence: float | None
    kind: str | None
    subject: str | None
    lifetime: str | None
    vector: VectorLike | None


def read_decisions(given: Iterable[Mapping[str, Any]] | str) -> list[Any]:
    """Decisions, given as dictionaries or as the JSON text a model writes.

    Raises:
        SchemaMismatch: the text is not a JSON array.
        BadText: a string in it cannot be stored.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise SchemaMismatch(f"the decisions are not JSON: {error}") from error
        if not isinstance(given, list):
            raise SchemaMismatch(f"the decisions are {type(given).__name__}, not a JSON array")
    result = list(given)
    check_json(result, "decisions")
    return result


def decided_text(decision: Any) -> str:
    """The text of a decision that is embedded, "" where there is none."""
    if not isinstance(decision, Mapping):
        return ""
    said = (decision.get("content"), decision.get("merged_content"))
    return next((text for text in said if isinstance(text, str)), "")
