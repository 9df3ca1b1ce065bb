"""Memories of mem0 (what its ``get_all`` returns) and items of a LangGraph store.

What the other program stores of a memory besides its text stays in ``data``, under the program's
name; ``source`` says where it came from.
"""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import Any, cast

from ..calls import NewMemory
from .document import Document, Fault, Object, decode, misfit, no_object, time_of
from .items import Items
from .rows import Mapped, converted, field_name

_MEM0 = 'mem0 writes {"results": [{"id": ..., "memory": ..., "created_at": ...}]}, or the list.'
_LANGGRAPH = 'An item is {"namespace": ["users", "ada"], "key": ..., "value": {...}}.'
# The keys that may hold the text of a LangGraph value.
_TEXT = ("content", "text", "memory", "data")


def read_mem0(data: bytes, name: str) -> Items:
    """Memories of mem0, of any of its versions."""
    document = Document(decode(data, name), name, hint=_MEM0)
    items = Items()
    relations = deleted = 0
    for value, place in document.values():
        if isinstance(value, dict) and isinstance(value.get("relations"), list | dict):
            relations += len(value["relations"])
        for entry in _entries(document, value, place, ("results", "memories")):
            if entry.get("event") == "DELETE":  # add() answers what it did
                deleted += 1
            else:
                _add_mem0(items, entry, document)
    if deleted:
        items.notes.append(f"{deleted} deleted there left out")
    if relations:
        items.notes.append(f"its graph (relations: {relations}) left out")
    return items


def _add_mem0(items: Items, entry: Object, document: Document) -> None:
    fault = partial(document.fault, entry.start)
    text = _text(entry, "memory", fault) or ""
    if not text.strip():
        items.skipped += 1
        return
    metadata = entry.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise fault(misfit("metadata", metadata, "an object"))
    known = ("memory", "metadata", "score", "created_at", "user_id", "categories")
    kept = {key: each for key, each in entry.items() if key not in known and each is not None}
    memory: NewMemory = {
        "content": text,
        "kind": "fact",
        "source": "mem0",
        "data": {**metadata, "mem0": kept},
    }
    if entry.get("created_at"):
        memory["created_at"] = time_of("created_at", entry["created_at"], fault)
    if entry.get("expiration_date"):
        until = time_of("expiration_date", entry["expiration_date"], fault)
        # A day is the last one.
        is_day = len(str(entry["expiration_date"]).strip()) == len("2030-01-01")
        memory["valid_until"] = until + timedelta(days=is_day)
    if words := [str(each) for each in _list(entry, "categories", fault) if each]:
        memory["keywords"] = words
    owners = (_text(entry, owner, fault) for owner in ("user_id", "agent_id", "run_id"))
    items.add(memory, document.line(entry.start), next(filter(None, owners), None))


def read_langgraph(data: bytes, name: str, mapping: Mapped) -> Items:
    """Items of a LangGraph store, as ``Item.dict()`` or the rows of its table.

    A namespace is a user, named as in that table: ``ada.memories``.

    Args:
        mapping: fields to be taken from ``key``, ``namespace.1``, ... or a part of the value;
            ``user_id`` is one of them.
    """
    document = Document(decode(data, name), name, hint=_LANGGRAPH)
    items = Items()
    for value, place in document.values():
        for entry in _entries(document, value, place, ("items",)):
            _add_langgraph(items, entry, document, mapping)
    return items


def _add_langgraph(items: Items, entry: Object, document: Document, mapping: Mapped) -> None:
    fault = partial(document.fault, entry.start)
    missing = {"key", "value"} - entry.keys()
    if missing or not (entry.keys() & {"namespace", "prefix"}):
        raise fault(f"an item has {', '.join(sorted(missing)) or 'a namespace'}, this one has not")
    namespace = _namespace(entry, fault)
    mapped = _mapped(mapping, entry, namespace, fault)
    value = entry["value"]
    if "content" in mapped:
        text, rest = mapped.pop("content"), dict(value)
    else:
        text, rest = _told(value)
    if not text.strip():
        items.skipped += 1
        return
    where = {"namespace": namespace, "key": str(entry["key"])}
    if entry.get("updated_at"):
        where["updated_at"] = entry["updated_at"]
    memory: NewMemory = {
        "content": text,
        "kind": "general",
        "source": "langgraph",
        "data": {
            **{part: each for part, each in rest.items() if part not in mapping.values()},
            "langgraph": where,
        },
    }
    if entry.get("created_at"):
        memory["created_at"] = time_of("created_at", entry["created_at"], fault)
    if entry.get("expires_at"):
        memory["valid_until"] = time_of("expires_at", entry["expires_at"], fault)
    user = mapped.pop("user_id", None) or ".".join(namespace) or None
    items.add(cast(NewMemory, {**memory, **mapped}), document.line(entry.start), user)


def _mapped(mapping: Mapped, entry: Object, namespace: list[str], fault: Fault) -> dict[str, Any]:
    """The fields of an item that are not where they usually are."""
    value = entry["value"]
    columns = {"key": str(entry["key"])}
    columns |= {f"namespace.{place}": part for place, part in enumerate(namespace, 1)}
    columns |= value if isinstance(value, dict) else {}
    for column in mapping.values():
        if column.startswith("namespace") and column not in columns:
            raise fault(f"an item has no {column}; its namespace is {'.'.join(namespace)}")
    return {
        field_name(field): converted(field_name(field), columns[column], fault)
        for field, column in mapping.items()
        if columns.get(column) is not None
    }


def _told(value: Any) -> tuple[str, dict[str, Any]]:
    """The text of a value, and the rest of it; without a text, the text is its JSON."""
    if isinstance(value, str):
        return value, {}
    if value is None or value == {}:
        return "", {}
    if isinstance(value, dict):
        for key in _TEXT:
            inner = value.get(key)
            rest = {name: each for name, each in value.items() if name != key}
            if isinstance(inner, str) and inner.strip():
                return inner, rest
            # LangMem wraps its memories once more: {"kind": "Memory", "content": {"content": ..}}.
            if isinstance(inner, dict) and isinstance(inner.get("content"), str):
                more = {name: each for name, each in inner.items() if name != "content"}
                return inner["content"], {**rest, **more}
    return json.dumps(value, ensure_ascii=False), value if isinstance(value, dict) else {}


def _namespace(entry: Object, fault: Fault) -> list[str]:
    """The namespace; a row of the table has it as one text with dots."""
    field = "namespace" if "namespace" in entry else "prefix"
    if isinstance(entry[field], str):
        return str(entry[field]).split(".")
    return [str(part) for part in _list(entry, field, fault)]


def _text(entry: Object, field: str, fault: Fault) -> str | None:
    """A text in an entry."""
    value = entry.get(field)
    if value is not None and not isinstance(value, str):
        raise fault(misfit(field, value, "text"))
    return value


def _list(entry: Object, field: str, fault: Fault) -> list[Any]:
    """A list in an entry; a missing one is empty."""
    value = entry.get(field)
    if value is not None and not isinstance(value, list):
        raise fault(misfit(field, value, "a list"))
    return value or []


def _entries(document: Document, value: Any, place: int, inside: tuple[str, ...]) -> list[Object]:
    """The entries of a value or of a list; of a page, those of a list under one of these keys."""
    entries: list[Object] = []
    for item in value if isinstance(value, list) else [value]:
        lists = (item.get(key) for key in inside) if isinstance(item, dict) else ()
        for entry in next((each for each in lists if isinstance(each, list)), [item]):
            if not isinstance(entry, Object):
                raise document.fault(place, no_object("an entry", entry))
            entries.append(entry)
    return entries
