"""The vectors of the last questions: agents ask the same again, in another mode or a turn later."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from .forks import mind_forks
from .vectors import HalfVector


@dataclass(frozen=True)
class CacheInfo:
    """How often the vector of a question was in the cache (``hits``) or not (``misses``).

    ``size`` of at most ``limit`` vectors are kept.
    """

    hits: int
    misses: int
    size: int
    limit: int

    @property
    def hit_rate(self) -> float | None:
        """Share of hits, None before the first question."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


class QueryCache:
    """A least-recently-used cache of vectors by text. Threads may share it.

    Args:
        limit: how many it keeps. 256 of 1536 dimensions take 0.8 MB.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begin_anew()
        mind_forks(self)

    def _begin_anew(self) -> None:
        """Empty; a thread that is not in a forked process may have been changing it."""
        self._vectors: OrderedDict[str, HalfVector] = OrderedDict()
        self._lock = threading.Lock()
        self._hits = 0
        self._misses = 0

    def get(self, text: str) -> HalfVector | None:
        """The vector of a text, None if it is not in the cache."""
        with self._lock:
            vector = self._vectors.get(text)
            if vector is None:
                self._misses += 1
            else:
                self._hits += 1
                self._vectors.move_to_end(text)
            return vector

    def put(self, text: str, vector: HalfVector) -> None:
        """Keep a vector."""
        with self._lock:
            self._vectors[text] = vector
            if len(self._vectors) > self._limit:
                self._vectors.popitem(last=False)

    def info(self) -> CacheInfo:
        """What it has done so far."""
        with self._lock:
            return CacheInfo(self._hits, self._misses, len(self._vectors), self._limit)
