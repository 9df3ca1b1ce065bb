"""A call that is interrupted, by Ctrl-C or a cancelled task: the client goes on."""

from __future__ import annotations

import _thread
import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from psycopg.conninfo import make_conninfo

from pgmemoir import AsyncMemoir, Memoir, client
from pgmemoir.cursors import Pipelined, is_free

_WAITS = """SELECT FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
WHERE NOT l.granted AND d.datname = current_database()"""

# More than one statement: those behind the one that was cancelled are aborted.
GOLD: Any = [{"query": f"which {what}?", "relevant_content": ["I use Vim."]} for what in "abc"]


@pytest.fixture
def dsn(dsn: str) -> str:
    """An address from which nobody waits for ever."""
    return make_conninfo(dsn, options="-c lock_timeout=20s")


@pytest.fixture
def held(dsn: str, db: psycopg.Connection) -> Iterator[psycopg.Connection]:
    """A transaction that lets nobody write a gold set, which is written in a pipeline."""
    Memoir(db, embedder=None).remember("I use Vim.")
    with psycopg.connect(dsn) as conn:
        conn.execute("LOCK TABLE memoir.gold")
        yield conn
        conn.rollback()


@pytest.fixture(autouse=True)
def _hears_ctrl_c() -> Iterator[None]:
    """A process that a shell started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def until_somebody_waits(conn: psycopg.Connection) -> None:
    while not conn.execute(_WAITS).fetchall():
        pass


def interrupted(memory: Memoir, held: psycopg.Connection) -> None:
    """Ctrl-C while it waits for the server."""

    def press() -> None:
        until_somebody_waits(held)
        _thread.interrupt_main()

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        memory.add_gold("editors", GOLD)
    thread.join()


async def cancelled(memory: AsyncMemoir, held: psycopg.Connection) -> None:
    """A task that is cancelled while it waits for the server."""
    task = asyncio.create_task(memory.add_gold("editors", GOLD))
    while not held.execute(_WAITS).fetchall():
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_connection_interrupted_at_its_first_statement_is_closed(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[psycopg.Connection] = []

    def press(conn: psycopg.Connection, _: object) -> None:
        opened.append(conn)
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "answer", press)
    with pytest.raises(KeyboardInterrupt):
        Memoir(dsn, embedder=None).stats()
    assert [conn.closed for conn in opened] == [True]


def test_a_connection_of_a_task_cancelled_at_its_first_statement_is_closed(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[psycopg.AsyncConnection] = []

    async def cancel(conn: psycopg.AsyncConnection, _: object) -> None:
        opened.append(conn)
        raise asyncio.CancelledError

    monkeypatch.setattr(client, "_execute_async", cancel)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(AsyncMemoir(dsn, embedder=None).stats())
    assert [conn.closed for conn in opened] == [True]


def test_after_ctrl_c_the_client_goes_on(dsn: str, held: psycopg.Connection) -> None:
    with Memoir(dsn, embedder=None) as memory:
        interrupted(memory, held)
        held.rollback()
        assert "Vim" in memory.context("Vim")
        assert memory.add_gold("editors", GOLD) == 3


def test_after_a_cancelled_task_the_client_goes_on(dsn: str, held: psycopg.Connection) -> None:
    async def recalled() -> str:
        async with AsyncMemoir(dsn, embedder=None) as memory:
            await cancelled(memory, held)
            return await memory.context("Vim")

    assert "Vim" in asyncio.run(recalled())


def test_the_callers_connection_is_closed_rather_than_left_in_a_pipeline(
    dsn: str, db: psycopg.Connection, held: psycopg.Connection
) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        interrupted(Memoir(conn, embedder=None), held)
        assert conn.closed
    held.rollback()
    assert db.execute("SELECT count(*) FROM memoir.gold").fetchone() == (0,)


def interrupted_inside(conn: psycopg.Connection, held: psycopg.Connection) -> None:
    """Ctrl-C while a pipeline is being filled and the server waits for a lock."""
    with Pipelined(conn) as inside, conn.pipeline(), inside:
        conn.execute("SELECT FROM memoir.gold")
        conn.pgconn.send_flush_request()
        conn.pgconn.flush()
        until_somebody_waits(held)
        raise KeyboardInterrupt


def test_who_is_interrupted_inside_a_pipeline_waits_for_nothing_that_was_sent(
    dsn: str, held: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("SET lock_timeout = '10s'")
        with pytest.raises(KeyboardInterrupt):
            interrupted_inside(conn, held)
        assert conn.closed
    assert "lock timeout" not in caplog.text


def test_a_connection_left_in_the_middle_of_a_statement_is_replaced(dsn: str) -> None:
    with Memoir(dsn, embedder=None) as memory:
        memory.remember("I use Vim.")
        memory._connection().pgconn.send_query(b"SELECT")
        assert "Vim" in memory.context("Vim")


def test_a_connection_left_in_a_pipeline_is_replaced(dsn: str) -> None:
    with Memoir(dsn, embedder=None) as memory:
        memory.remember("I use Vim.")
        own = memory._connection()
        own.pgconn.enter_pipeline_mode()
        assert not is_free(own)
        assert "Vim" in memory.context("Vim")


def forked(work: Callable[[], bool]) -> int:
    """The exit code of a forked process: 0 if the work is done as it should."""
    if not (child := os.fork()):
        signal.alarm(30)
        done = False
        try:
            done = work()
        finally:
            os._exit(not done)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_forked_process_leaves_connection_and_lock_to_its_parent(dsn: str) -> None:
    def found() -> bool:
        with memory:
            return "Vim" in memory.context("Vim") and memory._conn not in (own, None)

    with Memoir(dsn, embedder=None) as memory, ThreadPoolExecutor(1) as another_thread:
        memory.remember("I use Vim.")
        own = memory._connection()
        another_thread.submit(memory._lock.acquire).result()
        ended = forked(found)
        another_thread.submit(memory._lock.release).result()
        assert ended == 0
        assert "Vim" in memory.context("Vim")
        assert memory._conn is own


def test_so_does_one_that_uses_asyncio(dsn: str) -> None:
    def found() -> bool:
        return "Vim" in asyncio.run(memory.context("Vim")) and memory._conn not in (own, None)

    memory = AsyncMemoir(dsn, embedder=None)
    with asyncio.Runner() as runner:
        runner.run(memory.remember("I use Vim."))
        own = memory._conn
        assert forked(found) == 0
        assert "Vim" in runner.run(memory.context("Vim"))
        assert memory._conn is own
        runner.run(memory.close())


def test_who_closes_a_client_waits_for_the_call_that_is_under_way(
    dsn: str, held: psycopg.Connection
) -> None:
    memory = Memoir(dsn, embedder=None)
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(memory.add_gold("editors", GOLD)))
    thread.start()
    until_somebody_waits(held)
    held.rollback()
    memory.close()
    thread.join()
    assert done == [3]


def test_the_server_ends_what_a_killed_command_has_begun(
    memoir: Callable[..., Result], db: psycopg.Connection, tmp_path: Path
) -> None:
    db.execute(
        "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " RAISE 'checked every %', current_setting('client_connection_check_interval'); END $$;"
        "CREATE TRIGGER told BEFORE INSERT ON memoir.memory FOR EACH ROW EXECUTE FUNCTION tell()"
    )
    entry = '{"id": "a", "category": "facts", "content": "tea is green"}'
    (tmp_path / "memory.json").write_text(f'{{"version": 2, "memories": [{entry}]}}')
    (tmp_path / "memory.md").write_text("- tea is green\n")
    (tmp_path / "tea.jsonl").write_text('{"content": "tea is green", "kind": "fact"}')
    for command in (["files", "import"], ["sync"], ["import"]):
        file = tmp_path / "tea.jsonl" if command == ["import"] else tmp_path
        assert "checked every 1s" in memoir(*command, str(file)).stderr
