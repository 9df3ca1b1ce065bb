"""A hot standby answers what only reads, refuses what writes, and says when it has caught up."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.errors import ReadOnlySqlTransaction
from tests.everything import OTHERS, READS, WRITES
from tests.rows import call, found, recall, refused, remember, until, value

from pgmemoir import AsyncMemoir, Memoir, OutOfRange, cli
from pgmemoir.worker import Options, Worker

# The logs of recalls and tools are unlogged tables: a standby has nothing of them.
OF_THE_LOG = {
    "hit_rate",
    "kinds_injected",
    "kinds_unused",
    "recall_latency",
    "retrieval_log",
    "suggested_weights",
    "token_utilisation",
    "tool_calls",
}
VIEWS = """SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind = 'v' AND c.relname !~ '^_'"""
REPLAY_STOPS = "SELECT pg_wal_replay_pause()"
REPLAY_GOES_ON = "SELECT pg_wal_replay_resume()"


def has_all(primary, standby):
    """Wait until the standby has what the primary has.

    Not in one statement: its snapshot may keep the standby from removing rows for 30 s.
    """
    token = value(primary, "SELECT memoir.written_at()")
    until(lambda: value(standby, "SELECT memoir.wait_for(%s, '0')", token))
    return token


@pytest.fixture
def held(primary, standby):
    """The standby, which stays where it is until the test says otherwise."""
    has_all(primary, standby)
    standby.execute(REPLAY_STOPS)
    until(lambda: value(standby, "SELECT pg_get_wal_replay_pause_state()") == "paused")
    yield standby
    standby.execute(REPLAY_GOES_ON)


@pytest.mark.parametrize("name", READS)
def test_every_reader_answers_on_a_standby(standby, name):
    standby.execute(READS[name])


@pytest.mark.parametrize("name", [*WRITES, *OTHERS])
def test_every_writer_is_refused_there_as_postgresql_refuses(standby, name):
    with pytest.raises(ReadOnlySqlTransaction, match="cannot execute"):
        standby.execute({**WRITES, **OTHERS}[name])


def test_views_are_read_there_but_those_of_the_log(standby):
    refused_views = set()
    for (view,) in standby.execute(VIEWS).fetchall():
        try:
            standby.execute(f"SELECT * FROM memoir.{view}")
        except psycopg.errors.FeatureNotSupported:
            refused_views.add(view)
    assert refused_views == OF_THE_LOG


def test_a_recall_is_the_same_on_both_and_logged_on_the_primary_alone(primary, standby):
    question = "where does she live?"
    has_all(primary, standby)
    there, here = recall(standby, question), recall(primary, question)
    assert (there.block, there.memory_ids) == (here.block, here.memory_ids)
    assert there.retrieval_id is None
    assert here.retrieval_id is not None


def test_tools_that_read_answer_there(standby):
    (answer,) = call(
        standby, "call_tool", name="search_memories", arguments={"query": "lives in Oslo"}
    )
    assert answer.call_tool["results"][0]["preview"] == "lives in Oslo with two cats"


def test_numbers_of_the_log_are_unknown_there_and_the_others_are_not(standby):
    numbers = dict(standby.execute("SELECT * FROM memoir.stats()").fetchall())
    assert (numbers["recalls"], numbers["recall_p95_ms"], numbers["tool_calls"]) == (None,) * 3
    assert numbers["messages"] == 2


@pytest.mark.parametrize(
    ("function", "arguments"),
    [("maintain", {}), ("purge", {"memory_id": 1}), ("purge_user", {"user_id": "ada"})],
)
def test_a_dry_run_that_needs_the_logs_is_refused_there_too(standby, function, arguments):
    said = refused(standby, function, dry_run=True, **arguments)
    assert (said.sqlstate, said.message_hint) == ("25006", "Call it on the primary.")


def test_doctor_examines_a_standby(standby, monkeypatch):
    monkeypatch.setenv("MEMOIR_EMBEDDER", "none")
    said = CliRunner().invoke(cli.main, ["--dsn", standby.info.dsn, "doctor"])
    assert "skip  upkeep      not on a standby" in said.stdout
    assert [line for line in said.stdout.splitlines() if line.startswith("fail")] == []


def test_what_was_written_is_read_on_a_replica_that_has_the_token(primary, held):
    remember(primary, "keeps bees", user_id="eve")
    token = value(primary, "SELECT memoir.written_at()")
    assert not value(held, "SELECT memoir.wait_for(%s, '0')", token)
    assert found(held, "keeps bees", user_id="eve") == []
    held.execute(REPLAY_GOES_ON)
    assert value(held, "SELECT memoir.wait_for(%s, '60 s')", token)
    assert found(held, "keeps bees", user_id="eve") == ["keeps bees"]


def test_a_token_counts_with_synchronous_commit_off_too(primary, standby):
    for number in range(5):
        with primary.transaction():
            primary.execute("SET LOCAL synchronous_commit = off")
            remember(primary, f"bee number {number}", user_id="asynchronous")
        has_all(primary, standby)
        count = "SELECT count(*) FROM memoir.memory WHERE user_id = 'asynchronous'"
        assert value(standby, count) == number + 1


def test_waiting_ends_when_the_time_is_over(primary, held):
    remember(primary, "keeps wasps", user_id="wim")
    token = value(primary, "SELECT memoir.written_at()")
    assert not value(held, "SELECT memoir.wait_for(%s, '20 ms')", token)
    assert not Memoir(held.info.dsn).wait_for(token, timeout=0.02)


def test_the_primary_has_what_it_wrote_and_knows_no_later_token(tx):
    token = value(tx, "SELECT memoir.written_at()")
    assert value(tx, "SELECT memoir.wait_for(%s)", token)
    assert not value(tx, "SELECT memoir.wait_for('FFFFFFFF/0')")


@pytest.mark.parametrize(
    ("lsn", "timeout"), [(None, "1 s"), ("0/1", None), ("0/1", "-1 s"), ("0/1", "2 hours")]
)
def test_a_wait_without_a_token_or_without_an_end_is_refused(tx, lsn, timeout):
    said = refused(tx, "wait_for", lsn=lsn, timeout=timeout)
    assert said.sqlstate == "ME008"


@pytest.mark.parametrize(
    ("place", "end"),
    [
        ("0/3000028", "0/3000000"),  # behind the long header of a segment
        ("0/3002018", "0/3002000"),  # behind the header of a page
        ("0/3002028", "0/3002028"),  # the longer one stands only at the start of a segment
        ("0/3001FF8", "0/3001FF8"),
    ],
)
def test_a_record_that_ends_with_its_page_ends_before_the_next_header(tx, place, end):
    assert value(tx, "SELECT memoir._record_end(%s::pg_lsn)::text", place) == end


def test_both_clients_read_their_writes(standbys, standby):
    async def written_and_read():
        async with AsyncMemoir(standbys.dsn, user="zoe", embedder=None) as writer:
            await writer.remember("plays the cello")
            token = await writer.written_at()
        async with AsyncMemoir(standby.info.dsn, user="zoe", embedder=None) as reader:
            return await reader.wait_for(token, 60), await reader.context("cello")

    here, block = asyncio.run(written_and_read())
    assert here
    assert "plays the cello" in block
    with Memoir(standbys.dsn) as writer, Memoir(standby.info.dsn, embedder=None) as reader:
        assert reader.wait_for(writer.written_at(), timeout=60)
        assert reader.wait_for(reader.written_at(), timeout=0)


@pytest.mark.parametrize(("token", "timeout"), [(None, 1), ("x", 1), ("0/1", -1), ("0/1", 4000)])
def test_the_client_refuses_what_is_no_token_or_no_time(tx, token, timeout):
    with pytest.raises(OutOfRange):
        Memoir(tx).wait_for(token, timeout=timeout)


class Small:
    """The embedder of the world."""

    name, dimensions = "small", 3

    def embed(self, texts):
        return [[0.0, 1.0, 0.0] for _ in texts]


def test_a_client_with_an_embedder_recalls_from_a_standby(standby):
    with Memoir(standby.info.dsn, embedder=Small()) as reader:
        assert "lives in Oslo with two cats" in reader.context("her pets")
        assert reader.explain("her pets")[0].cosine == pytest.approx(1, abs=0.01)


def test_a_worker_finds_the_primary_and_says_when_there_is_none(standbys, standby):
    reads, writes = standby.info, psycopg.conninfo.conninfo_to_dict(standbys.dsn)
    both = psycopg.conninfo.make_conninfo(
        standbys.dsn,
        host=f"{reads.host},{writes['host']}",
        port=f"{reads.port},{writes['port']}",
    )
    options = Options(kinds=["embed"])
    Worker(both, Small(), None, options, lambda _: None).run(once=True)
    with pytest.raises(psycopg.OperationalError, match="session is read-only"):
        Worker(reads.dsn, Small(), None, options, lambda _: None).run(once=True)


def test_a_wait_of_the_client_does_not_hold_up_the_replica(primary, held):
    """A row that changes is pruned, which conflicts with a snapshot that is kept."""
    primary.execute("CREATE TABLE busy AS SELECT 0 AS n")
    for _ in range(300):
        primary.execute("UPDATE busy SET n = n + 1")
    token = value(primary, "SELECT memoir.written_at()")
    waits = """SELECT count(*) FROM pg_stat_activity
        WHERE query ~ 'wait_for' AND pid <> pg_backend_pid()"""
    with Memoir(held.info.dsn) as reader, ThreadPoolExecutor(1) as pool:
        waited = pool.submit(reader.wait_for, token, timeout=60)
        until(lambda: value(held, waits))
        held.execute(REPLAY_GOES_ON)
        assert waited.result()


def test_a_promoted_standby_writes_goes_on_counting_and_has_empty_logs(standbys, primary):
    last = remember(primary, "before the promotion", user_id="new")
    with psycopg.connect(standbys.start("promoted"), autocommit=True) as conn:
        has_all(primary, conn)
        conn.execute("SELECT pg_promote()")
        assert remember(conn, "after the promotion", user_id="new") > last
        assert value(conn, "SELECT count(*) FROM memoir.retrieval") == 0
        logged = recall(conn, "promotion", user_id="new").retrieval_id
        assert logged > value(primary, "SELECT max(retrieval_id) FROM memoir.retrieval")
        assert recall(conn, "promotion", user_id="new").retrieval_id == logged + 1
