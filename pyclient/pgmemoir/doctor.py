"""`examine` looks at everything a recall needs, and says what to do about what is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import psycopg
from psycopg.rows import tuple_row

from . import __version__, ledger, migrations, prerequisites
from .chat_models import ChatModel
from .client import Memoir
from .differences import differences
from .embedders import Embedder, missing_embedder_hint, wanted_embedder
from .embedding_models import models
from .errors import INSTALL_HINT, VECTOR_HINT, MemoirError, advice, translate
from .statements import rows

State = Literal["ok", "warn", "fail", "skip"]

# D2 and D4 promise a recall under this at p95.
SLOW_RECALL_MS = 200.0
# Without these the other checks could only fail too.
_NEEDED = ("server", "pgvector", "migrations", "objects", "version")
# Names in memoir.health() that another check reports already.
_TOLD_HERE = {"server", "pgvector", "version"}
_STATES: dict[str, State] = {"ok": "ok", "warning": "warn", "error": "fail", "unseen": "skip"}
_MAY_RECALL = b"""SELECT current_user, has_function_privilege(oid, 'EXECUTE') FROM pg_proc
WHERE pronamespace = 'memoir'::regnamespace AND proname = 'recall'"""
_HEALTH = b"SELECT name, status, value, advice FROM memoir.health()"
# Dead jobs are worse: their advice is kept.
_LACKS_CHAT = b"""SELECT coalesce(sum(waiting) FILTER (WHERE needs = 'chat'), 0) > 0
AND sum(dead) = 0 FROM memoir.job_overview"""
_HAS_FUNCTIONS = b"SELECT to_regproc('memoir.pgmemoir_version') IS NOT NULL"
_RUN_FILES = (
    "Run their files of sql/ again, of this version, with search_path = memoir and pgvector's."
)
_LOST = (
    "Did a restore fail in part? Restore into an empty database, or run their statements in"
    " migrations/ of this version by hand."
)
_QUESTION = "what should I know before I start?"


@dataclass(frozen=True)
class Check:
    """One line of the report.

    Attributes:
        state: ok, warn, fail, or skip: this role cannot see it, or a standby does not have it.
        hint: what to do.
    """

    name: str
    state: State
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
    steps: dict[str, Callable[[], Check | list[Check]]] = {
        "server": lambda: _server(conn),
        "pgvector": lambda: _pgvector(conn),
        "migrations": lambda: _migrations(conn),
        "objects": lambda: _objects(conn),
        "version": lambda: _version(conn),
        "embedder": lambda: _embedder(embedder),
        "model": lambda: _model(conn, embedder),
        "health": lambda: _health(conn, chat),
        "recall": lambda: _recall(conn, user),
    }
    for name, step in steps.items():
        checks = _guarded(name, step)
        yield from checks
        if name in _NEEDED and checks[0].state == "fail":
            return


def _guarded(name: str, step: Callable[[], Check | list[Check]]) -> list[Check]:
    """An error is a finding too."""
    try:
        found = step()
        return found if isinstance(found, list) else [found]
    except psycopg.Error as error:
        cause = translate(error)
        # Without the text of the function that failed.
        message, hint = error.diag.message_primary or str(error).strip(), advice(error)
    except MemoirError as error:
        cause = error
    if isinstance(cause, MemoirError):
        message, hint = cause.message, cause.hint
    return [Check(name, "fail", message, hint)]


def _server(conn: psycopg.Connection[Any]) -> Check:
    info = conn.info
    ((version,),) = rows(conn, b"SHOW server_version")
    with psycopg.Cursor(conn) as cur:
        prerequisites.check_server(cur)
    return Check("server", "ok", f"PostgreSQL {version}, database {info.dbname}, user {info.user}")


def _pgvector(conn: psycopg.Connection[Any]) -> Check:
    found = rows(
        conn,
        b"SELECT e.extversion, n.nspname FROM pg_catalog.pg_extension e"
        b" JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'",
    )
    if not found:
        hint = prerequisites.RESTORE if ledger.installed_by(conn) else VECTOR_HINT
        return Check("pgvector", "fail", "the extension vector is not installed", hint)
    version, schema = found[0]
    text = f"{version} in schema {schema}"
    if prerequisites.is_old_vector(version):
        hint = f"pgmemoir needs {prerequisites.OLDEST_VECTOR}: ALTER EXTENSION vector UPDATE;"
        return Check("pgvector", "fail", text, hint)
    with psycopg.Cursor(conn, row_factory=tuple_row) as cur:
        left = prerequisites.left_schema(cur)
        on_extension = prerequisites.extension_version(cur)
    if left:
        text = f"{text}, and the functions look for it in {left}"
        hint = f"ALTER EXTENSION vector SET SCHEMA {left};" if on_extension else INSTALL_HINT
        return Check("pgvector", "fail", text, hint)
    return Check("pgvector", "ok", text)


def _migrations(conn: psycopg.Connection[Any]) -> Check:
    files = migrations.status(conn)
    names = {
        state: [file.name for file in files if file.state == state]
        for state in ("pending", "edited", "unknown")
    }
    if names["unknown"]:
        text = f"{', '.join(names['unknown'])} unknown here: the database is newer"
        return Check("migrations", "fail", text, "Upgrade: pip install -U pgmemoir")
    if names["edited"]:
        hint = "Another text of them ran here. Run memoir migrate: it says what to do."
        return Check("migrations", "fail", f"edited: {', '.join(names['edited'])}", hint)
    if len(names["pending"]) == len(files):
        return Check("migrations", "fail", *_absence(conn))
    if names["pending"]:
        text = f"pending: {', '.join(names['pending'])}"
        return Check("migrations", "fail", text, ledger.update_hint(conn))
    return Check("migrations", "ok", f"{len(files) - 1} applied, by {ledger.installed_by(conn)}")


def _absence(conn: psycopg.Connection[Any]) -> tuple[str, str]:
    """What is here instead of the ledger, and what to do."""
    with psycopg.Cursor(conn, row_factory=tuple_row) as cur:
        prerequisites.refuse_renamed(cur)
    if rows(conn, _HAS_FUNCTIONS)[0][0]:
        return "functions are here, but no rows of memoir.migration", prerequisites.RESTORE
    return "pgmemoir is not installed here", INSTALL_HINT


def _version(conn: psycopg.Connection[Any]) -> Check:
    ((installed,),) = rows(conn, b"SELECT memoir.pgmemoir_version()")
    if installed != __version__:
        text = f"the database has {installed}, the package is {__version__}"
        return Check("version", "warn", text, ledger.update_hint(conn))
    return Check("version", "ok", f"pgmemoir {installed}")


def _objects(conn: psycopg.Connection[Any]) -> Check:
    tables, lost, gone, rewritten, silent = differences(conn)
    missing = [*(f"table {table}" for table in tables), *lost, *gone]
    if not missing and not rewritten and not silent:
        return Check("objects", "ok", "as this version makes them")
    text = "; ".join(
        f"{what}: {', '.join(names[:3])}{f' and {len(names) - 3} more' if names[3:] else ''}"
        for what, names in (
            ("missing", missing),
            ("rewritten by hand", rewritten),
            ("without a comment", silent),
        )
        if names
    )
    hint = _RUN_FILES if ledger.is_extension(conn) else f"{INSTALL_HINT} up --anew"
    hint = _LOST if lost else hint
    hint = prerequisites.RESTORE if tables else hint
    return Check("objects", "fail" if missing else "warn", text, hint)


def _embedder(embedder: Embedder | None) -> Check:
    hint = "Recall goes by words alone until it works."
    if wanted_embedder() == "none":
        return Check("embedder", "ok", "none, as MEMOIR_EMBEDDER says")
    if embedder is None:
        text = "none: OPENAI_API_KEY is not set and wordllama is not installed"
        return Check("embedder", "warn", text, f"{missing_embedder_hint()} {hint}")
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
    found = rows(conn, b"SELECT name, dimensions FROM memoir.embedding_model WHERE active")
    name, dimensions = found[0] if found else (None, None)
    if name is None:
        return Check("model", "ok", "no model has filled this database yet")
    text = f"{name} filled this database, {dimensions} dimensions"
    others = [f"{one.name} {one.state}" for one in models(conn) if one.state != "in use"]
    text += "".join(f"; {other}" for other in others)
    if embedder and (embedder.name, embedder.dimensions or dimensions) != (name, dimensions):
        hint = (
            "Use that embedder (MEMOIR_EMBEDDER, MEMOIR_EMBED_MODEL), or memoir model --help."
            " If the vectors come from your own program: MEMOIR_EMBEDDER=none"
        )
        return Check("model", "fail", f"{text}; the embedder is {embedder.name}", hint)
    return Check("model", "ok", text)


def _health(conn: psycopg.Connection[Any], chat: ChatModel | None) -> list[Check]:
    """What the database knows of itself: the same as ``SELECT * FROM memoir.health()``."""
    checks = [
        Check(name, _STATES[status], value, advice)
        for name, status, value, advice in rows(conn, _HEALTH)
        if name not in _TOLD_HERE
    ]
    return [_jobs(conn, chat, check) if check.name == "jobs" else check for check in checks]


def _jobs(conn: psycopg.Connection[Any], chat: ChatModel | None, known: Check) -> Check:
    """What waits for a worker, and whether the model for it is configured."""
    if known.state == "skip":
        return known
    text = f"{known.text}, chat model {chat.name if chat else 'none'}"
    if chat is None and rows(conn, _LACKS_CHAT)[0][0]:
        hint = "They wait without harm. Set MEMOIR_CHAT_MODEL, and run: memoir worker"
        return Check("jobs", "warn", text, hint)
    return replace(known, text=text)


def _recall(conn: psycopg.Connection[Any], user: str | None) -> Check:
    ((role, may_recall),) = rows(conn, _MAY_RECALL)
    if not may_recall:
        return Check("recall", "skip", f"{role} does not recall")
    client = Memoir(conn, user=user, embedder=None)
    client.recall(_QUESTION)
    start = time.perf_counter()
    client.recall(_QUESTION)
    elapsed = (time.perf_counter() - start) * 1000
    text = f"answers in {elapsed:.1f} ms"
    if elapsed > SLOW_RECALL_MS:
        hint = f"Expected under {SLOW_RECALL_MS:.0f} ms: is the server far away or overloaded?"
        return Check("recall", "warn", text, hint)
    return Check("recall", "ok", text)
