"""What both clients do, each thing once: a generator that asks for a step and gets its answer.

A step is a database call, a batch of calls or an embedding. `client` carries steps out, with or
without asyncio; nothing here waits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeVar, cast

from . import calls, calls_memory, evaluation, sources
from .batches import batches
from .cache import QueryCache
from .calls import (
    Call,
    Calls,
    Explained,
    Form,
    Found,
    NewMemory,
    Question,
    Recall,
    Remembered,
    Search,
    VectorLike,
)
from .calls_memory import Applied, Changes, Id
from .checks import clean_text, dictionaries, texts
from .embedders import (
    Embedder,
    EmbedderUnavailable,
    default_embedder,
    one_each,
    wanted_embedder,
)
from .errors import MemoirError, UnusableVector
from .evaluation import Asked, Evaluation, GoldQuestion
from .sources import Filled

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
# Seconds after which a client says its model's name again: the database may have gone over to
# another, whose vectors have as many dimensions.
MODEL_CHECK = 30.0


class DefaultEmbedder:
    """The type of `DEFAULT`: choose the embedder at the first text."""


DEFAULT: Final = DefaultEmbedder()

EmbedderChoice = Embedder | DefaultEmbedder | None


@dataclass(frozen=True)
class Batch:
    """Calls sent together; all of them take effect or none does."""

    calls: list[Call[Any]]


@dataclass(frozen=True)
class Embed:
    """Texts to embed."""

    embedder: Embedder
    texts: list[str]


Plan = Generator[Call[Any] | Batch | Embed, Any, T]


class Steps:
    """What both clients do.

    Args:
        keeps_writes: False while the caller may still roll back what is written now.
    """

    def __init__(
        self, user: str | None, embedder: EmbedderChoice, keeps_writes: Callable[[], bool]
    ) -> None:
        if isinstance(embedder, str | type):
            raise TypeError(
                f"embedder is {embedder!r}, not an embedder: "
                "pass WordLlamaEmbedder(), OpenAIEmbedder(), one of yours, or None"
            )
        self._user = user
        self._embedder = embedder
        self._keeps_writes = keeps_writes
        self._calls: Calls | None = None
        self._name_model_at = 0.0
        self._model_is_kept = False
        self.query_vectors = QueryCache(QUERY_CACHE)
        self._selective_modes: frozenset[str] | None = None
        self._warned = False
        self._paused_until = 0.0

    def recall(self, question: Question) -> Plan[Recall]:
        known = yield from self._known_calls()
        question = yield from self._with_vector(question)
        return cast(Recall, (yield known.recall(question, self._user)))

    def explain(self, question: Question) -> Plan[list[Explained]]:
        known = yield from self._known_calls()
        question = yield from self._with_vector(question)
        return cast(list[Explained], (yield known.explain(question, self._user)))

    def search(self, search: Search) -> Plan[list[Found]]:
        known = yield from self._known_calls()
        if search.vector is None and search.search_mode != "keyword":
            search = replace(search, vector=(yield from self._query_vector(search.query)))
        return cast(list[Found], (yield known.search(search, self._user)))

    def call_tool(
        self, name: str, arguments: dict[str, Any] | str | None, session: str | None
    ) -> Plan[dict[str, Any]]:
        given = calls.tool_arguments(arguments)
        known = yield from self._known_calls()
        text = calls.tool_text(given)
        vector = None
        if text is not None and text == given.get("query"):
            vector = yield from self._query_vector(text)
        elif text is not None:
            (vector,) = yield from self._embed([text], writing=True)
        answer = yield known.call_tool(name, given, vector, self._user, session)
        return cast(dict[str, Any], answer)

    def remember(self, memory: NewMemory) -> Plan[Remembered]:
        checked = calls.checked(memory)
        known = yield from self._known_calls()
        vector = yield from self._vector_of(checked)
        return cast(Remembered, (yield known.remember(checked, vector, self._user)))

    def remember_many(
        self, memories: Iterable[NewMemory], progress: Callable[[int], None] | None
    ) -> Plan[list[Remembered]]:
        result: list[Remembered] = []
        for batch in batches(dictionaries(memories, "memories"), MEMORIES, MEMORY_BYTES, _size):
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

    def update(self, memory_id: Id, changes: Changes, reason: str | None, author: str) -> Plan[str]:
        known = yield from self._known_calls()
        vector = yield from self._vector_of(changes)
        call = calls_memory.update(
            known.vector_type, memory_id, changes, vector, reason, author, self._user
        )
        return cast(str, (yield call))

    def apply_decisions(
        self,
        decisions: Iterable[Mapping[str, Any]] | str,
        author: str,
        session: str | None,
        at: datetime | None,
    ) -> Plan[list[Applied]]:
        decided = calls_memory.decisions(decisions)
        known = yield from self._known_calls()
        vectors: list[bytes | None] = [None] * len(decided)
        yield from self._fill(vectors, [calls_memory.decided_text(each) for each in decided])
        call = calls_memory.apply_decisions(
            known.vector_type, decided, known.array(vectors), author, session, at, self._user
        )
        return cast(list[Applied], (yield call))

    def mark_used(self, recall: Recall | int, memory_ids: Iterable[int]) -> Plan[int]:
        retrieval = recall.retrieval_id if isinstance(recall, Recall) else recall
        if retrieval is None:
            return 0
        return cast(int, (yield calls.mark_used(retrieval, memory_ids, self._user)))

    def read_source(self, call: Call[Filled]) -> Plan[Filled]:
        _, filled, _ = yield Batch(sources.limited(call, sources.QUERY_SECONDS))
        return cast(Filled, filled)

    def add_gold(self, gold_set: str, questions: Iterable[GoldQuestion]) -> Plan[int]:
        known = yield from self._known_calls()
        count = 0
        for batch in _batches(dictionaries(questions, "questions")):
            vectors = [calls.given_vector(question) for question in batch]
            missing = [i for i, vector in enumerate(vectors) if vector is None]
            texts = [batch[i].get("query") or "" for i in missing]
            made = yield from self._embed(texts, writing=True)
            for place, vector in zip(missing, made, strict=True):
                vectors[place] = vector
            ready = zip(batch, vectors, strict=True)
            yield Batch(
                [
                    evaluation.gold_add(known.vector_type, gold_set, question, vector, self._user)
                    for question, vector in ready
                ]
            )
            count += len(batch)
        return count

    def evaluate(
        self, gold_set: str, modes: Sequence[str], budgets: Sequence[int], k: int
    ) -> Plan[list[Evaluation]]:
        named = texts(modes, "modes") or []
        known = yield from self._known_calls()
        asked = cast(list[Asked], (yield evaluation.gold_queries(gold_set, self._user)))
        made: dict[str, str | None] = {}
        result: list[Evaluation] = []
        for mode in named:
            vectors = yield from self._gold_vectors(asked, mode, made)
            result += yield Batch(
                [
                    evaluation.evaluate(
                        known.vector_type, gold_set, mode, budget, k, vectors, self._user
                    )
                    for budget in budgets
                ]
            )
        return result

    def _gold_vectors(
        self, asked: list[Asked], mode: str, made: dict[str, str | None]
    ) -> Plan[list[str | None] | None]:
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

    def _known_calls(self) -> Plan[Calls]:
        """The calls that carry vectors, once it is known where the type halfvec lives."""
        if self._calls is None:
            self._calls = Calls(*(yield calls.find_vector_type()))
        return self._calls

    def _remember_call(self, memories: list[NewMemory], done: int) -> Plan[Call[list[Remembered]]]:
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
        yield from self._fill(vectors, [memory.get("content") or "" for memory in checked])
        return known.remember_many(checked, vectors, self._user)

    def _vector_of(self, memory: Mapping[str, Any]) -> Plan[str | None]:
        """The vector a memory brings, else that of its text."""
        vector = calls.given_vector(memory)
        text = clean_text(memory.get("content"), "the content") or ""
        if vector is None and text.strip():
            (vector,) = yield from self._embed([text], writing=True)
        return vector

    def _fill(self, vectors: list[bytes | None], texts: list[str]) -> Plan[None]:
        """Put in the vectors of the texts that have none."""
        places = [i for i, text in enumerate(texts) if vectors[i] is None and text.strip()]
        made = yield from self._vectors([texts[i] for i in places], True, calls.half_vector)
        for at, vector in zip(places, made, strict=True):
            vectors[at] = vector

    def _with_vector(self, question: Question) -> Plan[Question]:
        """The question with the vector of its text, unless it has one or none can be had."""
        if question.vector is not None or not (question.query and question.query.strip()):
            return question
        text = yield from self._text_to_embed(question.query, question.mode)
        return replace(question, vector=(yield from self._query_vector(text)))

    def _query_vector(self, text: str | None) -> Plan[str | None]:
        """The vector of a question in text form, None when it is blank or none can be had."""
        if text is None or not text.strip() or self._chosen_embedder() is None:
            return None
        vector = self.query_vectors.get(text)
        if vector is not None:
            yield from self._name_model(writing=False)
        else:
            (vector,) = yield from self._embed([text], writing=False)
            if vector is not None:
                self.query_vectors.put(text, vector)
        return vector

    def _text_to_embed(self, query: str, mode: str | None) -> Plan[str]:
        """The question, without names and common words in a mode that leaves them out."""
        if self._selective_modes is None:
            self._selective_modes = frozenset((yield calls.selective_modes()))
        if mode not in self._selective_modes or self._chosen_embedder() is None:
            return query
        return cast(str, (yield calls.embedding_text(query, mode, self._user)))

    def _embed(self, texts: list[str], writing: bool) -> Plan[list[str | None]]:
        """Vectors in text form, as `_vectors`."""
        return (yield from self._vectors(texts, writing, calls.vector_text))

    def _vectors(
        self, texts: list[str], writing: bool, form: Callable[[VectorLike], Form]
    ) -> Plan[list[Form | None]]:
        """Vectors, None for a text that has none of use, or for each without an embedder."""
        embedder = self._chosen_embedder()
        if not texts or embedder is None or time.monotonic() < self._paused_until:
            return [None] * len(texts)
        if not getattr(embedder, "local", False):
            # No secret leaves for a model elsewhere.
            texts = cast(list[str], (yield calls.redacted(texts)))
        try:
            vectors = one_each(embedder, texts, (yield Embed(embedder, texts)))
        except MemoirError:
            raise
        except Exception as error:
            self._paused_until = time.monotonic() + EMBEDDER_PAUSE
            reason = str(error) or type(error).__name__
            self._warn(f"no embedder, memory goes by words alone: {reason}")
            return [None] * len(texts)
        yield from self._name_model(writing)
        return [self._formed(vector, form) for vector in vectors]

    def _formed(self, vector: VectorLike, form: Callable[[VectorLike], Form]) -> Form | None:
        """None for a vector of no use: a text is stored and found by its words all the same."""
        try:
            return calls.formed(vector, form)
        except UnusableVector as error:
            self._warn(f"a text without a vector goes by words alone: {error.message}")
            return None

    def _name_model(self, writing: bool) -> Plan[None]:
        """Say whose vectors these are: refused when another model is in use."""
        embedder = self._chosen_embedder()
        is_kept = self._keeps_writes()
        unsure = writing and not (is_kept and self._model_is_kept)
        if embedder is not None and (unsure or time.monotonic() >= self._name_model_at):
            yield calls.use_model(embedder.name, embedder.dimensions)
            self._name_model_at = time.monotonic() + MODEL_CHECK
            self._model_is_kept = is_kept

    def _chosen_embedder(self) -> Embedder | None:
        if isinstance(self._embedder, DefaultEmbedder):
            self._embedder = default_embedder()
            if self._embedder is None and wanted_embedder() != "none":
                self._warn(
                    "no embedder, memory goes by words alone: "
                    "set OPENAI_API_KEY, or install pgmemoir[local]"
                )
        return self._embedder

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(message, EmbedderUnavailable, stacklevel=2)


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(islice(source, BATCH)):
        yield batch


def _size(memory: NewMemory) -> int:
    """About how many bytes a memory takes on its way, without its `data`."""
    content, vector = memory.get("content"), memory.get("vector")
    dimensions = len(vector) if isinstance(vector, Sized) else 1000
    return (3 * len(content) if isinstance(content, str) else 0) + 2 * dimensions
