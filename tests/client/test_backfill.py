"""``memoir backfill``: vectors for what has none, batch by batch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import openai
import psycopg
import pytest
from click.testing import CliRunner, Result
from tests.openai_server import Fault, OpenAIServer, Reply, reset, status, wrong_dimension
from tests.rows import call, notes, remember_all, until, value, without_vector

from pgmemoir import DimensionMismatch, ModelMismatch, OpenAIEmbedder, cli, openai_api
from pgmemoir.backfill import Backlog, Batch, EmbedderGone, backfill, backlog

pytestmark = pytest.mark.once

Run = Callable[..., list[Batch]]


@pytest.fixture
def run(db: psycopg.Connection, api: OpenAIServer) -> Run:
    """Backfills; the sleeps are kept instead of slept."""

    def run(**options: Any) -> list[Batch]:
        embedder = OpenAIEmbedder("m", base_url=api.url, api_key="none", retries=0)
        sleeps = run.__dict__.setdefault("sleeps", [])
        return list(backfill(db, embedder, sleep=sleeps.append, **options))

    return run


@pytest.fixture
def memoir(dsn: str, api: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    for name, setting in openai_settings(api).items():
        monkeypatch.setenv(name, setting)
    return lambda *arguments: CliRunner().invoke(
        cli.main, ["--dsn", dsn, "backfill", "--pause", "0", *arguments]
    )


def openai_settings(api: OpenAIServer) -> dict[str, str]:
    return {
        "MEMOIR_EMBEDDER": "openai",
        "MEMOIR_EMBED_MODEL": "m",
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": api.url,
    }


def test_every_memory_gets_its_vector(db: psycopg.Connection, run: Run) -> None:
    notes(db, 7)
    notes(db, 5, "bob")
    assert run(batch=5) == [Batch(5, {}), Batch(5, {}), Batch(2, {})]
    assert without_vector(db) == 0


def test_a_memory_gets_the_vector_of_its_text(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    api.embed = lambda text, _: [float(len(text)), 1.0]
    notes(db, 12)
    run(batch=5)
    wrong = (
        "SELECT count(*) FROM memoir.trace WHERE embedding::text <> '[' || length(line) || ',1]'"
    )
    assert value(db, wrong) == 0


def test_what_has_a_vector_is_skipped(db: psycopg.Connection, run: Run, api: OpenAIServer) -> None:
    notes(db, 3)
    run()
    notes(db, 2, "bob")
    assert run() == [Batch(2, {})]
    assert api.embeddings[-1]["input"] == ["bob note 0", "bob note 1"]


def test_one_user_can_be_chosen(db: psycopg.Connection, run: Run) -> None:
    notes(db, 3)
    notes(db, 2, "bob")
    assert run(user="bob") == [Batch(2, {})]
    assert without_vector(db) == 3


def test_between_two_batches_is_a_pause(db: psycopg.Connection, run: Run) -> None:
    notes(db, 11)
    run(batch=5, pause=0.25)
    assert run.__dict__["sleeps"] == [0.25, 0.25]


def test_the_same_text_is_embedded_once_in_a_batch(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    for user in ("ada", "bob"):
        remember_all(db, ["tea, please"], user=user)
    assert run() == [Batch(2, {})]
    assert api.embeddings[0]["input"] == ["tea, please"]


@pytest.mark.parametrize("fault", [status(400), status(500), reset])
def test_a_text_that_fails_is_named_and_the_rest_goes_on(
    db: psycopg.Connection, run: Run, api: OpenAIServer, fault: Fault
) -> None:
    ids = notes(db, 12)
    api.always = lambda reply: (
        fault(reply) if "ada note 3" in api.embeddings[-1]["input"] else reply
    )
    filled = run(batch=5)
    assert [batch.done for batch in filled] == [4, 5, 2]
    assert [list(batch.failures) for batch in filled] == [[ids[3]], [], []]
    assert without_vector(db) == 1


def test_a_text_that_fails_is_found_by_halves(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    notes(db, 100)
    api.always = lambda reply: (
        status(500)(reply) if "ada note 57" in api.embeddings[-1]["input"] else reply
    )
    (filled,) = run(batch=100)
    assert (filled.done, len(run.__dict__["sleeps"])) == (99, 4)
    assert len(api.embeddings) - 5 <= 14  # without the five of the whole batch


def test_many_texts_that_fail_but_not_in_a_row_are_no_outage(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    notes(db, 12)
    bad = {f"ada note {number}" for number in range(1, 12, 2)}
    api.always = lambda reply: status(500)(reply) if bad & {*api.embeddings[-1]["input"]} else reply
    (filled,) = run()
    assert (filled.done, len(filled.failures)) == (6, 6)


def test_it_waits_as_long_as_it_is_asked_to(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    notes(db, 3)
    api.fail(status(429, retry_after="7"), status(500), status(429, retry_after="0"))
    assert run() == [Batch(3, {})]
    assert run.__dict__["sleeps"] == [7, 4, 15]


@pytest.mark.parametrize("fault", [status(500), status(503), status(401), reset])
def test_when_nothing_answers_it_ends_and_keeps_what_is_done(
    db: psycopg.Connection, run: Run, api: OpenAIServer, fault: Fault
) -> None:
    notes(db, 12)
    api.fail(lambda reply: reply)
    api.always = fault
    with pytest.raises(EmbedderGone):
        run(batch=5)
    assert without_vector(db) == 7
    api.always = None
    assert sum(batch.done for batch in run(batch=5)) == 7


@pytest.mark.parametrize(("code", "pauses"), [(401, 0), (404, 0), (503, 4)])
def test_who_refuses_the_first_request_is_not_waited_for(
    db: psycopg.Connection, run: Run, api: OpenAIServer, code: int, pauses: int
) -> None:
    notes(db, 3)
    api.always = status(code)
    with pytest.raises(EmbedderGone, match=f"HTTP {code}"):
        run()
    assert len(run.__dict__["sleeps"]) == pauses


def test_who_is_not_reached_in_time_is_waited_for(
    db: psycopg.Connection, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(db, 3)

    class ConnectTimeout(Exception):
        """As that of httpx is called."""

    late = openai.APITimeoutError(None)
    late.__cause__ = ConnectTimeout()
    monkeypatch.setattr(openai_api, "_carry_out", lambda asked, *_: asked.set_exception(late))
    with pytest.raises(EmbedderGone, match="no connection"):
        run()
    assert len(run.__dict__["sleeps"]) == 4


def test_vectors_of_other_dimensions_are_an_error(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    notes(db, 12)
    api.fail(lambda reply: reply, wrong_dimension)
    with pytest.raises(DimensionMismatch):
        run(batch=5)
    assert without_vector(db) == 7


def test_the_model_of_another_database_is_refused(db: psycopg.Connection, run: Run) -> None:
    db.execute("SELECT memoir.use_model('another', 8)")
    notes(db, 3)
    with pytest.raises(ModelMismatch):
        run()
    assert without_vector(db) == 3


def test_a_text_changed_meanwhile_waits_for_its_own_vector(
    db: psycopg.Connection, run: Run, api: OpenAIServer
) -> None:
    first, _ = notes(db, 2)

    def change(reply: Reply) -> Reply:
        db.execute("UPDATE memoir.memory SET content = 'changed' WHERE memory_id = %s", (first,))
        return reply

    api.fail(change)
    assert run() == [Batch(1, {})]
    assert without_vector(db) == 1


def test_the_backlog_is_counted_and_priced(db: psycopg.Connection) -> None:
    notes(db, 3)
    notes(db, 2, "bob")
    waiting = backlog(db, None)
    tokens = value(db, "SELECT sum(memoir.estimate_tokens(content)) FROM memoir.memory")
    assert waiting == Backlog(users=2, memories=5, tokens=tokens)
    assert waiting.cost(1_000_000) == tokens
    assert backlog(db, "bob").memories == 2


@pytest.mark.parametrize("setting", ["MEMOIR_EMBED_DIMENSIONS", "OPENAI_API_KEY"])
def test_the_command_stops_at_a_wrong_setting(
    db: psycopg.Connection,
    memoir: Callable[..., Result],
    api: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
) -> None:
    monkeypatch.setenv(setting, "99999" if setting == "MEMOIR_EMBED_DIMENSIONS" else "")
    notes(db, 12)
    api.always = status(400)
    done = memoir()
    told = done.stderr.splitlines()
    assert (done.exit_code, done.stdout.count("\n"), len(told)) == (1, 1, 2)
    assert setting in told[0]
    assert told[1] == "hint: What is done is stored. Run it again when that is mended."


def test_a_dry_run_embeds_nothing(
    db: psycopg.Connection, memoir: Callable[..., Result], api: OpenAIServer
) -> None:
    notes(db, 3)
    done = memoir("--dry-run", "--price", "20000")
    assert done.stdout == (
        "without a vector: 3 memories, 1 user, about 12 tokens, 0.2400 at 20000 a million\n"
    )
    assert (done.exit_code, api.embeddings) == (0, [])


def test_the_command_tells_what_it_did(
    db: psycopg.Connection, memoir: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(db, 3)
    # It would end at the first vector that another connection stores at this moment.
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_isolation=serializable")
    db.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RAISE serialization_failure; END'"
    )
    db.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON memoir.trace FOR EACH ROW WHEN"
        " (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION refuse()"
    )
    done = memoir()
    assert done.stdout.splitlines()[1].startswith("3 embedded, 0 failed, ")
    assert memoir().stdout == "without a vector: 0 memories, 0 users, about 0 tokens\n"


def test_the_command_says_what_it_waits_for(
    db: psycopg.Connection, memoir: Callable[..., Result], api: OpenAIServer
) -> None:
    notes(db, 3)
    api.fail(status(429, retry_after="0.01"))
    done = memoir("--pause", "0.02", "--batch", "2")
    assert done.stderr == "openai/m: HTTP 429, test_error; asking again in 0.01 s\n"
    assert done.exit_code == 0


def test_the_command_does_not_wait_for_a_day(
    db: psycopg.Connection, memoir: Callable[..., Result], api: OpenAIServer
) -> None:
    notes(db, 3)
    api.fail(status(429, retry_after="86400"))
    done = memoir("--pause", "0.02", "--batch", "2")
    assert done.stderr.startswith("error: no vectors: openai/m: HTTP 429, test_error\n")
    assert done.exit_code == 1


def test_the_command_says_that_the_embedder_is_switched_off(
    db: psycopg.Connection, memoir: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes(db, 1)
    monkeypatch.setenv("MEMOIR_EMBEDDER", "none")
    assert "hint: Unset MEMOIR_EMBEDDER: it is none.\n" in memoir().stderr


def test_the_command_fails_when_a_memory_did(
    db: psycopg.Connection, memoir: Callable[..., Result], api: OpenAIServer
) -> None:
    (only,) = notes(db, 1)
    api.fail(status(400))
    done = memoir()
    assert f"memory {only}: openai/m: HTTP 400, test_error\n" in done.stdout
    assert done.exit_code == 1


def test_killed_it_goes_on_where_it_was(
    db: psycopg.Connection, dsn: str, api: OpenAIServer, memoir: Callable[..., Result]
) -> None:
    notes(db, 40)
    api.fall_silent(after=3)
    program = [sys.executable, "-c", "from pgmemoir.cli import main; main()"]
    command = [*program, "--dsn", dsn, "backfill", "--batch", "5", "--pause", "0"]
    process = subprocess.Popen(command)
    until(lambda: without_vector(db) == 25)
    process.kill()
    process.wait()
    api.always = None
    api.embeddings.clear()
    assert memoir().exit_code == 0
    assert (without_vector(db), sum(len(body["input"]) for body in api.embeddings)) == (0, 25)


def test_pages_go_across_users(db: psycopg.Connection) -> None:
    ids = notes(db, 2) + notes(db, 2, "bob")
    page = call(db, "memories_without_vector", n=3)
    assert [row.memory_id for row in page] == ids[:3]
    last = page[-1]
    rest = call(db, "memories_without_vector", after_user=last.owner, after_id=last.memory_id)
    assert [(row.owner, row.memory_id) for row in rest] == [("bob", ids[3])]
