"""Everything of a user as lines of JSON, out of a database and into one.

What a line says, and whether it may be said, is decided by ``memoir.export_user`` and
``memoir.import_user``; here they are carried, a thousand at a time, so that the size of a user does
not matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import psycopg
from psycopg.rows import tuple_row

from .batches import batches
from .checks import clean_text
from .errors import BadFile, BadText, translated
from .statements import rows

# Lines of one statement, and about how many bytes.
_LINES = 1000
_BYTES = 8 * 2**20
# The server refuses longer lines, too; this is earlier.
_LONGEST = 32 * 2**20

_EXPORT = b"SELECT memoir.export_user(%s::text, %s::boolean)"
_IMPORT = b"""SELECT state, line, records
FROM memoir.import_user(%s::text[], %s::text, %s::boolean, %s::boolean)"""


@dataclass(frozen=True)
class Imported:
    """What became of a file.

    Attributes:
        known: the same file was imported before; nothing was changed.
        records: how many of each sort it has; alike: how many memories had the text or the
            subject of another by the rules of this database.
    """

    known: bool
    records: dict[str, int]


def export_lines(
    conn: psycopg.Connection[Any], user: str | None, vectors: bool = False
) -> Iterator[str]:
    """Everything of a user, a line each, as it is at one moment.

    Args:
        conn: in a transaction, that a cursor needs.
        user: None for the default.
        vectors: with the vectors of the model in use.
    """
    with translated(), conn.cursor(name="memoir_export", row_factory=tuple_row) as cursor:
        cursor.itersize = _LINES
        cursor.execute(_EXPORT, (user, vectors))
        for (line,) in cursor:
            yield line


def header_of(line: str) -> dict[str, Any]:
    """What the first line says; nothing where it is none."""
    try:
        header = json.loads(line)["pgmemoir"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def user_of(header: dict[str, Any]) -> str | None:
    """The user that the first line names.

    Raises:
        BadFile: that is no text, or none that PostgreSQL can store.
    """
    try:
        return clean_text(header.get("user_id"), "the user")
    except BadText as error:
        raise BadFile(f"line 1: {error.message}", hint=_NOT_OURS) from error


def read_lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a file in UTF-8, without their ends.

    Raises:
        BadFile: a line is too long, or not UTF-8.
    """
    number = 0
    while data := file.readline(_LONGEST + 3):
        number += 1
        if len(data) > _LONGEST + 2:
            raise BadFile(f"line {number}: it has more than {_LONGEST:,} bytes", hint=_NOT_OURS)
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            hint = "Save it as UTF-8; in PowerShell name the file, since > writes UTF-16."
            raise BadFile(f"line {number}: not UTF-8", hint=hint) from error
        if "\0" in line:
            raise BadFile(f"line {number}: it has a NUL character", hint=_NOT_OURS)
        yield line.rstrip("\r\n")


_NOT_OURS = "It is not as memoir export wrote it: export the user again."


def import_lines(
    conn: psycopg.Connection[Any],
    lines: Iterable[str],
    user: str | None,
    *,
    new_ids: bool = False,
    vectors: bool = True,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Take over everything of a user.

    Args:
        conn: whose transaction gets all of it, or is to be rolled back.
        lines: of an export, from the first to the last.
        user: who gets it; None for the default.
        new_ids: raise every id by one number, so that none was given in this database before.
        vectors: False leaves those of the file out.
        progress: called with the number of lines read.

    Raises:
        BadFile: the file is no export, was cut or changed, or the user has something already.
        ModelMismatch: its vectors are by another model.
    """
    state = None
    with translated():
        for batch in batches(lines, _LINES, _BYTES, len):
            ((state, line, records),) = rows(conn, _IMPORT, (batch, user, new_ids, vectors))
            if progress:
                progress(line)
            if state == "known":
                return Imported(True, records)
    if state is None:
        raise BadFile("the file is empty", hint=_NOT_OURS)
    if state != "imported":
        raise BadFile(f"the file stops at line {line}, before its end", hint=_NOT_OURS)
    return Imported(False, records)
