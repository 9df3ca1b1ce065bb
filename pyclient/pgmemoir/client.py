"""`Memoir` and `AsyncMemoir`: memory for an agent, in its PostgreSQL.

What a method does is written once, in `_Steps`, as a generator that asks for a database call, a
batch of calls or an embedding, and goes on with the answer. The two clients differ only in how
they carry a step out.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from . import calls, evaluation
from .cache import CacheInfo, QueryCache
from .calls import (
    Call,
    Calls,
    Detail,
    Explained,
    Fields,
    Found,
    HalfVectors,
    HalfVectorsDumper,
    Maintained,
    NewMemory,
    Question,
    Recall,
    Remembered,
    Search,
    VectorLike,
)
from .embedders import Embedder, EmbedderUnavailable, default_embedder, wanted_embedder
from .errors import MemoirError, translate
from .evaluation import Asked, Evaluation, GoldQuestion, Replayed

T = TypeVar("T")

BATCH = 256
# Memories of one statement, and about how many bytes of text and vectors.
MEMORIES = 1000
MEMORY_BYTES = 8 * 2**20
# New memories in one call from which counting words anew is worth its time.
COUNT_FROM = 32
# Seconds without another attempt after the embedder failed: a dead server must not cost every
# recall its timeout.
EMBEDDER_PAUSE = 30.0
# Questions whose vectors a client keeps.
QUERY_CACHE = 256


class DefaultEmbedder:
    """The type of `DEFAULT`: choose the embedder at the first text."""


DEFAULT: Final = DefaultEmbedder()

EmbedderChoice = Embedder | DefaultEmbedder | None


@dataclass(frozen=True)
class _Batch:
    """Calls sent together; all of them take effect or none does."""

    calls: list[Call[Any]]


@dataclass(frozen=True)
class _Embed:
    """Texts to embed."""

    embedder: Embedder
    texts: list[str]


_Plan = Generator[Call[Any] | _Batch | _Embed, Any, T]


class _Steps:
    """What both clients do.

    Args:
        keeps_writes: False while the caller may still roll back what is written now.
    """

    def __init__(
        self, user: str | None, embedder: EmbedderChoice, keeps_writes: Callable[[], bool]
    ) -> None:
        self._user = calls.clean_text(user, "the user")
        self._embedder = embedder
        self._keeps_writes = keeps_writes
        self._calls: Calls | None = None
        self._model_known = False
        self.query_vectors = QueryCache(QUERY_CACHE)
        self._selective_modes: frozenset[str] | None = None
        self._warned = False
        self._paused_until = 0.0

    def recall(self, question: Question) -> _Plan[Recall]:
        known = yield from self._known_calls()
        question = yield from self._with_vector(question)
        return cast(Recall, (yield known.recall(question, self._user)))

    def explain(self, question: Question) -> _Plan[list[Explained]]:
        known = yield from self._known_calls()
        question = yield from self._with_vector(question)
        return cast(list[Explained], (yield known.explain(question, self._user)))

    def search(self, search: Search) -> _Plan[list[Found]]:
        known = yield from self._known_calls()
        if search.vector is None and search.search_mode != "keyword":
            search = replace(search, vector=(yield from self._query_vector(search.query)))
        return cast(list[Found], (yield known.search(search, self._user)))

    def memory_detail(self, key: str) -> _Plan[Detail]:
        return cast(Detail, (yield calls.memory_detail(key, self._user)))

    def tools(self, language: str) -> _Plan[list[dict[str, Any]]]:
        return cast(list[dict[str, Any]], (yield calls.tools(language)))

    def system_prompt(self, language: str) -> _Plan[str]:
        return cast(str, (yield calls.system_prompt(language)))

    def call_tool(self, name: str, arguments: dict[str, Any] | str | None) -> _Plan[dict[str, Any]]:
        given = calls.tool_arguments(arguments)
        known = yield from self._known_calls()
        text = calls.tool_text(given)
        vector = None
        if text is not None and text == given.get("query"):
            vector = yield from self._query_vector(text)
        elif text is not None:
            (vector,) = yield from self._embed([text], writing=True)
        return cast(dict[str, Any], (yield known.call_tool(name, given, vector, self._user)))

    def remember(self, memory: NewMemory) -> _Plan[Remembered]:
        checked = calls.checked(memory)
        known = yield from self._known_calls()
        vector = calls.given_vector(checked)
        text = checked.get("content") or ""
        if vector is None and text.strip():
            (vector,) = yield from self._embed([text], writing=True)
        return cast(Remembered, (yield known.remember(checked, vector, self._user)))

    def remember_many(
        self, memories: Iterable[NewMemory], progress: Callable[[int], None] | None
    ) -> _Plan[list[Remembered]]:
        result: list[Remembered] = []
        for batch in _memory_batches(memories):
            call = yield from self._remember_call(batch, len(result))
            try:
                result += yield call
            except MemoirError as error:
                raise error.of_memory(len(result)) from error
            if progress:
                progress(len(result))
        if sum(done.action == "ADD" for done in result) >= COUNT_FROM:
            yield calls.tend_recall(self._user, None if self._keeps_writes() else 0)
        return result

    def maintain(
        self, everybody: bool, build_up_to: int | None, dry_run: bool
    ) -> _Plan[list[Maintained]]:
        call = calls.maintain(self._user, everybody, build_up_to, dry_run)
        return cast(list[Maintained], (yield call))

    def add_event(self, type: str, payload: dict[str, Any], at: datetime | None) -> _Plan[int]:
        return cast(int, (yield calls.add_event(type, payload, at, self._user)))

    def mark_used(self, recall: Recall | int, memory_ids: Iterable[int]) -> _Plan[int]:
        retrieval = recall.retrieval_id if isinstance(recall, Recall) else recall
        if retrieval is None:
            return 0
        return cast(int, (yield calls.mark_used(retrieval, list(memory_ids), self._user)))

    def add_gold(self, gold_set: str, questions: Iterable[GoldQuestion]) -> _Plan[int]:
        known = yield from self._known_calls()
        count = 0
        for batch in _batches(questions):
            vectors = [calls.given_vector(question) for question in batch]
            missing = [i for i, vector in enumerate(vectors) if vector is None]
            texts = [batch[i].get("query") or "" for i in missing]
            made = yield from self._embed(texts, writing=True)
            for place, vector in zip(missing, made, strict=True):
                vectors[place] = vector
            ready = zip(batch, vectors, strict=True)
            yield _Batch(
                [
                    evaluation.gold_add(known.vector_type, gold_set, question, vector, self._user)
                    for question, vector in ready
                ]
            )
            count += len(batch)
        return count

    def evaluate(
        self, gold_set: str, modes: Sequence[str], budgets: Sequence[int], k: int
    ) -> _Plan[list[Evaluation]]:
        known = yield from self._known_calls()
        asked = cast(list[Asked], (yield evaluation.gold_queries(gold_set, self._user)))
        made: dict[str, str | None] = {}
        result: list[Evaluation] = []
        for mode in modes:
            vectors = yield from self._gold_vectors(asked, mode, made)
            result += yield _Batch(
                [
                    evaluation.evaluate(
                        known.vector_type, gold_set, mode, budget, k, vectors, self._user
                    )
                    for budget in budgets
                ]
            )
        return result

    def replay(
        self, since: datetime | None, settings: dict[str, Any], mode: str | None
    ) -> _Plan[list[Replayed]]:
        return cast(list[Replayed], (yield evaluation.replay(since, settings, mode, self._user)))

    def _gold_vectors(
        self, asked: list[Asked], mode: str, made: dict[str, str | None]
    ) -> _Plan[list[str | None] | None]:
        """Vectors for the questions that have none stored, or not the one that the mode wants.

        Args:
            made: vectors by text, to be filled, so that no text is embedded twice.
        """
        if self._chosen_embedder() is None:
            return None
        texts: list[str | None] = []
        for question in asked:
            text = yield from self._text_to_embed(question.query, mode)
            texts.append(None if question.has_vector and text == question.query else text)
        missing = sorted({text for text in texts if text is not None and text not in made})
        made |= zip(missing, (yield from self._embed(missing, writing=False)), strict=True)
        return [None if text is None else made[text] for text in texts]

    def _known_calls(self) -> _Plan[Calls]:
        """The calls that carry vectors, once it is known where the type halfvec lives."""
        if self._calls is None:
            self._calls = Calls(*(yield calls.find_vector_type()))
        return self._calls

    def _remember_call(self, memories: list[NewMemory], done: int) -> _Plan[Call[list[Remembered]]]:
        """One call for a batch, each memory with its own vector or else the one of its text."""
        checked: list[NewMemory] = []
        vectors: list[bytes | None] = []
        for place, memory in enumerate(memories, 1):
            try:
                checked.append(calls.checked(memory))
                given = memory.get("vector")
                vectors.append(None if given is None else calls.half_vector(given))
            except MemoirError as error:
                raise error.of_memory(done, place) from error
        known = yield from self._known_calls()
        texts = [memory.get("content") or "" for memory in checked]
        places = [i for i, text in enumerate(texts) if vectors[i] is None and text.strip()]
        if places:
            made = yield from self._vectors([texts[i] for i in places], writing=True)
            for at, vector in zip(places, made, strict=True):
                vectors[at] = None if vector is None else calls.half_vector(vector)
        return known.remember_many(checked, vectors, self._user)

    def _with_vector(self, question: Question) -> _Plan[Question]:
        """The question with the vector of its text, unless it has one or none can be had."""
        if question.vector is not None or not (question.query and question.query.strip()):
            return question
        text = yield from self._text_to_embed(question.query, question.mode)
        return replace(question, vector=(yield from self._query_vector(text)))

    def _query_vector(self, text: str) -> _Plan[str | None]:
        """The vector of a question in text form, None when it is blank or none can be had."""
        if not text.strip() or self._chosen_embedder() is None:
            return None
        vector = self.query_vectors.get(text)
        if vector is None:
            (vector,) = yield from self._embed([text], writing=False)
            if vector is not None:
                self.query_vectors.put(text, vector)
        return vector

    def _text_to_embed(self, query: str, mode: str | None) -> _Plan[str]:
        """The question, without names and common words in a mode that leaves them out."""
        if self._selective_modes is None:
            self._selective_modes = frozenset((yield calls.selective_modes()))
        if mode not in self._selective_modes or self._chosen_embedder() is None:
            return query
        return cast(str, (yield calls.embedding_text(query, mode, self._user)))

    def _embed(self, texts: list[str], writing: bool) -> _Plan[list[str | None]]:
        """Vectors in text form, or None for each when the embedder cannot be reached."""
        vectors = yield from self._vectors(texts, writing)
        return [None if vector is None else calls.vector_text(vector) for vector in vectors]

    def _vectors(self, texts: list[str], writing: bool) -> _Plan[list[VectorLike | None]]:
        """Vectors, None for a text that has none, or for each without an embedder."""
        embedder = self._chosen_embedder()
        if not texts or embedder is None or time.monotonic() < self._paused_until:
            return [None] * len(texts)
        try:
            vectors = yield _Embed(embedder, texts)
        except MemoirError:
            raise
        except Exception as error:
            self._paused_until = time.monotonic() + EMBEDDER_PAUSE
            self._warn(str(error) or type(error).__name__)
            return [None] * len(texts)
        if not self._model_known or (writing and not self._keeps_writes()):
            yield calls.use_model(embedder.name, embedder.dimensions)
            self._model_known = True
        return [vector if any(vector) else None for vector in vectors]

    def _chosen_embedder(self) -> Embedder | None:
        if isinstance(self._embedder, DefaultEmbedder):
            self._embedder = default_embedder()
            if self._embedder is None and wanted_embedder() != "none":
                self._warn("set OPENAI_API_KEY, or install pgmemoir[local]")
        return self._embedder

    def _warn(self, reason: str) -> None:
        if not self._warned:
            self._warned = True
            message = f"no embedder, memory goes by words alone: {reason}"
            warnings.warn(message, EmbedderUnavailable, stacklevel=2)


class Memoir:
    """The memory of one user in one database.

    Args:
        conn_or_dsn: a psycopg connection, whose transaction stays the caller's: it is never
            committed or rolled back here. Or a connection string: an own connection is opened at
            the first call, in autocommit. Default: ``MEMOIR_DSN``, else the embedded server of
            the data directory, started when it is not running.
        user: whose memory; default: the setting ``memoir.user_id`` of the session, else "default".
        embedder: makes vectors of texts; None recalls by words alone; default:
            `embedders.default_embedder`.

    Every method raises the classes of `errors` for what the database refuses, and psycopg's own
    for what is not memoir's (a lost connection). Threads may share a client; they take turns.
    """

    def __init__(
        self,
        conn_or_dsn: psycopg.Connection[Any] | str | None = None,
        *,
        user: str | None = None,
        embedder: EmbedderChoice = DEFAULT,
    ) -> None:
        given = conn_or_dsn if isinstance(conn_or_dsn, psycopg.Connection) else None
        self._dsn = None if isinstance(conn_or_dsn, psycopg.Connection) else conn_or_dsn
        self._own = given is None
        self._conn = given
        self._lock = threading.RLock()
        self._steps = _Steps(user, embedder, lambda: _keeps_writes(given))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, if it is the client's own."""
        if self._own and self._conn is not None:
            self._conn.close()
            self._conn = None

    def cache_info(self) -> CacheInfo:
        """How many questions found their vector kept: ``hit_rate`` is to be above 0.7 (D2 6)."""
        return self._steps.query_vectors.info()

    def context(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> str:
        """The block of memory for a prompt, at most ``budget`` tokens; arguments as `recall`."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._run(self._steps.recall(question)).block

    def recall(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Recall:
        """The block and what is known about it.

        Args:
            query: the question; it is embedded unless ``vector`` is given.
            mode: how it is weighted: a name in ``memoir.mode`` (plan, execute, debug, chat).
            budget: tokens, 1..100000.
            vector: the question as a vector, in the model that filled the database.
            session: the conversation it belongs to.
            as_of: recall as it was then, without a time zone UTC; default now.
        """
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._run(self._steps.recall(question))

    def explain(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> list[Explained]:
        """Every candidate of that recall with the parts of its score, the block's first."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return self._run(self._steps.explain(question))

    def search(
        self,
        query: str,
        search_mode: str = "hybrid",
        *,
        keywords: Iterable[str] | None = None,
        memory_types: Iterable[str] | None = None,
        time_from: datetime | None = None,
        time_until: datetime | None = None,
        max_results: int = 5,
        min_relevance_score: float = 0.6,
        vector: VectorLike | None = None,
    ) -> list[Found]:
        """The best memories for a query, one by one, without a budget.

        Args:
            query: what to look for; may be "" when ``keywords`` are given.
            search_mode: semantic, keyword or hybrid.
            keywords: exact filter: a memory must carry one of them.
            memory_types: only these kinds.
            time_from, time_until: only memories of this time, without a time zone UTC.
            max_results: 1..20.
            min_relevance_score: 0..1.
            vector: the query as a vector; it is embedded unless given.
        """
        search = Search.of(
            query,
            vector,
            search_mode,
            keywords,
            memory_types,
            time_from,
            time_until,
            max_results,
            min_relevance_score,
        )
        return self._run(self._steps.search(search))

    def memory_detail(self, key: str) -> Detail:
        """The whole memory of a search result; `NotFound` when the user has none of that key."""
        return self._run(self._steps.memory_detail(key))

    def tools(self, language: str = "en") -> list[dict[str, Any]]:
        """The tools of an agent, as ``tools`` of OpenAI's chat completions; en or zh."""
        return self._run(self._steps.tools(language))

    def system_prompt(self, language: str = "en") -> str:
        """Instructions for an agent that has the `tools`; en or zh."""
        return self._run(self._steps.system_prompt(language))

    def call_tool(self, name: str, arguments: dict[str, Any] | str | None = None) -> dict[str, Any]:
        """Carry out a tool call of a model and return the answer, which is JSON.

        Args:
            name: one of `tools`.
            arguments: a dictionary, or the JSON text as the model wrote it. The text in it
                (``query`` or ``content``) is embedded.
        """
        return self._run(self._steps.call_tool(name, arguments))

    def remember(self, content: str, kind: str = "general", **fields: Unpack[Fields]) -> Remembered:
        """Store one memory; an exact duplicate is left alone (NOOP).

        Args:
            content: the text, at most 10 MB; its first 4000 characters are embedded.
            kind: a name in ``memoir.kind`` (task, learning, preference, fact, turn, ...).
            fields: see `calls.Fields`.
        """
        memory = cast(NewMemory, {"content": content, "kind": kind, **fields})
        return self._run(self._steps.remember(memory))

    def remember_many(
        self,
        memories: Iterable[NewMemory],
        progress: Callable[[int], None] | None = None,
    ) -> list[Remembered]:
        """Store many memories, up to 1000 in a batch; a batch is stored whole or not at all.

        When more than a few are new, the word statistics of recall are counted anew.

        Args:
            memories: dictionaries with ``content``, ``kind`` and any of `calls.Fields`.
            progress: called after each batch with the number stored so far.
        """
        return self._run(self._steps.remember_many(memories, progress))

    def maintain(
        self, everybody: bool = False, build_up_to: int | None = None, dry_run: bool = False
    ) -> list[Maintained]:
        """The daily upkeep: forget what has had its time, tidy logs, keep recall fast, report.

        It is one transaction: with very many memories use the command ``memoir maintain``.

        Args:
            everybody: every user of the database; default this one.
            build_up_to: builds indexes of up to so many memories at once, during which writers
                wait; default the setting ``ann_inline``. The command ``memoir maintain`` makes
                nobody wait.
            dry_run: only tell what would be done.

        Returns:
            what was done, and what is left to the command.
        """
        return self._run(self._steps.maintain(everybody, build_up_to, dry_run))

    def add_event(self, type: str, payload: dict[str, Any], at: datetime | None = None) -> int:
        """Append an event and return its id.

        Args:
            type: for example task_failed, task_completed, alert: recalled while recent.
            payload: what happened.
            at: when, without a time zone UTC; default now.
        """
        return self._run(self._steps.add_event(type, payload, at))

    def mark_used(self, recall: Recall | int, memory_ids: Iterable[int]) -> int:
        """Tell which memories of a recall were of use; returns how many were in it."""
        return self._run(self._steps.mark_used(recall, memory_ids))

    def add_gold(self, gold_set: str, questions: Iterable[GoldQuestion]) -> int:
        """Put questions into a gold set; returns how many.

        A question that is in the set gets the new answers. Questions without a vector are embedded.

        Args:
            gold_set: its name.
            questions: see `evaluation.GoldQuestion`.
        """
        return self._run(self._steps.add_gold(gold_set, questions))

    def evaluate(
        self,
        gold_set: str,
        modes: Sequence[str] = ("execute",),
        budgets: Sequence[int] = (800,),
        k: int = 10,
    ) -> list[Evaluation]:
        """Measure recall on a gold set, once for each mode and budget; nothing is logged.

        A question is asked with its stored vector; without one, or in a mode that leaves words out
        of what is embedded, with one of the embedder.
        """
        return self._run(self._steps.evaluate(gold_set, modes, budgets, k))

    def replay(
        self,
        since: datetime | None = None,
        settings: dict[str, Any] | None = None,
        mode: str | None = None,
    ) -> list[Replayed]:
        """Choose the blocks of logged recalls again, under other settings; writes nothing.

        Args:
            since: the oldest recall; default all that are in the log.
            settings: for example ``{"mmr_lambda": 0.9, "weights": {"task": 1.5}}``.
            mode: only recalls of that mode.
        """
        return self._run(self._steps.replay(since, settings or {}, mode))

    def _run(self, plan: _Plan[T]) -> T:
        """Carry out the steps of a plan and return its result."""
        try:
            step = next(plan)
            while True:
                try:
                    answer = self._perform(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as done:
            return cast(T, done.value)

    def _perform(self, step: Call[Any] | _Batch | _Embed) -> Any:
        if isinstance(step, _Embed):
            return step.embedder.embed(step.texts)
        with self._lock:
            conn = self._connection()
            try:
                if isinstance(step, Call):
                    return _execute(conn, step)
                with conn.pipeline():
                    cursors = [_send(conn, call) for call in step.calls]
                sent = zip(step.calls, cursors, strict=True)
                return [call.parse(cursor.fetchall()) for call, cursor in sent]
            except psycopg.Error as error:
                raise translate(error) from error

    def _connection(self) -> psycopg.Connection[Any]:
        """The connection; an own one is opened when there is none or it was lost."""
        if self._conn is None or (self._own and self._conn.closed):
            self._conn = psycopg.connect(
                resolve_dsn(self._dsn), autocommit=True, fallback_application_name="pgmemoir"
            )
        return self._conn


class AsyncMemoir:
    """`Memoir` for asyncio: the same arguments and methods, to be awaited.

    The embedder runs in a thread. Tasks may share a client; they take turns at the database.
    """

    def __init__(
        self,
        conn_or_dsn: psycopg.AsyncConnection[Any] | str | None = None,
        *,
        user: str | None = None,
        embedder: EmbedderChoice = DEFAULT,
    ) -> None:
        given = conn_or_dsn if isinstance(conn_or_dsn, psycopg.AsyncConnection) else None
        self._dsn = None if isinstance(conn_or_dsn, psycopg.AsyncConnection) else conn_or_dsn
        self._own = given is None
        self._conn = given
        self._lock = asyncio.Lock()
        self._steps = _Steps(user, embedder, lambda: _keeps_writes(given))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """See `Memoir.close`."""
        if self._own and self._conn is not None:
            await self._conn.close()
            self._conn = None

    def cache_info(self) -> CacheInfo:
        """See `Memoir.cache_info`; not to be awaited."""
        return self._steps.query_vectors.info()

    async def context(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> str:
        """See `Memoir.context`."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return (await self._run(self._steps.recall(question))).block

    async def recall(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> Recall:
        """See `Memoir.recall`."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return await self._run(self._steps.recall(question))

    async def explain(
        self,
        query: str | None = None,
        mode: str = "execute",
        budget: int = 800,
        *,
        vector: VectorLike | None = None,
        session: str | None = None,
        as_of: datetime | None = None,
    ) -> list[Explained]:
        """See `Memoir.explain`."""
        question = Question.of(query, vector, mode, budget, session, as_of)
        return await self._run(self._steps.explain(question))

    async def search(
        self,
        query: str,
        search_mode: str = "hybrid",
        *,
        keywords: Iterable[str] | None = None,
        memory_types: Iterable[str] | None = None,
        time_from: datetime | None = None,
        time_until: datetime | None = None,
        max_results: int = 5,
        min_relevance_score: float = 0.6,
        vector: VectorLike | None = None,
    ) -> list[Found]:
        """See `Memoir.search`."""
        search = Search.of(
            query,
            vector,
            search_mode,
            keywords,
            memory_types,
            time_from,
            time_until,
            max_results,
            min_relevance_score,
        )
        return await self._run(self._steps.search(search))

    async def memory_detail(self, key: str) -> Detail:
        """See `Memoir.memory_detail`."""
        return await self._run(self._steps.memory_detail(key))

    async def tools(self, language: str = "en") -> list[dict[str, Any]]:
        """See `Memoir.tools`."""
        return await self._run(self._steps.tools(language))

    async def system_prompt(self, language: str = "en") -> str:
        """See `Memoir.system_prompt`."""
        return await self._run(self._steps.system_prompt(language))

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | str | None = None
    ) -> dict[str, Any]:
        """See `Memoir.call_tool`."""
        return await self._run(self._steps.call_tool(name, arguments))

    async def remember(
        self, content: str, kind: str = "general", **fields: Unpack[Fields]
    ) -> Remembered:
        """See `Memoir.remember`."""
        memory = cast(NewMemory, {"content": content, "kind": kind, **fields})
        return await self._run(self._steps.remember(memory))

    async def remember_many(
        self,
        memories: Iterable[NewMemory],
        progress: Callable[[int], None] | None = None,
    ) -> list[Remembered]:
        """See `Memoir.remember_many`."""
        return await self._run(self._steps.remember_many(memories, progress))

    async def maintain(
        self, everybody: bool = False, build_up_to: int | None = None, dry_run: bool = False
    ) -> list[Maintained]:
        """See `Memoir.maintain`."""
        return await self._run(self._steps.maintain(everybody, build_up_to, dry_run))

    async def add_event(
        self, type: str, payload: dict[str, Any], at: datetime | None = None
    ) -> int:
        """See `Memoir.add_event`."""
        return await self._run(self._steps.add_event(type, payload, at))

    async def mark_used(self, recall: Recall | int, memory_ids: Iterable[int]) -> int:
        """See `Memoir.mark_used`."""
        return await self._run(self._steps.mark_used(recall, memory_ids))

    async def add_gold(self, gold_set: str, questions: Iterable[GoldQuestion]) -> int:
        """See `Memoir.add_gold`."""
        return await self._run(self._steps.add_gold(gold_set, questions))

    async def evaluate(
        self,
        gold_set: str,
        modes: Sequence[str] = ("execute",),
        budgets: Sequence[int] = (800,),
        k: int = 10,
    ) -> list[Evaluation]:
        """See `Memoir.evaluate`."""
        return await self._run(self._steps.evaluate(gold_set, modes, budgets, k))

    async def replay(
        self,
        since: datetime | None = None,
        settings: dict[str, Any] | None = None,
        mode: str | None = None,
    ) -> list[Replayed]:
        """See `Memoir.replay`."""
        return await self._run(self._steps.replay(since, settings or {}, mode))

    async def _run(self, plan: _Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                try:
                    answer = await self._perform(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as done:
            return cast(T, done.value)

    async def _perform(self, step: Call[Any] | _Batch | _Embed) -> Any:
        if isinstance(step, _Embed):
            return await asyncio.to_thread(step.embedder.embed, step.texts)
        async with self._lock:
            conn = await self._connection()
            try:
                if isinstance(step, Call):
                    return await _execute_async(conn, step)
                async with conn.pipeline():
                    cursors = [await _send_async(conn, call) for call in step.calls]
                sent = zip(step.calls, cursors, strict=True)
                return [call.parse(await cursor.fetchall()) for call, cursor in sent]
            except psycopg.Error as error:
                raise translate(error) from error

    async def _connection(self) -> psycopg.AsyncConnection[Any]:
        if self._conn is None or (self._own and self._conn.closed):
            dsn = await asyncio.to_thread(resolve_dsn, self._dsn)
            self._conn = await psycopg.AsyncConnection.connect(
                dsn, autocommit=True, fallback_application_name="pgmemoir"
            )
        return self._conn


def resolve_dsn(dsn: str | None) -> str:
    """The given one, else ``MEMOIR_DSN``, else the embedded server of the data directory."""
    return dsn or os.environ.get("MEMOIR_DSN") or embedded_dsn()


def embedded_dsn(data_dir: Path | None = None) -> str:
    """Start the embedded server when it is not running, and bring its schema up to date.

    Args:
        data_dir: where its data is; default `server.default_data_dir`.
    """
    from . import migrations, server

    dsn = server.start(data_dir or server.default_data_dir())
    with psycopg.connect(dsn, autocommit=True) as conn:
        migrations.up(conn)
    return dsn


def _keeps_writes(given: psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None) -> bool:
    """Whether a write on this connection is committed at once; the client's own (None) always."""
    if given is None:
        return True
    return given.autocommit and given.info.transaction_status == TransactionStatus.IDLE


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(islice(source, BATCH)):
        yield batch


def _memory_batches(memories: Iterable[NewMemory]) -> Iterator[list[NewMemory]]:
    """Batches of at most `MEMORIES`, and of `MEMORY_BYTES` where one memory alone is not more."""
    batch: list[NewMemory] = []
    size = 0
    for memory in memories:
        more = _size(memory)
        if batch and (len(batch) == MEMORIES or size + more > MEMORY_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(memory)
        size += more
    if batch:
        yield batch


def _size(memory: NewMemory) -> int:
    """About how many bytes a memory takes on its way, without its `data`."""
    content, vector = memory.get("content"), memory.get("vector")
    dimensions = len(vector) if isinstance(vector, Sized) else 1000
    return (3 * len(content) if isinstance(content, str) else 0) + 2 * dimensions


# Cursors of our own class and rows: the caller's connection may be set up for others.


def _send(conn: psycopg.Connection[Any], call: Call[T]) -> psycopg.Cursor[Any]:
    cursor = psycopg.Cursor(conn, row_factory=tuple_row)
    _adapt(cursor, call)
    return cursor.execute(call.statement, call.params, prepare=call.prepare)


def _adapt(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any], call: Call[Any]) -> None:
    """Let this cursor alone send binary vectors; the connection may be the caller's."""
    if any(isinstance(param, HalfVectors) for param in call.params):
        cursor.adapters.register_dumper(HalfVectors, HalfVectorsDumper)


def _execute(conn: psycopg.Connection[Any], call: Call[T]) -> T:
    return call.parse(_send(conn, call).fetchall())


async def _send_async(
    conn: psycopg.AsyncConnection[Any], call: Call[T]
) -> psycopg.AsyncCursor[Any]:
    cursor = psycopg.AsyncCursor(conn, row_factory=tuple_row)
    _adapt(cursor, call)
    return await cursor.execute(call.statement, call.params, prepare=call.prepare)


async def _execute_async(conn: psycopg.AsyncConnection[Any], call: Call[T]) -> T:
    cursor = await _send_async(conn, call)
    return call.parse(await cursor.fetchall())
