"""The clients and the worker as roles that do not own the tables; nothing stays in a session."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from tests.rows import call, remember, value

from pgmemoir import AsyncMemoir, Memoir, MemoirError, MissingUser, ModelMismatch, UnknownMode
from pgmemoir.worker import Options, Worker


class Two:
    """Vectors of two dimensions: is it about tea?"""

    name = "two"
    dimensions = 2
    local = True

    def embed(self, texts):
        return [[1.0, 0.0] if "tea" in text else [0.0, 1.0] for text in texts]


@pytest.fixture
def agent(db, log_in):
    """A connection as memoir_agent, in autocommit; the model is named, Bob has a memory."""
    db.execute("SELECT memoir.use_model('two', 2)")
    remember(db, "Bob keeps a secret", user_id="bob")
    return log_in("agent")


def whole_day(memory):
    """What an agent does in a day, and the block it gets in the end."""
    memory.remember("Ada likes tea", kind="preference")
    memory.remember_many({"content": f"note {n}", "kind": "fact"} for n in range(40))
    memory.add_event("alert", {"disk": 91})
    memory.call_tool("memory_write", {"content": "Ada's server is called Orca"})
    assert "tea" in memory.search("tea", min_relevance_score=0.2)[0].preview
    assert "secret" not in str(memory.call_tool("memory_search", {"query": "secret"}))
    recalled = memory.recall("What does Ada like? tea Orca")
    assert memory.mark_used(recalled, recalled.memory_ids) == len(recalled.memory_ids)
    return recalled.block


@pytest.mark.usefixtures("agent")
def test_a_client_with_its_own_connection_names_its_user(dsn):
    with Memoir(f"{dsn} user=the_agent", user="ada", embedder=Two()) as memory:
        block = whole_day(memory)
        assert memory.settings()["memory"] is True
    assert "Ada likes tea" in block
    assert "Orca" in block
    assert "secret" not in block


def test_a_reader_asks_with_an_embedder_whether_or_not_a_model_is_named(db, dsn, log_in):
    log_in("reader")
    remember(db, "Ada likes tea", user_id="ada")
    for statement in ("SELECT", "SELECT memoir.use_model('two', 2)"):
        db.execute(statement)
        with Memoir(f"{dsn} user=the_reader", user="ada", embedder=Two()) as memory:
            assert "Ada likes tea" in memory.context("tea")
    db.execute("UPDATE memoir.embedding_model SET name = 'other'")
    with (
        Memoir(f"{dsn} user=the_reader", user="ada", embedder=Two()) as memory,
        pytest.raises(ModelMismatch, match='filled by model "other"'),
    ):
        memory.context("tea")


@pytest.mark.usefixtures("agent")
def test_so_does_the_asynchronous_one(dsn):
    async def recalled():
        async with AsyncMemoir(f"{dsn} user=the_agent", user="ada", embedder=Two()) as memory:
            await memory.remember("Ada likes tea")
            await memory.add_event("alert", {"disk": 91})
            return await memory.context("tea")

    assert "Ada likes tea" in asyncio.run(recalled())


def test_on_the_callers_connection_it_names_him_for_the_call_alone(agent):
    Memoir(agent, user="ada", embedder=Two()).remember("Ada likes tea")
    Memoir(agent, user="bob", embedder=Two()).remember("Bob likes tea")
    assert value(agent, "SELECT coalesce(current_setting('memoir.user_id', true), '')") == ""
    assert value(agent, "SELECT count(*) FROM memoir.memory") == 0


@pytest.mark.usefixtures("agent")
def test_in_the_callers_transaction_too(log_in):
    conn = log_in("agent", autocommit=False)
    ada, bob = (Memoir(conn, user=user, embedder=Two()) for user in ("ada", "bob"))
    ada.remember("Ada likes tea")
    assert "secret" in bob.context("secret tea")
    assert "Ada" in ada.context("secret tea")
    assert conn.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    assert value(conn, "SELECT count(*) FROM memoir.memory") == 0
    conn.rollback()
    assert "Ada" not in ada.context("secret tea")


@pytest.mark.usefixtures("agent")
def test_the_user_the_caller_named_stays(log_in):
    conn = log_in("agent", autocommit=False)
    conn.execute("SET LOCAL memoir.user_id = 'ada'")
    assert "secret" not in Memoir(conn, embedder=None).context("secret")
    with pytest.raises(MemoirError) as caught:
        Memoir(conn, user="bob", embedder=None).context("secret")
    assert caught.value.sqlstate == "ME006"


def test_a_client_without_a_user_is_told_its_own_argument(agent):
    with pytest.raises(MissingUser) as caught:
        Memoir(agent, embedder=None).context("secret")
    assert caught.value.hint.startswith('Pass user="alice" to the client, or SET LOCAL memoir.user')


def test_what_fails_leaves_no_name_behind(agent):
    memory = Memoir(agent, user="bob", embedder=Two())
    with pytest.raises(MemoirError):
        memory.context("tea", mode="nonsense")
    assert value(agent, "SELECT count(*) FROM memoir.memory") == 0
    assert "secret" in memory.context("secret")


@pytest.mark.usefixtures("agent")
def test_in_the_callers_pipeline_the_failure_is_told_and_not_what_came_of_it(log_in):
    conn = log_in("agent", autocommit=False)
    with conn.pipeline(), pytest.raises(UnknownMode):
        Memoir(conn, user="bob", embedder=Two()).context("tea", mode="nonsense")


@pytest.mark.usefixtures("agent")
def test_what_never_reaches_the_server_leaves_none_either(log_in):
    conn = log_in("agent", autocommit=False)
    memory = Memoir(conn, user="bob", embedder=None)
    conn.execute("SET client_encoding TO 'LATIN1'")
    with pytest.raises(UnicodeEncodeError):
        memory.context("茶")
    assert value(conn, "SELECT current_setting('memoir.user_id')") == ""


def test_after_commit_a_pooled_session_sees_nothing(agent):
    # As transaction pooling hands it on: another client's transaction in the same session.
    for user, seen in (("bob", 1), ("ada", 0)):
        with agent.transaction():
            agent.execute("SELECT set_config('memoir.user_id', %s, true)", (user,))
            assert value(agent, "SELECT count(*) FROM memoir.memory") == seen
        assert value(agent, "SELECT current_setting('memoir.user_id')") == ""
        assert value(agent, "SELECT count(*) FROM memoir.memory") == 0
        with pytest.raises(psycopg.Error, match=r"memoir\.user_id is not set"):
            call(agent, "recall", query_text="secret", user_id="bob")


def test_a_row_of_the_user_called_nothing_is_nobodys(db, agent):
    db.execute("INSERT INTO memoir.term (user_id, term, df) VALUES ('', 1, 1)")
    agent.execute("SET memoir.user_id = ''")
    assert value(agent, "SELECT count(*) FROM memoir.term") == 0


@pytest.mark.usefixtures("agent")
def test_the_worker_works_as_memoir_worker(db, dsn):
    options = Options(name="w", concurrency=1)
    entries = []
    worker = Worker(f"{dsn} user=the_worker", Two(), None, options, entries.append)
    assert worker.run(once=True).done == 1
    assert value(db, "SELECT count(*) FROM memoir.trace WHERE embedding IS NULL") == 0
