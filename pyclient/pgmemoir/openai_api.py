"""What embedding and chat models share of OpenAI's protocol: requests and their failures.

A failure is told in our own words with the HTTP status and the API's error code. What the server
writes beside them is left out: servers quote keys and texts, and errors end in logs and in tables.
"""

from __future__ import annotations

import os
import re
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .forks import mind_forks

if TYPE_CHECKING:
    from openai import APIStatusError, OpenAI, OpenAIError

T = TypeVar("T")

# A code is a word like rate_limit_exceeded; a server may put a sentence there.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
Fault = Literal["request", "settings", "server", "either", "unknown"]
"""Whose fault a failure is: that of the request, which fails again while others succeed; that of
the settings, with which nobody is answered before somebody has mended them; that of the server or
of what leads to it, which answers nobody now; that of the server, unless others are answered; or it
cannot be told: a text may be what makes a server fail or take too long."""

# Anything else that is no success, such as 500, is of unknown cause.
_FAULTS: dict[int, Fault] = {
    **dict.fromkeys((400, 413, 422), "request"),
    **dict.fromkeys((401, 402, 404, 405, 407, 429, 503), "server"),
    # A gateway that does not reach its server; 529: too much is asked of it.
    **dict.fromkeys((521, 522, 523, 525, 526, 529, 530), "server"),
    # A key without rights, or a filter of texts; a server that is away, or that a text has ended.
    **dict.fromkeys((403, 502), "either"),
}
# What Google and xAI, and Anthropic, say of an account as if it were a bad request.
_ACCOUNT = re.compile("API key|credit balance")
_DAY = 86_400.0
# Of httpx: nothing was sent yet.
_NOT_REACHED = frozenset(("ConnectError", "ConnectTimeout", "ProxyError"))
# Of httpx: nothing can be answered, before somebody has mended a setting.
_SETTINGS = {
    "UnsupportedProtocol": "OPENAI_BASE_URL does not begin with http:// or https://",
    "LocalProtocolError": "OPENAI_API_KEY holds what no header may hold",
    "TooManyRedirects": "OPENAI_BASE_URL redirects in a circle",
}
# What may be gone a moment later; beside these all from 500 on.
_PASSING = (408, 409, 429)
# Seconds before a request is repeated, unless the server says when; and the longest anybody who
# recalls or remembers should wait for it.
_PAUSE = 0.5
_LONGEST_PAUSE = 2.0
# No model has read a request and failed at it in so few seconds.
_AT_ONCE = 1.0


class Unavailable(Exception):
    """A model gives no answer now. ``retry_after``: seconds it asks to wait, or None."""

    def __init__(
        self, reason: str, fault: Fault = "unknown", retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.fault = fault
        self.retry_after = retry_after


class ApiFailure(Unavailable):
    """A request without an answer.

    Args:
        passes: whether repeating the request soon may help.
        status: the HTTP status of the answer, 0 if there was none.
    """

    def __init__(
        self,
        reason: str,
        fault: Fault = "unknown",
        retry_after: float | None = None,
        *,
        passes: bool = False,
        status: int = 0,
    ) -> None:
        super().__init__(reason, fault, retry_after)
        is_passing = fault != "request" and (status in _PASSING or status >= 500)
        self.passes = passes or is_passing
        self.refuses = status > 0 and not self.passes


class _ConnectionLost(ApiFailure):
    """The connection ended before the answer did."""


class Api:
    """A server of OpenAI's protocol, connected to at the first request; threads may share it.

    Args:
        base_url: default ``OPENAI_BASE_URL``, else OpenAI's own.
        api_key: default ``OPENAI_API_KEY``.
        timeout: seconds for one request, to the last byte of its answer.
        retries: how often a failed request is repeated here, after the pause the server asks for;
            not when that is long, nor when there was no answer in time.
    """

    def __init__(
        self, base_url: str | None, api_key: str | None, timeout: float, retries: int
    ) -> None:
        # A setting that was read from a file ends in a line break.
        self._base_url = (base_url or os.environ.get("OPENAI_BASE_URL", "")).strip()
        self._api_key = (api_key or os.environ.get("OPENAI_API_KEY", "")).strip()
        self._timeout = timeout
        self._retries = retries
        self._begin_anew()
        mind_forks(self)

    def _begin_anew(self) -> None:
        """Without a connection; a forked process must not read answers of the one it is from."""
        self._client: OpenAI | None = None
        self._lock = threading.Lock()

    def ask(self, request: Callable[[OpenAI], T]) -> T:
        """Carry out a request.

        Raises:
            ApiFailure: no key, no connection, no time left, or the API refused.
        """
        left = self._retries
        while True:
            try:
                return self._ask_reconnecting(request)
            except ApiFailure as failure:
                pause = _PAUSE if failure.retry_after is None else failure.retry_after
                if not (left and failure.passes) or pause > _LONGEST_PAUSE:
                    raise
            left -= 1
            time.sleep(pause)

    def _ask_reconnecting(self, request: Callable[[OpenAI], T]) -> T:
        """Ask again at once if a server closes an idle connection just as the request is sent."""
        began = time.monotonic()
        try:
            return self._ask(request)
        except _ConnectionLost:
            if time.monotonic() - began > _AT_ONCE:
                raise
        return self._ask(request)

    def _ask(self, request: Callable[[OpenAI], T]) -> T:
        import openai

        client = self._connect()
        # httpx limits each read: a server that sends a byte a second would never be late.
        asked: Future[T] = Future()
        run = partial(copy_context().run, _carry_out, asked, request, client)
        threading.Thread(target=run, daemon=True).start()
        try:
            return asked.result(self._timeout)
        except TimeoutError:
            self._abandon(client)
            raise ApiFailure("no answer in time") from None
        except openai.OpenAIError as error:
            raise _failure(error) from None  # its cause may quote what was sent
        except UnicodeEncodeError:
            raise ApiFailure(_SETTINGS["LocalProtocolError"], "settings") from None
        except (ValueError, RecursionError):
            raise ApiFailure("the reply is not JSON") from None

    def _abandon(self, client: OpenAI) -> None:
        """Use a new client; close this one when its other requests have had their time, too."""
        with self._lock:
            if self._client is client:
                self._client = None
                closing = threading.Timer(self._timeout, client.close)
                closing.daemon = True
                closing.start()

    def _connect(self) -> OpenAI:
        import openai

        with self._lock:
            if self._client is None:
                if not self._api_key:
                    raise ApiFailure(
                        "OPENAI_API_KEY is not set; for a server without keys, set it to none",
                        "settings",
                    )
                try:
                    self._client = openai.OpenAI(
                        api_key=self._api_key,
                        base_url=self._base_url or None,
                        timeout=openai.Timeout(self._timeout, connect=self._timeout / 2),
                        max_retries=0,
                    )
                except Exception as error:  # of httpx, of a proxy's package, of the certificates
                    reason = f"OPENAI_BASE_URL, a proxy or SSL_CERT_FILE: {type(error).__name__}"
                    raise ApiFailure(reason, "settings") from None
            return self._client


def _carry_out(asked: Future[T], request: Callable[[OpenAI], T], client: OpenAI) -> None:
    try:
        asked.set_result(request(client))
    except BaseException as error:
        asked.set_exception(error)


def _failure(error: OpenAIError) -> ApiFailure:
    import openai

    if isinstance(error, openai.APIStatusError):
        return _refusal(error)
    if isinstance(error, openai.APIConnectionError):
        cause = type(error.__cause__).__name__
        is_late = isinstance(error, openai.APITimeoutError)
        if cause in _SETTINGS:
            return ApiFailure(_SETTINGS[cause], "settings")
        if cause in _NOT_REACHED:
            return _not_reached(error, is_late)
        if is_late:
            return ApiFailure("no answer in time")
        return _ConnectionLost("connection lost", passes=True)
    return ApiFailure(type(error).__name__)


def _not_reached(error: Exception, is_late: bool) -> ApiFailure:
    """With the reason of this machine, which names no more than a host."""
    reason: BaseException | None = error
    while reason is not None and not isinstance(reason, OSError):
        reason = reason.__cause__ or reason.__context__
    if isinstance(reason, ssl.SSLCertVerificationError):
        said = f"the server's certificate is not trusted: {reason.verify_message.rstrip('.')}"
        return ApiFailure(f"{said} (SSL_CERT_FILE names what is trusted)", "settings")
    said = "no connection"
    if isinstance(reason, ssl.SSLError) and reason.reason:
        said += f": TLS, {reason.reason.replace('_', ' ').lower()}"  # of https:// where http is
    elif reason is not None and reason.strerror:
        said += f": {reason.strerror.lower()}"
    return ApiFailure(said, "server", passes=not is_late)


def _refusal(error: APIStatusError) -> ApiFailure:
    code = error.code or error.type
    known = isinstance(code, str) and _CODE.fullmatch(code)
    reason = f"HTTP {error.status_code}, {code}" if known else f"HTTP {error.status_code}"
    if error.status_code == 404 and "/v1" not in error.request.url.path:
        reason += " (OPENAI_BASE_URL is without /v1)"
    if error.response.history:
        reason += " (OPENAI_BASE_URL redirects)"
    return ApiFailure(
        reason,
        _fault(error.status_code, str(error.body)),
        seconds_to_wait(error.response.headers.get("retry-after")),
        status=error.status_code,
    )


def _fault(status: int, said: str) -> Fault:
    """Whose fault a status is; some servers mean something else by it."""
    if status == 400 and _ACCOUNT.search(said[:200]):  # a quoted text may follow
        return "server"
    if status == 429 and "too large" in said:  # more than a minute's whole limit
        return "request"
    if status == 500 and "too large to process" in said[:200]:  # llama.cpp, of a long text
        return "request"
    # llama.cpp and its kin answer 500 to a response_format that they do not know; others quote the
    # whole request in any failure.
    if status not in _FAULTS and "response_format" in said and "messages" not in said:
        return "request"
    return _FAULTS.get(status, "unknown")


def check_no_error(said: Any) -> None:
    """Refuse an answer with status 200 that reports an error, as gateways send it.

    Args:
        said: ``error`` of an answer or of a part of it, None where there is none.

    Raises:
        ApiFailure: it is an error.
    """
    code = said.get("code") if isinstance(said, dict) else None
    if isinstance(code, int):
        fault = _FAULTS.get(code, "unknown")
        raise ApiFailure(f"HTTP 200, error {code}", fault, status=code)


def seconds_to_wait(header: Any) -> float | None:
    """The seconds of a Retry-After header, which names seconds or a time; None: neither.

    At most a day: nobody can sleep until the year 9999.
    """
    try:
        seconds = float(header)
    except (TypeError, ValueError):
        date = parsedate_tz(header) if isinstance(header, str) else None
        if date is None:
            return None
        try:
            seconds = mktime_tz(date) - time.time()
        except (ValueError, OverflowError):  # a year that no calendar has
            return None
    return min(max(0.0, seconds), _DAY)
