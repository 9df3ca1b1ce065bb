"""What is done with claimed jobs: texts go to the embedder, messages to the chat model.

A lane handles the jobs of one model: how many run at once, and how long it pauses if the model does
not answer. Whatever happens in it, every job gets a result.
"""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any

from .chat_models import BadAnswer, ChatModel
from .embedders import OPENAI_BATCH, Embedder, divided, embedded
from .errors import DimensionMismatch, MemoirError, UnusableVector
from .jobs import Fail, Finish, Job, Result
from .openai_api import Unavailable
from .vectors import HalfVector, VectorLike, formed

# Two requests to the embedder run at once: while the model works on one, the answer of the other
# is stored and the next is made ready, which hides that time.
REQUESTS = 2

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
# After so many failed jobs in a row, for unknown reasons, the model is asked seldom, because each
# question may cost.
_MANY = 5
_LONGEST_OUTAGE = 600.0
# A request that fails after more seconds is not asked again in halves: each may take as long.
_PATIENCE = 10.0
# The longest pause that a server may ask for.
_LONGEST_REQUEST = 3600.0


class Pause:
    """The pause after a model did not answer: longer each time, partly random.

    It also tells whether the model fails at one job, or at all of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = _FIRST_PAUSE
        self._until = 0.0
        self._answered = False  # the last time
        self._failed: set[int] = set()  # jobs, since the last answer

    def failed(self, job_id: int, failure: Unavailable) -> float | None:
        """Begin a pause; returns its seconds, or None if the job has used up an attempt."""
        if failure.fault == "request":
            return None
        with self._lock:
            answered, self._answered = self._answered, False
            self._failed.add(job_id)
        is_unknown = failure.fault == "unknown"
        longest = _LONGEST_OUTAGE if is_unknown and self.is_outage else _LONGEST_PAUSE
        seconds = self.begin(failure.retry_after, longest)
        if is_unknown:
            return seconds if self.is_outage else None
        return None if failure.fault == "either" and answered else seconds

    def begin(self, retry_after: float | None = None, longest: float = _LONGEST_PAUSE) -> float:
        """Pause for as long as the model asks, or for the next pause; returns the seconds.

        If it fails again after the pause it asked for (which may be 0), the next pause is the
        least. Requests that were under way when a pause began, and fail in it, do not extend it.
        """
        with self._lock:
            is_first = self._next == _FIRST_PAUSE
            seconds = self._until - time.monotonic()
            if seconds <= 0:
                seconds = self._next * random.uniform(0.5, 1)
                self._next = min(2 * self._next, longest)
            if retry_after is not None:
                seconds = retry_after if is_first else max(seconds, retry_after)
            seconds = min(seconds, _LONGEST_REQUEST)
            self._until = max(self._until, time.monotonic() + seconds)
            return seconds

    @property
    def is_outage(self) -> bool:
        """Whether the model has failed at many jobs, one after the other."""
        return len(self._failed) >= _MANY

    def end(self) -> None:
        """The model answered."""
        with self._lock:
            self._next = _FIRST_PAUSE
            self._answered = True
            self._failed.clear()

    def left(self) -> float:
        """Seconds until it may be asked."""
        with self._lock:
            return max(0.0, self._until - time.monotonic())


class Lane(ABC):
    """The lane of the jobs of one model.

    ``kinds`` are the kinds of its jobs. ``ready`` are users who may have some, and how many; at
    ``ask_at`` there may be others.
    """

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = kinds
        self.pause = Pause()
        self.ready: deque[tuple[str, int]] = deque()
        self.ask_at = 0.0

    @abstractmethod
    def room(self, tasks: int) -> int:
        """How much may be claimed while this number of tasks is running."""

    @abstractmethod
    def size(self, job: Job) -> int:
        """How much of the room a job takes."""

    @abstractmethod
    def next_users(self, room: int) -> list[tuple[str, int]]:
        """The next of ``ready``, with how many jobs of each are to fill the room."""

    def model(self) -> tuple[str, int] | None:
        """Name and dimensions of an embedding model, once they are known."""
        return None

    @abstractmethod
    def tasks(self, jobs: Sequence[Job]) -> Sequence[Sequence[Job]]:
        """Jobs, grouped as they are worked on."""

    @abstractmethod
    def work(self, jobs: Sequence[Job]) -> list[Result]:
        """Ask the model for the jobs of a task; one result each. Runs in a thread."""


class EmbedLane(Lane):
    """Texts of many users in few requests.

    Args:
        batch: how many texts a job holds at most.
    """

    def __init__(self, embedder: Embedder, kinds: Sequence[str], batch: int) -> None:
        super().__init__(kinds)
        self._embedder = embedder
        self._batch = batch

    def room(self, tasks: int) -> int:
        """The texts of one request, which the last job may exceed; 0 when enough are running."""
        most = 1 if self.pause.is_outage else REQUESTS
        return OPENAI_BATCH - self._batch + 1 if tasks < most else 0

    def size(self, job: Job) -> int:
        """The number of its texts."""
        return len(job.texts or ())

    def next_users(self, room: int) -> list[tuple[str, int]]:
        """Each with enough jobs for all of their texts; in turns, if these exceed the room."""
        found = []
        while room > 0 and self.ready:
            user, waiting = self.ready.popleft()
            number = ceil(min(waiting, room) / self._batch)
            left = waiting - number * self._batch
            found.append((user, number))
            room -= waiting - max(0, left)
            if left > 0:
                self.ready.append((user, left))
        return found

    def model(self) -> tuple[str, int] | None:
        """The embedder's; the dimensions of some are known after their first answer."""
        dimensions = self._embedder.dimensions
        return (self._embedder.name, dimensions) if dimensions else None

    def tasks(self, jobs: Sequence[Job]) -> Sequence[Sequence[Job]]:
        """All jobs as one task."""
        return [jobs] if jobs else []

    def work(self, jobs: Sequence[Job]) -> list[Result]:
        """The vectors of all texts, by one call of the embedder unless a text is at fault."""
        try:
            answers = iter(self._answers([text for job in jobs for text in job.texts or ()]))
            self.pause.end()
            return [_embedded(job, [next(answers) for _ in job.texts or ()]) for job in jobs]
        except Exception as error:
            failure = _failure(self._embedder.name, error)
            wait = self.pause.failed(jobs[0].job_id, failure)
            return [Fail(job, str(failure), wait) for job in jobs]

    def _answers(self, texts: list[str]) -> list[Any]:
        """For each text its vector, or why it has none.

        Raises:
            Exception: the model fails whatever the text.
        """
        answers: list[Any] = []
        in_a_row = 0
        for made in divided(partial(embedded, self._embedder), texts, _PATIENCE):
            answer = _failure(self._embedder.name, made) if isinstance(made, Exception) else made
            failed = isinstance(answer, Unavailable) and answer.fault != "request"
            in_a_row = in_a_row + 1 if failed else 0
            if in_a_row == min(_MANY, len(texts)):
                raise answer
            answers.append(answer)
        return answers


class ChatLane(Lane):
    """Questions for a chat model, several at once.

    Args:
        most: how many.
    """

    def __init__(self, chat: ChatModel, kinds: Sequence[str], most: int) -> None:
        super().__init__(kinds)
        self._chat = chat
        self._most = most

    def room(self, tasks: int) -> int:
        """How many more may run."""
        return (1 if self.pause.is_outage else self._most) - tasks

    def size(self, _job: Job) -> int:
        """One question."""
        return 1

    def next_users(self, room: int) -> list[tuple[str, int]]:
        """One question per user, in turns."""
        found: list[tuple[str, int]] = []
        while room > len(found) and self.ready:
            user, waiting = self.ready.popleft()
            found.append((user, 1))
            if waiting > 1:
                self.ready.append((user, waiting - 1))
        return found

    def tasks(self, jobs: Sequence[Job]) -> Sequence[Sequence[Job]]:
        """Each job as a task."""
        return [[job] for job in jobs]

    def work(self, jobs: Sequence[Job]) -> list[Result]:
        """The answer to each."""
        return [self._answered(job) for job in jobs]

    def _answered(self, job: Job) -> Result:
        try:
            answer = self._chat.answer(job.messages or [], job.schema, job.kind)
        except BadAnswer as error:
            self.pause.end()
            return Fail(job, str(error))
        except Exception as error:
            failure = _failure(self._chat.name, error)
            return Fail(job, str(failure), self.pause.failed(job.job_id, failure))
        self.pause.end()
        return Finish(job, answer)


def _failure(model: str, error: Exception) -> Unavailable:
    """The failure as `Unavailable`; whose fault any other exception is, is unknown."""
    if isinstance(error, Unavailable):
        return error
    if isinstance(error, DimensionMismatch):
        return Unavailable(error.message, "settings")
    return Unavailable(
        error.message if isinstance(error, MemoirError) else f"{model}: {type(error).__name__}"
    )


def _embedded(job: Job, answers: Sequence[VectorLike | Unavailable]) -> Finish:
    """A job with its vectors; a text without a usable one comes back separately."""
    usable: list[HalfVector | None] = []
    errors = []
    for place, answer in enumerate(answers, 1):
        try:
            if isinstance(answer, Unavailable):
                raise answer
            usable.append(formed(answer))
        except (Unavailable, UnusableVector) as error:
            usable.append(None)
            errors.append({"text": place, "error": getattr(error, "message", str(error))})
    return Finish(job, {"errors": errors} if errors else None, usable)
