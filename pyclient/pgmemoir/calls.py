"""Calls of the SQL API: a statement, its parameters and the parser of its answer.

Nothing here talks to a database: `client` carries the calls out, with or without asyncio.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, cast

from psycopg import sql
from psycopg.types.json import Jsonb

from .checks import (
    check_data,
    check_json,
    clean_text,
    dumps,
    finite_number,
    memory_ids,
    refuse_unknown,
    texts,
    true_or_false,
    utc,
    whole_number,
)
from .errors import VECTOR_HINT, BudgetOutOfRange, NotInstalled, OutOfRange
from .vectors import HalfVector, HalfVectors, VectorLike, half_vector, half_vectors

Row = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class Recall:
    """One recall. ``str(recall)`` is the block.

    Attributes:
        block: the formatted text for a prompt, never over the budget.
        memory_ids: the memories in the block, the best first.
        tokens: estimated tokens of the block.
        candidates: how many scored memories and events went to selection.
        retrieval_id: its record in the log, for `mark_used`; None when it was not logged.
    """

    block: str
    memory_ids: list[int]
    tokens: int
    candidates: int
    retrieval_id: int | None

    def __str__(self) -> str:
        return self.block


@dataclass(frozen=True)
class Remembered:
    """What became of a text.

    Attributes:
        action: ADD; SUPERSEDE if it is newer on its subject; UPDATE if a stored memory said less
            and now has this text; NOOP if it was already known; PENDING if it waits for
            `Memoir.confirm`.
        memory_id: the memory that now holds it; None while memory is off or the session temporary.
        reason: why, in a few words.
        other_ids: memories that it superseded, that follow it, or that are similar.
    """

    action: str
    memory_id: int | None
    reason: str
    other_ids: list[int]


@dataclass(frozen=True)
class Maintained:
    """One action of upkeep, with the number of memories, of a user (None: of all).

    ``action`` is as the comment of ``memoir.maintain`` lists them: forgotten, words counted,
    contradiction, report, ...; what is left to the command ends in ": memoir maintain". ``details``
    has ids, numbers and reasons.
    """

    user: str | None
    action: str
    memories: int | None
    details: dict[str, Any] | None = None

    @property
    def left(self) -> str | None:
        """What is left to the command: build, drop or repair; None if it is done."""
        return self.action.split()[0] if self.action.endswith(": memoir maintain") else None


@dataclass(frozen=True)
class Explained:
    """One candidate of a recall: every part of its score, and why it is in the block or not.

    ``place`` is its position in the block, None when it is left out. A part is None where it does
    not apply (the cosine of a memory without a vector). ``matched`` are the words of the question
    that it has, ``via`` is the link that brought it in.
    """

    place: int | None
    kind: str
    memory_id: int | None
    event_id: int | None
    content: str
    relevance: float | None
    cosine: float | None
    coverage: float | None
    decay: float | None
    weight: float | None
    score: float | None
    tokens: int | None
    reason: str
    keyword: float | None
    graph: float | None
    recency: float | None
    importance: float | None
    interaction: float | None
    priority: float | None
    boost: float | None
    neighbours: float | None
    session: float | None
    matched: list[str] | None
    via: str | None


@dataclass(frozen=True)
class Found:
    """One result of a search, the best first.

    ``total_found`` (before the limit), ``strategy`` and ``expanded_keywords`` are of the search and
    the same in each result. ``key`` leads to the whole memory (`Memoir.memory_detail`).
    """

    key: str
    kind: str
    relevance: float
    score: float
    preview: str
    summary: str | None
    created_at: datetime
    keywords: list[str]
    metadata: dict[str, Any]
    total_found: int
    strategy: str
    expanded_keywords: list[str]


@dataclass(frozen=True)
class Detail:
    """One whole memory.

    ``relations``, the 20 strongest of ``relation_count``, are dictionaries of key, type, direction
    and strength; ``entities`` of name and type.
    """

    key: str
    kind: str
    content: str
    summary: str | None
    data: dict[str, Any]
    subject: str | None
    importance: float
    confidence: float
    keywords: list[str]
    relations: list[dict[str, Any]]
    relation_count: int
    entities: list[dict[str, Any]]
    session_id: str | None
    turn: int | None
    speaker: str | None
    origin: str
    status: str
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_until: datetime | None
    access_count: int
    last_access: datetime | None


class Fields(TypedDict, total=False):
    """What a memory may carry besides its text and kind.

    ``subject`` names the slot it fills ("user.editor"); ``importance`` and ``confidence`` are
    0..1; ``created_at`` is when it was said, ``valid_from`` and ``valid_until`` when it is true
    (UTC without a time zone); ``vector`` replaces the embedder; ``keywords`` are tags; ``sources``
    are the ids of memories it was made from.
    """

    subject: str | None
    importance: float | None
    data: dict[str, Any] | None
    summary: str | None
    created_at: datetime | None
    session: str | None
    turn: int | None
    speaker: str | None
    source: str | None
    confidence: float | None
    vector: VectorLike | None
    keywords: list[str] | None
    sources: list[int] | None
    valid_from: datetime | None
    valid_until: datetime | None


class NewMemory(Fields, total=False):
    """A memory to be stored by ``remember_many``: ``content``, ``kind``, and any field."""

    content: str
    kind: str


class Question(NamedTuple):
    """The arguments of a recall, checked."""

    query: str | None
    vector: HalfVector | None
    mode: str | None
    budget: int | None
    session: str | None
    as_of: datetime | None

    @classmethod
    def of(
        cls,
        query: str | None,
        vector: VectorLike | None,
        mode: str,
        budget: int,
        session: str | None,
        as_of: datetime | None,
    ) -> Question:
        """Check the arguments before anything is sent."""
        return cls(
            query=clean_text(query, "the query", "Pass a vector by name: vector=[0.1, 0.2, ...]."),
            vector=None if vector is None else half_vector(vector),
            mode=clean_text(mode, "the mode"),
            budget=whole_number(budget, "the budget", BudgetOutOfRange),
            session=clean_text(session, "the session"),
            as_of=utc(as_of, "as_of"),
        )


@dataclass(frozen=True)
class Call(Generic[T]):
    """A statement, its parameters, and how to read its rows."""

    statement: bytes
    params: Row
    parse: Callable[[list[Row]], T]
    prepare: bool | None = None


def columns(kind: type[Any]) -> str:
    """The columns that `each` and `one` make a dataclass of: its fields, in order."""
    return ", ".join(field.name for field in fields(kind))


_REMEMBER_MANY = f"""SELECT {columns(Remembered)}
FROM memoir.remember_many(%s::jsonb, %b::{{vector}}[], user_id => %s::text) ORDER BY place"""

_REDACTED = b"""SELECT coalesce(array_agg(memoir.redact(text) ORDER BY place), '{}')
FROM unnest(%s::text[]) WITH ORDINALITY AS t (text, place)"""

_MANY = "Messages go to add_message(), one by one, and many memories to remember_many()."

_TEXTS = frozenset(("content", "kind", "subject", "summary", "session", "speaker", "source"))

_WHOSE = "CASE WHEN NOT %s::boolean THEN memoir._resolve_user(%s::text) END"
_BUILD_UP_TO = """coalesce(%s::bigint,
    (SELECT value::bigint FROM memoir.setting WHERE name = 'ann_inline'))"""

_MAINTAIN = f"""SELECT user_id, action, memories, details FROM memoir.maintain(
    {_WHOSE}, build_up_to => {_BUILD_UP_TO}, dry_run => %s::boolean)""".encode()

_MAINTAIN_ALL = f"CALL memoir.maintain_all({_WHOSE}, build_up_to => 0)".encode()

_TEND_RECALL = f"""SELECT user_id, action, memories, details
FROM memoir._tend_recall(memoir._resolve_user(%s::text), {_BUILD_UP_TO})""".encode()

_SELECTIVE_MODES = b"""SELECT coalesce(array_agg(name), '{}') FROM memoir.mode
WHERE common_share IS NOT NULL"""

_SCORE_PARTS = b"SELECT memoir._score_parts(%s::text)"

_EMBEDDING_TEXT = b"SELECT memoir.embedding_text(%s::text, %s::text, %s::text)"

_USE_MODEL = b"SELECT memoir.use_model(%s::text, %s::int)"

_NAME_USER = b"""SELECT pg_catalog.set_config('memoir.user_id', %s, true)
WHERE coalesce(pg_catalog.current_setting('memoir.user_id', true), '') = ''"""

_HALFVEC = b"""SELECT n.nspname, t.oid::pg_catalog.int8 FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'halfvec'
WHERE e.extname = 'vector'"""


class Halfvec:
    """The type halfvec of one database, and the statements that name it.

    Args:
        schema: where the extension vector lives. It need not be on the caller's search_path.
        oid: of the type.
    """

    def __init__(self, schema: str, oid: int = 0) -> None:
        # psycopg reads % as the mark of a placeholder.
        self._name = f"{sql.Identifier(schema).as_string().replace('%', '%%')}.halfvec"
        self._oid = oid
        self._statements: dict[str, bytes] = {}

    def statement(self, text: str) -> bytes:
        """A statement whose casts are to ``{vector}``."""
        made = self._statements.get(text)
        if made is None:
            made = self._statements[text] = text.format(vector=self._name).encode()
        return made

    def array(self, vectors: Sequence[HalfVector | None]) -> HalfVectors:
        """Vectors, None for NULL, as one parameter."""
        return half_vectors(vectors, self._oid)


def remember_many(
    halfvec: Halfvec,
    memories: list[NewMemory],
    vectors: Sequence[HalfVector | None],
    user: str | None,
) -> Call[list[Remembered]]:
    """``memoir.remember_many``; ``memories`` come from `checked`, a vector for each."""
    fields = Jsonb([_fields(memory) for memory in memories], dumps=dumps)
    params = (fields, halfvec.array(vectors), user)
    return Call(halfvec.statement(_REMEMBER_MANY), params, each(Remembered))


def redacted(texts: list[str]) -> Call[list[str]]:
    """``memoir.redact`` of each text, in order; a text that cannot be stored stays as it is."""
    return Call(_REDACTED, ([text.replace("\0", "") for text in texts],), first)


def maintain(
    user: str | None, everybody: bool, build_up_to: int | None, dry_run: bool
) -> Call[list[Maintained]]:
    """``memoir.maintain``: what was done, and what is left to the command."""
    params = (
        true_or_false(everybody, "everybody"),
        user,
        whole_number(build_up_to, "build_up_to"),
        true_or_false(dry_run, "dry_run"),
    )
    return Call(_MAINTAIN, params, each(Maintained))


def maintain_all(user: str | None, everybody: bool) -> Call[list[Maintained]]:
    """``memoir.maintain_all``: the same in many transactions, outside one of the caller."""
    return Call(_MAINTAIN_ALL, (everybody, user), _maintained_all)


def tend_recall(user: str | None, build_up_to: int | None) -> Call[list[Maintained]]:
    """The part of ``memoir.maintain`` that many new memories call for: words and indexes."""
    return Call(_TEND_RECALL, (user, build_up_to), each(Maintained))


def use_model(name: str, dimensions: int) -> Call[None]:
    """``memoir.use_model``: this model's vectors fill the database."""
    return Call(_USE_MODEL, (name, dimensions), nothing)


def name_user(user: str) -> Call[bool]:
    """Name the user for this transaction if none is named; returns whether it did."""
    return Call(_NAME_USER, (user,), bool)


def find_halfvec() -> Call[Halfvec]:
    """The type halfvec of the database."""
    return Call(_HALFVEC, (), _halfvec)


def selective_modes() -> Call[list[str]]:
    """The modes that leave words out of the text of a question that is embedded."""
    return Call(_SELECTIVE_MODES, (), first)


def score_parts(mode: str) -> Call[list[str]]:
    """The fields of `Explained` that make up the score of a mode, besides those of every mode."""
    return Call(_SCORE_PARTS, (mode,), first)


def embedding_text(query: str, mode: str | None, user: str | None) -> Call[str]:
    """``memoir.embedding_text``: the part of a question to embed."""
    return Call(_EMBEDDING_TEXT, (query, user, mode), first, prepare=True)


def checked(memory: NewMemory) -> NewMemory:
    """A copy with times in UTC and numbers as numbers.

    Raises:
        TypeError: an unknown field.
        BadText, BadTimestamp, OutOfRange: a value the database cannot take.
    """
    refuse_unknown(memory, NewMemory, "a memory", "field")
    result = memory.copy()
    result.setdefault("kind", "general")
    for name, value in memory.items():
        if name in _TEXTS:
            hint = _MANY if name == "content" and isinstance(value, list) else None
            clean_text(cast(str, value), f"the {name}", hint)
    check_data(memory.get("data"))
    result["keywords"] = texts(memory.get("keywords"), "keywords")
    result["created_at"] = utc(memory.get("created_at"), "created_at")
    result["valid_from"] = utc(memory.get("valid_from"), "valid_from")
    result["valid_until"] = utc(memory.get("valid_until"), "valid_until")
    result["importance"] = finite_number(memory.get("importance"), "importance")
    result["confidence"] = finite_number(memory.get("confidence"), "confidence")
    result["turn"] = whole_number(memory.get("turn"), "turn")
    sources = memory.get("sources")
    result["sources"] = None if sources is None else memory_ids(sources)
    return result


def tool_arguments(arguments: dict[str, Any] | str | None) -> dict[str, Any]:
    """The arguments of a tool call, given as a dictionary or as the JSON text a model writes.

    Raises:
        OutOfRange: the text is not a JSON object.
        BadText: a string in it cannot be stored.
    """
    blank = isinstance(arguments, str) and arguments.strip() in ("", "null")
    given: Any = {} if blank else arguments or {}
    hint = 'Send one JSON object, such as {"query": "green tea"}.'
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise OutOfRange(f"the arguments are not JSON: {error}", hint=hint) from error
    if not isinstance(given, dict):
        said = json.dumps(given, ensure_ascii=False, default=str)[:40]
        raise OutOfRange(f"the arguments are {said}, not a JSON object", hint=hint)
    check_json(given, "arguments")
    return given


def tool_text(arguments: dict[str, Any]) -> str | None:
    """The text of a tool call that is embedded: the text to search for or to store."""
    texts = (arguments.get("query"), arguments.get("content"))
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


def _fields(memory: NewMemory) -> dict[str, Any]:
    """A memory as ``memoir.remember_many`` takes it; a kind of None is an error there."""
    given = {**memory, "session_id": memory.get("session"), "session": None, "vector": None}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in given.items()
        if value is not None or name == "kind"
    }


def _maintained_all(rows: list[Row]) -> list[Maintained]:
    ((report,),) = rows
    return [
        Maintained(row["user_id"], row["action"], row["memories"], row["details"]) for row in report
    ]


def each(kind: Callable[..., T]) -> Callable[[list[Row]], list[T]]:
    """A parser that makes a ``kind`` of each row."""
    return lambda rows: [kind(*row) for row in rows]


def one(kind: Callable[..., T]) -> Callable[[list[Row]], T]:
    """A parser that makes a ``kind`` of the first row."""
    return lambda rows: kind(*rows[0])


def first(rows: list[Row]) -> Any:
    """The single value of an answer."""
    return rows[0][0]


def _halfvec(rows: list[Row]) -> Halfvec:
    if not rows:
        raise NotInstalled(
            "the extension vector is not installed in this database",
            hint=VECTOR_HINT,
        )
    return Halfvec(*rows[0])


def nothing(_rows: list[Row]) -> None:
    """The answer of a call that only does something."""


SEES_ONE_USER: Call[bool] = Call(b"SELECT memoir._sees_one_user()", (), first)
"""Whether row-level security shows the role one user alone."""

SESSION: Call[int] = Call(b"SELECT pg_catalog.pg_backend_pid()", (), first)
"""The pid of the session that answers."""

UNNAME_USER: Call[None] = Call(
    b"SELECT pg_catalog.set_config('memoir.user_id', '', true)", (), nothing
)
"""Take back what `name_user` has named."""
