"""What models of embeddings and of chat share of OpenAI's protocol: the way there, and failures.

A failure is told in our own words with the HTTP status and the API's error code. What the server
writes beside them is left out: servers quote keys and texts, and errors end in logs and in tables.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI, OpenAIError

T = TypeVar("T")

# A code is a word like rate_limit_exceeded; a server may put a sentence there.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# The request is at fault, not the server or its settings: the same request fails again.
_BAD_REQUEST = frozenset((400, 413, 422))


class ApiFailure(Exception):
    """A request without an answer.

    Attributes:
        retry_after: seconds the server asks to wait, or None.
        refused: the server finds fault with this request; others may succeed.
    """

    def __init__(
        self, reason: str, *, retry_after: float | None = None, refused: bool = False
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.refused = refused


class Api:
    """A server of OpenAI's protocol, connected to at the first request; threads may share it.

    Args:
        base_url: default ``OPENAI_BASE_URL``, else OpenAI's own.
        api_key: default ``OPENAI_API_KEY``.
        timeout: seconds for one request.
        retries: how often a failed request is repeated here, after the pause the server asks for.
    """

    def __init__(
        self, base_url: str | None, api_key: str | None, timeout: float, retries: int
    ) -> None:
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        self._api_key = api_key or os.environ.get("OPENAI_API_KEY")
        self._timeout = timeout
        self._retries = retries
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def ask(self, request: Callable[[OpenAI], T]) -> T:
        """Carry out a request.

        Raises:
            ApiFailure: no key, no connection, no time left, or the API refused.
        """
        import openai

        try:
            return request(self._connect())
        except openai.OpenAIError as error:
            raise _failure(error) from None  # its cause may quote what was sent
        except ValueError:
            raise ApiFailure("the reply is not JSON") from None

    def _connect(self) -> OpenAI:
        import openai

        with self._lock:
            if self._client is None:
                if not self._api_key:
                    raise ApiFailure("OPENAI_API_KEY is not set")
                self._client = openai.OpenAI(
                    api_key=self._api_key,
                    base_url=self._base_url,
                    timeout=self._timeout,
                    max_retries=self._retries,
                )
            return self._client


def _failure(error: OpenAIError) -> ApiFailure:
    import openai

    if isinstance(error, openai.APIStatusError):
        return _refusal(error)
    if isinstance(error, openai.APITimeoutError):
        return ApiFailure("no answer in time")
    if isinstance(error, openai.APIConnectionError):
        return ApiFailure("no connection")
    return ApiFailure(type(error).__name__)


def _refusal(error: APIStatusError) -> ApiFailure:
    code = error.code or error.type
    known = isinstance(code, str) and _CODE.fullmatch(code)
    return ApiFailure(
        f"HTTP {error.status_code}, {code}" if known else f"HTTP {error.status_code}",
        retry_after=seconds_to_wait(error.response.headers.get("retry-after")),
        refused=error.status_code in _BAD_REQUEST,
    )


def seconds_to_wait(header: Any) -> float | None:
    """The seconds of a Retry-After, which names them or the time to come back; None: neither."""
    try:
        return max(0.0, float(header))
    except (TypeError, ValueError):
        pass
    date = parsedate_tz(header) if isinstance(header, str) else None
    return None if date is None else max(0.0, mktime_tz(date) - time.time())
