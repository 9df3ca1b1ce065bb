"""``memoir worker``: every job is done once, whatever the models, the worker or PostgreSQL do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest
from click.testing import Result
from psycopg.conninfo import make_conninfo
from tests.client.conftest import Letters
from tests.conftest import folder_of_a_server
from tests.jobs import add_kind, claim, enqueue
from tests.openai_server import (
    Body,
    Fault,
    OpenAIServer,
    Reply,
    cut_off,
    dripping,
    empty,
    refuses,
    reset,
    says,
    silent,
    status,
    truncated,
    wrong_dimension,
)
from tests.rows import (
    is_blocked,
    notes,
    remember,
    set_to,
    until,
    until_blocked,
    value,
    without_vector,
)

from pgmemoir import MemoirError, ModelMismatch, OpenAIEmbedder, UnknownKind, migrations
from pgmemoir import server as embedded
from pgmemoir.chat_models import OpenAIChat
from pgmemoir.connections import connect
from pgmemoir.jobs import Finish, Jobs
from pgmemoir.lanes import Pause
from pgmemoir.paths import Source
from pgmemoir.worker import Options, Worker

pytestmark = pytest.mark.once

Log = list[dict[str, Any]]
Work = Callable[..., Log]

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
KEYWORDS = {"keywords": [{"word": "tea", "weight": 0.9}]}


@pytest.fixture
def api(api: OpenAIServer) -> OpenAIServer:
    api.answer = lambda _: KEYWORDS
    return api


def worker(
    dsn: str, api: OpenAIServer, log: Log, chat: bool = True, timeout: float = 20, **options: Any
) -> Worker:
    where = {"base_url": api.url, "api_key": "sk-secret", "timeout": timeout}
    return Worker(
        dsn,
        OpenAIEmbedder("m", retries=0, **where),
        OpenAIChat("m", **where) if chat else None,
        Options(**options),
        log.append,
    )


@pytest.fixture
def work(dsn: str, api: OpenAIServer) -> Work:
    """Does what waits; the entries of the log."""

    def work(**options: Any) -> Log:
        log: Log = []
        worker(dsn, api, log, **options).run(once=True)
        return log

    return work


@contextmanager
def working(
    dsn: str, api: OpenAIServer, once: bool = False, **options: Any
) -> Iterator[tuple[Worker, Log]]:
    """A worker in a thread, stopped at the end."""
    log: Log = []
    runs = worker(dsn, api, log, **{"poll": 0.05, "grace": 30.0, **options})
    thread = threading.Thread(target=runs.run, args=[once])
    thread.start()
    try:
        yield runs, log
    finally:
        runs.stop()
        thread.join(60)
    assert not thread.is_alive()


def outcomes(log: Log) -> list[str]:
    return [entry["outcome"] for entry in log if entry["event"] == "job"]


def wants_keywords(conn: psycopg.Connection, content: str = "green tea", user: str = "ada") -> int:
    """A memory with a vector, for whose keywords the chat model is to be asked; its job."""
    memory_id = remember(conn, content, user_id=user, embedding=str([1.0] * 8))
    return enqueue(conn, "keywords", payload={"memory_id": str(memory_id)}, user_id=user)


def from_model(conn: psycopg.Connection) -> list[Any]:
    """The keywords that the chat model gave."""
    rows = conn.execute("SELECT keyword, weight FROM memoir.keyword WHERE origin = 'llm'")
    return rows.fetchall()


def errors(conn: psycopg.Connection) -> list[Any]:
    """What the queue says of jobs that failed: status, attempts, reason."""
    return conn.execute("SELECT status, attempts, error FROM memoir.job_errors").fetchall()


def later(conn: psycopg.Connection) -> None:
    """Time passes until every job is due."""
    conn.execute("UPDATE memoir.job SET run_at = now() WHERE status = 'waiting'")


def test_texts_of_many_users_go_in_one_request(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    for user in range(12):
        notes(db, 5, f"user{user}")
    assert outcomes(work()) == ["done"] * 12
    assert [len(body["input"]) for body in api.embeddings] == [60]
    assert without_vector(db) == 0


def test_a_request_is_not_larger_than_the_api_takes(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    notes(db, 520)
    notes(db, 20, "bob")
    work()
    assert max(len(body["input"]) for body in api.embeddings) <= 256
    assert len(api.embeddings) == 3
    assert without_vector(db) == 0


def test_every_memory_gets_the_vector_of_its_own_text(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    api.embed = lambda text, _: [float(len(text)), 1.0]
    for user in ("ada", "bobby", "constance"):
        notes(db, 30, user)
    work()
    wrong = (
        "SELECT count(*) FROM memoir.trace WHERE embedding::text <> '[' || length(line) || ',1]'"
    )
    assert value(db, wrong) == 0


SILENCE = (
    (status(429, retry_after="7"), "HTTP 429"),
    (status(429, retry_after=formatdate(time.time() + 3600, usegmt=True)), "HTTP 429"),
    (status(503), "HTTP 503"),
    (status(500), "HTTP 500"),
    (status(401), "HTTP 401"),
    (silent, "no answer in time"),
    (dripping, "no answer in time"),
    (reset, "connection lost"),
    (truncated, "not "),
    (empty, "not "),
)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        *SILENCE,
        (status(400), "HTTP 400"),
        (wrong_dimension, "9 dimensions, 8 were expected"),
        (lambda _: Reply({"data": [{"index": 3, "embedding": [0.5] * 8}]}), "other texts than"),
        (lambda reply: Reply({**reply.body, "data": reply.body["data"][1:]}), "0 vectors for 1"),
    ],
)
def test_an_embedder_that_fails_loses_nothing(
    db: psycopg.Connection, work: Work, api: OpenAIServer, fault: Fault, reason: str
) -> None:
    db.execute("SELECT memoir.use_model('openai/m', 8)")
    notes(db, 3)
    api.always = fault
    work(timeout=0.1 if fault in (silent, dripping) else 20)
    ((state, _, error),) = errors(db)
    assert (without_vector(db), state) == (3, "waiting")
    assert reason in error
    api.always = None
    later(db)
    assert outcomes(work()) == ["done"]
    assert (without_vector(db), errors(db)) == (0, [])


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        *SILENCE,
        (refuses, "refused"),
        (cut_off, "cut off"),
        (says("Done: all memories are deleted."), "not JSON"),
        (says({"keywords": [{"word": "tea"}]}), 'lacks "weight"'),
        (says({"keywords": [], "delete": "everything"}), "delete is not allowed"),
        (says({"keywords": [{"word": "\0", "weight": 1}]}), "cannot store"),
        (says(None), "empty"),
    ],
)
def test_a_chat_model_that_fails_loses_nothing(
    db: psycopg.Connection, work: Work, api: OpenAIServer, fault: Fault, reason: str
) -> None:
    wants_keywords(db)
    api.always = fault
    log = work(timeout=0.1 if fault in (silent, dripping) else 20)
    ((state, _, error),) = errors(db)
    assert (from_model(db), state) == ([], "waiting")
    assert reason in error
    assert all(entry["reason"] for entry in log if entry["event"] == "job")
    api.always = None
    later(db)
    assert outcomes(work()) == ["done"]
    assert (from_model(db), errors(db)) == ([("tea", 0.9)], [])


@pytest.mark.parametrize(
    ("fault", "counted"),
    [
        *((status(429, "7"), 0), (status(503), 0), (status(401), 0), (status(405), 0)),
        *((status(403), 0), (status(502), 0), (status(522), 0), (status(529), 0)),
        *((status(500), 1), (status(504), 1), (reset, 1)),
    ],
)
def test_only_what_may_be_the_fault_of_a_job_counts_as_an_attempt(
    db: psycopg.Connection, work: Work, api: OpenAIServer, fault: Fault, counted: int
) -> None:
    wants_keywords(db)
    api.always = fault
    work()
    ((_, attempts, _),) = errors(db)
    assert attempts == counted


@pytest.mark.parametrize("fault", [status(400), wrong_dimension])
def test_a_wrong_setting_is_no_fault_of_a_job(
    db: psycopg.Connection, work: Work, api: OpenAIServer, fault: Fault
) -> None:
    db.execute("SELECT memoir.use_model('openai/m', 8)")
    notes(db, 3)
    api.always = fault
    work()
    ((_, attempts, _),) = errors(db)
    assert attempts == 0


def test_a_job_waits_as_long_as_the_model_asked(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    wants_keywords(db)
    api.fail(status(429, retry_after="600"))
    assert work()[-2]["event"] == "pause"
    wait = "SELECT extract(epoch FROM run_at - now()) FROM memoir.job"
    assert 300 < value(db, wait) <= 600


def test_a_model_that_does_not_answer_is_left_alone(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    for number in range(20):
        wants_keywords(db, f"tea {number}")
    api.always = status(503)
    work(concurrency=2)
    assert len(api.chats) == 2


def test_a_model_that_asks_for_no_pause_and_fails_again_gets_one() -> None:
    pause = Pause()
    assert pause.begin(0.0) == 0
    assert min(pause.begin(0.0) for _ in range(5)) >= 1
    assert pause.begin(90.0) == 90
    pause.end()
    assert pause.begin(0.0) == 0


def test_an_embedder_that_ends_its_thread_fails_at_its_jobs_and_the_worker_ends(
    db: psycopg.Connection, dsn: str, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(_texts: list[str]) -> list[list[float]]:
        raise SystemExit

    monkeypatch.setattr(letters, "embed", leave)
    notes(db, 1)
    worker = Worker(dsn, letters, None, Options(), lambda _: None)
    assert worker.run(once=True).failed == 1
    assert worker._woken.fileno() == worker._waker.fileno() == -1  # nothing is left open
    worker.stop()


@pytest.mark.parametrize("fault", [status(400), status(403), status(500), reset])
def test_one_text_at_which_the_model_fails_keeps_no_other(
    db: psycopg.Connection, work: Work, api: OpenAIServer, fault: Fault
) -> None:
    db.execute("SELECT memoir.use_model('openai/m', 8)")
    notes(db, 50)
    notes(db, 50, "bob")
    api.always = lambda reply: (
        fault(reply) if "bob note 7" in api.embeddings[-1]["input"] else reply
    )
    log = work()
    assert (outcomes(log), log[-1]["failed"]) == (["done", "done"], 1)
    assert without_vector(db) == 1
    assert [state for state, *_ in errors(db)] == ["waiting"]
    assert len({str(request["input"]) for request in api.embeddings}) <= 1 + 2 * 7


def test_a_vector_that_cannot_be_stored_comes_back_by_itself(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    notes(db, 3)
    api.embed = lambda text, n: [1e9 if text == "ada note 1" else 0.5] * n
    work()
    assert without_vector(db) == 1
    ((_, _, error),) = errors(db)
    assert "component 0 of the vector is 1000000000.0" in error


def test_questions_are_asked_at_once_up_to_a_limit(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    together = threading.Barrier(3)

    def answer(_: Body) -> Any:
        together.wait(60)
        return KEYWORDS

    api.answer = answer
    for user in range(6):
        wants_keywords(db, user=f"user{user}")
    assert outcomes(work(concurrency=3)) == ["done"] * 6


def test_who_comes_later_waits_a_turn_and_not_for_all_jobs_of_another(
    db: psycopg.Connection,
    dsn: str,
    api: OpenAIServer,
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pgmemoir.worker._REST", 0)
    for number in range(20):
        wants_keywords(db, f"tea {number}")
    with working(dsn, api, concurrency=1, poll=0.01, kinds=["keywords"]) as (_, log):
        until(lambda: api.chats)
        wants_keywords(db, user="bob")
        time.sleep(0.01)
        held.set()
        until(lambda: len(outcomes(log)) == 21)
    users = [entry["user"] for entry in log if entry["event"] == "job"]
    assert len(set(users[:3])) == 2


def test_what_is_extracted_of_a_session_is_shown_to_its_reflection_in_the_same_run(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    say = "SELECT memoir.message_add('s', 'user', 'I like green tea')"
    db.execute(f"{say} FROM generate_series(1, 6)")
    db.execute("SELECT memoir.session_end('s')")
    fact = {"kind": "fact", "content": "Ada likes green tea", "subject": None, "data": []}
    drawn = {"memories": [{**fact, "importance": 0.8, "confidence": 1, "turns": None}]}
    api.answer = lambda body: (
        {"decisions": []} if "<session>" in body["messages"][1]["content"] else drawn
    )
    log = work(kinds=["extract", "reflect"])
    assert [job["kind"] for job in log if job.get("outcome") == "done"] == ["extract", "reflect"]
    assert "Ada likes green tea" in api.chats[1]["messages"][1]["content"]


def test_without_a_chat_model_its_jobs_wait_unharmed(db: psycopg.Connection, work: Work) -> None:
    job = wants_keywords(db)
    notes(db, 2)
    log = work(chat=False)
    assert (log[0]["kinds"], "keywords" in log[0]["without_model"]) == (["embed"], True)
    assert without_vector(db) == 0
    said = "SELECT status || attempts FROM memoir.job WHERE job_id = %s"
    assert value(db, said, job) == "waiting0"


def test_only_the_kinds_that_were_named_are_done(db: psycopg.Connection, work: Work) -> None:
    wants_keywords(db)
    notes(db, 2)
    assert outcomes(work(kinds=["keywords"])) == ["done"]
    assert without_vector(db) == 2


def test_a_kind_without_its_model_is_an_error(work: Work) -> None:
    with pytest.raises(MemoirError, match="no model for jobs of kind keywords"):
        work(kinds=["embed", "keywords"], chat=False)


def test_an_unknown_kind_is_an_error(work: Work) -> None:
    with pytest.raises(UnknownKind, match="no jobs of kind nonsense"):
        work(kinds=["embed", "nonsense"])


def test_the_model_of_another_database_is_an_error(db: psycopg.Connection, work: Work) -> None:
    notes(db, 1)
    db.execute("SELECT memoir.use_model('another', 8)")
    with pytest.raises(ModelMismatch):
        work()
    assert value(db, "SELECT count(*) FROM memoir.job WHERE status = 'running'") == 0


def test_the_log_holds_no_content(db: psycopg.Connection, work: Work, api: OpenAIServer) -> None:
    wants_keywords(db, "harbor_sid is the cookie", "ada.lovelace@example.org")
    api.fail(status(400, message="sk-secret, harbor_sid"), status(400), says("harbor_sid"))
    for _ in range(3):
        later(db)
        text = json.dumps(work())
        assert not [word for word in ("harbor", "lovelace", "sk-secret") if word in text]
        later(db)


def test_an_idle_worker_is_told_of_a_job(
    db: psycopg.Connection, dsn: str, api: OpenAIServer
) -> None:
    with working(dsn, api, poll=3600.0) as (_, log):
        until(lambda: log)
        time.sleep(0.2)
        wants_keywords(db)
        until(lambda: outcomes(log) == ["done"])


def test_an_idle_worker_looks_by_itself(
    db: psycopg.Connection, dsn: str, api: OpenAIServer
) -> None:
    set_to(db, job_notify=False)
    with working(dsn, api) as (_, log):
        until(lambda: log)
        wants_keywords(db)
        until(lambda: outcomes(log) == ["done"])


@pytest.fixture
def held(api: OpenAIServer) -> Iterator[threading.Event]:
    """The chat model answers when this is set."""
    free = threading.Event()

    def answer(_: Body) -> Any:
        free.wait(60)
        return KEYWORDS

    api.answer = answer
    yield free
    free.set()


def test_a_stopped_worker_ends_what_it_has_begun(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    for number in range(3):
        wants_keywords(db, f"tea {number}")
    with working(dsn, api, concurrency=1) as (runs, log):
        until(lambda: api.chats)
        runs.stop()
        held.set()
    assert outcomes(log) == ["done"]
    counted = (
        "SELECT array_agg(attempts ORDER BY attempts) FROM memoir.job WHERE status = 'waiting'"
    )
    assert value(db, counted) == [0, 0]


def test_what_a_stopped_worker_cannot_end_is_free_at_once(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    job = wants_keywords(db)
    with working(dsn, api, grace=0.0):
        until(lambda: api.chats)
    assert not held.is_set()
    assert errors(db) == [("waiting", 0, "the worker stopped")]
    assert value(db, "SELECT run_at <= now() FROM memoir.job WHERE job_id = %s", job)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease of five minutes, which no machine is too slow for, is extended each third second."""
    monkeypatch.setattr("pgmemoir.worker._EXTENSIONS", 900)


@pytest.mark.usefixtures("often")
def test_a_job_that_takes_longer_than_its_lease_stays_with_its_worker(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    job = wants_keywords(db)
    ends = "SELECT run_at FROM memoir.job WHERE job_id = %s"
    with working(dsn, api) as (_, log):
        until(lambda: api.chats)
        first = value(db, ends, job)
        until(lambda: value(db, ends, job) > first)
        second = value(db, ends, job)
        until(lambda: value(db, ends, job) > second)
        assert claim(db, worker="other", user_id="ada", at=first) == []
        held.set()
        until(lambda: outcomes(log) == ["done"])


def test_a_job_that_is_gone_does_not_stop_the_worker(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    gone = wants_keywords(db)
    with working(dsn, api) as (_, log):
        until(lambda: api.chats)
        db.execute("DELETE FROM memoir.job WHERE job_id = %s", (gone,))
        held.set()
        until(lambda: outcomes(log) == ["ME012"])
        wants_keywords(db, "black tea")
        until(lambda: outcomes(log) == ["ME012", "done"])


@pytest.mark.usefixtures("often")
def test_a_job_that_is_gone_does_not_stop_the_worker_while_it_waits_for_the_model(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    wants_keywords(db)
    kept = wants_keywords(db, user="bob")
    lease = "SELECT run_at FROM memoir.job WHERE job_id = %s"
    with working(dsn, api) as (_, log):
        until(lambda: len(api.chats) == 2)
        db.execute("SELECT memoir.purge_user('ada')")
        before = value(db, lease, kept)
        until(lambda: value(db, lease, kept) > before)
        held.set()
        until(lambda: sorted(outcomes(log)) == ["ME012", "done"])


@pytest.mark.usefixtures("often")
def test_a_purge_that_is_not_committed_keeps_no_other_user_when_leases_are_extended(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    wants_keywords(db)
    with psycopg.connect(dsn) as application, working(dsn, api) as (_, log):
        until(lambda: api.chats)
        application.execute("SELECT memoir.purge_user('ada')")
        until_blocked(db)
        wants_keywords(db, user="bob")
        held.set()
        until(lambda: outcomes(log) == ["done"])
        application.rollback()
        until(lambda: outcomes(log) == ["done"] * 2)


def test_a_purge_that_is_not_committed_keeps_no_vectors_of_other_users(
    db: psycopg.Connection, dsn: str, api: OpenAIServer
) -> None:
    for user in ("ada", "bob", "carl", "dora", "eve"):
        notes(db, 1, user)
    began, free = threading.Event(), threading.Event()
    api.always = lambda reply: (began.set(), free.wait(60), reply)[2]
    with psycopg.connect(dsn) as application, working(dsn, api) as (_, log):
        assert began.wait(60)
        application.execute("SELECT memoir.purge_user('ada')")
        free.set()
        until(lambda: without_vector(db) == 1)
        until(lambda: outcomes(log) == ["done"] * 4)
        application.rollback()
        until(lambda: outcomes(log) == ["done"] * 5)


def test_a_purge_that_is_not_committed_keeps_no_job_of_others_with_a_stopped_worker(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event
) -> None:
    for user in ("ada", "bob", "carl", "dora", "eve"):
        wants_keywords(db, user=user)
    with psycopg.connect(dsn) as application, working(dsn, api, grace=0.0, concurrency=5):
        until(lambda: len(api.chats) == 5)
        application.execute("SELECT memoir.purge_user('ada')")
    assert not held.is_set()
    assert errors(db) == [("waiting", 0, "the worker stopped")] * 4


def end_workers(conn: psycopg.Connection) -> None:
    """End their connections."""
    conn.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name LIKE 'pgmemoir %' AND datname = current_database()"
    )


@pytest.mark.parametrize("once", [False, True])
def test_a_lost_connection_loses_no_answer(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event, once: bool
) -> None:
    wants_keywords(db)
    with working(dsn, api, once) as (_, log):
        until(lambda: api.chats)
        end_workers(db)
        until(lambda: [entry for entry in log if entry["event"] == "database lost"])
        held.set()
        until(lambda: outcomes(log) == ["done"])
    assert (len(api.chats), from_model(db)) == (1, [("tea", 0.9)])


def test_with_once_a_database_that_stays_away_is_an_error(
    db: psycopg.Connection, work: Work, api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> NoReturn:
        raise psycopg.OperationalError("connection refused")

    def answer(_: Body) -> Any:
        monkeypatch.setattr("pgmemoir.worker.connect", away)
        end_workers(db)
        return KEYWORDS

    wants_keywords(db)
    monkeypatch.setattr("pgmemoir.worker._LONGEST_RECONNECT", 0.5)
    api.answer = answer
    with pytest.raises(psycopg.OperationalError):
        work()


# PostgreSQL while it replays its log; a process, because libpq keeps Python's lock while it asks.
RECOVERING = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
said = b"SFATAL\\0C57P03\\0Mdas Datenbanksystem startet\\0\\0"
while True:
    asked, _ = server.accept()
    asked.recv(4096)
    asked.sendall(b"E" + (len(said) + 4).to_bytes(4, "big") + said)
    asked.close()
"""


def test_a_server_that_recovers_at_the_start_is_waited_for(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(db, 1)
    log: Log = []
    with subprocess.Popen(
        [sys.executable, "-c", RECOVERING], stdout=subprocess.PIPE, text=True
    ) as recovering:
        assert recovering.stdout is not None
        port = recovering.stdout.readline().strip()
        where = f"host=127.0.0.1 port={port} sslmode=disable gssencmode=disable"
        wheres = iter((where, dsn))
        monkeypatch.setattr(
            "pgmemoir.worker.connect", lambda _, **more: connect(next(wheres), **more)
        )
        try:
            assert worker(where, api, log).run(once=True).done == 1
        finally:
            recovering.kill()
    assert [entry["event"] for entry in log][:2] == ["database lost", "database back"]


@pytest.mark.parametrize("code", ["25006", "53100"])
def test_an_answer_waits_for_a_server_that_takes_no_writes_for_a_while(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, held: threading.Event, code: str
) -> None:
    """A pooler keeps the connection when the server behind it becomes a standby; a full disk."""
    wants_keywords(db)
    db.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" 'BEGIN RAISE SQLSTATE ''{code}''; END'"
    )
    with working(dsn, api) as (_, log):
        until(lambda: api.chats)
        db.execute("CREATE TRIGGER refuse BEFORE UPDATE ON memoir.job EXECUTE FUNCTION refuse()")
        held.set()
        until(lambda: [entry for entry in log if entry["event"] == "database lost"])
        db.execute("DROP TRIGGER refuse ON memoir.job")
        until(lambda: outcomes(log))
    assert (outcomes(log), len(api.chats)) == (["done"], 1)


def test_an_answer_that_came_in_the_way_of_another_writer_is_stored_later(
    db: psycopg.Connection, work: Work, api: OpenAIServer
) -> None:
    wants_keywords(db)
    db.execute("CREATE SEQUENCE tries")
    db.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF"
        " nextval(''tries'') = 1 THEN RAISE serialization_failure; END IF; RETURN NEW; END'"
    )
    db.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON memoir.job FOR EACH ROW"
        " WHEN (NEW.status = 'done') EXECUTE FUNCTION refuse()"
    )
    assert (outcomes(work()), len(api.chats)) == (["done"], 1)


def test_an_answer_is_kept_whatever_isolation_the_database_is_set_to(
    db: psycopg.Connection, dsn: str, api: OpenAIServer
) -> None:
    strict = make_conninfo(dsn, options="-c default_transaction_isolation=serializable")
    wants_keywords(db)
    with psycopg.connect(dsn) as writer:
        writer.execute("UPDATE memoir.profile SET updated_at = now()")
        with working(strict, api, kinds=["keywords"]) as (_, log):
            until_blocked(db)
            writer.commit()
            until(lambda: outcomes(log))
    assert outcomes(log) == ["done"]


def test_an_open_transaction_of_one_user_keeps_no_other_user(
    db: psycopg.Connection, dsn: str, api: OpenAIServer
) -> None:
    for number in range(5):
        wants_keywords(db, f"tea {number}")
    wants_keywords(db, user="bob")
    with psycopg.connect(dsn) as application:
        application.execute("UPDATE memoir.profile SET updated_at = now() WHERE user_id = 'ada'")
        with working(dsn, api, concurrency=2, kinds=["keywords"]) as (_, log):
            until(lambda: api.chats and until_blocked(db) is None)
            until(lambda: outcomes(log) == ["done"])
            for _ in range(2):  # it tries again
                until(lambda: not value(db, "SELECT count(*) FROM pg_locks WHERE NOT granted"))
                until_blocked(db)
            assert len(api.chats) <= 3  # two of hers at once, if bob's came first
            application.commit()
            until(lambda: outcomes(log) == ["done"] * 6)
    assert len(api.chats) == 6


def test_no_more_is_asked_than_can_be_kept_for_users_who_are_busy(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgmemoir.worker._MAX_UNREPORTED", 1)
    monkeypatch.setattr("pgmemoir.worker._BUSY_WAIT", 0.01)
    for user in ("ada", "bob"):
        wants_keywords(db, user=user)
    with psycopg.connect(dsn) as application:
        application.execute("UPDATE memoir.profile SET updated_at = now()")
        with working(dsn, api, concurrency=1, kinds=["keywords"]) as (_, log):
            for blocked in (True, False, True, False):
                until(lambda blocked=blocked: blocked == is_blocked(db))
            assert len(api.chats) == 1
            application.commit()
            until(lambda: outcomes(log) == ["done"] * 2)


@pytest.fixture
def home(pytestconfig: pytest.Config) -> Iterator[tuple[Path, int]]:
    """A folder for a server of the test's own, and its version."""
    with folder_of_a_server() as folder:
        yield folder, pytestconfig.getoption("pg")


def test_a_worker_survives_a_crash_of_postgresql(
    home: tuple[Path, int], api: OpenAIServer, held: threading.Event, few_synonyms: Source
) -> None:
    dsn = embedded.start(*home)
    with psycopg.connect(dsn, autocommit=True) as conn:
        migrations.up(conn, source=few_synonyms)
        wants_keywords(conn)
        notes(conn, 30)
    # What was done without having reached the disk is done again when the lease has ended.
    with working(dsn, api, lease=1.5) as (_, log):
        until(lambda: api.chats and api.embeddings)
        crash(*home)
        until(lambda: [entry for entry in log if entry["event"] == "database lost"])
        held.set()
        with psycopg.connect(embedded.start(*home), autocommit=True) as conn:
            until(lambda: (without_vector(conn), from_model(conn)) == (0, [("tea", 0.9)]))


def crash(folder: Path, version: int) -> None:
    """Kill PostgreSQL."""
    pid = (folder / f"pg{version}/postmaster.pid").read_text().splitlines()[0]
    os.kill(int(pid), signal.SIGKILL)


def process(dsn: str, api: OpenAIServer, *options: str) -> subprocess.Popen[str]:
    """``memoir worker`` in a process of its own."""
    program = [sys.executable, "-c", "from pgmemoir.cli import main; main()", "--dsn", dsn]
    settings = {
        "MEMOIR_EMBEDDER": "openai",
        "MEMOIR_EMBED_MODEL": "m",
        "MEMOIR_CHAT_MODEL": "m",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": api.url,
    }
    return subprocess.Popen(
        [*program, "worker", *options],
        env={**os.environ, **settings},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_jobs_of_a_killed_worker_are_done_by_another_and_once(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, work: Work
) -> None:
    for user in range(30):
        wants_keywords(db, user=f"user{user}")
    api.fall_silent(after=6)
    killed = process(dsn, api, "--concurrency", "3")
    until(lambda: len(from_model(db)) == 6)
    killed.kill()
    killed.communicate()
    until(lambda: not value(db, "SELECT count(*) FROM pg_stat_activity WHERE application_name"
                                " ~ '^pgmemoir ' AND datname = current_database()"))  # fmt: skip
    db.execute("UPDATE memoir.job SET run_at = now() WHERE status = 'running'")  # leases end
    api.always = None
    assert outcomes(work()) == ["done"] * 24
    assert len(from_model(db)) == 30


@pytest.fixture
def unhandled() -> Iterator[None]:
    """A signal that the command does not handle fails the test, and does not end all tests; so
    does the alarm, when it does not end.
    """

    def fail(number: int, _frame: object) -> None:
        pytest.fail(f"signal {number} is not handled")

    before = {number: signal.signal(number, fail) for number in (*SIGNALS, signal.SIGALRM)}
    signal.alarm(120)
    yield
    signal.alarm(0)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("unhandled")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_lets_it_end_what_it_has_begun(
    db: psycopg.Connection,
    memoir: Callable[..., Result],
    api: OpenAIServer,
    held: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    for tea in range(3):
        wants_keywords(db, f"tea {tea}")

    def send() -> None:
        until(lambda: api.chats)
        os.kill(os.getpid(), number)
        time.sleep(0.2)
        held.set()

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", api.url)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(send)
        done = memoir("worker", "--model", "m", "--concurrency", "1")
        sent.result()
    entries = [json.loads(line) for line in done.stderr.splitlines()]
    assert (done.exit_code, outcomes(entries)) == (0, ["done"])
    assert entries[-1]["event"] == "stop"


def test_the_log_is_lines_of_json_when_a_connection_is_lost(
    db: psycopg.Connection, dsn: str, api: OpenAIServer
) -> None:
    wants_keywords(db)
    with psycopg.connect(dsn) as application:
        application.execute("UPDATE memoir.profile SET updated_at = now()")
        runs = process(dsn, api)
        ended = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()"""
        until(lambda: value(db, ended))  # it waits for 200 ms at a time
    until(lambda: from_model(db))
    runs.terminate()
    _, log = runs.communicate(timeout=60)
    assert "database lost" in [json.loads(line)["event"] for line in log.splitlines()]
    assert runs.returncode == 0


def test_the_command_waits_for_a_model_as_long_as_it_is_told(
    db: psycopg.Connection,
    api: OpenAIServer,
    memoir: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wants_keywords(db)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", api.url)
    api.fail(silent)
    done = memoir("worker", "--once", "--model", "m", "--timeout", "0.1")
    assert (done.exit_code, "no answer in time" in done.stderr) == (1, True)


def test_without_any_model_the_command_says_what_to_set(memoir: Callable[..., Result]) -> None:
    done = memoir("worker", "--once")
    assert done.exit_code == 1
    assert "hint: Set MEMOIR_CHAT_MODEL" in done.stderr


def test_only_its_own_commits_do_not_wait_for_the_disk(db: psycopg.Connection) -> None:
    """A pooler of transactions lends its connection to others."""
    db.execute("SET synchronous_commit = on")
    db.execute(
        "CREATE TABLE waits AS SELECT '' AS commit WHERE false;"
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO"
        " public.waits VALUES (current_setting(''synchronous_commit'')); RETURN NEW; END';"
        "CREATE TRIGGER wait BEFORE UPDATE ON memoir.job FOR EACH ROW EXECUTE FUNCTION wait()"
    )
    enqueue(db, add_kind(db))
    jobs = Jobs(db, "w1", 60)
    (job,) = jobs.claim([("default", 1)], ["errand"])
    jobs.extend([job])
    assert jobs.report([Finish(job)]) == ["done"]
    assert db.execute("SELECT commit FROM waits").fetchall() == [("off",)] * 3
    assert value(db, "SHOW synchronous_commit") == "on"
