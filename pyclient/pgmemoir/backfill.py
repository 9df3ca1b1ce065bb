"""`backfill` gives vectors to the memories that have none: after an import, or an outage.

It goes through them in the order of an index, a batch at a time, and every batch is stored before
the next begins: killed at any point it has lost one batch, and the next run goes on behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import psycopg

from .calls import Call, find_halfvec, first, use_model
from .embedders import MAX_CHARACTERS, Embedder, divided, embedded, fault
from .errors import MemoirError, UnusableVector, translated
from .statements import answer, rows, together
from .vectors import HalfVector, VectorLike, formed

# D0 2.4.
BATCH = 50
PAUSE = 1.0

# How long to wait when the embedder gives nothing, before its texts are tried one by one.
_WAITS = (1.0, 4.0, 15.0, 60.0)
# If the embedder asks for a longer pause, the run ends instead.
_LONGEST_WAIT = 3600.0
# After so many memories in a row without a vector, the embedder counts as gone.
_MISSES = 5

_BACKLOG = b"""SELECT users, memories, tokens
FROM memoir.vector_backlog(%s::text, %s::int, %s::text)"""
_NEXT = b"""SELECT owner, memory_id, content, text_hash
FROM memoir.memories_without_vector(%s::int, %s::text, %s::bigint, %s::text, %s::text)"""
_SET = """SELECT memoir.set_embeddings(
    %s::bigint[], %b::{vector}[], %s::text, %s::bigint[], %s::text)"""


class EmbedderGone(MemoirError):
    """The embedder failed too often in a row; what is left waits for another run."""


@dataclass(frozen=True)
class Backlog:
    """Memories without a vector: of how many users, and about how many tokens."""

    users: int
    memories: int
    tokens: int

    def cost(self, price: float) -> float:
        """What a model takes for them.

        Args:
            price: of a million tokens.
        """
        return self.tokens * price / 1_000_000


@dataclass(frozen=True)
class Batch:
    """The outcome of one batch.

    Attributes:
        done: memories that have their vectors now.
        failures: why the others have not, by memory id.
    """

    done: int
    failures: dict[int, str]


@dataclass(frozen=True)
class _Bare:
    """A memory without a vector."""

    owner: str
    memory_id: int
    content: str
    text_hash: int


def backlog(conn: psycopg.Connection[Any], user: str | None, model: str | None = None) -> Backlog:
    """What a backfill of this user, or of everybody, has before it."""
    (row,) = rows(conn, _BACKLOG, (user, MAX_CHARACTERS, model))
    return Backlog(*row)


def backfill(
    conn: psycopg.Connection[Any],
    embedder: Embedder,
    user: str | None = None,
    *,
    model: str | None = None,
    batch: int = BATCH,
    pause: float = PAUSE,
    sleep: Callable[[float], None] = time.sleep,
    tell: Callable[[str, float], None] = lambda _reason, _seconds: None,
) -> Iterator[Batch]:
    """Embed what has no vector; yields after each batch, when it is stored.

    Args:
        conn: in autocommit.
        user: whose memories; None: everybody's.
        model: the embedder's name, when it is to follow the model in use or to be filled whether it
            is in use or not; None: it has to be the one in use.
        batch: memories of one request.
        pause: seconds between two requests.
        tell: is told why the embedder gave nothing, and after how many seconds it is asked again.

    Raises:
        EmbedderGone: the embedder gives no vectors.
        MemoirError: another model filled this database.
    """
    with translated():
        run = _Run(conn, embedder, model is not None, sleep, tell)
        after: tuple[str | None, int | None] = (None, None)
        while bare := _waiting(conn, (batch, *after, user, model)):
            if after != (None, None):
                sleep(pause)
            yield run.fill(bare)
            after = (bare[-1].owner, bare[-1].memory_id)


def _waiting(conn: psycopg.Connection[Any], request: tuple[Any, ...]) -> list[_Bare]:
    """The next ones without a vector, in a transaction of the connection's isolation."""
    with conn.transaction():
        return [_Bare(*row) for row in rows(conn, _NEXT, request)]


class _Run:
    """One backfill."""

    def __init__(
        self,
        conn: psycopg.Connection[Any],
        embedder: Embedder,
        model_named: bool,
        sleep: Callable[[float], None],
        tell: Callable[[str, float], None],
    ) -> None:
        self._conn = conn
        self._embedder = embedder
        self._sleep = sleep
        self._tell = tell
        self._model_named = model_named
        self._misses = 0
        self._halfvec = answer(conn, find_halfvec())

    def fill(self, bare: Sequence[_Bare]) -> Batch:
        """Embed these memories and store their vectors."""
        vectors: dict[str, HalfVector] = {}
        reasons: dict[str, str] = {}
        for text, made in self._embedded(list(dict.fromkeys(one.content for one in bare))):
            if isinstance(made, str):
                reasons[text] = made
            else:
                vectors[text] = made
        failures = {o.memory_id: reasons[o.content] for o in bare if o.content in reasons}
        return Batch(self._store(bare, vectors), failures)

    def _embedded(self, texts: list[str]) -> Iterator[tuple[str, HalfVector | str]]:
        """Each text with its vector, or with the reason why it has none."""
        waits = iter(_WAITS)
        try:
            for text, made in zip(texts, divided(partial(self._ask, waits), texts), strict=True):
                if isinstance(made, Exception):
                    yield text, self._missed(made)
                else:
                    self._misses = 0
                    yield text, _usable(made)
        except MemoirError:
            raise
        except Exception as error:
            raise _gone(error) from error

    def _ask(self, waits: Iterator[float], texts: list[str]) -> list[Any]:
        """The embedder's answers; asked again after each wait that is left, if that may help."""
        for wait in waits:
            try:
                return embedded(self._embedder, texts)
            except MemoirError:
                raise
            except Exception as error:
                if fault(error) in ("request", "settings"):
                    raise
                asked = getattr(error, "retry_after", None)
                # Who asks for no pause, and fails again, gets one.
                least = 0.0 if asked is not None and wait == _WAITS[0] else wait
                pause = max(least, asked or 0.0)
                if pause > _LONGEST_WAIT:
                    raise _gone(error) from error
                self._tell(_reason(error), pause)
                self._sleep(pause)
        return embedded(self._embedder, texts)

    def _missed(self, error: Exception) -> str:
        """Why a text has no vector; after too many in a row, the embedder is to blame."""
        self._misses += fault(error) != "request"
        if self._misses == _MISSES:
            raise _gone(error)
        return _reason(error)

    def _store(self, bare: Sequence[_Bare], vectors: dict[str, HalfVector]) -> int:
        if not vectors:
            return 0
        if not self._model_named:
            answer(self._conn, use_model(self._embedder.name, self._embedder.dimensions))
            self._model_named = True
        # By name: the database may switch to another model at any time.
        name = self._embedder.name
        statement, calls = self._halfvec.statement(_SET), []
        for owner, group in groupby(bare, key=lambda one: one.owner):
            its = [one for one in group if one.content in vectors]
            ids, hashes = [one.memory_id for one in its], [one.text_hash for one in its]
            array = self._halfvec.array([vectors[one.content] for one in its])
            calls.append(Call(statement, (ids, array, owner, hashes, name), first))
        return sum(together(self._conn, calls))


def _usable(vector: VectorLike) -> HalfVector | str:
    """A vector to store, or why there is none."""
    try:
        return formed(vector) or "the model returned no vector"
    except UnusableVector as error:
        return error.message


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _gone(error: Exception) -> EmbedderGone:
    return EmbedderGone(
        f"no vectors: {_reason(error)}",
        hint="What is done is stored. Run it again when "
        + ("that is mended." if fault(error) == "settings" else "it answers."),
    )
