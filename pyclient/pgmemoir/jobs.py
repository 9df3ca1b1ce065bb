"""The queue of jobs as one worker sees it: ``ready_users``, ``claim``, ``finish`` and ``fail``.

Calls about many users are sent together: one transaction and one round trip for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from .calls import Call, each, find_halfvec, first, nothing, use_model
from .statements import answer, rows, together
from .vectors import HalfVector

# The longest wait that fail() takes.
_LONGEST_WAIT = timedelta(days=1)

_NO_WAIT = Call(b"SELECT set_config('synchronous_commit', 'off', true)", (), nothing)
_HELD_BACK = Call(b"SELECT set_config('lock_timeout', '200ms', true)", (), nothing)
_KINDS = b"SELECT name FROM memoir.job_kind WHERE needs = %s ORDER BY name"
_BATCH = b"SELECT value::int FROM memoir.setting WHERE name = 'embed_batch'"
_READY = b"SELECT user_id, waiting FROM memoir.ready_users(%s::int, %s::text[])"
_MODEL = b"SELECT dimensions FROM memoir.embedding_model WHERE active AND name = %s"
_CLAIM = b"""SELECT job_id, user_id, kind, attempts, messages, answer_schema, texts
FROM memoir.claim(%s::text, %s::int, %s::text, %s::text[], %s::interval)"""
_FINISH = """SELECT memoir.finish(%s::bigint, %s::jsonb, user_id => %s::text, worker => %s::text,
    embeddings => %b::{vector}[])"""
_FAIL = b"""SELECT memoir.fail(%s::bigint, %s::text, user_id => %s::text, worker => %s::text,
    retry_after => %s::interval)"""
_EXTEND = b"SELECT memoir.extend_lease(%s::bigint, %s::text, %s::interval, user_id => %s::text)"


@dataclass(frozen=True)
class Job:
    """A claimed job: ``texts`` to embed, or ``messages`` and ``schema`` for a chat model."""

    job_id: int
    user: str
    kind: str
    attempts: int
    messages: list[dict[str, Any]] | None
    schema: dict[str, Any] | None
    texts: list[str] | None


@dataclass(frozen=True)
class Finish:
    """The result of a job: the answer of a chat model, or vectors."""

    job: Job
    answer: Any = None
    vectors: list[HalfVector | None] | None = None

    @property
    def without_vector(self) -> int:
        """How many texts have none."""
        return sum(vector is None for vector in self.vectors or ())


@dataclass(frozen=True)
class Fail:
    """An attempt that failed.

    ``retry_after`` are the seconds for which the model is away: the attempt does not count.
    """

    job: Job
    reason: str
    retry_after: float | None = None


Result = Finish | Fail


class Jobs:
    """The queue for one worker.

    Args:
        conn: in autocommit.
        worker: a name that is unique among workers.
        lease: seconds after which a job of a killed worker is handed out again.
    """

    def __init__(self, conn: psycopg.Connection[Any], worker: str, lease: float) -> None:
        self._conn = conn
        self._worker = worker
        self._lease = timedelta(seconds=lease)
        self._halfvec = answer(conn, find_halfvec())
        ((self.embed_batch,),) = rows(conn, _BATCH)

    def kinds(self, needs: str) -> list[str]:
        """Kinds of jobs that need this: embedding or chat."""
        return [name for (name,) in rows(self._conn, _KINDS, (needs,))]

    def ready_users(self, limit: int, kinds: Sequence[str]) -> list[tuple[str, int]]:
        """Users with jobs of these kinds, longest wait first, and about how many they have."""
        return [(user, number) for user, number in rows(self._conn, _READY, (limit, list(kinds)))]

    def claim(
        self,
        wanted: Iterable[tuple[str, int]],
        kinds: Sequence[str],
        model: tuple[str, int] | None = None,
    ) -> list[Job]:
        """Take jobs of users, each user with the number of jobs to take at most.

        Args:
            model: name and dimensions of the embedder, for jobs that embed.

        Raises:
            psycopg.Error: ME009, when another model now fills this database.
        """
        taken = [
            Call(_CLAIM, (user, number, self._worker, list(kinds), self._lease), each(Job))
            for user, number in wanted
        ]
        named = [] if model is None else [use_model(*model)]
        answers = self._together([*named, *taken])[len(named) :]
        return [job for jobs in answers for job in jobs]

    def dimensions(self, model: str) -> int | None:
        """Dimensions of this model's vectors in the database; None if it has none yet."""
        found = rows(self._conn, _MODEL, (model,))
        return found[0][0] if found else None

    def use_model(self, name: str, dimensions: int) -> None:
        """Name the embedding model of the database; `ModelMismatch` when it is another."""
        answer(self._conn, use_model(name, dimensions))

    def report(self, results: Sequence[Result]) -> list[str]:
        """Store results, all or none of them; returns what became of each job.

        Returns:
            done, done already, lost (another worker has it), failed or waiting (it comes back),
            or dead.

        Raises:
            psycopg.errors.LockNotAvailable: an open transaction has changed memories of the user.
        """
        return self._together([_HELD_BACK, *map(self._said, results)])[1:]

    def extend(self, jobs: Iterable[Job]) -> None:
        """Keep jobs for another lease.

        Raises:
            psycopg.errors.LockNotAvailable: an open transaction has changed one of them.
        """
        extensions = [
            Call(_EXTEND, (job.job_id, self._worker, self._lease, job.user), nothing)
            for job in jobs
        ]
        self._together([_HELD_BACK, *extensions])

    def _together(self, calls: Sequence[Call[Any]]) -> list[Any]:
        """In one transaction, which does not wait for the disk.

        A crash of the server undoes it as a whole: the job waits again and nothing of its answer is
        stored. Set for the transaction, because a pooler may lend the session to others who do
        wait.
        """
        return together(self._conn, [_NO_WAIT, *calls])[1:]

    def _said(self, result: Result) -> Call[str]:
        job = result.job
        if isinstance(result, Fail):
            wait = result.retry_after
            pause = None if wait is None else min(timedelta(seconds=wait), _LONGEST_WAIT)
            return Call(_FAIL, (job.job_id, result.reason, job.user, self._worker, pause), first)
        vectors = None if result.vectors is None else self._halfvec.array(result.vectors)
        said = None if result.answer is None else Jsonb(result.answer)
        params = (job.job_id, said, job.user, self._worker, vectors)
        return Call(self._halfvec.statement(_FINISH), params, first)
