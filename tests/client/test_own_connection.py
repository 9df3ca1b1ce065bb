"""A connection the caller brings: its transaction, its settings, its search_path."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from tests.client.conftest import Letters

from pgmemoir import AsyncMemoir, Memoir, UnknownKind
from pgmemoir.migrations import up


def test_the_transaction_stays_the_callers(dsn: str, db: psycopg.Connection) -> None:
    with psycopg.connect(dsn) as conn:
        Memoir(conn, embedder=None).remember("never committed")
        assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        conn.rollback()
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)


def test_a_batch_is_part_of_the_callers_transaction(dsn: str, db: psycopg.Connection) -> None:
    with psycopg.connect(dsn) as conn:
        Memoir(conn, embedder=None).remember_many([{"content": "one"}, {"content": "two"}])
        assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)
        conn.commit()
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (2,)


def test_the_asynchronous_client_leaves_the_transaction_alone_too(
    dsn: str, db: psycopg.Connection
) -> None:
    async def remember_and_roll_back() -> None:
        async with await psycopg.AsyncConnection.connect(dsn) as conn:
            await AsyncMemoir(conn, embedder=None).remember("never committed")
            await conn.rollback()

    asyncio.run(remember_and_roll_back())
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)


def test_an_error_can_be_caught_with_the_callers_savepoint(tx: psycopg.Connection) -> None:
    memory = Memoir(tx, user="savepoint", embedder=None)
    with pytest.raises(UnknownKind), tx.transaction():
        memory.remember("x", "nonsense")
    assert memory.remember("x").action == "ADD"


def test_a_client_that_only_reads_needs_no_named_model(dsn: str, letters: Letters) -> None:
    with psycopg.connect(dsn) as conn:
        Memoir(conn, embedder=None).remember("keeps bees", "fact")
        conn.commit()
        conn.read_only = True
        assert "keeps bees" in Memoir(conn, embedder=letters).context("who keeps bees?")


def test_closing_the_client_leaves_the_connection_open(db: psycopg.Connection) -> None:
    with Memoir(db, embedder=None) as memory:
        memory.remember("x")
    assert not db.closed


def test_the_callers_row_factory_does_not_matter(dsn: str) -> None:
    with psycopg.connect(dsn, row_factory=dict_row, cursor_factory=psycopg.ClientCursor) as conn:
        memory = Memoir(conn, embedder=None)
        memory.remember("dictionaries are fine")
        assert "dictionaries" in memory.context("dictionaries")


def test_the_search_path_is_neither_needed_nor_changed(empty_db: psycopg.Connection) -> None:
    empty_db.execute('CREATE SCHEMA "odd %s"')
    empty_db.execute('CREATE EXTENSION vector SCHEMA "odd %s"')
    up(empty_db)
    empty_db.execute("SET search_path = ''")
    memory = Memoir(empty_db, embedder=None)
    memory.remember("found", vector=[1.0, 0.0])
    assert "found" in memory.context(vector=[1.0, 0.0])
    assert empty_db.execute("SHOW search_path").fetchone() == ('""',)


def test_the_user_of_the_session_is_used(tx: psycopg.Connection) -> None:
    tx.execute("SET LOCAL memoir.user_id = 'grace'")
    Memoir(tx, embedder=None).remember("compilers")
    row = tx.execute("SELECT user_id FROM memoir.memory WHERE content = 'compilers'").fetchone()
    assert row == ("grace",)


def test_the_model_is_named_again_after_a_rollback(
    dsn: str, db: psycopg.Connection, letters: Any
) -> None:
    with psycopg.connect(dsn) as conn:
        memory = Memoir(conn, embedder=letters)
        memory.remember("rolled back")
        conn.rollback()
        memory.remember("committed")
    row = db.execute("SELECT name FROM memoir.embedding_model WHERE active").fetchone()
    assert row == ("letters",)


def test_tasks_share_an_asynchronous_client(dsn: str, letters: Any) -> None:
    async def remember_all() -> list[str]:
        async with AsyncMemoir(dsn, embedder=letters) as memory:
            many = [{"content": f"batch {i}"} for i in range(20)]
            one = [memory.remember(f"single {i}") for i in range(20)]
            done = await asyncio.gather(memory.remember_many(many), *one)
            return [item.action for item in (*done[0], *done[1:])]

    assert asyncio.run(remember_all()) == ["ADD"] * 40
