"""Reads the SQL files a database is built from, and refuses a set that has no clear meaning."""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from .errors import MemoirError
from .paths import Source

CODE = "sql"
_MIGRATION_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")


class MigrationError(MemoirError):
    """A migration is refused or failed; the database is as it was.

    Args:
        file: the SQL file it is about, or None.
        line: line of the failing statement in that file, counted from 1, or None.
        server_sqlstate: the server's code for the failure, or None.
    """

    sqlstate = "ME013"

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        file: Path | None = None,
        line: int | None = None,
        server_sqlstate: str | None = None,
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.file = file
        self.line = line
        self.server_sqlstate = server_sqlstate


class SqlFile(NamedTuple):
    """A SQL file as it is now. ``name`` is what the ledger and the messages call it."""

    name: str
    path: Path
    text: str
    sha256: str


def number(name: str) -> int:
    """The number a migration's name begins with."""
    return int(name[:4])


def migrations(source: Source) -> list[SqlFile]:
    """The migrations in order.

    Raises:
        MigrationError: a bad name, two files with one number, or a released one was edited.
    """
    files = [_read(path, path.name) for path in sorted(source.migrations.glob("*.sql"))]
    for file in files:
        if not _MIGRATION_NAME.fullmatch(file.name):
            raise MigrationError(
                f"{file.name} is not a migration's name",
                hint="Names are four digits, then words: 0007_add_sessions.sql",
                file=file.path,
            )
    for one, other in pairwise(files):
        if number(one.name) == number(other.name):
            raise MigrationError(
                f"{one.name} and {other.name} have the same number",
                hint="Give the newer one the next free number.",
                file=other.path,
            )
    _check_released(source, {file.name: file.sha256 for file in files})
    return files


def releases(source: Source) -> dict[str, list[str]]:
    """The migrations that each release has, by version, oldest first.

    ``released.txt`` names a release in a line ``# 0.1.0``; below it stand the hashes of the
    migrations that are new in it.
    """
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line in _released_lines(source):
        if line.startswith("#"):
            names = found.setdefault(line.removeprefix("#").strip(), list(names))
        else:
            names.append(line.split()[1])
    return found


def _check_released(source: Source, hashes: dict[str, str]) -> None:
    """A migration that users have run is frozen: ``released.txt`` has its hash."""
    for line in _released_lines(source):
        if line.startswith("#"):
            continue
        sha256, name = line.split()
        if hashes.get(name) != sha256:
            raise MigrationError(
                f"{name} was released and has since been "
                + ("edited" if name in hashes else "removed"),
                detail=f"released as {sha256}, now {hashes.get(name, 'missing')}",
                hint="Restore it, and put the change into a new migration.",
                file=source.migrations / name,
            )


def _released_lines(source: Source) -> list[str]:
    released = source.migrations / "released.txt"
    text = released.read_text(encoding="utf-8") if released.is_file() else ""
    return [line for line in text.splitlines() if line]


def undoing(source: Source, name: str) -> SqlFile:
    """The file that undoes a migration."""
    path = source.migrations / "down" / name
    if not path.is_file():
        raise MigrationError(
            f"{name} cannot be undone: there is no down/{name}",
            hint="Use the version of pgmemoir that applied it.",
            file=path,
        )
    return _read(path, f"down/{name}")


def code(source: Source) -> list[SqlFile]:
    """The files of ``sql/`` in the order they run, named by their path."""
    names = sorted(path.relative_to(source.sql).as_posix() for path in source.sql.rglob("*.sql"))
    return [_read(source.sql / name, f"{CODE}/{name}") for name in names]


def digest(files: list[SqlFile]) -> str:
    """One hash for several files: their names, order and text."""
    return sha256("".join(f"{file.sha256} {file.name}\n" for file in files))


def _read(path: Path, name: str) -> SqlFile:
    text = path.read_text(encoding="utf-8")  # line ends become \n: a CRLF checkout hashes the same
    return SqlFile(name, path, text, sha256(text))


def sha256(text: str) -> str:
    """The hash of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()
