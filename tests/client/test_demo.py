"""The year of the demo, loaded through the client."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

import pgmemoir
from pgmemoir import Memoir, cli, demo
from pgmemoir.cli import demo as command

pytestmark = pytest.mark.once


def test_the_year_is_loaded_once(dsn: str, db: psycopg.Connection) -> None:
    with psycopg.connect(dsn) as conn:
        memory = Memoir(conn, user=demo.USER, embedder=None)
        memories, events = demo.load(memory)
        conn.commit()
        assert memories >= 150
        assert events >= 20
        assert demo.load(memory) == (0, 0)
    row = db.execute("SELECT count(*) FROM memoir.event WHERE user_id = 'demo'").fetchone()
    assert row == (events,)


@pytest.fixture(scope="module")
def shown(kept_dsn: str) -> tuple[str, Result]:
    """The address of a database, and what the demo printed in it."""
    return kept_dsn, CliRunner().invoke(cli.main, ["--dsn", kept_dsn, "demo"])


def test_the_demo_shows_four_blocks_and_a_table(shown: tuple[str, Result]) -> None:
    _, done = shown
    assert done.exit_code == 0, done.stderr
    for mode in demo.MODES:
        assert f"=== mode {mode}: " in done.stdout
    assert "in block" in done.stdout
    assert " ms ===" in done.stdout
    assert "认证 → " in done.stdout
    assert "--user demo psql" in done.stdout


def test_the_demo_answers_its_question(shown: tuple[str, Result]) -> None:
    with Memoir(shown[0], user=demo.USER) as memory:
        for mode in demo.MODES:
            block = memory.context(demo.QUESTION, mode)
            assert "JWKS" in block
            assert "认证" in block


def test_the_second_demo_loads_nothing(shown: tuple[str, Result]) -> None:
    again = CliRunner().invoke(cli.main, ["--dsn", shown[0], "demo"])
    assert "user demo has the year already" in again.stdout


def test_the_call_to_go_on_with_is_the_one_that_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "argv", [str(Path(pgmemoir.__file__).with_name("__main__.py"))])
    assert command._program()[1:] == ["-m", "pgmemoir"]
