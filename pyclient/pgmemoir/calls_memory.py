"""The calls that list, change and delete stored memories, and what they answer.

Each is a function of SQL with its rows as a dataclass; where one takes several ids, one statement
carries it out for all of them or for none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

from .cache import CacheInfo
from .calls import Call, Remembered, Row, columns, each, first, nothing
from .checks import (
    check_data,
    check_json,
    clean_text,
    finite_number,
    jsonb,
    memory_id,
    memory_ids,
    refuse_unknown,
    texts,
    utc,
    whole_number,
)
from .errors import SchemaMismatch
from .vectors import HalfVectors, VectorLike

Id = int | str
"""The id of a memory, or its text as JSON has it."""


@dataclass(frozen=True)
class Listed:
    """A row of a list of memories; ``next`` is where the list goes on behind it.

    ``preview`` is the beginning as one line, ``origin`` who or what made it; ``access_count`` and
    ``last_access`` tell how often it was recalled, as of the last upkeep.
    """

    key: str
    kind: str
    preview: str
    content: str
    summary: str | None
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
        undone: whether it was taken back.
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
    """A memory of a change that was taken back: what was undone, and its status now."""

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
    """Who or what memories mention: how many, and when the latest of them was made."""

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
    word of ``search`` is part of content, summary or subject. ``sort`` is created, updated,
    importance or accessed, the greatest first.
    """

    kinds: Iterable[str] | None
    status: Iterable[str] | None
    since: datetime | None
    until: datetime | None
    search: str | None
    subject: str | None
    session: str | None
    sort: str


class Changes(TypedDict, total=False):
    """What is changed of a memory; what is left out or None stays.

    An empty ``summary`` or ``subject`` is taken away, ``data`` replaces the old; ``lifetime`` is
    core, working or temporary. ``vector`` replaces the embedder.
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


_LIST = f"""SELECT {columns(Listed)}
FROM memoir.list_memories(kinds => %s::text[], status => %s::text[], since => %s::timestamptz,
    until => %s::timestamptz, search => %s::text, subject => %s::text, session_id => %s::text,
    sort => %s::text, page_size => %s::int, after => %s::text, user_id => %s::text)""".encode()

_HISTORY = f"""SELECT {columns(Revision)}
FROM memoir.history(%s::bigint, user_id => %s::text)""".encode()

_OF_EACH = "FROM unnest(%s::bigint[]) WITH ORDINALITY AS i (id, place), LATERAL"

_SET_STATUS = f"""SELECT {columns(Changed)}
{_OF_EACH} memoir.{{function}}(i.id, reason => %s::text, user_id => %s::text,
    dry_run => %s::boolean, author => %s::text) AS f
ORDER BY i.place"""

_UNDO = b"""SELECT undone_id, action, line, status
FROM memoir.undo(%s::bigint, user_id => %s::text, author => %s::text)"""

_UNDO_RUN = b"""SELECT undone_id, action, line, status
FROM memoir.undo_run(%s::bigint, user_id => %s::text, author => %s::text)"""

_SUPERSEDE = b"""SELECT memoir.supersede(%s::bigint, %s::bigint, reason => %s::text,
    user_id => %s::text, author => %s::text)"""

_UPDATE = """SELECT memoir.update_memory(%s::bigint, content => %s::text, summary => %s::text,
    data => %s::jsonb, importance => %s::float8, confidence => %s::float8, kind => %s::text,
    subject => %s::text, lifetime => %s::text, embedding => %s::{vector}, reason => %s::text,
    user_id => %s::text, author => %s::text)"""

_CONFIRM = f"""SELECT {columns(Remembered)}
{_OF_EACH} memoir.confirm(i.id, user_id => %s::text) AS c
ORDER BY i.place""".encode()

_REJECT = b"""SELECT memoir.reject(i.id, user_id => %s::text, reason => %s::text)
FROM unnest(%s::bigint[]) AS i (id)"""

_PURGE = f"""SELECT p.table_name, sum(p.rows)::bigint
{_OF_EACH} memoir.purge(i.id, user_id => %s::text, dry_run => %s::boolean) AS p
GROUP BY p.table_name ORDER BY p.table_name""".encode()

_PURGE_USER = b"""SELECT table_name, rows
FROM memoir.purge_user(%s::text, dry_run => %s::boolean)"""

_RELATIONS = b"""SELECT related_id, direction, type, strength, kind, content, status, created_at
FROM memoir.relations(%s::bigint, user_id => %s::text)"""

_ENTITIES = f"""SELECT {columns(Entity)}
FROM memoir.entities(%s::text, page_size => %s::int, after => %s::text,
    user_id => %s::text)""".encode()

_APPLY = f"""SELECT {columns(Applied)}
FROM memoir.apply_decisions(%s::jsonb, user_id => %s::text, author => %s::text,
    embeddings => %b::{{vector}}[], session_id => %s::text, at => %s::timestamptz)
ORDER BY place"""

_STATS = b"SELECT name, value FROM memoir.stats(%s::text)"

_SETTINGS = b"SELECT memoir.get_settings(%s::text)"

_SET_SETTINGS = b"SELECT memoir.set_settings(%s::jsonb, user_id => %s::text)"


def list_memories(
    filters: Filters, page_size: int, after: str | None, user: str | None
) -> Call[list[Listed]]:
    """``memoir.list_memories``: one page.

    Raises:
        TypeError: a filter nobody knows.
    """
    refuse_unknown(filters, Filters, "a list", "filter")
    params = (
        texts(filters.get("kinds"), "kinds"),
        texts(filters.get("status", ("active",)), "status"),
        utc(filters.get("since"), "since"),
        utc(filters.get("until"), "until"),
        clean_text(filters.get("search"), "search"),
        clean_text(filters.get("subject"), "the subject"),
        clean_text(filters.get("session"), "the session"),
        clean_text(filters.get("sort"), "sort"),
        whole_number(page_size, "page_size"),
        clean_text(after, "after"),
        user,
    )
    return Call(_LIST, params, each(Listed))


def history(id_: Id, user: str | None) -> Call[list[Revision]]:
    """``memoir.history``: what happened to a memory, oldest first."""
    return Call(_HISTORY, (memory_id(id_), user), each(Revision))


def set_status(
    function: Literal["forget", "restore"],
    ids: Iterable[Id],
    reason: str | None,
    dry_run: bool,
    author: str,
    user: str | None,
) -> Call[list[Changed]]:
    """``memoir.forget`` or ``memoir.restore`` of each."""
    why = clean_text(reason, "the reason")
    params = (memory_ids(ids), why, user, dry_run, clean_text(author, "the author"))
    return Call(_SET_STATUS.format(function=function).encode(), params, each(Changed))


def undo(id_: Id, author: str, user: str | None) -> Call[list[Undone]]:
    """``memoir.undo``: the last change of a memory is taken back."""
    return Call(_UNDO, (memory_id(id_), user, clean_text(author, "the author")), each(Undone))


def undo_run(run_id: Id, author: str, user: str | None) -> Call[list[Undone]]:
    """``memoir.undo_run``: all changes of a run are taken back."""
    params = (memory_id(run_id), user, clean_text(author, "the author"))
    return Call(_UNDO_RUN, params, each(Undone))


def supersede(id_: Id, by_id: Id, reason: str | None, author: str, user: str | None) -> Call[None]:
    """``memoir.supersede``: one memory takes the place of another."""
    why = (clean_text(reason, "the reason"), user, clean_text(author, "the author"))
    return Call(_SUPERSEDE, (memory_id(id_), memory_id(by_id), *why), nothing)


def update(
    vector_type: str,
    id_: Id,
    changes: Changes,
    vector: str | None,
    reason: str | None,
    author: str,
    user: str | None,
) -> Call[str]:
    """``memoir.update_memory``: UPDATE, or NOOP when it was so already.

    Raises:
        TypeError: a change nobody knows.
    """
    refuse_unknown(changes, Changes, "a change", "field")
    check_data(changes.get("data"))
    params = (
        memory_id(id_),
        clean_text(changes.get("content"), "the content"),
        clean_text(changes.get("summary"), "the summary"),
        jsonb(changes.get("data")),
        finite_number(changes.get("importance"), "importance"),
        finite_number(changes.get("confidence"), "confidence"),
        clean_text(changes.get("kind"), "the kind"),
        clean_text(changes.get("subject"), "the subject"),
        clean_text(changes.get("lifetime"), "the lifetime"),
        vector,
        clean_text(reason, "the reason"),
        user,
        clean_text(author, "the author"),
    )
    return Call(_UPDATE.format(vector=vector_type).encode(), params, first)


def confirm(ids: Iterable[Id], user: str | None) -> Call[list[Remembered]]:
    """``memoir.confirm`` of each."""
    return Call(_CONFIRM, (memory_ids(ids), user), each(Remembered))


def reject(ids: Iterable[Id], reason: str | None, user: str | None) -> Call[None]:
    """``memoir.reject`` of each."""
    params = (user, clean_text(reason, "the reason"), memory_ids(ids))
    return Call(_REJECT, params, nothing)


def purge(ids: Iterable[Id], dry_run: bool, user: str | None) -> Call[list[Deleted]]:
    """``memoir.purge`` of each; the rows of all of them are added up."""
    return Call(_PURGE, (memory_ids(ids), user, dry_run), each(Deleted))


def purge_user(dry_run: bool, user: str | None) -> Call[list[Deleted]]:
    """``memoir.purge_user``; it refuses None, there is no default for it."""
    return Call(_PURGE_USER, (user, dry_run), each(Deleted))


def relations(id_: Id, user: str | None) -> Call[list[Related]]:
    """``memoir.relations``: the strongest first."""
    return Call(_RELATIONS, (memory_id(id_), user), each(Related))


def entities(
    search: str | None, page_size: int, after: str | None, user: str | None
) -> Call[list[Entity]]:
    """``memoir.entities``: one page, the most mentioned first."""
    params = (
        clean_text(search, "search"),
        whole_number(page_size, "page_size"),
        clean_text(after, "after"),
        user,
    )
    return Call(_ENTITIES, params, each(Entity))


def decisions(given: Iterable[Mapping[str, Any]] | str) -> list[Any]:
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


def apply_decisions(
    vector_type: str,
    decided: list[Any],
    vectors: HalfVectors,
    author: str,
    session: str | None,
    at: datetime | None,
    user: str | None,
) -> Call[list[Applied]]:
    """``memoir.apply_decisions``; ``decided`` comes from `decisions`, with a vector for each."""
    params = (
        jsonb(decided),
        user,
        clean_text(author, "the author"),
        vectors,
        clean_text(session, "the session"),
        utc(at, "at"),
    )
    return Call(_APPLY.format(vector=vector_type).encode(), params, each(Applied))


def stats(queries: CacheInfo, user: str | None) -> Call[dict[str, Any]]:
    """``memoir.stats``: the numbers of a memory by their names, with this client's cache."""

    def read(rows: list[Row]) -> dict[str, Any]:
        told: dict[str, Any] = dict(rows)
        told["caches"]["queries"] = {
            "entries": queries.size,
            "hits": queries.hits,
            "misses": queries.misses,
            "hit_rate": queries.hit_rate,
        }
        return told

    return Call(_STATS, (user,), read)


def settings(user: str | None) -> Call[dict[str, bool]]:
    """``memoir.get_settings``."""
    return Call(_SETTINGS, (user,), first)


def set_settings(given: Mapping[str, bool], user: str | None) -> Call[dict[str, bool]]:
    """``memoir.set_settings``: all settings as they are then."""
    check_json(given, "the settings")
    return Call(_SET_SETTINGS, (jsonb(dict(given)), user), first)
