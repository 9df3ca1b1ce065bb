"""A server on this machine that speaks OpenAI's protocol, and fails when it is told to.

It listens on loopback, over HTTP/1.1 with connections kept open, so that a client takes the same
roads as to the real one. ``with OpenAIServer() as api:`` in a test; as a program it is the model
of a benchmark: ``python tests/openai_server.py --dimensions 384 --seconds 0.1`` prints its URL.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import math
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

Body = dict[str, Any]
"""A request's JSON, or a reply's."""


@dataclass(frozen=True)
class Reply:
    """What goes out: JSON, or bytes as they are; ``end`` is how the connection goes on."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    end: Literal["kept", "reset", "silent", "dripping"] = "kept"

    def encoded(self) -> Reply:
        """The same in bytes."""
        is_bytes = isinstance(self.body, bytes)
        return self if is_bytes else replace(self, body=json.dumps(self.body).encode())


Fault = Callable[[Reply], Reply]
"""Makes of the right reply what goes out instead."""


def status(code: int, retry_after: str | None = None, message: str = "of a test") -> Fault:
    """An error of the API, with a Retry-After (seconds or a date) where there is one."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    error = {"message": message, "type": "test_error", "param": None, "code": None}
    return lambda _: Reply({"error": error}, code, headers)


def silent(reply: Reply) -> Reply:
    """The request is read and never answered."""
    return replace(reply, end="silent")


def dripping(reply: Reply) -> Reply:
    """The answer comes byte by byte: none of them is late, and the whole takes minutes."""
    return replace(reply, end="dripping")


def reset(reply: Reply) -> Reply:
    """The connection is torn down instead of an answer."""
    return replace(reply, end="reset")


def empty(_: Reply) -> Reply:
    """Success, with nothing in it."""
    return Reply(b"")


def nested(_: Reply) -> Reply:
    """JSON that is deeper than any parser goes."""
    return Reply(b"[" * 100_000)


def truncated(reply: Reply) -> Reply:
    """The first half of the JSON of the reply."""
    whole = json.dumps(reply.body).encode()
    return Reply(whole[: len(whole) // 2])


def wrong_dimension(reply: Reply) -> Reply:
    """Vectors that are one component too long."""
    data = [
        {**item, "embedding": _base64([*_numbers(item["embedding"]), 0.5])}
        for item in reply.body["data"]
    ]
    return Reply({**reply.body, "data": data})


def as_numbers(reply: Reply) -> Reply:
    """Vectors as lists, as servers write them that do not know base64."""
    data = [{**item, "embedding": _numbers(item["embedding"])} for item in reply.body["data"]]
    return Reply({**reply.body, "data": data})


def duplicate_ids(reply: Reply) -> Reply:
    """Every vector says it belongs to the first text."""
    return Reply({**reply.body, "data": [{**item, "index": 0} for item in reply.body["data"]]})


def says(content: Any) -> Fault:
    """A model that answers this: text as it is, anything else as JSON."""
    return lambda reply: spoken(reply, content=_text(content))


def refuses(reply: Reply) -> Reply:
    """A model that will not."""
    return spoken(reply, content=None, refusal="I'm sorry, I cannot help with that.")


def cut_off(reply: Reply) -> Reply:
    """A model that stops in the middle of its answer, for want of tokens."""
    content = reply.body["choices"][0]["message"]["content"]
    return spoken(reply, finish_reason="length", content=content[: len(content) // 2])


def spoken(reply: Reply, finish_reason: str = "stop", **message: Any) -> Reply:
    """The reply of a chat with another message."""
    choice = reply.body["choices"][0]
    changed = {
        **choice,
        "finish_reason": finish_reason,
        "message": {**choice["message"], **message},
    }
    return Reply({**reply.body, "choices": [changed]})


def vector(text: str, dimensions: int) -> list[float]:
    """A direction that the text alone decides, of length 1."""
    seed = hashlib.shake_256(text.encode()).digest(2 * dimensions)
    numbers = [number / 32768 for number in struct.unpack(f">{dimensions}h", seed)]
    length = math.sqrt(math.fsum(number * number for number in numbers)) or 1.0
    return [number / length for number in numbers]


class OpenAIServer:
    """Serves within ``with``; what is asked is kept in `embeddings` and `chats`.

    Args:
        dimensions: of vectors, for requests that name none.
        seconds: how long the model takes for a request.
        at_once: how many requests it works on at the same time.

    Attributes:
        answer: gives the answer of a chat for its request; `says` explains the form.
        embed: gives the vector of a text, for a number of dimensions.
        faults: for the next requests, one each.
        always: the fault of every request, besides.
    """

    def __init__(self, dimensions: int = 8, seconds: float = 0.0, at_once: int = 16) -> None:
        self.dimensions = dimensions
        self.seconds = seconds
        self.answer: Callable[[Body], Any] = lambda _: {}
        self.embed = vector
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.embeddings: list[Body] = []
        self.chats: list[Body] = []
        self.worked = 0.0
        self._model = threading.Semaphore(at_once)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def fail(self, *faults: Fault) -> None:
        """The next requests fail, one in each of these ways."""
        self.faults.extend(faults)

    def fall_silent(self, after: int) -> None:
        """Answer so many requests, and then none till `always` is None."""
        self.fail(*[lambda reply: reply] * after)
        self.always = silent

    def reply(self, path: str, body: Body) -> Reply:
        """What goes out for a request, when the model has worked on it for as long as it takes."""
        with self._model:
            start = time.perf_counter()
            reply = self._reply(path, body)
            fault = self.faults.popleft() if self.faults else self.always
            reply = (fault(reply) if fault else reply).encoded()
            self._closing.wait(max(0.0, self.seconds - (time.perf_counter() - start)))
            with self._lock:
                self.worked += time.perf_counter() - start
        return reply

    def _reply(self, path: str, body: Body) -> Reply:
        if path.endswith("/embeddings"):
            self.embeddings.append(body)
            return Reply(self._embeddings(body))
        if path.endswith("/chat/completions"):
            self.chats.append(body)
            return self._chat(body)
        return status(404)(Reply(None))

    def refusal(self, _body: Body) -> str | None:
        """What is wrong with the request of a chat."""
        return None

    def message(self, body: Body) -> Body:
        """What the model says in a chat."""
        return {"role": "assistant", "content": _text(self.answer(body)), "refusal": None}

    def spent(self) -> Body:
        """How many requests there were, and how long the model worked on them."""
        return {"requests": len(self.embeddings) + len(self.chats), "seconds": self.worked}

    def wait_until_closed(self, seconds: float | None = None) -> bool:
        """Hold a request that is never answered, or for a moment; whether the server closes."""
        return self._closing.wait(seconds)

    def _embeddings(self, body: Body) -> Body:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        dimensions = body.get("dimensions") or self.dimensions
        # OpenAI's own client asks for base64 unless it is told otherwise.
        encode = list if body.get("encoding_format") == "float" else _base64
        data = [
            {"object": "embedding", "index": i, "embedding": encode(self.embed(text, dimensions))}
            for i, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": _tokens(texts), "total_tokens": _tokens(texts)}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}

    def _chat(self, body: Body) -> Reply:
        wrong = self.refusal(body)
        if wrong:
            return status(400, message=wrong)(Reply(None))
        message = self.message(body)
        asked = _tokens([said.get("content") for said in body["messages"]])
        given = _tokens([message["content"]])
        return Reply(
            {
                "id": f"chat-{len(self.chats)}",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": asked,
                    "completion_tokens": given,
                    "total_tokens": asked + given,
                },
            }
        )


class _Server(ThreadingHTTPServer):
    """One thread a connection; none of them keeps the test from ending."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, api: OpenAIServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self) -> None:
        self._send(Reply(self.server.api.spent()).encoded())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send(self.server.api.reply(self.path, body))

    def _send(self, reply: Reply) -> None:
        if reply.end != "kept":
            if reply.end == "silent":
                self.server.api.wait_until_closed()
            elif reply.end == "dripping":
                self._drip(reply.body)
            # Closed with unsent data thrown away: the peer sees a reset.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(ConnectionError):  # whoever asked may not wait any longer
            self.wfile.write(reply.body)

    def _drip(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        with suppress(ConnectionError):
            for byte in head + body:
                self.wfile.write(bytes((byte,)))
                if self.server.api.wait_until_closed(0.02):
                    break

    def log_message(self, *_: object) -> None:
        """Quiet."""


def _text(content: Any) -> Any:
    return content if content is None or isinstance(content, str) else json.dumps(content)


def _tokens(texts: list[str | None]) -> int:
    """What a model would bill, roughly."""
    return sum(len(text or "") // 4 + 1 for text in texts)


def _base64(numbers: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def _numbers(encoded: str) -> list[float]:
    return [number for (number,) in struct.iter_unpack("<f", base64.b64decode(encoded))]


def main() -> None:
    """Serve until the standard input ends, which it does when who started it ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--at-once", type=int, default=1)
    with OpenAIServer(**vars(parser.parse_args())) as api:
        print(api.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
