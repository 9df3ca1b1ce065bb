"""What is done with claimed jobs: texts to the embedder, messages to the chat model.

A lane is the way of the jobs of one model: how many are under way, and how long it stands still
when the model does not answer. Whatever happens in a lane, every job comes out as a result.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Protocol

from .calls import half_vector
from .embedders import Embedder, EmbedderUnavailable
from .errors import MemoirError, UnusableVector
from .jobs import Fail, Finish, Job, Result
from .models import BadAnswer, ChatModel, ModelUnavailable

# Texts of one request to the embedder. Two requests are under way: while the model works on one,
# the answer of the other is stored and the next is made ready, which hides that time.
TEXTS = 256
REQUESTS = 2

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0


class Pause:
    """How long a model is left alone after it did not answer: longer each time, drawn by lot."""

    def __init__(self) -> None:
        self._next = _FIRST_PAUSE
        self._until = 0.0

    def begin(self, retry_after: float | None) -> float:
        """Leave it alone for as long as it asked, else for the next pause; returns the seconds."""
        seconds = self._next * random.uniform(0.5, 1) if retry_after is None else retry_after
        self._next = min(2 * self._next, _LONGEST_PAUSE)
        self._until = max(self._until, time.monotonic() + seconds)
        return seconds

    def end(self) -> None:
        """It answered."""
        self._next = _FIRST_PAUSE

    def left(self) -> float:
        """Seconds until it may be asked."""
        return max(0.0, self._until - time.monotonic())


class Lane(Protocol):
    """The way of the jobs of one model.

    ``kinds`` are the kinds of its jobs; ``ready`` are users who may have some, and how many.
    """

    kinds: Sequence[str]
    pause: Pause
    ready: deque[tuple[str, int]]

    def room(self, under_way: int) -> int:
        """How much more to claim, while so many tasks are under way."""
        ...

    def size(self, job: Job) -> int:
        """How much of the room a job takes."""
        ...

    def wanted(self, room: int) -> list[tuple[str, int]]:
        """The next users of `ready`, and how many jobs of each fill the room."""
        ...

    def model(self) -> tuple[str, int] | None:
        """Name and dimensions of an embedding model, once they are known."""
        ...

    def tasks(self, jobs: Sequence[Job]) -> Iterable[Sequence[Job]]:
        """Jobs that are worked on together."""
        ...

    def work(self, jobs: Sequence[Job]) -> list[Result]:
        """Ask the model; one result a job. Runs in a thread."""
        ...


class EmbedLane:
    """Texts of many users in few requests.

    Args:
        batch: how many texts a job holds at most.
    """

    def __init__(self, embedder: Embedder, kinds: Sequence[str], batch: int) -> None:
        self.kinds = kinds
        self.pause = Pause()
        self.ready: deque[tuple[str, int]] = deque()
        self._embedder = embedder
        self._batch = batch

    def room(self, under_way: int) -> int:
        return TEXTS if under_way < REQUESTS else 0

    def size(self, job: Job) -> int:
        return len(job.texts or ())

    def wanted(self, room: int) -> list[tuple[str, int]]:
        found = []
        while room > 0 and self.ready:
            user, waiting = self.ready.popleft()
            number = ceil(min(waiting, room) / self._batch)
            found.append((user, number))
            room -= min(waiting, number * self._batch)
            if waiting > number * self._batch:
                self.ready.append((user, waiting - number * self._batch))
        return found

    def model(self) -> tuple[str, int] | None:
        dimensions = self._embedder.dimensions
        return (self._embedder.name, dimensions) if dimensions else None

    def tasks(self, jobs: Sequence[Job]) -> Iterable[Sequence[Job]]:
        return [jobs] if jobs else []

    def work(self, jobs: Sequence[Job]) -> list[Result]:
        try:
            vectors = iter(self._embedder.embed([text for job in jobs for text in job.texts or ()]))
            return [_embedded(job, [next(vectors) for _ in job.texts or ()]) for job in jobs]
        except EmbedderUnavailable as error:
            if error.refused and len(jobs) > 1:  # one text is at fault: whose?
                return [result for job in jobs for result in self.work([job])]
            reason, wait = str(error), self._wait(error)
        except MemoirError as error:
            reason, wait = error.message, self.pause.begin(None)
        except Exception as error:
            reason, wait = f"{self._embedder.name}: {type(error).__name__}", self.pause.begin(None)
        return [Fail(job, reason, wait) for job in jobs]
