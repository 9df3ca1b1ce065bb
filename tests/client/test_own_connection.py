"""A connection the caller brings: its transaction, its settings, its search_path, its types."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg.adapt import Loader
from psycopg.rows import dict_row
from psycopg.types.json import set_json_dumps, set_json_loads
from psycopg.types.string import StrDumper, TextLoader
from tests.client.conftest import Letters

from pgmemoir import AsyncMemoir, Memoir, MemoirError, UnknownKind
from pgmemoir.migrations import up
from pgmemoir.move import export_lines, import_lines


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
            memory = AsyncMemoir(conn, embedder=None)
            for text in ("never committed", "nor this, within the same transaction"):
                await memory.remember(text)
            stored = await conn.execute("SELECT count(*) FROM memoir.memory")
            assert await stored.fetchone() == (2,)
            await conn.rollback()

    asyncio.run(remember_and_roll_back())
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)


def test_a_connection_that_speaks_no_utf8_is_refused(tx: psycopg.Connection) -> None:
    for encoding in ("SQL_ASCII", "LATIN1", "GBK"):
        with tx.transaction(force_rollback=True):
            tx.execute(f"SET LOCAL client_encoding TO '{encoding}'")
            with pytest.raises(MemoirError, match=encoding):
                Memoir(tx)
    assert Memoir(tx, embedder=None).remember("认证").action == "ADD"


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


class Bytes(Loader):
    """What came, as it came."""

    def load(self, data: Any) -> Any:
        return bytes(data)


class Shouted(StrDumper):
    """Texts in capitals."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.upper())


def _as_django_has_it(conn: psycopg.Connection) -> None:
    conn.adapters.register_loader("jsonb", TextLoader)


def _with_decimals(conn: psycopg.Connection) -> None:
    set_json_loads(partial(json.loads, parse_float=Decimal), conn)


def _with_json_of_its_own(conn: psycopg.Connection) -> None:
    set_json_dumps(lambda value: json.dumps([value]), conn)


def _with_loaders(conn: psycopg.Connection) -> None:
    for name in ("timestamptz", "float8", "text", "bool"):
        conn.adapters.register_loader(name, Bytes)


def _with_dumpers(conn: psycopg.Connection) -> None:
    conn.adapters.register_dumper(str, Shouted)


def _with_german_dates(conn: psycopg.Connection) -> None:
    conn.execute("SET DateStyle = 'German'")


@pytest.mark.parametrize(
    "register",
    [
        _as_django_has_it,
        _with_decimals,
        _with_json_of_its_own,
        _with_loaders,
        _with_dumpers,
        _with_german_dates,
    ],
)
def test_the_callers_types_do_not_matter(
    dsn: str, register: Callable[[psycopg.Connection], None]
) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        register(conn)
        memory = Memoir(conn, user="ada", embedder=None)
        data = {"share": 0.5, "since": "Monday"}
        at = datetime(2025, 3, 1, tzinfo=UTC)
        done = memory.remember("keeps bees", "fact", data=data, created_at=at, importance=0.7)
        found = memory.memory_detail(done.memory_id)
        assert (found.content, found.data, found.importance) == ("keeps bees", data, 0.7)
        assert found.created_at == at
        assert json.loads(json.dumps(memory.call_tool("memory_search", {"query": "bees"})))
        assert memory.replay(settings={"mmr_lambda": 0.9}) is not None


def test_a_time_that_python_does_not_have_hides_no_other_memory(tx: psycopg.Connection) -> None:
    remember = (
        "SELECT memoir.remember(%(until)s::text, 'fact', 'ada',"
        " valid_until => %(until)s::timestamptz)"
    )
    for until in ("9999-12-31 23:59:59Z", "20000-01-01Z", "2100-01-01Z"):
        tx.execute(remember, {"until": until})
    tx.execute("SET LOCAL timezone = 'Asia/Shanghai'")
    found = Memoir(tx, user="ada", embedder=None).list_memories()
    assert {row.content: row.valid_until for row in found} == {
        "9999-12-31 23:59:59Z": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
        "20000-01-01Z": datetime.max.replace(tzinfo=UTC),
        "2100-01-01Z": datetime(2100, 1, 1, tzinfo=UTC),
    }


def test_what_else_takes_a_connection_does_not_mind_either(
    dsn: str, db: psycopg.Connection
) -> None:
    Memoir(db, user="ada", embedder=None).remember("keeps bees")
    settings: Any = {"row_factory": dict_row, "cursor_factory": psycopg.RawCursor}
    with psycopg.connect(dsn, autocommit=True, **settings) as conn:
        assert up(conn) == []
        with conn.transaction():
            done = import_lines(conn, list(export_lines(conn, "ada")), "eve")
    assert done.records["memory"] == 1


def test_the_user_of_the_session_is_used(tx: psycopg.Connection) -> None:
    tx.execute("SET LOCAL memoir.user_id = 'grace'")
    Memoir(tx, embedder=None).remember("compilers")
    row = tx.execute("SELECT user_id FROM memoir.memory WHERE content = 'compilers'").fetchone()
    assert row == ("grace",)


@pytest.mark.parametrize("then_in_autocommit", [False, True])
def test_the_model_is_named_again_after_a_rollback(
    dsn: str, db: psycopg.Connection, letters: Any, then_in_autocommit: bool
) -> None:
    with psycopg.connect(dsn) as conn:
        memory = Memoir(conn, embedder=letters)
        memory.remember("rolled back")
        conn.rollback()
        conn.autocommit = then_in_autocommit
        memory.remember("committed")
    row = db.execute("SELECT name FROM memoir.embedding_model WHERE active").fetchone()
    assert row == ("letters",)


def test_a_client_of_the_other_kind_of_connection_is_refused(db: psycopg.Connection) -> None:
    client: Any = AsyncMemoir
    with pytest.raises(TypeError, match=r"^Connection is neither .* nor a psycopg\.AsyncConn"):
        client(db)


@pytest.mark.parametrize("kind", [Memoir, AsyncMemoir])
def test_an_empty_connection_string_does_not_mean_the_embedded_server(kind: Any) -> None:
    for empty in ("", " "):
        with pytest.raises(MemoirError, match="the connection string is empty"):
            kind(empty)


def test_what_is_no_connection_string_is_not_quoted_with_its_password() -> None:
    for dsn in ("postgresql+psycopg://ada:hunter2@db/app", "host=db password=hunter2 app"):
        with pytest.raises(MemoirError, match="no connection string") as caught:
            Memoir(dsn, embedder=None).stats()
        assert "hunter2" not in f"{caught.value!r} {caught.value.hint} {caught.value.__cause__}"


def test_one_asynchronous_client_serves_one_event_loop_after_the_other(dsn: str) -> None:
    memory = AsyncMemoir(dsn, embedder=None)

    async def recall_all(last: bool) -> int:
        found = await asyncio.gather(*(memory.recall(f"question {i}") for i in range(5)))
        if last:
            await memory.close()
        return len(found)

    assert [asyncio.run(recall_all(last)) for last in (False, True)] == [5, 5]


def test_tasks_share_an_asynchronous_client(dsn: str, letters: Any) -> None:
    async def remember_all() -> list[str]:
        async with AsyncMemoir(dsn, embedder=letters) as memory:
            many = [{"content": f"batch {i}"} for i in range(20)]
            one = [memory.remember(f"single {i}") for i in range(20)]
            done = await asyncio.gather(memory.remember_many(many), *one)
            return [item.action for item in (*done[0], *done[1:])]

    assert asyncio.run(remember_all()) == ["ADD"] * 40


USERS = [f"user {number}" for number in range(8)]


def test_clients_of_several_users_take_turns_on_one_connection(dsn: str) -> None:
    def block(conn: psycopg.Connection[Any], user: str) -> str:
        client = Memoir(conn, user=user, embedder=None)
        client.remember(f"tea of {user}")
        return client.context("tea")

    options = "-c role=memoir_agent"
    with (
        psycopg.connect(dsn, autocommit=True, options=options) as conn,
        ThreadPoolExecutor(len(USERS)) as threads,
    ):
        blocks = list(threads.map(partial(block, conn), USERS))
    assert [text.count("tea") for text in blocks] == [1] * 8
    assert all(f"tea of {user}" in text for user, text in zip(USERS, blocks, strict=True))


@pytest.mark.parametrize("autocommit", [True, False])
def test_asynchronous_clients_do_too(dsn: str, autocommit: bool) -> None:
    async def block(conn: psycopg.AsyncConnection[Any], user: str) -> str:
        client = AsyncMemoir(conn, user=user, embedder=None)
        await client.remember(f"tea of {user}")
        return await client.context("tea")

    async def blocks() -> list[str]:
        options = "-c role=memoir_agent"
        async with await psycopg.AsyncConnection.connect(
            dsn, autocommit=autocommit, options=options
        ) as conn:
            return await asyncio.gather(*(block(conn, user) for user in USERS))

    said = asyncio.run(blocks())
    assert [text.count("tea") for text in said] == [1] * 8
    assert all(f"tea of {user}" in text for user, text in zip(USERS, said, strict=True))
