"""Texts of JSON whose objects know their line, and the times that people write."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from json import JSONDecodeError, JSONDecoder
from typing import Any

from ..errors import BadFile, MemoirError

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
# Epoch values above this are milliseconds: as seconds they would be after the year 5000.
_MILLISECONDS = 1e11
_LISTED = 200
_BLANK = re.compile(r"[\s\ufeff]*")

Fault = Callable[[str], MemoirError]
"""Makes the error of a problem, with the place where it is."""


class Object(dict[str, Any]):
    """A JSON object that knows where it begins."""

    start: int


class _Decoder(JSONDecoder):
    """Keeps the place of every object, for errors about its content."""

    def __init__(self) -> None:
        super().__init__()
        self.parse_object = self._object
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _object(self, text_and_end: tuple[str, int], *rest: Any) -> tuple[Object, int]:
        value, end = json.decoder.JSONObject(text_and_end, *rest)  # type: ignore[attr-defined]
        result = Object(value)
        result.start = text_and_end[1] - 1
        return result, end


class Document:
    """A text with its lines.

    Args:
        text: the content of the file.
        name: of the file, for errors.
        error: the class of errors.
        hint: what such a file should contain, for errors.
    """

    def __init__(
        self, text: str, name: str, error: type[MemoirError] = BadFile, hint: str | None = None
    ) -> None:
        self.text = text
        self.name = name
        self._error = error
        self._hint = hint
        self._counted = (0, 1)  # a place, and the number of its line

    def values(self) -> Iterator[tuple[Any, int]]:
        """The JSON values in order: one for JSON, one per line for JSONL."""
        decoder = _Decoder()
        place = self._skip_blank(0)
        first = True
        while place < len(self.text):
            try:
                value, end = decoder.raw_decode(self.text, place)
            except JSONDecodeError as error:
                # In JSONL the fault is in the line that began here, wherever the parser notices it.
                fault = error.pos if first else place
                raise self.fault(fault, f"not JSON: {error}") from error
            except RecursionError as error:
                raise self.fault(place, "nested too deeply") from error
            except ValueError as error:
                raise self.fault(place, "a number has too many digits") from error
            yield value, place
            first = False
            place = self._skip_blank(end)

    def line(self, place: int) -> int:
        """The number of the line that contains a place, from 1.

        Counted from the place asked for before, which is near: a list of all lines would take many
        times the room of a text that is mostly blank lines.
        """
        before, line = self._counted
        line += self.text.count("\n", before, place) - self.text.count("\n", place, before)
        self._counted = (place, line)
        return line

    def fault(self, place: int, problem: str) -> MemoirError:
        """The error that something is wrong there."""
        return self._error(f"{self.name}, line {self.line(place)}: {problem}", hint=self._hint)

    def _skip_blank(self, place: int) -> int:
        found = _BLANK.match(self.text, place)
        return found.end() if found else place


def encoding(data: bytes) -> str:
    """The encoding of a file, by its byte order mark."""
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_utf16 else "utf-8-sig"


def decode(data: bytes, name: str, error: type[MemoirError] = BadFile) -> str:
    """The text of a file of that name in UTF-8, without a byte order mark.

    Or in UTF-16, with one: Excel writes it so as "Unicode text".
    """
    try:
        return data.decode(encoding(data))
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        raise error(
            f"{name}, line {line}: not UTF-8", hint="Save the file in the encoding UTF-8."
        ) from fault


def misfit(name: str, value: Any, wanted: str) -> str:
    """What is wrong with a value that its field cannot have."""
    return f"{name} is {json.dumps(value)[:40]}, not {wanted}"


def listed(names: Iterable[str]) -> str:
    """Names in a file, for an error: on one line, and not the whole file."""
    text = " ".join(", ".join(names).split())
    return text if len(text) <= _LISTED else f"{text[:_LISTED]}..."


def no_object(name: str, value: Any) -> str:
    """What is wrong with a value in the place of an object."""
    return f"{name} is an object, this is {json.dumps(value)[:40]}"


def time_of(field: str, value: Any, fault: Fault) -> datetime:
    """A time; anything else is a fault."""
    time = to_time(value)
    if time is None:
        raise fault(misfit(field, value, "ISO 8601 or epoch seconds"))
    return time


def to_time(value: Any) -> datetime | None:
    """ISO 8601, or seconds or milliseconds since 1970; without a time zone UTC."""
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value.strip())
            return time if time.tzinfo else time.replace(tzinfo=UTC)
        except ValueError:
            pass
    seconds = to_number(value)
    seconds = seconds / 1000 if abs(seconds) > _MILLISECONDS else seconds
    try:
        return EARLIEST + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return None


def to_number(value: Any) -> float:
    """A number, or the text of one; NaN if it is neither."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
