"""Which Python `make` takes, and what it says where there is none that will do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(not MAKE, reason="make is not installed")


def make(folder: Path, pythons: dict[str, str], *options: str) -> str:
    """What it says where these are all the Pythons there are."""
    for name, version in pythons.items():
        said = (
            f"import sys; sys.version_info = ({version.replace('.', ', ')}, 0); exec(sys.argv[1])"
        )
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} -c "{said}" "$2"\n')
        (folder / name).chmod(0o700)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "rm").symlink_to(str(shutil.which("rm")))
    done = subprocess.run(
        [str(MAKE), "-C", folder, *options, "demo"],
        env={"PATH": str(folder), "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("version", ["3.10", "3.15"])
def test_a_python_without_packages_is_named_before_anything_is_installed(
    tmp_path: Path, version: str
) -> None:
    said = make(tmp_path, {"python3": version})
    assert "Making .venv needs Python 3.11 to 3.14; python3 is not. Try: make PYTHON=" in said
    assert "Making .venv with" not in said


def test_the_python_that_is_wanted_may_be_called_with_arguments(tmp_path: Path) -> None:
    said = make(tmp_path, {"python3": "3.10"}, f"PYTHON={shutil.which('env')} python3")
    assert "env python3 is not. Try" in said


@pytest.mark.parametrize(
    ("pythons", "taken"),
    [
        ({"python3": "3.12", "python3.13": "3.13"}, "python3"),
        ({"python3": "3.14", "python3.13": "3.13"}, "python3.13"),
        ({"python3": "3.10", "python3.11": "3.11"}, "python3.11"),
        ({"python3": "3.14"}, "python3"),
    ],
)
def test_a_python_with_all_packages_is_preferred(
    tmp_path: Path, pythons: dict[str, str], taken: str
) -> None:
    assert f"python='{taken}';" in make(tmp_path, pythons, "-n")
