"""load.py for two seconds: what it prints, never how fast."""

from __future__ import annotations

import json

import load
import pytest
from click.testing import CliRunner

pytestmark = pytest.mark.once

FEW = ("--clients", "2", "--users", "3", "--rows", "2", "--dims", "8", "--seconds", "0.2")


def test_load_prints_times_and_that_nothing_failed(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "_MADE", 20)
    options = ["--dsn", dsn, *FEW, "--maintain", "--worker"]
    done = CliRunner().invoke(load.main, [*options, "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert (found["errors"], done.exit_code) == ({}, 0)
    assert found["recalls"] > found["remembers"] > 0
    assert found["maintain_runs"] > 0
    assert {"recall_p99_ms", "remember_p99_ms", "without_vector", "database_mb"} <= found.keys()
    assert "errors: 0" in load.report(found)
