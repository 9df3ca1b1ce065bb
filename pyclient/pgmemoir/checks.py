"""Checks and conversions to PostgreSQL's terms before anything is sent."""

from __future__ import annotations

import json
import math
import operator
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

from psycopg.types.json import Jsonb

from .errors import BadText, BadTimestamp, MemoirError, NotFound, OutOfRange

T = TypeVar("T")

# The largest integer and the largest bigint of PostgreSQL.
_LARGEST_INT = 2**31 - 1
_LARGEST_ID = 2**63 - 1


def clean_text(text: str | None, where: str, hint: str | None = None) -> str | None:
    """The text, if PostgreSQL can store it.

    Args:
        text: None stays None.
        where: names it in the error.
        hint: of the error, if it is not a string.

    Raises:
        BadText: it is not a string, or holds a NUL or half a surrogate pair.
    """
    if text is None:
        return None
    if not isinstance(text, str):
        raise BadText(f"{where} is {type(text).__name__}, not text", hint=hint)
    if "\0" in text:
        raise BadText(
            f"{where} holds a NUL character at position {text.index(chr(0))}",
            hint="PostgreSQL stores every character except NUL: remove it.",
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadText(
            f"{where} is not valid Unicode at position {error.start}",
            hint="Decode the text with the encoding it was written in.",
        ) from error
    return text


def refuse_unknown(given: Mapping[str, Any], known: type, what: str, part: str) -> None:
    """Raise TypeError with the names that the dictionary ``known`` has, if one is none of them."""
    unknown = given.keys() - known.__annotations__.keys()
    if unknown:
        names = ", ".join(sorted(map(repr, unknown)))
        raise TypeError(f"{what} has no {part} {names}; it has {', '.join(known.__annotations__)}")


def check_json(value: Any, where: str) -> None:
    """Check every string of a JSON value as `clean_text` does, and that it is JSON at all."""
    try:
        _check_strings(value, where)
        dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadText(
            f"{where} cannot be written as JSON: {error}",
            hint="JSON has no NaN and no infinity, and nothing but text, numbers, true, false, "
            "null, lists and objects.",
        ) from error


def check_data(data: Any) -> None:
    """Check what a memory, a session or a message carries besides its text: a JSON object."""
    if data is not None and not isinstance(data, dict):
        raise BadText(
            f"data is {type(data).__name__}, not a dictionary", hint='data={"ticket": 42}'
        )
    check_json(data, "data")


def dictionaries(values: Iterable[T], where: str) -> Iterator[T]:
    """The values, after checking that each is a dictionary."""
    for place, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise TypeError(f"{where}[{place}] is {reprlib.repr(value)}, not a dictionary")
        yield value


def utc(time: datetime | None, where: str) -> datetime | None:
    """The time with a time zone: without one it is taken as UTC."""
    if time is None or (isinstance(time, datetime) and time.tzinfo):
        return time
    if not isinstance(time, datetime):
        raise BadTimestamp(
            f"{where} is {time!r}, not a datetime",
            hint="datetime.fromisoformat() makes one of a text; without a time zone it is UTC.",
        )
    return time.replace(tzinfo=UTC)


dumps = partial(json.dumps, ensure_ascii=False, allow_nan=False)


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads in JSON."""
    raise ValueError(f"{name} is not a JSON number")


def _check_strings(value: Any, where: str) -> None:
    if isinstance(value, str):
        clean_text(value, where)
    elif isinstance(value, dict):
        for key, item in value.items():
            clean_text(str(key), f"a key of {where}")
            _check_strings(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            _check_strings(item, f"{where}[{place}]")


def texts(values: Iterable[str] | None, where: str) -> list[str] | None:
    """A list of texts, each as `clean_text` has it; one text alone is refused."""
    if values is None:
        return None
    if isinstance(values, str):
        raise BadText(f"{where} is one text, not a list of them", hint=f"{where}=[{values!r}]")
    if not isinstance(values, Iterable):
        raise BadText(f"{where} is {type(values).__name__}, not a list of texts")
    return [cast(str, clean_text(value, f"{where}[{place}]")) for place, value in enumerate(values)]


def finite_number(value: float | None, where: str) -> float | None:
    """The value as a float; neither NaN nor infinity."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise OutOfRange(f"{where} is {value!r}, not a number") from error
    if not math.isfinite(number):
        raise OutOfRange(f"{where} is {number}, not a finite number")
    return number


def whole_number(value: int | None, where: str, kind: type[MemoirError] = OutOfRange) -> int | None:
    """The value as an integer of PostgreSQL; an error is of that kind."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError as error:
        raise kind(f"{where} is {value!r}, not a whole number") from error
    if abs(number) > _LARGEST_INT:
        raise kind(
            f"{where} is {number}, too large for an integer", hint=f"{_LARGEST_INT} is the largest."
        )
    return number


def true_or_false(value: bool | None, where: str) -> bool | None:
    """The value, if it is a boolean: PostgreSQL refuses 1, and reads the text "off" as one."""
    if value is None or isinstance(value, bool):
        return value
    raise OutOfRange(f"{where} is {value!r}, not True or False")


def jsonb(value: dict[str, Any] | list[Any] | None) -> Jsonb | None:
    """A JSON value as a parameter; it was checked by `check_json`."""
    return None if value is None else Jsonb(value, dumps=dumps)


def memory_id(value: int | str) -> int:
    """The id of a memory: a number, or its text form in JSON."""
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError) as error:
        raise OutOfRange(
            f"{reprlib.repr(value)} is not the id of a memory",
            hint="Put a star before a list of ids: forget(*ids)."
            if isinstance(value, list | tuple | set)
            else "Ids are whole numbers: memoir list shows them.",
        ) from error
    if abs(number) > _LARGEST_ID:
        raise NotFound(f"no memory has the id {number}", hint="memoir list shows the ids.")
    return number


def list_of_ids(values: Iterable[int | str]) -> list[int]:
    """Ids as `memory_id` has them; one text alone is refused: its digits would be the ids."""
    if isinstance(values, str | bytes):
        raise OutOfRange(f"{values!r} is one text, not a list of ids", hint=f"[{values!r}]")
    return list(map(memory_id, values))


def memory_ids(values: Iterable[int | str]) -> list[int]:
    """Ids as `list_of_ids` has them, each once."""
    return list(dict.fromkeys(list_of_ids(values)))
