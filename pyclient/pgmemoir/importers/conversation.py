"""Conversations in JSON or JSONL, as memories of kind ``turn``: one message, one memory.

A file is read whole and checked before anything is stored. Messages may be in a list, under
``messages`` or ``sessions`` (nested, each level may have a session id and a time), or one per line;
so are those that Claude and Telegram export, and those of LangChain, LlamaIndex and ShareGPT.
ChatGPT exports a tree.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from ..calls import NewMemory
from ..checks import clean_text
from ..errors import BadText, MemoirError
from ..memories import Listed
from .document import EARLIEST, Document, Object, decode, listed, misfit, no_object, time_of
from .items import LARGEST_TEXT

_TEXT = ("content", "text", "message", "value", "blocks")
_SPEAKER = ("speaker", "role", "author", "name", "sender", "from", "user")
# What LangChain says instead: {"type": "human", "data": {"content": ...}}.
_TYPES = ("human", "ai", "system", "tool")
_TIME = ("ts", "time", "timestamp", "created_at", "date", "create_time")
_SESSION = ("session", "session_id", "conversation_id")
_NESTED = ("sessions", "messages", "turns", "conversations", "conversation", "chat_messages")
# Keys that may hold the name of a session object, but not of a message.
_SESSION_NAME = (*_SESSION, "id", "uuid", "name", "title")


# 50 MB: sessions of 20,000 messages that begin and end with another one.
_BITS = 400_000_000


class BadConversation(BadText):
    """A file that is not a conversation; the message names the line."""


@dataclass
class Conversation:
    """What a file holds.

    Attributes:
        turns: the memories, in order.
        lines: the line where each begins.
        sessions: the names of their sessions, in order.
        skipped: how many messages have no text (tool calls, images).
    """

    turns: list[NewMemory] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    skipped: int = 0

    def follow(self, session: str, stored: Iterable[Listed]) -> None:
        """Give the messages of a session the places under which they are already stored.

        A message is also identified by its place: one more or one less before it would make it a
        different message.

        Args:
            stored: the turns of the session.
        """
        turns = [turn for turn in self.turns if turn["session"] == session]
        told_when = all(turn["created_at"] for turn in turns)
        said = [(turn["content"], told_when and turn["created_at"]) for turn in turns]
        order = {each: number for number, each in reversed(list(enumerate(said)))}
        there = sorted(
            # An inserted message has the place of another: these keep their places in the file.
            (row.turn or 0, order.get(each, 0), each)
            for row in stored
            for each in [(row.content, told_when and row.created_at)]
        )
        pairs = _same([each for _, _, each in there], said)
        known = {number: there[row][0] for row, number in pairs}
        if known:
            places = _places([turn["turn"] or 0 for turn in turns], known)
            for turn, place in zip(turns, places, strict=True):
                turn["turn"] = place


def _same(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Pairs of places of what two lists have in common in the same order.

    As many as there are, by the lengths of the longest common subsequences, which are the bits of a
    number for each place of the old list (Hyyrö 2004). Where these take too much memory, by
    difflib, which takes a minute where every second of 2,000 messages is "ok".
    """
    start, end = 0, 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        yield start, start
        start += 1
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
        yield len(old) - end, len(new) - end
    row, column = len(old) - end - start, len(new) - end - start
    if row * column > _BITS:
        middle = old[start : start + row], new[start : start + column]
        for block in SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks():
            yield from ((start + block.a + i, start + block.b + i) for i in range(block.size))
        return
    bits = full = (1 << column) - 1
    where: dict[Hashable, int] = {}
    for place in range(column):
        where[new[start + place]] = where.get(new[start + place], 0) | 1 << place
    rows = [full]
    for place in range(row):
        matched = bits & where.get(old[start + place], 0)
        bits = (bits + matched | bits - matched) & full
        rows.append(bits)
    while row and column:
        if rows[row] >> column - 1 & 1:
            column -= 1
        else:
            row -= 1
            if rows[row] >> column - 1 & 1:
                column -= 1
                yield start + row, start + column


def _places(given: list[int], known: dict[int, int]) -> Iterator[int]:
    """Places of messages: after the known one before them, ahead of the known one after them.

    Args:
        given: their places in the file.
        known: the places of stored messages, by their numbers.
    """
    numbers = sorted(known)
    for number, own in enumerate(given):
        after = bisect_right(numbers, number)
        before = numbers[max(after - 1, 0)]
        place = own + known[before] - given[before]
        if number not in known and after < len(numbers):
            place = min(place, known[numbers[after]] - 1)
        yield max(place, 0)


def parse(data: bytes, name: str, file: str | None = None) -> Conversation:
    """Read a conversation.

    Args:
        data: JSON or JSONL in UTF-8.
        name: the session of messages that name none.
        file: its name, for errors; default: that of the session.

    Raises:
        BadConversation: with the line of the first fault.
    """
    file = file or name
    reader = _Reader(
        Document(decode(data, file, BadConversation), file, BadConversation, _SHAPES), name
    )
    reader.read()
    if not reader.result.turns and not reader.result.skipped:
        raise BadConversation(f"{file} holds no messages", hint=_SHAPES)
    return reader.result


_SHAPES = (
    'Give a list of messages, {"messages": [...]}, {"sessions": [...]}, or one message a line; '
    'a message is {"speaker": ..., "text": ..., "time": ...}.'
)


class _Reader:
    """Walks one document; positions count from 0 within each session."""

    def __init__(self, document: Document, name: str) -> None:
        self.result = Conversation()
        self._document = document
        self._name = name
        self._latest = datetime.now(UTC) + timedelta(days=1)
        self._positions: dict[str, int] = {}

    def read(self) -> None:
        values = list(self._document.values())
        for number, (value, start) in enumerate(values, 1):
            session = self._numbered(value, None, number) if len(values) > 1 else None
            self._walk(value, session, None, start)

    def _walk(self, value: Any, session: str | None, time: datetime | None, start: int) -> None:
        """Read a message, or enter an object that holds messages and may name their session."""
        if isinstance(value, list):
            for number, item in enumerate(value, 1):
                self._walk(item, self._numbered(item, session, number), time, start)
        elif not isinstance(value, Object):
            raise self._document.fault(start, no_object("a message", value))
        elif isinstance(nodes := value.get("mapping"), dict):
            shown = _shown(nodes, value.get("current_node"))
            self._walk(_merged(value, "mapping", {"messages": shown}), session, time, start)
        elif (inside := _nested(value)) is not None:
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
        if isinstance(item, list) or (isinstance(item, dict) and _nested(item)):
            return f"{session or self._name}/{number}"
        return session

    def _message(self, item: Object, session: str | None, time: datetime | None) -> None:
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
        self.result.lines.append(self._document.line(item.start))

    def _content(self, message: Object) -> str:
        """The text of a message: a string, or the text parts of a list; empty for none."""
        keys = [key for key in _TEXT if key in message]
        if not keys and "tool_calls" in message:
            return ""
        if not keys:
            found = listed(sorted(message)) or "nothing"
            raise self._document.fault(
                message.start, f"a message has its text under {_or(_TEXT)}, this one has {found}"
            )
        value = next((message[key] for key in keys if message[key] is not None), None)
        if isinstance(value, dict) and "content_type" in value:
            value = value.get("parts")  # None: a thought, or a tool
        if value is None or isinstance(value, str):
            return value or ""
        if isinstance(value, list):
            parts = [part.get("text") if isinstance(part, dict) else part for part in value]
            return "\n".join(part for part in parts if isinstance(part, str))
        raise self._document.fault(message.start, misfit(keys[0], value, "text"))

    def _speaker(self, message: Object) -> str | None:
        for key in _SPEAKER:
            value = message.get(key)
            if isinstance(value, dict):
                value = value.get("name") or value.get("role")
            if isinstance(value, str) and value.strip():
                return value.strip()
        return message["type"] if message.get("type") in _TYPES else None

    def _time(self, message: Object) -> datetime | None:
        """The time of a message or session; None when it gives none."""
        key = next((key for key in _TIME if message.get(key) not in (None, "")), None)
        if key is None:
            return None
        time = time_of(key, message[key], partial(self._document.fault, message.start))
        if not EARLIEST <= time <= self._latest:
            raise self._document.fault(
                message.start, f"{key} is {time.isoformat()}, before 1970 or more than a day ahead"
            )
        return time

    def _check(self, turn: NewMemory, start: int) -> None:
        """Check for what the database would refuse, while the line is still known.

        Who speaks stands in the text.
        """
        try:
            clean_text(turn["content"], "the text")
            clean_text(turn["session"], "the session")
        except MemoirError as error:
            raise self._document.fault(start, error.message) from error
        if len(turn["content"].encode()) > LARGEST_TEXT:
            raise self._document.fault(start, "the text is larger than 10 MB")


def _with_speaker(text: str, speaker: str | None) -> str:
    """``Caroline: text``, unless it already begins so."""
    if not speaker or re.match(rf"{re.escape(speaker)}\s*[:：]", text.lstrip(), re.IGNORECASE):
        return text
    return f"{speaker}: {text}"


def _first(value: dict[str, Any], keys: tuple[str, ...], kind: Any) -> str | None:
    """The first key whose value is of this kind and not empty."""
    wanted = (key for key in keys if isinstance(value.get(key), kind))
    return next((key for key in wanted if value[key] != ""), None)


def _nested(value: dict[str, Any]) -> str | None:
    """The key of the messages in an object; what a message says of its conversation is none."""
    key = _first(value, _NESTED, list | dict)
    says = key is not None and isinstance(value[key], dict) and _first(value, _TEXT, str)
    return None if says else key


def _flat(item: Object) -> Object:
    """``{"message": {...}, ...}`` as one object; LangChain has a message under ``data``."""
    for key in ("message", "data"):
        nested = item.get(key)
        if isinstance(nested, dict) and (key == "message" or item.get("type") in _TYPES):
            item = _merged(item, key, nested)
    return item


def _merged(item: Object, key: str, inside: dict[str, Any]) -> Object:
    """An object with the keys of another in the place of one of its own."""
    merged = Object({name: each for name, each in item.items() if name != key} | inside)
    merged.start = item.start
    return merged


def _shown(nodes: dict[str, Any], last: Any) -> list[Any]:
    """The messages of a tree that lead to the last: not those that were edited or asked again."""
    found = []
    left = dict(nodes)
    while isinstance(last, str) and isinstance(node := left.pop(last, None), Object):
        if isinstance(node.get("message"), dict):
            found.append(node)
        last = node.get("parent")
    return found[::-1]


def _or(keys: tuple[str, ...]) -> str:
    return f"{', '.join(keys[:-1])} or {keys[-1]}"
