"""``memoir files``: the folder of D3, in and out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from tests.d3_files import LOG, LOG_MD, MEMORY, MEMORY_MD, text
from tests.rows import row_counts

from pgmemoir import memory_folder
from pgmemoir.errors import BadFile, NotPossible

Call = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """D3's examples as its agent leaves them."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "memory.json").write_text(text(MEMORY))
    (tmp_path / "logs/2026-02-21.json").write_text(text(LOG))
    return tmp_path


@pytest.fixture
def old_folder(tmp_path: Path) -> Path:
    """A folder of D3's first version."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "MEMORY.md").write_text(MEMORY_MD)
    (tmp_path / "logs/2026-02-20.md").write_text(LOG_MD)
    return tmp_path


def names(folder: Path) -> list[str]:
    """Every file of a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def times(folder: Path) -> dict[str, int]:
    """When each file was last written."""
    return {name: (folder / name).stat().st_mtime_ns for name in names(folder)}


def test_a_folder_goes_in_and_comes_out_untouched(memoir: Call, folder: Path) -> None:
    done = memoir("files", "import", str(folder))
    assert done.stdout.splitlines() == [
        "memory.json: 2 added, 1 changed",
        "  UPDATE: rolling summary",
        "logs/2026-02-21.json: 3 added",
    ]
    before = times(folder)
    assert memoir("files", "export", str(folder)).stdout == "0 written, 2 as they were\n"
    assert times(folder) == before


def test_another_folder_gets_the_same_files(memoir: Call, folder: Path, tmp_path: Path) -> None:
    memoir("files", "import", str(folder))
    other = tmp_path / "other"
    other.mkdir()
    memoir("files", "export", str(other))
    assert (other / "memory.json").read_text() == text(MEMORY) + "\n"
    assert (other / "logs/2026-02-21.json").read_text() == text(LOG) + "\n"


def test_an_edit_goes_in_and_what_memory_learned_comes_out(
    memoir: Call, folder: Path, db: psycopg.Connection
) -> None:
    memoir("files", "import", str(folder))
    memoir("remember", "喝茶 🍵", "--kind", "preference")
    path = folder / "memory.json"
    path.write_text(path.read_text().replace("早班机", "夜班机"))
    assert (
        "UPDATE a1b2c3d4: changed in the file: content"
        in memoir("files", "import", str(folder)).stdout
    )
    assert memoir("files", "export", str(folder)).stdout.startswith("wrote memory.json\n")
    contents = [entry["content"] for entry in json.loads(path.read_text())["memories"]]
    assert [contents[0][-3:], contents[2]] == ["夜班机", "喝茶 🍵"]
    assert "早班机" not in (folder / "memory.json.bak").read_text()
