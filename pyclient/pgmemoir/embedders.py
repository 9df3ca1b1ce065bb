"""Text to vectors: `WordLlamaEmbedder` works offline, `OpenAIEmbedder` asks an API.

Models and their packages are loaded at the first text, so that importing pgmemoir stays cheap.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import struct
import sys
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from .batches import batches
from .errors import DimensionMismatch, MemoirError
from .openai_api import Api, ApiFailure, Fault, Unavailable, check_no_error

# What of a text is embedded. 4000 characters are at most about 8000 tokens, the limit of OpenAI's
# models, in any language; the rest of a longer text is still found by its words.
MAX_CHARACTERS = 4000
# One request of OpenAI's takes 300,000 tokens at most: two a character, to be sure.
OPENAI_BATCH = 256
OPENAI_BATCH_CHARACTERS = 150_000
OPENAI_MODEL = "text-embedding-3-small"
_OPENAI_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}

# A server that refuses a text so long, or longer, is asked for half of it: models of 256 or 512
# tokens are common, and a Chinese character may be one.
_LONG = 250
# The code of a refusal that tells nothing of the length.
_OF_CONTENT = re.compile("content_(?:filter|policy)|moderation")
# A model that is not one for embeddings, or that does not give so many dimensions.
_ANY_TEXT = "whatever the text: are MEMOIR_EMBED_MODEL and MEMOIR_EMBED_DIMENSIONS right?"


_Encoding = Literal["base64", "float"]
_ENCODINGS: tuple[_Encoding, ...] = ("base64", "float")


class _Form(NamedTuple):
    """What a request asks for besides texts.

    Some servers refuse one of the encodings; some any dimensions, also those that the model has.
    """

    encoding: _Encoding
    dimensions: int | None


class EmbedderUnavailable(Unavailable, UserWarning):
    """The embedder gives no vectors now: raised by embedders, shown once by a client."""


class TextsRefused(EmbedderUnavailable):
    """The model refuses some texts. ``answers``: the vector of each, or why it has none."""

    def __init__(self, error: EmbedderUnavailable, answers: list[Any]) -> None:
        super().__init__(str(error), error.fault, error.retry_after)
        self.answers = answers


class Embedder(Protocol):
    """What a client needs of an embedding model.

    ``name`` identifies the model in the database: two models whose vectors must not be compared
    have different names. ``dimensions`` is exact at the latest after the first `embed`. One with
    a true attribute ``local`` keeps texts on this machine; others get them without secrets.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in order; all zeros for a blank text. Texts come whole, up to 10 MB;
        from the queue and in a backfill no more than their first million characters.

        Raises:
            EmbedderUnavailable: no vectors can be had now.
        """
        ...


class WordLlamaEmbedder:
    """wordllama's 256 dimensions: static vectors, in its wheel, no network, many languages."""

    name = "wordllama-256"
    local = True
    dimensions = 256

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Normalised vectors, about 0.05 ms a sentence (0.6 s more for a process's first call)."""
        return _embed_nonblank(texts, self.dimensions, self._embed)

    def _embed(self, texts: list[str]) -> list[list[float]]:
        # wordllama pads a batch to its longest text: 1 kB a token, a few tokens a character.
        longest = max(len(text) for text in texts)
        batch_size = min(64, 32_000 // longest)
        vectors = _wordllama().embed(texts, norm=True, batch_size=batch_size)
        return [[float(x) for x in vector] for vector in vectors]


class OpenAIEmbedder:
    """An OpenAI embedding model, or any server that speaks the same protocol.

    Args:
        model: default ``MEMOIR_EMBED_MODEL``, else text-embedding-3-small.
        dimensions: ask for vectors of this length; default ``MEMOIR_EMBED_DIMENSIONS``, else
            what the model gives.
        base_url: default ``OPENAI_BASE_URL``, else OpenAI's own.
        api_key: default ``OPENAI_API_KEY``.
        timeout: seconds for one request, to the last byte of its answer.
        retries: how often a failed request is repeated.
        name: of the model in the database, where it gives other dimensions than before, or another
            server calls it otherwise; default ``MEMOIR_EMBED_NAME`` for the model of the
            environment, else ``openai/<model>``.
    """

    def __init__(
        self,
        model: str | None = None,
        dimensions: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 20.0,
        retries: int = 1,
        name: str | None = None,
    ) -> None:
        self.model = model or os.environ.get("MEMOIR_EMBED_MODEL") or OPENAI_MODEL
        self._name = name or ("" if model else os.environ.get("MEMOIR_EMBED_NAME", "").strip())
        self._asked = dimensions or _environment_dimensions()
        self._dimensions = self._asked or _OPENAI_DIMENSIONS.get(self.model, 0)
        self._most = OPENAI_BATCH
        self._too_long = sys.maxsize  # bytes of a text that was refused, and its half was not
        self._form = _Form("base64", self._asked)
        self._has_answered = False
        self._api = Api(base_url, api_key, timeout, retries)

    @property
    def name(self) -> str:
        """The chosen one, otherwise ``openai/<model>``."""
        return self._name or f"openai/{self.model}"

    @property
    def dimensions(self) -> int:
        """Length of a vector; 0 until the first answer of a model whose length is not known."""
        return self._dimensions

    def expect(self, dimensions: int) -> None:
        """Set the length of the vectors: a first answer of another length is refused, too."""
        self._dimensions = self._dimensions or dimensions

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Vectors of the API, in requests of at most 256 texts.

        Raises:
            TextsRefused: the API refused some texts, and gave vectors of the others.
            EmbedderUnavailable: no key, no connection, no time left, or the API refused.
            DimensionMismatch: the API answers with another length than was asked for.
        """
        answers = _embed_nonblank(texts, self._dimensions, self._embed)
        refusal = next((each for each in answers if isinstance(each, EmbedderUnavailable)), None)
        if refusal is not None:
            raise TextsRefused(refusal, answers)
        return answers

    def _embed(self, texts: list[str]) -> list[Any]:
        sent = map(self._beginning, texts)
        requests = batches(sent, OPENAI_BATCH, OPENAI_BATCH_CHARACTERS, self._share)
        return [answer for batch in requests for answer in self._divided(batch)]

    def _beginning(self, text: str) -> str:
        """As much of a text as the server may take, by what it refused.

        Not all of that is sure: a text has 1.5 to 5 bytes a token.
        """
        while self._may_be_refused(text, 2 * self._too_long):
            text = text[: len(text) // 2]
        return text

    def _may_be_refused(self, text: str, at: int) -> bool:
        return self._too_long < sys.maxsize and len(text.encode()) >= at

    def _share(self, text: str) -> int:
        """How much of a request a text takes; all, if it may be refused: then it alone is."""
        return OPENAI_BATCH_CHARACTERS if self._may_be_refused(text, self._too_long) else len(text)

    def _divided(self, texts: list[str]) -> list[Any]:
        """Vectors, or why a text has none; sent in halves where a server refuses so many texts,
        as some take ten, or one of them.
        """
        if len(texts) <= self._most:
            try:
                vectors = self._request(texts)
            except EmbedderUnavailable as error:
                if error.fault != "request":
                    raise
                if len(texts) == 1:  # so it is this text, not their number
                    self._most = OPENAI_BATCH
                    return [self._refused(texts[0], error)]
                self._most = len(texts) // 2
            else:
                if self._may_be_refused(texts[0], self._too_long):
                    # The other one had more tokens, or a word that is refused.
                    self._too_long = len(texts[0].encode()) + 1
                return vectors
        half = len(texts) // 2
        return self._divided(texts[:half]) + self._divided(texts[half:])

    def _refused(self, text: str, error: EmbedderUnavailable) -> Any:
        """The vector of a text that was refused, in another form or of its first half; or why."""
        form = self._form
        if not self._has_answered:
            self._find_form()
        if self._form != form:
            return self._divided([text])[0]
        if len(text) < _LONG:
            return error
        (answer,) = self._divided([text[: len(text) // 2]])
        if not isinstance(answer, EmbedderUnavailable) and not _OF_CONTENT.search(str(error)):
            self._too_long = min(self._too_long, len(text.encode()))
        return answer

    def _find_form(self) -> None:
        """Find a form of request that the server accepts, with a text that nobody refuses.

        Raises:
            EmbedderUnavailable: it refuses that in every form.
        """
        lengths = dict.fromkeys((self._asked, None))
        for form in [_Form(encoding, asked) for asked in lengths for encoding in _ENCODINGS]:
            try:
                self._request(["tea"], form)
            except EmbedderUnavailable as error:
                if error.fault != "request":
                    return
                reason = f"{error}, {_ANY_TEXT}"
            else:
                return
        raise EmbedderUnavailable(reason, "settings")

    def _request(self, texts: list[str], form: _Form | None = None) -> list[list[float]]:
        form = form or self._form  # another thread may change it meanwhile
        try:
            # Read below: openai builds an object for each number of a server without base64.
            answer = self._api.ask(
                lambda client: client.embeddings.with_raw_response.create(
                    model=self.model,
                    input=texts,
                    encoding_format=form.encoding,
                    extra_body={"dimensions": form.dimensions} if form.dimensions else None,
                )
            )
            body = json.loads(answer.content)
            check_no_error(body.get("error"))
            data = body["data"]
            if not data and form.encoding == "base64":  # OpenRouter, of a model without it
                return self._request(texts, form._replace(encoding="float"))
            vectors = self._ordered(one_each(self, texts, data))
        except ApiFailure as error:
            # 401, 404: a server that has never answered will not answer a moment later, either.
            is_refusal = error.fault == "server" and error.refuses and not self._has_answered
            fault = "settings" if is_refusal else error.fault
            raise EmbedderUnavailable(f"{self.name}: {error}", fault, error.retry_after) from None
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError, struct.error):
            raise EmbedderUnavailable(f"{self.name}: not an embeddings answer") from None
        self._check_dimensions(vectors)
        self._form, self._has_answered = form, True
        return vectors

    def _ordered(self, data: list[dict[str, Any]]) -> list[list[float]]:
        """Vectors in the order of their texts, none twice.

        Gemini leaves out an index of 0, others leave out all: then an item's place is meant.
        """
        found: dict[int, list[float]] = {}
        for place, item in enumerate(data):
            index = item.get("index")
            found[place if index is None else index] = _numbers(item["embedding"])
        if found.keys() != set(range(len(data))):
            raise EmbedderUnavailable(f"{self.name}: vectors of other texts than were sent")
        return [found[place] for place in range(len(data))]

    def _check_dimensions(self, vectors: list[list[float]]) -> None:
        expected = self._dimensions or len(vectors[0])
        for vector in vectors:
            if len(vector) != expected:
                raise DimensionMismatch(
                    f"{self.name} answers with {len(vector)} dimensions, {expected} were expected",
                    hint=f"Set MEMOIR_EMBED_DIMENSIONS={len(vector)}, or choose another model.",
                )
        self._dimensions = expected


def _numbers(embedding: str | list[float]) -> list[float]:
    """Numbers in base64 take an eighth of the time; some servers write them in JSON anyway."""
    if not embedding:
        raise ValueError
    if isinstance(embedding, list):
        embedding[0] + 0.0  # a list of vectors, one a token, is none
        return embedding
    packed = b64decode(embedding, validate=True)
    return list(struct.unpack(f"<{len(packed) // 4}f", packed))


def embedded(embedder: Embedder, texts: list[str]) -> list[Any]:
    """For each text its vector, from whatever list or array the embedder returns, or why it is
    refused.

    Raises:
        EmbedderUnavailable: it has another number of them.
    """
    try:
        return one_each(embedder, texts, embedder.embed(texts))
    except TextsRefused as error:
        return error.answers


def divided(
    ask: Callable[[list[str]], list[Any]], texts: list[str], patience: float = math.inf
) -> Iterator[Any]:
    """For each text what ``ask`` gives for it, or the exception that it raises for it alone.

    Where it raises one for several texts, it is asked for halves of them: so one text that breaks
    a model is found, and the others have their vectors.

    Args:
        patience: seconds; what took longer is not asked again.

    Raises:
        Exception: of ask, if it is no text's fault, or took that long.
    """
    began = time.monotonic()
    try:
        answers = ask(texts)
    except Exception as error:
        if fault(error) in ("server", "settings") or time.monotonic() - began > patience:
            raise
        half = len(texts) // 2
        if not half:
            yield error
            return
    else:
        yield from answers
        return
    yield from divided(ask, texts[:half], patience)
    yield from divided(ask, texts[half:], patience)


def fault(error: Exception) -> Fault:
    """Whose fault an embedder's failure is."""
    if isinstance(error, MemoirError):  # as a wrong number of dimensions
        return "settings"
    return error.fault if isinstance(error, Unavailable) else "unknown"


def one_each(embedder: Embedder, texts: list[str], answer: Iterable[Any]) -> list[Any]:
    """The same for an answer that is already there."""
    vectors = list(answer)
    if len(vectors) != len(texts):
        raise EmbedderUnavailable(f"{embedder.name}: {len(vectors)} vectors for {len(texts)} texts")
    return vectors


def default_embedder(*, timeout: float = 20.0, retries: int = 1) -> Embedder | None:
    """The embedder of this environment, or None when there is none.

    ``MEMOIR_EMBEDDER`` (openai, wordllama or none) decides; without it OpenAI when
    ``OPENAI_API_KEY`` is set, else wordllama when it is installed.

    Args:
        timeout, retries: of an `OpenAIEmbedder`.

    Raises:
        MemoirError: ``MEMOIR_EMBEDDER`` names no embedder.
    """
    wanted = wanted_embedder()
    if wanted == "openai" or (not wanted and os.environ.get("OPENAI_API_KEY")):
        return OpenAIEmbedder(timeout=timeout, retries=retries)
    if wanted == "wordllama" or (not wanted and find_spec("wordllama")):
        return WordLlamaEmbedder()
    return None


def wanted_embedder() -> str:
    """``MEMOIR_EMBEDDER``: openai, wordllama, none, or empty when it is not set."""
    wanted = os.environ.get("MEMOIR_EMBEDDER", "").strip().lower()
    if wanted not in ("", "openai", "wordllama", "none"):
        raise MemoirError(
            f'unknown embedder "{wanted}"', hint="MEMOIR_EMBEDDER is openai, wordllama or none."
        )
    return wanted


def missing_embedder_hint(python: tuple[int, ...] = sys.version_info[:2]) -> str:
    """How to get one, in this version of Python: wordllama 0.4 has no package for 3.14."""
    if python < (3, 14):
        return "Set OPENAI_API_KEY, or pip install 'pgmemoir[local]'."
    return "Set OPENAI_API_KEY; wordllama needs Python 3.13 or older."


def _environment_dimensions() -> int | None:
    """``MEMOIR_EMBED_DIMENSIONS`` as a number."""
    value = os.environ.get("MEMOIR_EMBED_DIMENSIONS", "").strip()
    if not value:
        return None
    if not value.isdecimal() or int(value) == 0:
        raise MemoirError(
            f"MEMOIR_EMBED_DIMENSIONS is {value!r}, not a number of dimensions",
            hint="Set it to the length of the model's vectors, for example 1536, or unset it.",
        )
    return int(value)


def _embed_nonblank(
    texts: Sequence[str],
    dimensions: int,
    embed: Callable[[list[str]], list[Any]],
) -> list[Any]:
    """Embed what has text; a model answers NaN or an error for blank ones, they get zeros."""
    places = [place for place, text in enumerate(texts) if text.strip()]
    if not places:
        return [[0.0] * dimensions for _ in texts]
    answers = embed([texts[place][:MAX_CHARACTERS] for place in places])
    length = next((len(each) for each in answers if isinstance(each, list)), dimensions)
    result = [[0.0] * length for _ in texts]
    for place, answer in zip(places, answers, strict=True):
        result[place] = answer
    return result


@cache
def _wordllama() -> Any:
    """The model of wordllama's wheel, loaded from its own folder and never from the network.

    Once a process: a web application makes a client for each request.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        wordllama = import_module("wordllama")
        folder = Path(str(wordllama.__file__)).parent
        return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    except ImportError as error:
        raise EmbedderUnavailable("wordllama: not installed", "server") from error
    except OSError as error:
        raise EmbedderUnavailable(f"wordllama: {error}", "server") from error
    finally:
        # wordllama configures the root logger when it is imported; that is the application's.
        root.handlers[:] = handlers
        root.setLevel(level)
