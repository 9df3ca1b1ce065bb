"""``memoir model``: from one embedder to another of other dimensions, while recall goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from tests.openai_server import OpenAIServer, status
from tests.rows import call, recall, until, value

from pgmemoir import Memoir, ModelMismatch, OpenAIEmbedder, cli, steps

pytestmark = pytest.mark.once

OLD, NEW = ("old", 8), ("new", 12)
TEXTS = ["tea is green", "milk is white", "the house is old", "bread is brown"]
FILLED = """SELECT count(*) FROM memoir.trace AS t JOIN memoir.embedding_model AS e
ON e.model_id = t.model WHERE e.name = 'openai/new' AND t.embedding IS NOT NULL"""


@pytest.fixture
def memoir(dsn: str, api: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command line with the embedder of a model."""

    def call_with(*arguments: str, model: tuple[str, int] = NEW) -> Result:
        for name, setting in settings(api, model).items():
            monkeypatch.setenv(name, setting)
        return CliRunner().invoke(cli.main, ["--dsn", dsn, *arguments])

    return call_with


@pytest.fixture
def filled(db: psycopg.Connection, dsn: str, api: OpenAIServer) -> psycopg.Connection:
    """Two users with memories of the old model."""
    for user in ("ada", "bob"):
        with Memoir(dsn, user=user, embedder=embedder(api, OLD)) as client:
            client.remember_many([{"content": f"{user}: {text}"} for text in TEXTS])
    return db


def settings(api: OpenAIServer, model: tuple[str, int]) -> dict[str, str]:
    name, dimensions = model
    return {
        "MEMOIR_EMBEDDER": "openai",
        "MEMOIR_EMBED_MODEL": name,
        "MEMOIR_EMBED_DIMENSIONS": str(dimensions),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": api.url,
    }


def embedder(api: OpenAIServer, model: tuple[str, int]) -> OpenAIEmbedder:
    name, dimensions = model
    return OpenAIEmbedder(name, dimensions, api.url, "none", retries=0)


def answers(api: OpenAIServer, dsn: str, model: tuple[str, int]) -> list[Any]:
    """What the recalls of both users say."""
    found = []
    for user in ("ada", "bob"):
        with Memoir(dsn, user=user, embedder=embedder(api, model)) as client:
            found += [(r.block, r.memory_ids) for r in map(client.recall, (*TEXTS, "old milk"))]
    return found


def add(memoir: Callable[..., Result]) -> None:
    assert memoir("model", "add", "openai/new", "--dimensions", "12").exit_code == 0


def fill(memoir: Callable[..., Result], *more: str) -> Result:
    return memoir("model", "fill", "--pause", "0", *more)


def states(memoir: Callable[..., Result]) -> dict[str, str]:
    listed = json.loads(memoir("model", "list", "--json").stdout)
    return {one["name"]: one["state"] for one in listed}


def test_from_one_model_to_another(
    filled: psycopg.Connection, dsn: str, api: OpenAIServer, memoir: Callable[..., Result]
) -> None:
    before = answers(api, dsn, OLD)
    add(memoir)
    assert answers(api, dsn, OLD) == before
    done = fill(memoir)
    assert (done.exit_code, "8 embedded, 0 failed" in done.stdout) == (0, True)
    assert answers(api, dsn, OLD) == before
    assert memoir("model", "switch", "openai/new").stdout == "in use: openai/new\n"
    for user in ("ada", "bob"):
        with Memoir(dsn, user=user, embedder=embedder(api, NEW)) as client:
            assert f"{user}: {TEXTS[0]}" in client.recall(f"{user}: {TEXTS[0]}").block
    assert memoir("model", "drop", "openai/old", "--yes").stdout == (
        "dropped openai/old, vectors of 8 memories\n"
    )
    assert value(filled, "SELECT count(*) FROM memoir.trace") == 8
    assert states(memoir) == {"openai/new": "in use"}


def test_recall_says_the_same_while_it_is_filled(
    filled: psycopg.Connection, dsn: str, api: OpenAIServer, memoir: Callable[..., Result]
) -> None:
    before = answers(api, dsn, OLD)
    add(memoir)
    seen = []

    def look(reply: Any) -> Any:
        seen.append([recall(filled, text, user_id="ada").memory_ids for text in TEXTS])
        return reply

    api.fail(look, look, look)
    fill(memoir, "--batch", "3")
    assert len(seen) == 3
    assert seen[0] == seen[1] == seen[2]
    assert answers(api, dsn, OLD) == before


@pytest.mark.usefixtures("filled")
def test_the_list_tells_how_far_each_is(memoir: Callable[..., Result]) -> None:
    add(memoir)
    fill(memoir, "--user", "ada")
    head, _, *lines = [line.split() for line in memoir("model", "list").stdout.splitlines()]
    assert head == ["model", "dimensions", "state", "vectors", "missing"]
    assert lines == [
        ["openai/old", "8", "in", "use", "8", "0"],
        ["openai/new", "12", "to", "be", "filled", "4", "4"],
    ]


def test_killed_in_the_middle_it_goes_on_where_it_was(
    filled: psycopg.Connection, dsn: str, api: OpenAIServer, memoir: Callable[..., Result]
) -> None:
    with Memoir(dsn, user="ada", embedder=embedder(api, OLD)) as client:
        client.remember_many([{"content": f"note {number}"} for number in range(40)])
    before = answers(api, dsn, OLD)
    add(memoir)
    program = [sys.executable, "-c", "from pgmemoir.cli import main; main()"]
    command = [*program, "--dsn", dsn, "model", "fill", "--batch", "4", "--pause", "0"]
    api.fall_silent(after=2)
    process = subprocess.Popen(command, env={**os.environ, **settings(api, NEW)})
    until(lambda: value(filled, FILLED) == 8)
    process.kill()
    process.wait()
    api.always = None
    assert answers(api, dsn, OLD) == before
    assert memoir("model", "switch", "openai/new").exit_code == 1
    assert "40 embedded, 0 failed" in fill(memoir).stdout
    assert memoir("model", "switch", "openai/new").exit_code == 0


@pytest.mark.usefixtures("filled")
def test_what_is_written_meanwhile_is_filled_by_the_next_run(
    dsn: str, api: OpenAIServer, memoir: Callable[..., Result]
) -> None:
    add(memoir)
    fill(memoir)
    with Memoir(dsn, user="ada", embedder=embedder(api, OLD)) as client:
        client.remember("cake is sweet")
    refused = memoir("model", "switch", "openai/new")
    assert "it has no vector for 1 of the memories" in refused.stderr
    assert "hint: memoir model fill" in refused.stderr
    assert "1 embedded" in fill(memoir).stdout
    assert memoir("model", "switch", "openai/new").exit_code == 0


def test_a_dry_run_counts_and_changes_nothing(
    filled: psycopg.Connection, memoir: Callable[..., Result], api: OpenAIServer
) -> None:
    add(memoir)
    asked = len(api.embeddings)
    done = fill(memoir, "--dry-run", "--price", "1")
    assert done.stdout.startswith("without a vector: 8 memories, 2 users")
    assert (value(filled, FILLED), len(api.embeddings)) == (0, asked)


@pytest.mark.usefixtures("filled")
def test_a_text_that_fails_is_named_and_the_exit_code_tells(
    memoir: Callable[..., Result], api: OpenAIServer
) -> None:
    add(memoir)
    api.always = lambda reply: (
        status(400)(reply) if "bob: tea is green" in api.embeddings[-1]["input"] else reply
    )
    done = fill(memoir)
    assert ("7 embedded, 1 failed" in done.stdout, done.exit_code) == (True, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("fill",),
        ("fill", "openai/lagre"),
        ("switch", "openai/lagre"),
        ("drop", "openai/lagre", "--yes"),
        ("drop", "openai/old", "--yes"),
        ("add", "openai/new", "--dimensions", "4001"),
        ("add", "openai/old", "--dimensions", "9"),
    ],
)
@pytest.mark.usefixtures("filled")
def test_wrong_names_and_numbers_are_errors_with_a_hint(
    memoir: Callable[..., Result], arguments: tuple[str, ...]
) -> None:
    done = memoir("model", *arguments)
    assert (done.exit_code, "hint: " in done.stderr) == (1, True)
    assert states(memoir) == {"openai/old": "in use"}


@pytest.mark.usefixtures("filled")
def test_filling_with_the_embedder_of_the_old_model_is_refused(
    memoir: Callable[..., Result],
) -> None:
    add(memoir)
    done = memoir("model", "fill", model=OLD)
    assert done.exit_code == 1
    assert 'the embedder is "openai/old", not "openai/new"' in done.stderr


@pytest.mark.usefixtures("filled")
def test_dropping_asks_first(memoir: Callable[..., Result]) -> None:
    add(memoir)
    assert memoir("model", "drop", "openai/new").exit_code == 2
    assert set(states(memoir)) == {"openai/old", "openai/new"}


@pytest.mark.usefixtures("filled")
def test_a_client_of_the_old_model_is_refused_after_the_switch(
    dsn: str, api: OpenAIServer, memoir: Callable[..., Result]
) -> None:
    add(memoir)
    fill(memoir)
    memoir("model", "switch", "openai/new")
    with (
        Memoir(dsn, user="ada", embedder=embedder(api, OLD)) as client,
        pytest.raises(ModelMismatch) as caught,
    ):
        client.recall("tea")
    assert "openai/old" in str(caught.value.hint)


def test_a_client_that_was_there_before_a_switch_notices_it(
    filled: psycopg.Connection, dsn: str, api: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "MODEL_CHECK", 0.0)
    call(filled, "add_model", name="openai/new", dimensions=8)
    for user in ("ada", "bob"):
        call(filled, "fill_model", name="openai/new", user_id=user)
    with Memoir(dsn, user="ada", embedder=embedder(api, OLD)) as client:
        client.recall("tea")
        call(filled, "switch_model", name="openai/new", force=True)
        with pytest.raises(ModelMismatch):
            client.recall("tea")


@pytest.mark.usefixtures("filled")
def test_doctor_tells_of_a_model_that_is_to_follow(memoir: Callable[..., Result]) -> None:
    add(memoir)
    assert "openai/new to be filled" in memoir("doctor", model=OLD).stdout


@pytest.mark.usefixtures("filled")
def test_add_says_how_it_goes_on(memoir: Callable[..., Result]) -> None:
    def said(name: str, dimensions: int) -> str:
        return memoir("model", "add", name, "--dimensions", str(dimensions)).stdout

    assert said("openai/old", 8) == "openai/old is in use\n"
    for _ in range(2):
        assert said("openai/new", 12) == (
            "added openai/new, 12 dimensions; next: memoir model fill\n"
        )
    fill(memoir)
    assert said("openai/new", 12) == (
        "openai/new, 12 dimensions, has all vectors; next: memoir model switch openai/new\n"
    )


def test_the_same_model_gives_other_dimensions_under_another_name(
    filled: psycopg.Connection,
    dsn: str,
    api: OpenAIServer,
    memoir: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shorter = (OLD[0], 6)
    with (
        Memoir(dsn, embedder=embedder(api, shorter)) as client,
        pytest.raises(ModelMismatch) as caught,
    ):
        client.recall("tea")
    assert "memoir.add_model('openai/old-6', 6)" in str(caught.value.hint)
    filled.execute("SELECT memoir.add_model('openai/old-6', 6)")
    monkeypatch.setenv("MEMOIR_EMBED_NAME", "openai/old-6")
    assert memoir("model", "fill", "--pause", "0", model=shorter).exit_code == 0
    assert memoir("model", "switch", "openai/old-6").exit_code == 0
    assert memoir("search", "tea is green", model=shorter).exit_code == 0
    assert {len(body["input"]) for body in api.embeddings if body["dimensions"] == 6} == {8, 1}


def test_a_switch_by_force_needs_no_fill(
    filled: psycopg.Connection, memoir: Callable[..., Result]
) -> None:
    add(memoir)
    assert "memoir model fill" in memoir("model", "switch", "openai/new").stderr
    done = memoir("model", "switch", "openai/new", "--force")
    assert (done.exit_code, done.stdout) == (0, "in use: openai/new\n")
    assert recall(filled, "tea", user_id="ada").block.endswith("- ada: tea is green\n")
