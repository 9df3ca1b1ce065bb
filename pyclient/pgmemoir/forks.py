"""What a forked process must not take over: connections, which the other one goes on using, and
locks, which a thread may have held that is not there. gunicorn, Celery and multiprocessing fork.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """What has a connection or a lock."""

    def _begin_anew(self) -> None:
        """Called in the forked process, before anything else runs there."""


_KNOWN: WeakSet[Inherited] = WeakSet()


def mind_forks(made: Inherited) -> None:
    """Have it begin anew in every process that is forked while it exists."""
    _KNOWN.add(made)


def _all_begin_anew() -> None:
    for known in list(_KNOWN):
        known._begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_all_begin_anew)
