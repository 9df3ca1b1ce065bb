"""Embedders without a model, both clients behind one face, and the command line."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.databases import Lender
from tests.install.conftest import FILES, Tree
from tests.openai_server import OpenAIServer

from pgmemoir import AsyncMemoir, Memoir, cli

BOTH = ("sync", "async")
needs_wordllama = pytest.mark.skipif(
    not find_spec("wordllama"), reason="wordllama has no package for this Python"
)


class Letters:
    """Counts letters: texts with the same letters have the same vector."""

    name = "letters"
    dimensions = 26

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> list[list[float]]:
        self.texts += texts
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        return [[float(text.lower().count(letter)) for letter in alphabet] for text in texts]


class Unreachable:
    """An API that does not answer."""

    name = "nowhere"
    dimensions = 26

    def __init__(self) -> None:
        self.attempts = 0

    def embed(self, _texts: list[str]) -> list[list[float]]:
        self.attempts += 1
        raise ConnectionError("connection refused")


class Awaited:
    """An `AsyncMemoir` whose methods can be called like those of `Memoir`."""

    def __init__(self, runner: asyncio.Runner, dsn: str, **options: Any) -> None:
        self._runner = runner
        self._client = AsyncMemoir(dsn, **options)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        if not inspect.iscoroutinefunction(method):
            return method
        return lambda *args, **kwargs: self._runner.run(method(*args, **kwargs))


@pytest.fixture(scope="module", autouse=True)
def plain_environment() -> Iterator[None]:
    """No settings of the machine, no proxy, and none of its certificates.

    Every client of OpenAI's reads all of them, 20 ms; servers of tests speak HTTP.
    """
    with pytest.MonkeyPatch.context() as patched:
        for name in list(os.environ):
            begins = name.startswith(("MEMOIR_", "OPENAI_", "PG", "SSL_CERT_"))
            if begins or name.lower().endswith("_proxy"):
                patched.delenv(name)
        patched.setenv("SSL_CERT_DIR", str(Path(__file__).parent))
        yield


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    """What depends on how soon something happens, on a machine that may be slow: no pause of a
    model is over before its other jobs have failed, and a connection was always lost at once.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pgmemoir.lanes._FIRST_PAUSE", 50.0)
        patched.setattr("pgmemoir.openai_api._AT_ONCE", 50.0)
        yield


@pytest.fixture
def letters() -> Letters:
    return Letters()


@pytest.fixture
def unreachable() -> Unreachable:
    return Unreachable()


@pytest.fixture
def api() -> Iterator[OpenAIServer]:
    """A server that speaks OpenAI's protocol."""
    with OpenAIServer() as made:
        yield made


def in_a_process(dsn: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Calls the command line as a shell does."""
    return subprocess.run(
        [sys.executable, "-c", "from pgmemoir.cli import main; main()", *arguments],
        env={**os.environ, "MEMOIR_DSN": dsn, "PYTHONIOENCODING": "utf-8", **settings},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@contextmanager
def clients(kind: str, dsn: str) -> Iterator[Callable[..., Any]]:
    """Makes clients of a class, of `BOTH`; they are closed at the end."""
    with asyncio.Runner() as runner:
        made: list[Any] = []

        def make(**options: Any) -> Any:
            is_sync = kind == "sync"
            made.append(Memoir(dsn, **options) if is_sync else Awaited(runner, dsn, **options))
            return made[-1]

        yield make
        for client in made:
            client.close()


@pytest.fixture(params=[pytest.param("sync", marks=pytest.mark.once), "async"])
def open_client(request: pytest.FixtureRequest, dsn: str) -> Iterator[Callable[..., Any]]:
    """Makes clients of the test's own database: every test runs with both classes.

    They share what they send; only one runs with every version of PostgreSQL.
    """
    with clients(request.param, dsn) as make:
        yield make


@pytest.fixture(scope="module")
def kept_dsn(lender: Lender) -> Iterator[str]:
    """The address of a database for all tests of a module that must not change anything."""
    with lender.lent() as database:
        yield database.dsn


@pytest.fixture
def memoir(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls the command line on the test's own database, without an embedder."""
    monkeypatch.setenv("MEMOIR_EMBEDDER", "none")

    def call(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli.main, ["--dsn", dsn, *arguments], input=stdin)

    return call


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """What `memoir migrate` installs instead of the package's SQL: a hundredth of it."""
    made = Tree(migrations=tmp_path / "migrations", sql=tmp_path / "sql")
    for name, text in FILES.items():
        made.write(name, text)
    monkeypatch.setattr("pgmemoir.migrations.installed", lambda: made)
    return made


@pytest.fixture
def migrate(empty_dsn: str, tree: Tree) -> Callable[..., Result]:  # noqa: ARG001
    """Calls `memoir migrate` on an empty database, with that tree."""
    return lambda *arguments: CliRunner().invoke(
        cli.main, ["--dsn", empty_dsn, "migrate", *arguments]
    )
