"""The memory folder of D3: ``memory.json``, ``logs/YYYY-MM-DD.json``, and the Markdown before them.

What a file means for memory is decided in SQL (``sql/75_files``). Here are the files: read whole,
named with line and column when they are no JSON, and replaced as a whole, with a ``.bak``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from .calls import Row
from .checks import clean_text, refuse_constant
from .connections import end_with_the_client
from .errors import BadFile, MemoirError, NotPossible, translate, translated
from .files import check_target, read_text, reading, write_atomically, writing
from .statements import rows

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NEWS = {"ADD", "UPDATE", "DELETE", "FORGET"}

_IMPORT = b"""SELECT action, reason, coalesce(entry_id, 'rolling_summary')
FROM memoir.import_memory_json(%s::json, %s::text, %s::boolean, %s::boolean, %s::text)"""
_IMPORT_LOG = b"""SELECT action, reason, place::text
FROM memoir.import_day_log(%s::json, %s::text, %s::boolean, %s::boolean, %s::text)"""
_EXPORT = b"SELECT memoir.export_memory_json(%s::text, %s::text)"
_EXPORT_LOGS = b"""SELECT d.day, memoir.export_day_log(d.day, %s::text, %s::text)
FROM memoir.log_days(%s::text, %s::text) AS d"""
_MIGRATE = b"""SELECT action, reason, entry_id
FROM memoir.migrate_memory_md(%s::text, %s::text, %s::boolean, %s::text, %s::timestamptz)"""
_MIGRATE_LOG = b"""SELECT action, reason, place::text
FROM memoir.migrate_day_log_md(%s::date, %s::text, %s::text, %s::boolean, %s::text)"""
_READ_ONLY = b"SELECT current_setting('transaction_read_only') = 'on'"


@dataclass(frozen=True)
class Done:
    """What became of one file.

    Attributes:
        name: the file, from the folder on.
        written: it was replaced, or renamed; in a dry run: it would be.
        actions: how many of its entries (and its summary) were ADD, UPDATE, NOOP, FORGET, DELETE.
        news: each entry that was not NOOP: its action, its reason, and its id or place.
    """

    name: str
    written: bool = False
    actions: Counter[str] = field(default_factory=Counter)
    news: list[tuple[str, str, str]] = field(default_factory=list)


class MemoryFolder:
    """One folder and the memory of one user.

    Args:
        conn: an open connection outside a transaction; each method is one, all or nothing.
        path: the folder, for example ``~/.vibeworker/memory``.
        user: whose memory; None for the default.
        zone: of times in the files that have no offset, and of the days of the logs.

    Raises:
        BadFile: for what cannot be read or written, is no JSON or conflicts.
        MemoirError: its other classes for what the database refuses (`SchemaMismatch`: the path
            of what does not fit).
    """

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        path: Path,
        *,
        user: str | None = None,
        zone: str = "UTC",
    ) -> None:
        if conn.info.transaction_status is not TransactionStatus.IDLE:
            raise NotPossible(
                "the connection is in a transaction",
                hint="Files are renamed once memory is committed: end the transaction before.",
            )
        if not path.is_dir():
            raise BadFile(
                f"there is no folder {path}",
                hint=f"Name the folder that holds memory.json, or for a new one: mkdir {path}",
            )
        self._conn = conn
        self._path = path
        self._logs = path / "logs"
        self._user = clean_text(user, "the user")
        self._zone = zone

    def import_files(self, *, dry_run: bool = False, delete_missing: bool = False) -> list[Done]:
        """Take ``memory.json`` and the logs into memory, all of them or nothing.

        Args:
            dry_run: change nothing, tell the same.
            delete_missing: forget what was in a file and is no more.
        """
        found = [*self._existing("memory.json"), *self._logs_like("*.json")]
        if not found:
            raise BadFile(
                f"{self._path} has no memory.json and no logs/YYYY-MM-DD.json",
                hint="memoir files migrate reads MEMORY.md and logs/*.md.",
            )
        with self._transaction():
            return [
                self._import(path, dry_run=dry_run, delete_missing=delete_missing) for path in found
            ]

    def export_files(self, *, dry_run: bool = False, force: bool = False) -> list[Done]:
        """Write ``memory.json`` and a log for each day on which something happened.

        A file that says the same already is not touched; of another the ``.bak`` stays.

        Args:
            dry_run: write nothing, tell what would be.
            force: replace files that say what memory does not know.
        """
        with self._transaction():
            wanted = self._exported()
            changed = {
                path: new for path, new in wanted.items() if not _has_content(path, new, force)
            }
            if not force:
                self._check_known(changed)
            if not dry_run:
                self._write(changed)
            return [Done(self._name(path), path in changed) for path in wanted]

    def migrate(self, *, dry_run: bool = False, export: bool = False) -> list[Done]:
        """Take ``MEMORY.md`` and ``logs/*.md`` into memory, and keep them as ``.migrated``.

        Files of the newer form are read before them: what both have is known then. The old ones
        are renamed last, once memory is committed: whatever stops it, a second call goes on.

        Args:
            dry_run: change nothing, tell the same.
            export: write ``memory.json`` and the logs, too.
        """
        old = [*self._existing("MEMORY.md"), *self._logs_like("*.md")]
        if not old:
            return []
        logs = [path.with_suffix(".json") for path in old if path.parent == self._logs]
        with self._transaction():
            for path in (self._path / "memory.json", *logs):
                if path.is_file():
                    self._import(path, dry_run=dry_run)
            done = [self._migrate(path, dry_run) for path in old]
        if not dry_run:
            if export:
                self.export_files()
            for path in old:
                _rename(path)
        return done

    def _existing(self, name: str) -> list[Path]:
        with reading(self._path):
            return [path for path in self._path.iterdir() if path.name == name and path.is_file()]

    def _logs_like(self, pattern: str) -> list[Path]:
        with reading(self._logs):
            found = self._logs.glob(pattern) if self._logs.is_dir() else []
            logs = sorted(path for path in found if _DAY.fullmatch(path.stem))
        for path in logs:
            try:
                date.fromisoformat(path.stem)
            except ValueError as error:
                raise BadFile(
                    f"{path}: there is no such day", hint="Name the file after its date."
                ) from error
        return logs

    def _import(self, path: Path, *, dry_run: bool, delete_missing: bool = False) -> Done:
        document = read_json(path)
        if path.parent == self._logs:
            _check_day(path, document)
        statement = _IMPORT_LOG if path.parent == self._logs else _IMPORT
        arguments = (document, self._user, dry_run, delete_missing, self._zone)
        return self._run(path, statement, arguments)

    def _migrate(self, path: Path, dry_run: bool) -> Done:
        text = read_text(path)
        if path.parent == self._logs:
            arguments: Row = (path.stem, text, self._user, dry_run, self._zone)
            return self._run(path, _MIGRATE_LOG, arguments)
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return self._run(path, _MIGRATE, (text, self._user, dry_run, self._zone, at))

    def _run(self, path: Path, statement: bytes, arguments: Row) -> Done:
        """Run a statement on a file; its errors name the file."""
        try:
            answer = rows(self._conn, statement, arguments)
        except psycopg.Error as error:
            known = translate(error)
            if isinstance(known, MemoirError) and not known.message.startswith(path.name):
                known = known.reworded(f"{self._name(path)}: {known.message}")
            raise known from error
        news = [(action, reason, key) for action, reason, key in answer if action in _NEWS]
        return Done(self._name(path), False, Counter(row[0] for row in answer), news)

    def _exported(self) -> dict[Path, str]:
        """The files that memory calls for, with their texts."""
        ((memory,),) = rows(self._conn, _EXPORT, (self._user, self._zone))
        logs = rows(self._conn, _EXPORT_LOGS, (self._user, self._zone) * 2)
        return {
            self._path / "memory.json": memory,
            **{self._logs / f"{day}.json": text for day, text in logs},
        }

    def _check_known(self, changed: dict[Path, str]) -> None:
        """Refuse to replace files with entries that memory does not have."""
        for path in changed:
            if path.is_file() and (news := self._import(path, dry_run=True).news):
                raise BadFile(
                    f"{self._name(path)} says what memory does not know",
                    detail="New or edited: " + ", ".join(key for _, _, key in news[:5]),
                    hint="memoir files import imports it; --force replaces it and keeps a .bak.",
                )

    def _write(self, changed: dict[Path, str]) -> None:
        """Replace files, and import them: so memory recognises a later edit."""
        ((read_only,),) = rows(self._conn, _READ_ONLY)
        files = {path: f"{text}\n".encode() for path, text in changed.items()}
        for path, data in files.items():
            check_target(path, data)
        with writing(self._logs):
            if any(path.parent == self._logs for path in changed):
                self._logs.mkdir(exist_ok=True)
        for folder in {path.parent for path in changed}:
            if not os.access(folder, os.W_OK):
                raise BadFile(f"cannot write into {folder}: permission denied")
        for path, data in files.items():
            write_atomically(path, data, keep=True)
            if not read_only:
                self._import(path, dry_run=False)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._path))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with translated(), self._conn.transaction():
            end_with_the_client(self._conn)
            yield


def read_json(path: Path) -> str:
    """The text of a JSON file, without a byte order mark.

    Raises:
        BadFile: it cannot be read, or is no JSON, with line and column.
    """
    text = read_text(path).removeprefix("\ufeff")
    try:
        json.loads(text, parse_constant=refuse_constant, parse_int=str)  # of any length
    except JSONDecodeError as error:
        raise BadFile(
            f"{path}, line {error.lineno}, column {error.colno}: {error.msg}",
            hint=f"Half written? {path.name}.bak, where there is one, is the version before.",
        ) from error
    except RecursionError as error:
        raise BadFile(f"{path} is nested too deeply", hint="Make it flatter.") from error
    except ValueError as error:
        raise BadFile(f"{path}: {error}", hint="JSON has no such number.") from error
    return text


def _check_day(path: Path, document: str) -> None:
    """Check that a log is of the day it is named after; the database checks the rest."""
    read = json.loads(document, parse_int=str)
    day = read.get("date", path.stem) if isinstance(read, dict) else path.stem
    if day != path.stem:
        raise BadFile(f"{path} is of {day!r:.40}", hint="Name the file after its date.")


def _has_content(path: Path, text: str, force: bool) -> bool:
    """Whether a file already has this content, in whatever layout."""
    if not path.is_file():
        return False
    try:
        return bool(_strictly(read_json(path)) == _strictly(text))
    except BadFile:
        if force:
            return False
        raise


def _strictly(text: str) -> Any:
    """A document with its keys in order and its numbers as they are written."""
    return json.loads(text, object_pairs_hook=tuple, parse_float=str, parse_int=str)


def _rename(path: Path) -> None:
    """Append ``.migrated`` to the name of a file, and a number if that is taken."""
    names = [f"{path.name}.migrated", *(f"{path.name}.migrated.{n}" for n in range(1, 1000))]
    target = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    with writing(path):
        path.rename(target)
