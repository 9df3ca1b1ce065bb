"""Steps that the methods of both clients ask for, and the steps that bring vectors.

A step is a database call, a batch of calls or an embedding; a plan is a generator that asks for one
and gets its answer. `client` carries steps out, with or without asyncio; nothing here waits.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from . import calls
from .cache import CacheInfo, QueryCache
from .calls import Call, Halfvec, Question
from .checks import clean_text
from .embedders import (
    Embedder,
    EmbedderUnavailable,
    default_embedder,
    fault,
    missing_embedder_hint,
    wanted_embedder,
)
from .errors import MemoirError, UnusableVector
from .openai_api import Unavailable
from .vectors import HalfVector, VectorLike, formed, given_vector

T = TypeVar("T")

# Seconds without another attempt after the embedder failed: a dead server must not cost every
# recall its timeout.
EMBEDDER_PAUSE = 30.0
# Questions whose vectors are kept, of all clients with the same embedder.
QUERY_CACHE = 256
# Seconds after which a client names its model again: the database may have switched to another
# one, whose vectors have as many dimensions.
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


class Shared:
    """What all clients with the same embedder share: a server has a client for each request.

    Attributes:
        query_vectors: the vectors of the last questions.
        paused_until: until when the embedder is left alone, because it failed.
    """

    def __init__(self) -> None:
        self.query_vectors = QueryCache(QUERY_CACHE)
        self.paused_until = 0.0


_SHARED: WeakKeyDictionary[Embedder, Shared] = WeakKeyDictionary()


def shared(embedder: Embedder) -> Shared:
    """What the clients with this embedder share; nothing if it has no hash or weak references."""
    try:
        return _SHARED.setdefault(embedder, Shared())
    except TypeError:
        return Shared()


class Steps:
    """How the methods of both clients get vectors.

    Args:
        keeps_writes: False while the caller may still roll back what is written now.
    """

    _is_async: ClassVar[bool] = False

    def __init__(
        self, user: str | None, embedder: EmbedderChoice, keeps_writes: Callable[[], bool]
    ) -> None:
        if isinstance(embedder, str | type):
            raise TypeError(
                f"embedder is {embedder!r}, not an embedder: "
                "pass WordLlamaEmbedder(), OpenAIEmbedder(), one of yours, or None"
            )
        self._user = clean_text(user, "the user")
        self._embedder = embedder
        self._keeps_writes = keeps_writes
        self._known_halfvec: Halfvec | None = None
        self._name_model_at = 0.0
        self._model_is_kept = False
        self._shared: Shared | None = None
        self._selective_modes: frozenset[str] | None = None
        self._warned: set[str] = set()

    def _halfvec(self) -> Plan[Halfvec]:
        """The database's vector type, looked up at the first use."""
        if self._known_halfvec is None:
            self._known_halfvec = cast(Halfvec, (yield calls.find_halfvec()))
        return self._known_halfvec

    def _vector_of(self, memory: Mapping[str, Any]) -> Plan[HalfVector | None]:
        """The vector given with a memory, otherwise that of its text."""
        vector = given_vector(memory)
        text = clean_text(memory.get("content"), "the content") or ""
        if vector is None and text.strip():
            (vector,) = yield from self._embed([text], writing=True)
        return vector

    def _fill(self, vectors: list[HalfVector | None], texts: list[str]) -> Plan[None]:
        """Put in the vectors of the texts that have none."""
        places = [i for i, text in enumerate(texts) if vectors[i] is None and text.strip()]
        made = yield from self._embed([texts[i] for i in places], writing=True)
        for at, vector in zip(places, made, strict=True):
            vectors[at] = vector

    def _with_vector(self, question: Question) -> Plan[Question]:
        """The question with the vector of its text, unless it has one or none can be had."""
        if question.vector is not None or not (question.query and question.query.strip()):
            return question
        text = yield from self._text_to_embed(question.query, question.mode)
        return question._replace(vector=(yield from self._query_vector(text)))

    def _query_vector(self, text: str | None) -> Plan[HalfVector | None]:
        """The vector of a question, None when it is blank or none can be had."""
        embedder = self._chosen_embedder()
        if text is None or not text.strip() or embedder is None:
            return None
        kept = self._shared_with(embedder).query_vectors
        vector = kept.get(text)
        if vector is not None:
            yield from self._name_model(writing=False)
        else:
            (vector,) = yield from self._embed([text], writing=False)
            if vector is not None:
                kept.put(text, vector)
        return vector

    def _text_to_embed(self, query: str, mode: str | None) -> Plan[str]:
        """The question, without names and common words in a mode that leaves them out."""
        if self._selective_modes is None:
            self._selective_modes = frozenset((yield calls.selective_modes()))
        if mode not in self._selective_modes or self._chosen_embedder() is None:
            return query
        return cast(str, (yield calls.embedding_text(query, mode, self._user)))

    def _embed(self, texts: list[str], writing: bool) -> Plan[list[HalfVector | None]]:
        """Vectors of texts; None where there is no usable vector, or no embedder."""
        embedder = self._chosen_embedder()
        if not texts or embedder is None:
            return [None] * len(texts)
        common = self._shared_with(embedder)
        if time.monotonic() < common.paused_until:
            return [None] * len(texts)
        if not getattr(embedder, "local", False):
            # No secret is sent to a model elsewhere.
            texts = cast(list[str], (yield calls.redacted(texts)))
        try:
            answers = yield Embed(embedder, texts)
        except MemoirError:
            raise
        except Exception as error:
            reason = str(error) or type(error).__name__
            if fault(error) == "request":
                answers = [error] * len(texts)
            else:
                common.paused_until = time.monotonic() + EMBEDDER_PAUSE
                self._warn("no embedder, memory goes by words alone", reason)
                return [None] * len(texts)
        if not all(isinstance(answer, Exception) for answer in answers):
            yield from self._name_model(writing)
        return [self._formed(answer) for answer in answers]

    def _formed(self, answer: VectorLike | Exception) -> HalfVector | None:
        """The vector as it is sent; None if there is none to use: its text is found by words."""
        try:
            if isinstance(answer, Exception):
                raise answer
            return formed(answer)
        except (Unavailable, UnusableVector) as error:
            reason = getattr(error, "message", str(error))
            self._warn("a text without a vector goes by words alone", reason)
            return None

    def _name_model(self, writing: bool) -> Plan[None]:
        """Name the model of the vectors to the database, which refuses any but the one in use."""
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
                hint = missing_embedder_hint()
                self._warn("no embedder, memory goes by words alone", hint)
        return self._embedder

    def _shared_with(self, embedder: Embedder) -> Shared:
        if self._shared is None:
            self._shared = shared(embedder)
        return self._shared

    def _cache_info(self) -> CacheInfo:
        return (self._shared.query_vectors if self._shared else QueryCache(QUERY_CACHE)).info()

    def _warn(self, what: str, reason: str) -> None:
        """Warn once of each: a text that is refused must not hide that the server is away."""
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(f"{what}: {reason}", EmbedderUnavailable, stacklevel=2)
