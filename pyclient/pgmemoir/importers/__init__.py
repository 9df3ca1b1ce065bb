"""Files of other programs as memories: which program wrote a file, and what it contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from ..errors import MemoirError
from .document import Document, encoding
from .items import Items
from .rows import (
    TELLING,
    check_mapping,
    delimiter,
    field_name,
    names_delimiter,
    read_csv,
    read_jsonl,
)
from .stores import read_langgraph, read_mem0

FORMATS = ("pgmemoir", "conversation", "mem0", "langgraph", "csv", "jsonl")

__all__ = ["FORMATS", "Items", "check_mapping", "detect", "read"]


def detect(data: bytes, name: str, mapping: Mapping[str, str]) -> str:
    """Which of `FORMATS` a file has: by its content, and CSV also by its name.

    Args:
        mapping: fields by their columns; if given, the file has rows.
    """
    text = data.decode(encoding(data), errors="replace")
    if text.startswith('{"pgmemoir"'):
        return "pgmemoir"
    if not text.lstrip().startswith(("{", "[")):
        return "csv" if mapping or _looks_like_csv(text, name) else "conversation"
    values = list(_values(Document(text, name)))
    entries = list(_entries(values, ("results", "memories", "items")))
    if entries and all(_is_mem0(each) for each in entries):
        return "mem0"
    if entries and all(_is_langgraph(each) for each in entries):
        return "langgraph"
    rows = list(_entries(values))
    if mapping or (rows and all(map(_is_memory, rows)) and any(map(_tells, rows))):
        return "jsonl"
    return "conversation"


def read(data: bytes, format: str, name: str, mapping: Mapping[str, str]) -> Items:
    """The content of a file that is neither a conversation nor in pgmemoir's own format.

    Raises:
        BadFile: with the line of the first fault.
    """
    check_mapping(mapping)
    if format == "mem0":
        return read_mem0(data, name)
    if format == "langgraph":
        return read_langgraph(data, name, mapping)
    return (read_csv if format == "csv" else read_jsonl)(data, name, mapping)


def _looks_like_csv(text: str, name: str) -> bool:
    if PurePath(name).suffix.lower() in (".csv", ".tsv") or names_delimiter(text):
        return True
    head = text.split("\n", 1)[0]
    return "content" in [cell.strip(' "\r') for cell in head.split(delimiter(text))]


def _values(document: Document) -> Iterator[Any]:
    """The values of a document, up to the first fault."""
    try:
        for value, _ in document.values():
            yield value
    except MemoirError:
        return


def _entries(values: list[Any], inside: tuple[str, ...] = ()) -> Iterator[Any]:
    """The entries of values, or of lists of them; of a page, those under one of these keys."""
    for value in values:
        for entry in value if isinstance(value, list) else [value]:
            lists = (entry.get(key) for key in inside) if isinstance(entry, dict) else ()
            yield from next((each for each in lists if each and isinstance(each, list)), [entry])


def _is_mem0(entry: Any) -> bool:
    """Whether it is a memory, or what mem0 writes for a user without any."""
    return isinstance(entry, dict) and (
        {"id", "memory"} <= entry.keys() or entry.get("results") == []
    )


def _is_langgraph(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and {"key", "value"} <= entry.keys()
        and bool(entry.keys() & {"namespace", "prefix"})
    )


def _is_memory(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("content"), str)


def _tells(entry: dict[str, Any]) -> bool:
    """Whether it has a field that no message has."""
    fields = {field_name(key) for key in entry}
    return bool(fields & TELLING) and "role" not in entry
