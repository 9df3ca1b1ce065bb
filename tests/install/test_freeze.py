"""`scripts/freeze`: what is released stays as it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from pgmemoir import sqlfiles

FREEZE = Path(__file__).resolve().parents[2] / "scripts/freeze"


def _freeze(tree, version: str = "0.1.0") -> subprocess.CompletedProcess[str]:
    copy = tree.write("scripts/freeze", "")
    tree.write("pyproject.toml", f'[project]\nversion = "{version}"\n')
    shutil.copy(FREEZE, copy)
    return subprocess.run([sys.executable, copy], capture_output=True, text=True, check=False)


def test_it_writes_hashes_that_the_runner_accepts(tree):
    assert _freeze(tree).stdout == "2 migrations are frozen, 2 of them new\n"
    assert sqlfiles.releases(tree) == {"0.1.0": [f.name for f in sqlfiles.migrations(tree)]}


def test_it_adds_what_is_new(tree):
    _freeze(tree)
    tree.write("migrations/0003_day.sql", "ALTER TABLE note ADD day date;\n")
    assert _freeze(tree, "0.2.0").stdout == "3 migrations are frozen, 1 of them new\n"
    old, new = sqlfiles.releases(tree).values()
    assert [*old, "0003_day.sql"] == new


def test_a_release_without_a_migration_is_one_too(tree):
    _freeze(tree)
    _freeze(tree, "0.1.1")
    assert list(sqlfiles.releases(tree)) == ["0.1.0", "0.1.1"]
    assert sqlfiles.migrations(tree)


def test_a_version_is_released_once(tree):
    _freeze(tree)
    refused = _freeze(tree)
    assert refused.stderr == "0.1.0 is released: raise the version in pyproject.toml\n"


def test_it_refuses_what_was_frozen_and_edited(tree):
    _freeze(tree)
    tree.write("migrations/0001_note.sql", "SELECT 1;\n")
    refused = _freeze(tree, "0.2.0")
    assert refused.returncode == 1
    assert refused.stderr == "released before, and now edited or gone: 0001_note.sql\n"
