"""The version of the SQL and of the package are one."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.rows import value

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_sql_has_the_version_of_the_package(tx):
    package = tomllib.loads(PROJECT.read_text())["project"]["version"]
    assert value(tx, "SELECT memoir.pgmemoir_version()") == package
