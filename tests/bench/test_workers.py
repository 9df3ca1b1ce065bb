"""workers.py on a handful of jobs: what it prints, never how fast."""

from __future__ import annotations

import json

import psycopg
import pytest
import workers
from click.testing import CliRunner

pytestmark = pytest.mark.once


def run(dsn: str, *options: str) -> dict[str, float]:
    arguments = ["--dsn", dsn, "--users", "3", *options, "--json"]
    done = CliRunner().invoke(workers.main, arguments, catch_exceptions=False)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def test_workers_prints_how_many_a_second_both_queues_do(dsn: str, db: psycopg.Connection) -> None:
    found = run(dsn, "--jobs", "40", "--waiting", "400", "--rounds", "1", "--workers", "1")
    for key in ("jobs_per_second", "floor_jobs_per_second", "ratio"):
        assert found[key] > 0
        assert found[f"{key}_async"] > 0
    # Single calls are timed after the rounds, for as many users as were asked for.
    (users,) = db.execute("SELECT count(DISTINCT user_id) FROM memoir.job").fetchone() or (0,)
    assert users == 400


def test_jobs_are_all_done_once_when_workers_are_killed(dsn: str) -> None:
    found = run(dsn, "--jobs", "60", "--workers", "2", "--kill")
    assert (found["done"], found["twice"]) == (60, 0)
