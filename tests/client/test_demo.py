"""The year of the demo, loaded through the client."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from click.testing import CliRunner, Result

from pgmemoir import Memoir, cli, demo


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


def test_the_demo_shows_four_blocks_and_a_table(dsn: str) -> None:
    done = CliRunner().invoke(cli.main, ["--dsn", dsn, "demo"])
    assert done.exit_code == 0, done.stderr
    for mode in demo.MODES:
        assert f"=== mode {mode}: " in done.stdout
    assert "in block" in done.stdout
    assert " ms ===" in done.stdout
    assert "认证 → " in done.stdout
    assert "--user demo psql" in done.stdout


def test_the_demo_answers_its_question(dsn: str) -> None:
    with Memoir(dsn, user=demo.USER) as memory:
        demo.load(memory)
        for mode in demo.MODES:
            block = memory.context(demo.QUESTION, mode)
            assert "JWKS" in block
            assert "认证" in block


def test_the_second_demo_loads_nothing(memoir: Callable[..., Result]) -> None:
    memoir("demo")
    assert "user demo has the year already" in memoir("demo").stdout
