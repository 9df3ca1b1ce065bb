"""`examine` looks at everything a recall needs, and says what to do about what is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import psycopg
from psycopg.rows import tuple_row

from . import __version__, jobs, ledger, migrations, prerequisites
from .client import Memoir
from .embedders import Embedder
from .errors import INSTALL_HINT, MemoirError, translate
from .model import models
from .models import ChatModel

# D2 and D4 promise a recall under this at p95.
SLOW_RECALL_MS = 200.0
# A job that waits for so long says that no worker runs.
LONG_WAIT = timedelta(hours=1)
# Without these the other checks could only fail too.
_NEEDED = ("server", "pgvector", "migrations", "version")
# Upkeep is daily: a recall not counted for longer than this says that nobody calls it.
LATE_UPKEEP_DAYS = 2
# Users that one line names.
_SHOWN = 3
_QUESTION = "what should I know before I start?"


@dataclass(frozen=True)
class Check:
    """One line of the report: ``state`` is ok, warn or fail; ``hint`` is what to do."""

    name: str
    state: Literal["ok", "warn", "fail"]
    text: str
    hint: str | None = None


def examine(
    conn: psycopg.Connection[Any],
    embedder: Embedder | None,
    user: str | None = None,
    chat: ChatModel | None = None,
) -> Iterator[Check]:
    """Check one thing after the other; stops where the rest cannot work.

    Args:
        conn: in autocommit; nothing is written but the record of one recall.
        embedder: the one in use, or None.
        chat: the chat model in use, or None; it is not asked anything.
        user: whose memory the timed recall asks.
    """
    steps: dict[str, Callable[[], Check]] = {
        "server": lambda: _server(conn),
        "pgvector": lambda: _pgvector(conn),
        "migrations": lambda: _migrations(conn),
        "version": lambda: _version(conn),
        "embedder": lambda: _embedder(embedder),
        "model": lambda: _model(conn, embedder),
        "memories": lambda: _memories(conn),
        "indexes": lambda: _indexes(conn),
        "upkeep": lambda: _upkeep(conn),
        "jobs": lambda: _jobs(conn, chat),
        "recall": lambda: _recall(conn, user),
    }
    for name, step in steps.items():
        check = _guarded(name, step)
        yield check
        if check.state == "fail" and name in _NEEDED:
            return


def _guarded(name: str, step: Callable[[], Check]) -> Check:
    """An error is a finding too."""
    try:
        return step()
    except psycopg.Error as error:
        cause = translate(error)
    except MemoirError as error:
        cause = error
    message = cause.message if isinstance(cause, MemoirError) else str(cause).strip()
    hint = cause.hint if isinstance(cause, MemoirError) else None
    return Check(name, "fail", message, hint)


def _server(conn: psycopg.Connection[Any]) -> Check:
    info = conn.info
    (version,) = _row(conn, "SHOW server_version")
    text = f"PostgreSQL {version}, database {info.dbname}, user {info.user}"
    oldest = prerequisites.OLDEST_SERVER
    if info.server_version < oldest * 10_000:
        return Check("server", "fail", text, f"pgmemoir needs PostgreSQL {oldest} or newer.")
    return Check("server", "ok", text)


def _pgvector(conn: psycopg.Connection[Any]) -> Check:
    found = _rows(
        conn,
        "SELECT e.extversion, n.nspname FROM pg_catalog.pg_extension e"
        " JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'",
    )
    if not found:
        hint = "Run CREATE EXTENSION vector; as a superuser, then: memoir migrate"
        return Check("pgvector", "fail", "the extension vector is not installed", hint)
    version, schema = found[0]
    oldest = prerequisites.OLDEST_VECTOR
    text = f"{version} in schema {schema}"
    if tuple(int(part) for part in version.split(".")[:3]) < oldest:
        hint = f"pgmemoir needs {'.'.join(map(str, oldest))}: ALTER EXTENSION vector UPDATE;"
        return Check("pgvector", "fail", text, hint)
    return Check("pgvector", "ok", text)


def _migrations(conn: psycopg.Connection[Any]) -> Check:
    rows = migrations.status(conn)
    names = {
        state: [row.name for row in rows if row.state == state]
        for state in ("pending", "edited", "unknown")
    }
    if names["unknown"]:
        text = f"{', '.join(names['unknown'])} unknown here: the database is newer"
        return Check("migrations", "fail", text, "Upgrade: pip install -U pgmemoir")
    if names["edited"]:
        hint = "Restore the files, and put the change into a new migration."
        return Check("migrations", "fail", f"edited: {', '.join(names['edited'])}", hint)
    if len(names["pending"]) == len(rows):
        return Check("migrations", "fail", "pgmemoir is not installed here", INSTALL_HINT)
    if names["pending"]:
        text = f"pending: {', '.join(names['pending'])}"
        return Check("migrations", "fail", text, ledger.update_hint(conn))
    return Check("migrations", "ok", f"{len(rows) - 1} applied, by {ledger.road(conn)}")


def _version(conn: psycopg.Connection[Any]) -> Check:
    (installed,) = _row(conn, "SELECT memoir.pgmemoir_version()")
    if installed != __version__:
        text = f"the database has {installed}, the package is {__version__}"
        return Check("version", "warn", text, ledger.update_hint(conn))
    return Check("version", "ok", f"pgmemoir {installed}")


def _embedder(embedder: Embedder | None) -> Check:
    hint = "Recall goes by words alone until it works."
    if embedder is None:
        text = "none: OPENAI_API_KEY is not set and wordllama is not installed"
        return Check("embedder", "warn", text, f"pip install 'pgmemoir[local]'. {hint}")
    try:
        embedder.embed(["warm up"])
        start = time.perf_counter()
        embedder.embed([_QUESTION])
    except MemoirError:
        raise
    except Exception as error:
        return Check("embedder", "warn", str(error) or type(error).__name__, hint)
    elapsed = (time.perf_counter() - start) * 1000
    text = f"{embedder.name}, {embedder.dimensions} dimensions, answers in {elapsed:.1f} ms"
    return Check("embedder", "ok", text)


def _model(conn: psycopg.Connection[Any], embedder: Embedder | None) -> Check:
    found = _rows(conn, "SELECT name, dimensions FROM memoir.embedding_model WHERE active")
    name, dimensions = found[0] if found else (None, None)
    if name is None:
        return Check("model", "ok", "no model has filled this database yet")
    text = f"{name} filled this database, {dimensions} dimensions"
    others = [f"{one.name} {one.state}" for one in models(conn) if one.state != "in use"]
    text += "".join(f"; {other}" for other in others)
    if embedder and (embedder.name, embedder.dimensions or dimensions) != (name, dimensions):
        hint = "Use that embedder (MEMOIR_EMBEDDER, MEMOIR_EMBED_MODEL), or memoir model --help."
        return Check("model", "fail", f"{text}; the embedder is {embedder.name}", hint)
    return Check("model", "ok", text)


def _memories(conn: psycopg.Connection[Any]) -> Check:
    total, bare = _row(
        conn,
        "SELECT count(*), count(*) FILTER (WHERE t.embedding IS NULL) FROM memoir.trace t"
        " JOIN memoir.embedding_model m ON m.model_id = t.model AND m.active WHERE t.active",
    )
    text = f"{total} active, {bare} without a vector"
    if bare:
        hint = "Those are recalled by words alone. Run: memoir worker, or memoir backfill"
        return Check("memories", "warn", text, hint)
    return Check("memories", "ok", text)


def _indexes(conn: psycopg.Connection[Any]) -> Check:
    """Users with many memories have indexes of their own, and those can be used."""
    found = _rows(
        conn,
        "SELECT owner, action, memories FROM memoir._index_plan(NULL)"
        " WHERE action IN ('build', 'repair') ORDER BY action DESC, memories DESC, owner",
    )
    indexed, limit, loose = _row(
        conn,
        "SELECT (SELECT count(*) FROM memoir.profile WHERE ann > 0),"
        " (SELECT value::int FROM memoir.setting WHERE name = 'ann_limit'),"
        " cardinality(memoir._left_over_indexes())",
    )
    broken = [f'"{user}" ({count:,})' for user, action, count in found if action == "repair"]
    bare = [f'"{user}" ({count:,})' for user, action, count in found if action == "build"]
    bare = bare[: max(0, limit - indexed)]
    parts = []
    if broken:
        parts.append(f"missing or unusable for {_some(broken)} memories: recall reads the table")
    if bare:
        parts.append(f"none yet for {_some(bare)} memories")
    if loose:
        parts.append(f"{loose} of an interrupted or running build")
    if parts:
        return Check("indexes", "warn", "; ".join(parts), "Run: memoir maintain")
    text = f"{indexed} users have their own" if indexed else "nobody has so many memories"
    return Check("indexes", "ok", text)


def _upkeep(conn: psycopg.Connection[Any]) -> Check:
    """Somebody calls maintain once a day."""
    (standby,) = _row(conn, "SELECT pg_is_in_recovery()")
    if standby:  # without the log of recalls
        return Check("upkeep", "ok", "a standby: maintain runs on the primary")
    days, cron = _row(
        conn,
        "SELECT coalesce(extract(epoch FROM now() - min(created_at)) / 86400, 0)::float8,"
        " EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_cron')"
        " FROM memoir.retrieval WHERE NOT counted",
    )
    if days <= LATE_UPKEEP_DAYS:
        return Check("upkeep", "ok", "nothing is overdue")
    hint = "Run it once a day: memoir maintain"
    if cron:
        hint = "SELECT cron.schedule('memoir', '0 3 * * *', 'CALL memoir.maintain_all()');"
    return Check("upkeep", "warn", f"nobody has called maintain for {days:.0f} days", hint)


def _jobs(conn: psycopg.Connection[Any], chat: ChatModel | None) -> Check:
    """Work that waits for a model: whether there is one, and a worker."""
    standing = jobs.standing(conn)
    waiting, dead = (sum(getattr(s, state) for s in standing) for state in ("waiting", "dead"))
    text = f"{waiting} waiting, {dead} dead, chat model {chat.name if chat else 'none'}"
    if dead:
        hint = "See memoir.job_errors for why; SELECT memoir.retry_dead(); tries them again."
        return Check("jobs", "warn", text, hint)
    if chat is None and any(s.waiting for s in standing if s.needs == "chat"):
        hint = "They wait without harm. Set MEMOIR_CHAT_MODEL, and run: memoir worker"
        return Check("jobs", "warn", text, hint)
    oldest = min((s.oldest for s in standing if s.oldest), default=None)
    if oldest and datetime.now(UTC) - oldest > LONG_WAIT:
        hint = f"The oldest waits since {oldest:%Y-%m-%d %H:%M}. Run: memoir worker"
        return Check("jobs", "warn", text, hint)
    return Check("jobs", "ok", text)


def _some(texts: list[str]) -> str:
    rest = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f" and {rest} more with that many" if rest > 0 else "")


def _recall(conn: psycopg.Connection[Any], user: str | None) -> Check:
    client = Memoir(conn, user=user, embedder=None)
    client.recall(_QUESTION)
    start = time.perf_counter()
    found = client.recall(_QUESTION)
    elapsed = (time.perf_counter() - start) * 1000
    text = f"{elapsed:.1f} ms, {found.candidates} candidates, {found.tokens} tokens"
    if elapsed > SLOW_RECALL_MS:
        hint = f"Expected under {SLOW_RECALL_MS:.0f} ms: is the server far away or overloaded?"
        return Check("recall", "warn", text, hint)
    return Check("recall", "ok", text)


def _rows(conn: psycopg.Connection[Any], query: str) -> list[tuple[Any, ...]]:
    with psycopg.Cursor(conn, row_factory=tuple_row) as cursor:
        return cursor.execute(query.encode()).fetchall()


def _row(conn: psycopg.Connection[Any], query: str) -> tuple[Any, ...]:
    return _rows(conn, query)[0]
