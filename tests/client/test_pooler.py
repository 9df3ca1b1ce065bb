"""Through a pooler of transactions, clients speak in each other's sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import Result
from tests.client.conftest import BOTH, Letters, clients
from tests.pooler import pooled
from tests.rows import fill, set_to, value

from pgmemoir import Memoir, MemoirError, sync
from pgmemoir.cli.database import psql_call
from pgmemoir.worker import Options, Worker

Call = Callable[..., Result]


@pytest.fixture
def through(dsn: str) -> Iterator[str]:
    """The address of a pooler before the database of the test."""
    with pooled(dsn) as address:
        yield address


@pytest.mark.parametrize("kind", BOTH)
def test_two_clients_take_turns_in_one_session(through: str, kind: str) -> None:
    with clients(kind, through) as make:
        ada, bob = (make(user=user, embedder=None) for user in ("ada", "bob"))
        for number in range(7):  # psycopg prepares what is said more than five times
            ada.remember(f"Ada keeps bee {number}", "fact")
            bob.remember(f"Bob keeps goat {number}", "fact")
            assert "Ada keeps bee" in ada.context("Who keeps what?")
            assert "Bob keeps goat" in bob.context("Who keeps what?")


def test_on_the_server_itself_a_recall_is_prepared(dsn: str) -> None:
    with Memoir(dsn, embedder=None) as memory:
        memory.context("Who keeps bees?")
        prepared = memory._connection().execute("SELECT statement FROM pg_prepared_statements")
        assert "memoir.recall(" in prepared.fetchall()[0][0]


@pytest.mark.parametrize("command", ["maintain", "maintain --dry-run"])
def test_upkeep_leaves_nothing_in_a_session_of_others(
    memoir: Call, db: psycopg.Connection, through: str, command: str
) -> None:
    db.execute("SELECT memoir.remember('drinks tea', 'fact')")
    assert memoir("--dsn", through, *command.split()).exit_code == 0
    with psycopg.connect(through, autocommit=True) as another:
        assert value(another, "SHOW search_path") == '"$user", public'
        assert value(another, "SHOW statement_timeout") == value(db, "SHOW statement_timeout")
        assert value(another, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0


def test_upkeep_says_which_indexes_it_leaves_there(
    memoir: Call, db: psycopg.Connection, through: str
) -> None:
    set_to(db, ann_gain=0.22)
    fill(db, 30)
    left = memoir("--dsn", through, "maintain")
    assert left.exit_code == 1
    assert "error: indexes are not built through a pooler, so the ones above are left" in (
        left.stderr
    )
    assert value(db, "SELECT count(*) FROM memoir.term") > 0


def listened_to(dsn: str) -> list[str]:
    with psycopg.connect(dsn, autocommit=True) as another:
        return [name for (name,) in another.execute("SELECT pg_listening_channels()")]


def test_a_worker_leaves_nothing_in_a_session_of_others(
    db: psycopg.Connection, through: str, letters: Letters
) -> None:
    db.execute("SELECT memoir.remember('drinks tea', 'fact')")
    assert Worker(through, letters, None, Options(), lambda _: None).run(once=True).done == 1
    assert listened_to(through) == []


def test_a_watch_leaves_nothing_in_a_session_of_others(
    db: psycopg.Connection, through: str, tmp_path: Path
) -> None:
    db.execute("SELECT memoir.remember('drinks tea', 'fact')")
    stop = threading.Event()
    sync.watch(through, tmp_path, sync.Options(), lambda _: stop.set(), print, stop)
    assert "drinks tea" in (tmp_path / "memory.md").read_text()
    assert listened_to(through) == []


def test_psql_does_not_open_as_another_user(through: str) -> None:
    with pytest.raises(MemoirError, match=r"not take the settings .*: search_path, memoir.user_id"):
        psql_call(through, "ada")
