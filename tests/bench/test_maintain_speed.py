"""maintain.py on a handful of memories: what it prints, never how fast."""

from __future__ import annotations

import json

import maintain
import pytest
from click.testing import CliRunner

pytestmark = pytest.mark.once


def test_maintain_prints_seconds_of_every_step(dsn: str) -> None:
    sizes = ("--rows", "60", "--dims", "16")
    done = CliRunner().invoke(
        maintain.main, ["--dsn", dsn, *sizes, "--json"], catch_exceptions=False
    )
    found = json.loads(done.stdout)
    assert found["steps"].keys() >= {"count_access", "age", "fold_log", "count_words"}
    assert set(maintain.BARS) | {"second_run_s", "writes"} <= found.keys()
    assert found["done"]["forgotten"] >= 3
    assert found["done"]["importance lowered"] >= 3
