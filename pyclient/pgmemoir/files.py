"""Files that people edit, read and replaced as a whole: never half written, nothing lost."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from .errors import BadFile

LARGEST = 50 * 1024 * 1024

# The suffix of a file that is being written, and after how many seconds without growth it counts
# as abandoned.
_NEW = ".memoir-new"
_SECONDS_UNTIL_LEFT = 3600


@contextmanager
def _naming(what: str, path: Path) -> Iterator[None]:
    """Errors of the system inside it become a `BadFile` that names the file."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"cannot {what} {path}: {error.strerror}") from error


reading, writing = partial(_naming, "read"), partial(_naming, "write")


def read_text(path: Path, largest: int = LARGEST) -> str:
    """The text of a file, with its line ends and byte order mark unchanged.

    Args:
        path: the file.
        largest: how many bytes it may have.

    Raises:
        BadFile: it is missing, not a file, too large, not readable, or not UTF-8 (with the line).
    """
    with reading(path):
        _refuse_special(path)
        with path.open("rb") as file:
            data = file.read(largest + 1)  # not every file has a known size
    if len(data) > largest:
        raise BadFile(
            f"{path} is too large",
            detail=f"It has more than {largest:,} bytes.",
            hint="Split it.",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadFile(
            f"{path} is not UTF-8",
            detail=f"Line {line} has the byte 0x{data[error.start]:02x}.",
            hint="Save it as UTF-8.",
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise BadFile(f"{path} is not a text file", detail=f"Line {line} has a NUL character.")
    return text


def check_target(path: Path, data: bytes) -> None:
    """Check that data can be written to a path, and be read again from it.

    Raises:
        BadFile: it is a folder, a pipe or a device, or the data is too large.
    """
    with writing(path):
        _refuse_special(path)
    if len(data) > LARGEST:
        raise BadFile(
            f"{path} would be too large to be read again",
            detail=f"It would have {len(data):,} bytes, the most is {LARGEST:,}.",
            hint="memoir export writes everything of a user, whatever its size.",
        )


def _refuse_special(path: Path) -> None:
    """Refuse pipes and devices: reading may never end, and replacing one would remove it."""
    if path.exists() and not path.is_file():
        raise BadFile(f"{path} is not a regular file", hint="Move it away.")


def write_atomically(
    path: Path,
    data: bytes,
    *,
    keep: bool = False,
    like: Path | None = None,
    at_last: Callable[[], None] = lambda: None,
) -> bool:
    """Replace a file by one that is complete and on disk, or leave it as it was.

    A file that already has these bytes is not touched. A link stays a link, and the file keeps its
    permissions and, if root replaces it, its owner.

    Args:
        path: the file; its folder exists.
        data: its new content.
        keep: leave its old content beside it, as ``NAME.bak``.
        like: the file whose permissions and owner it gets, if not its own.
        at_last: called before the new file gets its name; if it raises, the file stays as it is.

    Returns:
        whether anything was written.

    Raises:
        BadFile: `check_target`, the folder or the disk does not allow it; nothing is changed then.
    """
    check_target(path, data)
    target = Path(os.path.realpath(path))  # resolve() refuses a link that leads to itself
    with writing(path):
        before = target.read_bytes() if target.exists() else None
        if before == data:
            return False
        if keep and before is not None:
            _replace(target.with_name(f"{target.name}.bak"), before, target)
        _replace(target, data, like or target, at_last)
    return True


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file in the place of another, for content too large to hold in memory.

    It gets its name only once it is complete and on disk; after an exception the old file stays.
    Only its owner may read it, unless the one it replaces has other permissions.

    Raises:
        BadFile: the folder or the disk does not allow it.
    """
    target = Path(os.path.realpath(path))
    with writing(path), _beside(target, like=target, private=True) as file:
        yield file


def _replace(
    target: Path, data: bytes, like: Path, at_last: Callable[[], None] = lambda: None
) -> None:
    """Write a new file beside the target, and give it its name once it is on disk."""
    with _beside(target, like, at_last=at_last) as file:
        file.write(data)


@contextmanager
def _beside(
    target: Path, like: Path, *, private: bool = False, at_last: Callable[[], None] = lambda: None
) -> Iterator[BinaryIO]:
    """A new file beside the target, which gets its name once it is on disk."""
    _sweep(target)
    handle, name = tempfile.mkstemp(_NEW, f".{target.name}.", target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if like.exists():
            before = like.stat()
            # Only root may give a file away, and in a container not to everybody.
            with suppress(OSError):
                os.chown(name, before.st_uid, before.st_gid)
            shutil.copymode(like, name)
        elif not private:  # mkstemp makes it for its owner alone
            Path(name).chmod(0o666 & ~_umask())
        at_last()
        Path(name).replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    _sync_folder(target.parent)


def _sweep(target: Path) -> None:
    """Remove what a killed writer left beside the target: it contains memories."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*{_NEW}"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - _SECONDS_UNTIL_LEFT:
                left.unlink()


def _umask() -> int:
    """The mask new files get: it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, if the system lets a folder be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
