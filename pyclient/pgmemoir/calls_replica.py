"""The calls to read from a replica what was just written, and how often to ask."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from .calls import Call, first
from .checks import finite_number
from .errors import OutOfRange

# Seconds: the first pause, the longest pause, and the longest wait.
_FIRST = 0.002
_LONGEST = 0.05
_MOST = 3600.0

_TOKEN = re.compile(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")

_WRITTEN_AT = b"SELECT memoir.written_at()::text"
_HAS = b"SELECT memoir.wait_for(%s::text::pg_lsn, interval '0')"


def written_at() -> Call[str]:
    """``memoir.written_at``."""
    return Call(_WRITTEN_AT, (), first)


def has(token: str) -> Call[bool]:
    """``memoir.wait_for`` without waiting."""
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise OutOfRange(
            f"{token!r} is not a token", hint="It comes from written_at(), on the primary."
        )
    return Call(_HAS, (token,), first)


def pauses(timeout: float) -> Iterator[float]:
    """How long to sleep before each look: not at all before the first.

    A statement that waits at the server keeps a snapshot, and a replica that has to remove rows the
    snapshot may see stops for it: repeated short questions are answered sooner.
    """
    seconds = finite_number(timeout, "timeout")
    if seconds is None or not 0 <= seconds <= _MOST:
        raise OutOfRange(f"timeout is {timeout}, not 0 to 3600 seconds")
    deadline = time.monotonic() + seconds
    yield 0.0
    pause = _FIRST
    while (left := deadline - time.monotonic()) > 0:
        yield min(pause, left)
        pause = min(2 * pause, _LONGEST)
