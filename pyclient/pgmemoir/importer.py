"""Conversations in JSON or JSONL, as memories of kind ``turn``: one message, one memory.

A file is read whole and checked before anything is stored. Messages may stand in a list, under
``messages`` or ``sessions`` (nested, each level may carry a session id and a time), or one a line.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from json import JSONDecodeError, JSONDecoder
from typing import Any

from .calls import NewMemory
from .checks import clean_text
from .errors import BadText, MemoirError

_TEXT = ("content", "text", "message")
_SPEAKER = ("speaker", "role", "author", "name")
_TIME = ("ts", "time", "timestamp", "created_at", "date")
_SESSION = ("session", "session_id", "conversation_id")
_NESTED = ("sessions", "messages", "turns", "conversations")
# Keys under which a session object, unlike a message, may have its name.
_SESSION_NAME = (*_SESSION, "id", "name", "title")

_LARGEST_TEXT = 10 * 1024 * 1024
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
# Epoch values above this are milliseconds: as seconds they lie beyond the year 5000.
_MILLISECONDS = 1e11
_BLANK = re.compile(r"[\s\ufeff]*")


class BadConversation(BadText):
    """A file that is not a conversation; the message names the line."""


@dataclass
class Conversation:
    """What a file holds.

    Attributes:
        turns: the memories, in order.
        sessions: the names of their sessions, in order.
        skipped: how many messages have no text (tool calls, images).
    """

    turns: list[NewMemory] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    skipped: int = 0


def parse(data: bytes, name: str, now: datetime | None = None) -> Conversation:
    """Read a conversation.

    Args:
        data: JSON or JSONL in UTF-8.
        name: the session of messages that name none, for example the file's name.
        now: times more than a day after it are refused; default the clock's.

    Raises:
        BadConversation: with the line of the first fault.
    """
    reader = _Reader(_decode(data), name, now or datetime.now(UTC))
    reader.read()
    if not reader.result.turns and not reader.result.skipped:
        raise BadConversation(f"{name} holds no messages", hint=_SHAPES)
    return reader.result


_SHAPES = (
    'Give a list of messages, {"messages": [...]}, {"sessions": [...]}, or one message a line; '
    'a message is {"speaker": ..., "text": ..., "time": ...}.'
)


class _Object(dict[str, Any]):
    """A JSON object that knows where it begins."""

    start: int


class _Decoder(JSONDecoder):
    """Keeps the place of every object, for errors about what is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.parse_object = self._object
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _object(self, text_and_end: tuple[str, int], *rest: Any) -> tuple[_Object, int]:
        value, end = json.decoder.JSONObject(text_and_end, *rest)  # type: ignore[attr-defined]
        result = _Object(value)
        result.start = text_and_end[1] - 1
        return result, end


class _Reader:
    """Walks one document; positions count from 0 within each session."""

    def __init__(self, text: str, name: str, now: datetime) -> None:
        self.result = Conversation()
        self._text = text
        self._name = name
        self._latest = now + timedelta(days=1)
        self._positions: dict[str, int] = {}
        self._line_ends = [found.start() for found in re.finditer("\n", text)]

    def read(self) -> None:
        values = list(self._values())
        for number, (value, start) in enumerate(values, 1):
            session = self._numbered(value, None, number) if len(values) > 1 else None
            self._walk(value, session, None, start)

    def _values(self) -> Iterator[tuple[Any, int]]:
        """The JSON values that follow one another: one for JSON, one a line for JSONL."""
        decoder = _Decoder()
        place = self._skip_blank(0)
        first = True
        while place < len(self._text):
            try:
                value, end = decoder.raw_decode(self._text, place)
            except JSONDecodeError as error:
                # In JSONL the fault is in the line that began here, wherever it is noticed.
                fault = error.pos if first else place
                raise self._fault(fault, f"not JSON: {error.msg}") from error
            except RecursionError as error:
                raise self._fault(place, "nested too deeply") from error
            yield value, place
            first = False
            place = self._skip_blank(end)

    def _skip_blank(self, place: int) -> int:
        found = _BLANK.match(self._text, place)
        return found.end() if found else place

    def _walk(self, value: Any, session: str | None, time: datetime | None, start: int) -> None:
        """Read a message, or go into what holds messages, which may name their session."""
        if isinstance(value, list):
            for number, item in enumerate(value, 1):
                self._walk(item, self._numbered(item, session, number), time, start)
        elif not isinstance(value, _Object):
            raise self._fault(start, f"a message is an object, this is {json.dumps(value)[:40]}")
        elif (inside := _first(value, _NESTED, list | dict)) is not None:
            name = _first(value, _SESSION_NAME, str | int)
            session = session if name is None else str(value[name])
            self._enter(value[inside], session, self._time(value) or time, value.start)
        else:
            self._message(value, session, time)

    def _enter(self, value: Any, session: str | None, time: datetime | None, start: int) -> None:
        """The inside of a session, or sessions by their names."""
        if isinstance(value, dict) and not any(key in value for key in _TEXT):
            for name, inner in value.items():
                self._walk(inner, name, time, start)
        else:
            self._walk(value, session, time, start)

    def _numbered(self, item: Any, session: str | None, number: int) -> str | None:
        """The session of an item of a list; a session without a name gets its number."""
        if isinstance(item, list) or (
            isinstance(item, dict) and _first(item, _NESTED, list | dict)
        ):
            return f"{session or self._name}/{number}"
        return session

    def _message(self, item: _Object, session: str | None, time: datetime | None) -> None:
        """Add one message to the result."""
        message = _flat(item)
        key = _first(message, _SESSION, str | int)
        session = str(message[key]) if key else session or self._name
        position = self._positions.get(session, 0)
        self._positions[session] = position + 1
        text = self._content(message)
        if not text.strip():
            self.result.skipped += 1
            return
        if session not in self.result.sessions:
            self.result.sessions.append(session)
        speaker = self._speaker(message)
        turn: NewMemory = {
            "content": _with_speaker(text, speaker),
            "kind": "turn",
            "session": session,
            "turn": position,
            "speaker": speaker,
            "created_at": self._time(message) or time,
        }
        self._check(turn, item.start)
        self.result.turns.append(turn)

    def _content(self, message: _Object) -> str:
        """The text of a message: a string, or the text parts of a list; empty for none."""
        keys = [key for key in _TEXT if key in message]
        if not keys and "tool_calls" in message:
            return ""
        if not keys:
            found = ", ".join(sorted(message)) or "nothing"
            raise self._fault(
                message.start, f"a message has its text under {_or(_TEXT)}, this one has {found}"
            )
        value = next((message[key] for key in keys if message[key] is not None), None)
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, list):
            parts = [part.get("text") if isinstance(part, dict) else part for part in value]
            return "\n".join(part for part in parts if isinstance(part, str))
        raise self._fault(message.start, f"{keys[0]} is {json.dumps(value)[:40]}, not text")

    def _speaker(self, message: _Object) -> str | None:
        for key in _SPEAKER:
            value = message.get(key)
            if isinstance(value, dict):
                value = value.get("name") or value.get("role")
            if isinstance(value, str) and value.strip():
                return value.strip()
        return None

    def _time(self, message: _Object) -> datetime | None:
        """The time of a message or session; None when it gives none."""
        key = next((key for key in _TIME if message.get(key) not in (None, "")), None)
        if key is None:
            return None
        value = message[key]
        time = _to_time(value)
        if time is None:
            raise self._fault(
                message.start, f"{key} is {json.dumps(value)[:40]}, not ISO 8601 or epoch seconds"
            )
        if not _EARLIEST <= time <= self._latest:
            raise self._fault(
                message.start, f"{key} is {time.isoformat()}, before 1970 or more than a day ahead"
            )
        return time

    def _check(self, turn: NewMemory, start: int) -> None:
        """What the database would refuse, while the line is still known."""
        try:
            clean_text(turn["content"], "the text")
            clean_text(turn["session"], "the session")
            clean_text(turn["speaker"], "the speaker")
        except MemoirError as error:
            raise self._fault(start, error.message) from error
        if len(turn["content"].encode()) > _LARGEST_TEXT:
            raise self._fault(start, "the text is larger than 10 MB")

    def _fault(self, place: int, problem: str) -> BadConversation:
        line = bisect_left(self._line_ends, place) + 1
        return BadConversation(f"{self._name}, line {line}: {problem}", hint=_SHAPES)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConversation(
            f"line {line}: not UTF-8", hint="Save the file in the encoding UTF-8."
        ) from error


def _to_time(value: Any) -> datetime | None:
    """ISO 8601, or seconds or milliseconds since 1970; without a time zone UTC."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value.strip())
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        except ValueError:
            pass
    try:
        seconds = float("nan") if isinstance(value, bool) else float(value)
        seconds = seconds / 1000 if abs(seconds) > _MILLISECONDS else seconds
        return _EARLIEST + timedelta(seconds=seconds)
    except (TypeError, ValueError, OverflowError):
        return None


def _with_speaker(text: str, speaker: str | None) -> str:
    """``Caroline: text``, unless it begins so already."""
    if not speaker or re.match(rf"{re.escape(speaker)}\s*[:：]", text.lstrip(), re.IGNORECASE):
        return text
    return f"{speaker}: {text}"


def _first(value: dict[str, Any], keys: tuple[str, ...], kind: Any) -> str | None:
    """The first key whose value is of a kind and not empty."""
    wanted = (key for key in keys if isinstance(value.get(key), kind))
    return next((key for key in wanted if value[key] != ""), None)


def _flat(item: _Object) -> _Object:
    """``{"message": {...}, ...}`` as one object."""
    nested = item.get("message")
    if not isinstance(nested, dict):
        return item
    outer = {key: value for key, value in item.items() if key != "message"}
    flat = _Object(outer | nested)
    flat.start = item.start
    return flat


def _or(keys: tuple[str, ...]) -> str:
    return f"{', '.join(keys[:-1])} or {keys[-1]}"
