"""What docs/move.md says to people who come from mem0, LangGraph, Letta or Graphiti."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgmemoir import Memoir

pytestmark = pytest.mark.once

PAGE = (Path(__file__).parents[2] / "docs" / "move.md").read_text(encoding="utf-8")
CALLS = PAGE.split("## Calls of other programs")[1].split("\n## ")[0]


def test_the_page_names_methods_that_exist() -> None:
    table = [line.split(" | ")[1] for line in CALLS.splitlines() if line.startswith("| `")]
    named = re.findall(r"`([a-z_]+)(?=[`(])", " ".join(table))
    fields = {"data", "session", "valid_until", "keywords"}
    assert {"remember", "search", "purge_user"} <= {*named}
    assert [name for name in named if name not in fields and not hasattr(Memoir, name)] == []


def test_the_example_of_the_page_does_what_it_says(dsn: str) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", CALLS, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example.replace("postgresql:///app", dsn), names)
    assert "- The tomatoes stand in the greenhouse" in names["block"]
    assert [row.metadata["project"] for row in names["found"]] == ["garden"]
    assert (len(names["page"]), names["rest"]) == (1, [])
    with names["alice"] as alice:
        assert [memory.content for memory in alice.memories(status=None)] == ["No peanuts"]


def test_a_key_or_a_label_is_a_slot(dsn: str) -> None:
    with Memoir(dsn, user="ada", embedder=None) as ada:
        for language in ("Rust", "Zig"):
            ada.remember(f"Ada writes {language}", subject="Profile", data={"language": language})
        (row,) = ada.list_memories(subject="Profile")
        assert row.data == {"language": "Zig"}


def test_the_edges_of_graphiti_keep_their_times(
    memoir: Callable[..., Result], db: psycopg.Connection, tmp_path: Path
) -> None:
    edge = {"group_id": "ada", "fact": "Ann is at Acme", "valid_at": "2024-12-01T00:00:00Z"}
    ended = {**edge, "fact": "Ann is at Zeta", "invalid_at": "2025-03-01T00:00:00Z"}
    file = tmp_path / "edges.json"
    file.write_text(json.dumps([{**edge, "invalid_at": None}, ended]))
    (options,) = re.findall(r"`memoir import edges.json (.*?)`", CALLS)
    assert memoir("import", str(file), *options.split()).exit_code == 0
    told = db.execute(
        "SELECT user_id, content, valid_from::date::text, valid_until::date::text"
        " FROM memoir.memory ORDER BY content"
    ).fetchall()
    assert told == [
        ("ada", "Ann is at Acme", "2024-12-01", None),
        ("ada", "Ann is at Zeta", "2024-12-01", "2025-03-01"),
    ]
