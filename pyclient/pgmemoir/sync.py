"""Synchronises the Markdown files of a folder with the database: ``memory.md``, ``learnings.md``.

``memoir.sync_markdown`` decides what a file says and which side follows. This module reads and
writes files. Beside them, ``.memoir-sync`` has the state after the last sync (the base). The
database commits first, then the files are written, then the base. If this is interrupted, the next
sync finds that both sides say the same.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from .connections import connect, end_with_the_client, has_own_session
from .errors import BadFile, MemoirError, translated
from .files import read_text, write_atomically, writing
from .statements import rows

BASES = ".memoir-sync"

# How often a file may be edited during a sync before the sync gives up.
_ATTEMPTS = 5
# Seconds: how often a watch looks at the files, how long they must be quiet before it reads them
# (longer when an editor has emptied one: what it writes then is lost if there is another by that
# time), and when it syncs without any sign of a change (memories also end by the clock).
_LOOK = 0.5
_QUIET = 0.3
_QUIET_EMPTIED = 3.0
_AGAIN = 60.0
_FIRST_RECONNECT = 0.5
_LONGEST_RECONNECT = 10.0

_Stamps = dict[Path, tuple[int, int]]

_FILES = b"SELECT DISTINCT file FROM memoir.kind WHERE file IS NOT NULL ORDER BY file"
_SYNC = b"""SELECT memoir.sync_markdown(%s::jsonb, %s::text, %s::boolean, %s::boolean,
                                       %s::text)::text"""


@dataclass(frozen=True)
class Options:
    """How to sync.

    Attributes:
        strategy: for conflicts: report lists them, with ours the files win, with theirs the
            database.
        dry_run: change nothing, report what would change.
        allow_deletions: forget memories even if more than half of a file is missing.
        user: whose memory; None: the setting ``memoir.user_id``, else "default".
    """

    strategy: str = "report"
    dry_run: bool = False
    allow_deletions: bool = False
    user: str | None = None


@dataclass(frozen=True)
class Change:
    """A difference, and its outcome: see the comment of ``memoir.sync_markdown``.

    Attributes:
        file: its name without ``.md``.
        line: where it stood; None: not in the file.
        action: ADD, UPDATE, FORGET, RESTORE, NOOP or CONFLICT.
        changed: database or file, or None.
        memory_id: the memory; None: new, in a dry run.
        kind: the kind that the changed side got, or None.
        file_text: what the file said.
        database_text: what the database said.
        reason: why.
    """

    file: str
    line: int | None
    action: str
    changed: str | None
    memory_id: int | None
    kind: str | None
    file_text: str | None
    database_text: str | None
    reason: str


@dataclass
class Synced:
    """What a sync did.

    Attributes:
        changes: the differences it found.
        written: the files it wrote.
        run_id: what `Memoir.undo_run` takes back, None where the database was not changed.
    """

    changes: list[Change] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    run_id: int | None = None

    @property
    def conflicts(self) -> list[Change]:
        """What was changed on both sides and left as it was."""
        return [change for change in self.changes if change.action == "CONFLICT"]


def sync(conn: psycopg.Connection[Any], folder: Path, options: Options | None = None) -> Synced:
    """Synchronise the Markdown files of a folder with the database.

    A file that is edited meanwhile is not overwritten: it is read and synced again.

    Args:
        conn: not in a transaction: the database has to commit before files are written.
        folder: where the files are or will be.
        options: how.

    Raises:
        BadFile: a file cannot be read or written, or cannot be right; nothing is changed then.
        MemoirError: what else the database refuses.
    """
    options = options or Options()
    with translated():
        names = _names(conn)
        _check_folder(folder, names, options)
        done = Synced()
        for _ in range(_ATTEMPTS):
            texts = {name: _text(_file(folder, name)) for name in names}
            answer = _ask(conn, folder, texts, options)
            done.changes += _changes(answer["changes"])
            done.run_id = int(answer["run_id"]) if answer["run_id"] else done.run_id
            if options.dry_run or _write(folder, texts, answer["files"], done):
                return done
    raise BadFile(
        f"the files of {folder} are edited all the time",
        hint="The database has what they said. Sync again when they are quiet.",
    )


def watch(
    dsn: str,
    folder: Path,
    options: Options,
    told: Callable[[Synced], None],
    failed: Callable[[Exception], None],
    stop: threading.Event,
) -> None:
    """Sync whenever a file or a memory changes, until stopped.

    An error in a file is reported once, and the next edit is tried again; a lost connection is
    reopened.

    Args:
        dsn: where the database is.
        folder: where the files are.
        options: how to sync.
        told: gets what each sync that found something did; the same conflicts once.
        failed: gets each error that does not end the watch.
        stop: ends it, within a second.

    Raises:
        Exception: the first sync failed.
    """
    watched = _Watch(folder, options, told, failed, stop)
    pause = 0.0
    while not stop.wait(pause):
        try:
            with connect(dsn, application_name="memoir sync") as conn:
                if has_own_session(conn):
                    conn.execute("LISTEN memoir")
                watched.follow(conn)
        except psycopg.OperationalError as error:
            if not watched.began:
                raise
            if not pause:
                failed(error)
            pause = min(2 * pause or _FIRST_RECONNECT, _LONGEST_RECONNECT)
        else:
            pause = 0.0


@dataclass
class _Watch:
    """One watch, over however many connections; it began when the first sync was done."""

    folder: Path
    options: Options
    told: Callable[[Synced], None]
    failed: Callable[[Exception], None]
    stop: threading.Event
    began: bool = False
    files: list[Path] = field(default_factory=list)
    unsettled: list[Change] = field(default_factory=list)

    def follow(self, conn: psycopg.Connection[Any]) -> None:
        """Until stopped, or the connection is lost."""
        seen: _Stamps | None = None
        again_at = 0.0
        while not self.stop.is_set():
            heard = seen is not None and self._hears(conn)
            if heard or self._stamps() != seen or time.monotonic() > again_at:
                seen = self._sync(conn, seen or {})
                again_at = time.monotonic() + _AGAIN

    def _sync(self, conn: psycopg.Connection[Any], seen: _Stamps) -> _Stamps:
        """Sync once; returns the stamps before: an edit during the sync is seen after it."""
        before = self._stamps()
        try:
            self.files = [_file(self.folder, name) for name in _names(conn)]
            self._wait_until_quiet(seen)
            if self.stop.is_set():  # an editor may be about to write
                return before
            before = self._stamps()
            done = sync(conn, self.folder, self.options)
        except MemoirError as error:
            if not self.began:
                raise
            self.failed(error)
            return before
        self.began = True
        unsettled = [change for change in done.changes if change.changed is None]
        if done.written or done.run_id or unsettled != self.unsettled:
            self.told(done)
        self.unsettled = unsettled
        return before

    def _hears(self, conn: psycopg.Connection[Any]) -> bool:
        """Whether a memory of this user has changed; waits a moment for that."""
        heard = [self._is_ours(said.payload) for said in conn.notifies(timeout=_LOOK)]
        return any(heard)

    def _is_ours(self, payload: str) -> bool:
        user = self.options.user
        if user is None:
            return True
        try:
            said = json.loads(payload)
        except (ValueError, RecursionError):  # anybody in the database may send anything
            return False
        return isinstance(said, dict) and said.get("user_id") == user

    def _wait_until_quiet(self, seen: _Stamps) -> None:
        """Wait until nothing changes: an editor may save several files, or one in pieces."""
        before = None
        while before != (before := self._stamps()):
            emptied = any(size == 0 and path in seen for path, (_, size) in before.items())
            self.stop.wait(_QUIET_EMPTIED if emptied else _QUIET)

    def _stamps(self) -> _Stamps:
        """Time and size of the files, and which folder it is: it may be made anew."""
        found = {}
        for path in self.files:
            with suppress(OSError):
                status = path.stat()
                found[path] = (status.st_mtime_ns, status.st_size)
        with suppress(OSError):
            found[self.folder] = (self.folder.stat().st_ino, -1)
        return found


def _names(conn: psycopg.Connection[Any]) -> list[str]:
    """The files that kinds go to, without ``.md``."""
    with translated():
        return [name for (name,) in rows(conn, _FILES)]


def _check_folder(folder: Path, names: list[str], options: Options) -> None:
    """Check for what would fail only after the database has changed."""
    if not folder.is_dir():
        raise BadFile(f"{folder} is not a folder", hint=f"mkdir {folder}")
    if options.dry_run:
        return
    bases = folder / BASES
    if bases.is_symlink():  # files with these names elsewhere are no base
        raise BadFile(f"{bases} is a link", hint="Remove it: sync makes the folder.")
    for path in (folder, bases, *(_file(folder, name) for name in names)):
        if path.exists() and not os.access(path, os.W_OK):
            raise BadFile(f"cannot write {path}: it is read-only", hint=f"chmod u+w {path}")
    with writing(bases):
        bases.mkdir(exist_ok=True)
        if not any(bases.glob("[!.]*")):  # no sync has ended yet
            write_atomically(bases / ".gitignore", b"*\n")


def _ask(
    conn: psycopg.Connection[Any],
    folder: Path,
    texts: Mapping[str, str | None],
    options: Options,
) -> dict[str, Any]:
    """The database's answer to the files, committed."""
    files = {
        name: {"content": text, "base": _text(_base(folder, name))} for name, text in texts.items()
    }
    given = (
        json.dumps(files, ensure_ascii=False),
        options.strategy,
        options.dry_run,
        options.allow_deletions,
        options.user,
    )
    with conn.transaction():
        end_with_the_client(conn)
        ((answer,),) = rows(conn, _SYNC, given)
    parsed: dict[str, Any] = json.loads(answer)
    return parsed


def _write(
    folder: Path,
    before: Mapping[str, str | None],
    after: Mapping[str, dict[str, str]],
    done: Synced,
) -> bool:
    """Write the files, and the base of each; False: one was edited since it was read."""
    for name, written in after.items():
        path = _file(folder, name)
        check = partial(_check_unedited, path, before[name])
        try:
            check()
            if write_atomically(path, written["content"].encode(), at_last=check):
                done.written.append(path.name)
        except _Edited:
            return False
        write_atomically(_base(folder, name), written["base"].encode(), like=path)
    return True


def _changes(listed: list[dict[str, Any]]) -> list[Change]:
    return [
        Change(**{**each, "memory_id": each["memory_id"] and int(each["memory_id"])})
        for each in listed
    ]


def _text(path: Path) -> str | None:
    """The text of a file, None when there is none."""
    return read_text(path) if path.exists() else None


class _Edited(Exception):
    """A file was edited since it was read."""


def _check_unedited(path: Path, text: str | None) -> None:
    if _text(path) != text:
        raise _Edited


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.md"


def _base(folder: Path, name: str) -> Path:
    return folder / BASES / f"{name}.md"
