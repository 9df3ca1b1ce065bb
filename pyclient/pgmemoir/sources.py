"""Attached tables: the calls, the check of a mapping SELECT, and the fill in small transactions.

A SELECT is checked here with a parser before it is sent; the database checks it again in its own
way. Its text is kept as it was written: sqlglot only reads it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, TypeVar, cast

import psycopg

from .calls import Call, Row, columns, each, first, one
from .checks import clean_text, refuse_unknown, texts, true_or_false, whole_number
from .errors import BadSource, NotPossible, translated
from .statements import answer, together

T = TypeVar("T")

# How often a busy table is tried, and the pause between, in which its writers continue.
_ATTEMPTS = 5
_PAUSE_SECONDS = 1.0
# A query that takes longer is stopped.
QUERY_SECONDS = 60

_REQUIRED = {"source_id"}
_OF_EVENTS = {"type", "payload"}
_OF_MEMORIES = {"content"}
_NAMES = (
    {"user_id", "created_at", "changed_at", "summary", "importance", "data", "subject", "status"}
    | {"valid_until"}
    | _REQUIRED
    | _OF_EVENTS
    | _OF_MEMORIES
)
# Functions that do more than read. Beginnings, in lower case.
_DENIED = (
    *("pg_sleep", "dblink", "pg_read", "pg_ls", "pg_stat_file", "set_config", "nextval", "setval"),
    *("lo_", "pg_notify", "pg_terminate", "pg_cancel", "pg_advisory", "pg_try_advisory"),
    *("pg_reload", "pg_switch", "pg_logical", "pg_create", "pg_drop", "pg_export", "txid_current"),
    *("query_to_xml", "table_to_xml", "schema_to_xml", "database_to_xml", "cursor_to_xml"),
    *("rand", "clock_timestamp", "gen_random", "uuid", "timeofday", "currval", "lastval"),
)


class Columns(TypedDict, total=False):
    """Which columns are what, as ``memoir.attach_source`` takes them; see its comment."""

    content: Sequence[str]
    source_id: Sequence[str]
    created_at: str
    summary: str
    importance: str
    data: Sequence[str]
    subject: str
    status: str
    valid_until: str
    type: str
    payload: Sequence[str]
    changed_at: str
    user_column: str


@dataclass(frozen=True)
class Source:
    """An attached table or query, as view ``memoir.sources`` has it."""

    name: str
    kind: str
    relation: str
    state: str
    rows: int
    waiting: int
    last_pull: datetime | None
    last_error: str | None
    mapping: dict[str, Any]
    query: str | None


@dataclass(frozen=True)
class Filled:
    """One batch that was read.

    ``written`` is how many memories changed, ``waiting`` how many rows could not be taken over;
    ``complete``: nothing is left to read.
    """

    read_rows: int
    written: int
    waiting: int
    complete: bool


MANY = ("content", "source_id", "data", "payload")
_ATTACH = """SELECT memoir.attach_source(%s::text, %s::text,
    relation => memoir._named_relation(%s::text, to_regclass(%s::text)),
    query => %s::text, on_delete => %s::text, user_id => %s::text,
    write_retrievals => %s::boolean{columns})"""
_DETACH = b"SELECT memoir.detach_source(%s::text, memories => %s::text)"
_SOURCES = f"SELECT {columns(Source)} FROM memoir.sources ORDER BY name".encode()
_FILL = f"""SELECT {columns(Filled)}
FROM memoir.fill_source(%s::text, most => %s::int, anew => %s::boolean)""".encode()
_PULL = f"""SELECT {columns(Filled)}
FROM memoir.pull_source(%s::text, most => %s::int)""".encode()
# For the transaction, so that an error restores the old value; a shorter time stays.
_LIMIT = b"""SELECT set_config('memoir.timeout', setting, true), set_config('statement_timeout',
    least(nullif(setting::int, 0), %s::int)::text, true)
FROM pg_settings WHERE name = 'statement_timeout'"""
_UNLIMIT = b"SELECT set_config('statement_timeout', current_setting('memoir.timeout'), true)"
_USERS = b"SELECT memoir._source_users(%s::text)"
_KEYWORDS = b"SELECT last_id FROM memoir._source_keywords(%s::text, %s::bigint, 1000)"


def attach(
    name: str,
    kind: str,
    relation: str | None,
    query: str | None,
    on_delete: str,
    write_retrievals: bool,
    user: str | None,
    columns: Columns,
) -> Call[str]:
    """``memoir.attach_source``, after `check_query`."""
    given = (name, kind, relation, relation, query, on_delete, user)
    head = [clean_text(text, "an argument of attach_source") for text in given]
    if query is not None:
        check_query(query, kind)
    named = [(key, value) for key, value in columns.items() if value is not None]
    refuse_unknown(dict(named), Columns, "a source", "output")
    casts = ", ".join(f"{key} => %s::text{'[]' * (key in MANY)}" for key, _ in named)
    statement = _ATTACH.format(columns=f", {casts}" if casts else "")
    values = [
        texts([value] if isinstance(value, str) else value, key)  # type: ignore[arg-type]
        if key in MANY
        else clean_text(value, key)  # type: ignore[arg-type]
        for key, value in named
    ]
    params = (*head, true_or_false(write_retrievals, "write_retrievals"), *values)
    return Call(statement.encode(), params, first)


def detach(name: str, memories: str) -> Call[int]:
    """``memoir.detach_source``: how many memories or events it had."""
    params = (clean_text(name, "the name"), clean_text(memories, "memories"))
    return Call(_DETACH, params, first)


def listed() -> Call[list[Source]]:
    """View ``memoir.sources``."""
    return Call(_SOURCES, (), each(Source))


def fill(name: str, most: int | None, anew: bool) -> Call[Filled]:
    """``memoir.fill_source``: one batch."""
    rows = (whole_number(most, "most"), true_or_false(anew, "anew"))
    params = (clean_text(name, "the name"), *rows)
    return Call(_FILL, params, one(Filled))


def pull(name: str, most: int | None) -> Call[Filled]:
    """``memoir.pull_source``: one batch."""
    return Call(_PULL, (clean_text(name, "the name"), whole_number(most, "most")), one(Filled))


def limited(call: Call[T], seconds: float) -> list[Call[Any]]:
    """A batch of calls whose middle one is stopped after so many seconds."""
    return [Call(_LIMIT, (round(1000 * seconds),), len), call, Call(_UNLIMIT, (), len)]


def check_query(query: str, kind: str = "general") -> None:
    """Refuse a text that is not one SELECT that names its columns and only reads.

    Raises:
        BadSource: with what is wrong.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        statements = [part for part in sqlglot.parse(query, dialect="postgres") if part]
    except SqlglotError as error:
        message = " ".join(str(error).splitlines()[:1])
        raise _refused(f"it cannot be read as SQL: {message}") from error
    if len(statements) != 1:
        raise _refused(f"it has {len(statements)} statements, one SELECT is wanted")
    (statement,) = statements
    if not isinstance(statement, exp.Query):
        raise _refused(f"it is {statement.key.upper()}, one SELECT is wanted")
    for part in statement.walk():
        problem = _problem(part)
        if problem:
            raise _refused(problem)
    for select in _branches(statement):
        if any(isinstance(column, exp.Star) or column.is_star for column in select.expressions):
            raise _refused("it selects *: name the columns")
    # A name without quotes is in lower case to PostgreSQL.
    quoted = {part.name for part in statement.find_all(exp.Identifier) if part.quoted}
    names = {name if name in quoted else name.lower() for name in statement.named_selects}
    needed = _REQUIRED | (_OF_EVENTS if kind in ("event", "events") else _OF_MEMORIES)
    if needed - names:
        raise _refused(f"it has no column {', '.join(sorted(needed - names))}")
    if names - _NAMES:
        raise _refused(
            f"column {', '.join(sorted(names - _NAMES))} is not one that a source can have"
        )


def _branches(query: Any) -> Iterator[Any]:
    """The SELECTs whose columns come out: one, or those of a UNION."""
    from sqlglot import exp

    if isinstance(query, exp.SetOperation):
        yield from _branches(query.left)
        yield from _branches(query.right)
    elif isinstance(query, exp.Subquery):
        yield from _branches(query.this)
    else:
        yield query


def _problem(part: Any) -> str | None:
    """What is wrong with one node of the statement."""
    from sqlglot import exp

    if isinstance(part, exp.Into):
        return "it selects INTO a table"
    if isinstance(part, exp.Lock):
        return "it locks rows (FOR UPDATE, FOR SHARE)"
    if isinstance(part, exp.DML | exp.DDL | exp.Command) and not isinstance(part, exp.Query):
        return f"it has a {part.key.upper()} in it"
    if isinstance(part, exp.Table) and part.db.lower() == "memoir":
        return f"it reads memoir.{part.name}, which is not the application's"
    if isinstance(part, exp.Func):
        name = part.name if isinstance(part, exp.Anonymous) else part.sql_name()
        if str(name).lower().startswith(_DENIED):
            return f"it calls {str(name).lower()}(), which does more than read"
    return None


def _refused(reason: str) -> BadSource:
    return BadSource(
        f"the query cannot be attached: {reason}",
        hint="SELECT id AS source_id, title AS content, created_at FROM app.ticket",
    )


def patiently(conn: psycopg.Connection[Any], call: Call[T]) -> T:
    """Attach or detach, trying again while a long transaction keeps the table busy.

    Args:
        conn: in autocommit: the lock for the triggers is held only for a moment.
        call: of `attach` or `detach`.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return _run(conn, call)
        except NotPossible:
            time.sleep(_PAUSE_SECONDS)
    return _run(conn, call)


def read(
    conn: psycopg.Connection[Any],
    name: str,
    *,
    changes: bool = False,
    anew: bool = False,
    most: int | None = None,
    seconds: float = QUERY_SECONDS,
) -> Iterator[Filled]:
    """Read a source until nothing is left, one transaction per batch; yields each batch.

    If it is stopped at any point, the next call goes on. At the end failed rows are tried again,
    as long as that helps, and the keywords of the new memories are found.

    Args:
        conn: in autocommit.
        name: of the source.
        changes: only what changed since (``pull_source``), otherwise all that was not read yet.
        anew: from the first row; also forgets memories whose rows are gone.
        most: rows per batch; default: the setting source_batch.
        seconds: a statement that takes longer is stopped, or sooner if the connection says so.
    """
    batch = _run_for(conn, seconds, pull(name, most) if changes else fill(name, most, anew))
    yield batch
    while not batch.complete:
        batch = _run_for(conn, seconds, fill(name, most, False))
        yield batch
    helps = True
    while helps and batch.waiting:
        batch = _run_for(conn, seconds, fill(name, most, False))
        helps = batch.written > 0
        yield batch
    for user in _run_for(conn, seconds, Call(_USERS, (name,), _first_column)):
        after: int | None = 0
        while after is not None:
            call = Call(_KEYWORDS, (user, after), _first_column)
            (after,) = _run_for(conn, seconds, call)


def _first_column(found: list[Row]) -> list[Any]:
    return [row[0] for row in found]


def _run(conn: psycopg.Connection[Any], call: Call[T]) -> T:
    with translated():
        return answer(conn, call)


def _run_for(conn: psycopg.Connection[Any], seconds: float, call: Call[T]) -> T:
    """As `_run`, for so many seconds at most."""
    with translated():
        _, found, _ = together(conn, limited(call, seconds))
    return cast(T, found)
