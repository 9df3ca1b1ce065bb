"""`scripts/freeze`: what is released stays as it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from pgmemoir import sqlfiles

FREEZE = Path(__file__).resolve().parents[2] / "scripts/freeze"


def _freeze(tree) -> subprocess.CompletedProcess[str]:
    copy = tree.write("scripts/freeze", "")
    shutil.copy(FREEZE, copy)
    return subprocess.run([sys.executable, copy], capture_output=True, text=True, check=False)


def test_it_writes_hashes_that_the_runner_accepts(tree):
    assert _freeze(tree).stdout == "2 migrations are frozen, 2 of them new\n"
    frozen = (tree.migrations / "released.txt").read_text().split()[1::2]
    assert frozen == [file.name for file in sqlfiles.migrations(tree)]


def test_it_adds_what_is_new(tree):
    _freeze(tree)
    tree.write("migrations/0003_day.sql", "ALTER TABLE note ADD day date;\n")
    assert _freeze(tree).stdout == "3 migrations are frozen, 1 of them new\n"


def test_it_refuses_what_was_frozen_and_edited(tree):
    _freeze(tree)
    tree.write("migrations/0001_note.sql", "SELECT 1;\n")
    refused = _freeze(tree)
    assert refused.returncode == 1
    assert refused.stderr == "released before, and now edited or gone: 0001_note.sql\n"
