"""Memories as rows: the fields of ``remember()`` by name, in CSV or in JSON, one per line."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from ..calls import NewMemory
from ..checks import clean_text
from ..errors import BadFile, BadText
from .document import (
    Document,
    Fault,
    Object,
    decode,
    listed,
    misfit,
    no_object,
    time_of,
    to_number,
)
from .items import LARGEST_TEXT, Items

# The names of fields, and the other names they have in SQL.
_TEXTS = ("content", "kind", "subject", "summary", "session", "speaker", "source")
_NUMBERS = ("importance", "confidence")
_TIMES = ("created_at", "valid_from", "valid_until")
_NAMES = {"session_id": "session", "position": "turn", "embedding": "vector", "origin": "source"}
FIELDS = frozenset(
    (*_TEXTS, *_NUMBERS, *_TIMES, "turn", "keywords", "data", "user_id", "sources", "vector")
)
# Fields that no message of a conversation has: with one of these, the lines are memories.
TELLING = frozenset(
    ("kind", "subject", "summary", "importance", "confidence", "keywords", "valid_from")
)

# The fields of a memory in our export that remember() takes.
_CURRENT = (
    *("content", "kind", "subject", "summary", "data", "importance", "confidence", "origin"),
    *("session_id", "position", "speaker", "created_at", "valid_from", "valid_until"),
)

_HINT = (
    "Name the columns as the arguments of remember(): content, kind, created_at, ... "
    "or say which is which: --map content=text,created_at=date"
)
_DELIMITERS = ",;\t|"

Mapped = Mapping[str, str]


def check_mapping(mapping: Mapped) -> None:
    """Refuse names that are not fields.

    Raises:
        BadFile: with the existing fields.
    """
    for name in mapping:
        if field_name(name) not in FIELDS:
            raise BadFile(
                f"a memory has no field {name!r}", detail=f"Fields: {', '.join(sorted(FIELDS))}"
            )


def field_name(name: str) -> str:
    """A field by its name, or by the one it has in SQL."""
    return _NAMES.get(name, name)


def read_jsonl(data: bytes, name: str, mapping: Mapped) -> Items:
    """Memories in JSON: one per line, or a list of them."""
    document = Document(decode(data, name), name, hint=_HINT)
    items = Items()
    for value, place in document.values():
        for item in value if isinstance(value, list) else [value]:
            start = item.start if isinstance(item, Object) else place
            fault = partial(document.fault, start)
            if not isinstance(item, dict):
                raise fault(no_object("a memory", item))
            memory = _exported(item, fault) if _is_record(item) else item
            if memory is not None:
                _add(items, memory, mapping, document.line(start), fault)
    return items


def _is_record(item: dict[str, Any]) -> bool:
    """Whether it is a line of our export: {"memory": {...}}."""
    return len(item) == 1 and all(isinstance(value, dict) for value in item.values())


def _exported(record: dict[str, Any], fault: Fault) -> dict[str, Any] | None:
    """The current memories of our export, to be remembered beside those a user already has."""
    memory = record.get("memory")
    if not isinstance(memory, dict) or memory.get("status") != "active":
        return None
    fields = {name: memory[name] for name in _CURRENT if name in memory}
    keywords = memory.get("keywords") or []
    if not isinstance(keywords, list) or not all(isinstance(each, dict) for each in keywords):
        raise fault(misfit("keywords", keywords, "a list of objects"))
    tags = [each for each in keywords if each.get("origin") == "user_tag"]
    fields["keywords"] = [each.get("keyword") for each in tags]
    if "embedding" in memory:
        fields["vector"] = memory["embedding"]
    return fields


def read_csv(data: bytes, name: str, mapping: Mapped) -> Items:
    """Memories in CSV: the first row names the columns; the delimiter is detected."""
    text = decode(data, name)
    csv.field_size_limit(LARGEST_TEXT)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text), strict=True)

    def fault(problem: str, line: int = 0) -> BadFile:
        return BadFile(f"{name}, line {line or reader.line_num}: {problem}", hint=_HINT)

    items = Items()
    before = 0
    try:
        if names_delimiter(text):
            next(reader)
        heads = [head.strip() for head in next(reader, [])]
        _check_heads(heads, mapping, fault)
        before = reader.line_num
        for row in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(heads):
                raise fault(f"{len(row)} cells under {len(heads)} columns", line)
            filled = {head: cell for head, cell in zip(heads, row, strict=True) if cell.strip()}
            _add(items, filled, mapping, line, partial(fault, line=line))
    except csv.Error as error:
        # Of a quote that is never closed the parser learns at the end of the file.
        raise fault(f"in the row that begins here: {error}", before + 1) from error
    return items


def names_delimiter(text: str) -> bool:
    """Whether the first line is there for Excel: ``sep=;``."""
    return re.match(rf"sep=[{_DELIMITERS}]\r?\n", text) is not None


def delimiter(text: str) -> str:
    """The most frequent one in the first line, outside of quotes."""
    head = text.split("\n", 1)[0]
    bare = "".join(head.split('"')[::2])
    return max(_DELIMITERS, key=bare.count)


def _check_heads(heads: list[str], mapping: Mapped, fault: Fault) -> None:
    double = [head for head, number in Counter(heads).items() if number > 1]
    unknown = [column for column in mapping.values() if column not in heads]
    if double:
        raise fault(f"two columns are named {min(double)!r}")
    if unknown:
        raise fault(f"there is no column {unknown[0]!r}; there are {listed(heads)}")
    if "content" not in mapping and "content" not in heads:
        raise fault(f"there is no column content; there are {listed(heads) or 'none'}")


def _add(items: Items, values: Mapping[str, Any], mapping: Mapped, line: int, fault: Fault) -> None:
    """One memory; a column that is not a field goes into its data."""
    columns = {column: field_name(field) for field, column in mapping.items()}
    given: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, value in values.items():
        field = columns.get(name, field_name(name))
        if value is None:
            continue
        if field in FIELDS:
            given[field] = converted(field, value, fault)
        else:
            rest[name] = value
    if not str(given.get("content", "")).strip():
        items.skipped += 1
        return
    user = given.pop("user_id", None)
    if rest or "data" in given:
        given["data"] = {**rest, **given.get("data", {})}
    given.setdefault("kind", "general")
    given.setdefault("source", "import")
    items.add(cast(NewMemory, given), line, user)


def converted(field: str, value: Any, fault: Fault) -> Any:
    """A value in the type of its field, one of `FIELDS`."""
    if field in _TEXTS or field == "user_id":
        if not isinstance(value, str):
            raise fault(misfit(field, value, "text"))
        return _text(field, value, fault)
    if field in _TIMES:
        return time_of(field, value, fault)
    if field in _NUMBERS or field == "turn":
        return _number(field, value, fault)
    if field == "data":
        return _data(value, fault)
    if field == "vector" and isinstance(value, str):
        return _vector(value, fault)
    if field == "keywords" and isinstance(value, str):
        value = [word.strip() for word in value.replace(";", ",").split(",") if word.strip()]
    if not isinstance(value, list):
        raise fault(misfit(field, value, "a list"))
    return value


def _text(field: str, value: str, fault: Fault) -> str:
    try:
        clean_text(value, f"the {field}")
    except BadText as error:
        raise fault(error.message) from error
    return value


def _number(field: str, value: Any, fault: Fault) -> float | int:
    number = to_number(value)
    if not math.isfinite(number) or (field == "turn" and number != int(number)):
        raise fault(misfit(field, value, "a number"))
    return int(number) if field == "turn" else number


def _vector(value: str, fault: Fault) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise fault(misfit("vector", value, "a list of numbers")) from error


def _data(value: Any, fault: Fault) -> dict[str, Any]:
    try:
        data = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise fault(misfit("data", value, "a JSON object"))
    return data
