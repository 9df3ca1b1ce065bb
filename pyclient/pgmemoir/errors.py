"""Errors a caller can act on: one class per SQLSTATE of class ME, with the server's hint.

The database raises them (``sql/``); the client raises the same classes for what it can see before
anything is sent, so that a caller needs one ``except`` for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Self

import psycopg

_OF_MEMORY = re.compile(r"memory (\d+): (.*)", re.DOTALL)

INSTALL_HINT = "Run: memoir --dsn <connection string> migrate"
VECTOR_HINT = "Run CREATE EXTENSION vector; as a superuser, then: memoir migrate"
PATIENCE_HINT = "Give --dsn options='-c {}=0': what is set there is too short."
_TIMEOUTS = {
    "57014": "statement_timeout",
    "25P04": "transaction_timeout",
    "25P03": "idle_in_transaction_session_timeout",
    "57P05": "idle_session_timeout",
}
# A connection that the server ends while it is made has no code.
_WHILE_CONNECTING = "terminating connection due to transaction timeout"
RIGHTS_HINT = (
    "A superuser, or who created the roles: GRANT memoir_agent TO the role of --dsn;"
    " memoir_reader only recalls, memoir_worker is for memoir worker, memoir_admin does all of it."
)
VECTOR_RIGHTS_HINT = (
    "If pgvector is in it, as its owner: GRANT USAGE ON SCHEMA {} TO memoir_reader, memoir_agent,"
    " memoir_worker, memoir_admin;"
)
_NO_SCHEMA = re.compile(r"permission denied for schema (?!memoir$)(.+)")
_NO_RIGHTS = re.compile(r"permission denied for (schema memoir|function \w+|procedure \w+)")
# Of a server that speaks another language only the place in its code tells.
_OTHER_REFUSALS = ("permission denied", "must be owner")


class MemoirError(Exception):
    """Base of every error of pgmemoir.

    Args:
        message: what went wrong, in one sentence.
        detail: more about it, or None.
        hint: the call or command that fixes it, or None.

    ``sqlstate`` is the code the database uses for the same condition.
    """

    sqlstate: ClassVar[str] = "ME000"

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        parts = [self.message]
        if self.detail:
            parts.append(f"detail: {self.detail}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)

    def in_batch(self) -> tuple[int | None, str]:
        """Which memory of a batch it is about, from 1 (None: of none), and what is wrong."""
        found = _OF_MEMORY.fullmatch(self.message)
        return (int(found[1]), found[2]) if found else (None, self.message)

    def of_memory(self, done: int, place: int | None = None) -> Self:
        """The same error of one memory among many, with its place in all of them.

        Args:
            done: how many were stored before its batch.
            place: its place in the batch, from 1; None when the message begins with it.
        """
        message = self.message
        if place is None:
            place, message = self.in_batch()
            if place is None:
                return self
        return self.reworded(f"memory {done + place}: {message}")

    def reworded(self, message: str) -> Self:
        """The same error in other words."""
        return type(self)(message, detail=self.detail, hint=self.hint)


class UnknownMode(MemoirError):
    """No row of that name in ``memoir.mode``."""

    sqlstate = "ME001"


class UnknownKind(MemoirError):
    """No row of that name in ``memoir.kind``, and no alias of one."""

    sqlstate = "ME002"


class DimensionMismatch(MemoirError):
    """A vector has a different number of dimensions from this database."""

    sqlstate = "ME003"


class UnusableVector(MemoirError):
    """A vector is empty, zero, or has a component that is NaN or infinite."""

    sqlstate = "ME004"


class BudgetOutOfRange(MemoirError):
    """The budget is not between 1 and 100000 tokens."""

    sqlstate = "ME005"


class MissingUser(MemoirError):
    """The user is missing or empty, or not the one that ``memoir.user_id`` names."""

    sqlstate = "ME006"


class BadText(MemoirError):
    """A text is empty, too large, or cannot be stored (NUL, half a surrogate pair)."""

    sqlstate = "ME007"


class OutOfRange(MemoirError):
    """A number or another argument lies outside its range."""

    sqlstate = "ME008"


class ModelMismatch(MemoirError):
    """Another embedding model filled this database."""

    sqlstate = "ME009"


class BadEvent(MemoirError):
    """The type or the payload of an event is missing."""

    sqlstate = "ME010"


class BadTimestamp(MemoirError):
    """A time before 1970, or more than a day ahead."""

    sqlstate = "ME011"


class NotFound(MemoirError):
    """This user has no such memory or retrieval."""

    sqlstate = "ME012"


class NotInstalled(MemoirError):
    """The schema ``memoir`` is missing, or its version does not match this client."""

    sqlstate = "ME013"


class NotPossible(MemoirError):
    """The state of a memory does not allow it: a live one cannot be restored."""

    sqlstate = "ME014"


class SchemaMismatch(MemoirError):
    """A JSON document does not fit its schema."""

    sqlstate = "ME015"


class BadSource(MemoirError):
    """A table of the application cannot be attached, or its mapping does not fit it."""

    sqlstate = "ME016"


class BadFile(MemoirError):
    """A file cannot be read or written, or contains what cannot be stored."""

    sqlstate = "ME017"


_BY_SQLSTATE = {kind.sqlstate: kind for kind in MemoirError.__subclasses__()}

# How a call in SQL names its user.
_USER_IN_SQL = re.compile(r"user_id => set_config\(.+?, true\)")

# What PostgreSQL reports when the schema, a function or a table of memoir is not there.
_MISSING = {"3F000", "42883", "42P01"}


def translate(error: psycopg.Error) -> Exception:
    """The exception a caller should see for a database error.

    Returns:
        the class of the ME code, `NotInstalled` when memoir is not in this database, or ``error``
        itself when it is none of ours (a lost connection, a permission).
    """
    code = error.sqlstate or ""
    message = error.diag.message_primary or str(error)
    if code in _MISSING and "memoir" in message:
        return NotInstalled(
            "pgmemoir is not installed in this database, or in another version",
            detail=message,
            hint=INSTALL_HINT,
        )
    if not code.startswith("ME"):
        return error
    kind = _BY_SQLSTATE.get(code, MemoirError)
    hint = error.diag.message_hint
    if kind is MissingUser and hint and message.endswith("is not set"):
        hint = _USER_IN_SQL.sub('user="alice" to the client', hint)
    return kind(message, detail=error.diag.message_detail, hint=hint)


def advice(error: psycopg.Error) -> str | None:
    """What to do on the command line about an error of PostgreSQL itself."""
    if error.sqlstate in _TIMEOUTS:
        return PATIENCE_HINT.format(_TIMEOUTS[error.sqlstate])
    if error.sqlstate is None and _WHILE_CONNECTING in str(error):
        return PATIENCE_HINT.format("transaction_timeout")
    if no_schema := _NO_SCHEMA.fullmatch(error.diag.message_primary or ""):
        return VECTOR_RIGHTS_HINT.format(no_schema[1])
    if _lacks_rights(error):
        return RIGHTS_HINT
    if isinstance(error, psycopg.errors.UndefinedColumn):
        return "Is the database of another version? See: memoir migrate status"
    return error.diag.message_hint


def _lacks_rights(error: psycopg.Error) -> bool:
    message = error.diag.message_primary or ""
    if message.startswith(_OTHER_REFUSALS):
        return bool(_NO_RIGHTS.fullmatch(message))
    return error.sqlstate == "42501" and error.diag.source_function == "aclcheck_error"


@contextmanager
def translated() -> Iterator[None]:
    """Within it a database error is raised as `translate` has it."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error
