"""The vectors of questions that clients keep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pgmemoir import CacheInfo, steps
from pgmemoir.cache import QueryCache

from .conftest import Letters, Unreachable

pytestmark = pytest.mark.once

Open = Callable[..., Any]


def test_what_was_not_asked_for_longest_goes() -> None:
    cache = QueryCache(2)
    cache.put("a", "[1]")
    cache.put("b", "[2]")
    cache.get("a")
    cache.put("c", "[3]")
    assert [cache.get(text) for text in "abc"] == ["[1]", None, "[3]"]


def test_hits_and_misses_are_counted() -> None:
    cache = QueryCache(2)
    assert cache.info().hit_rate is None
    cache.get("a")
    cache.put("a", "[1]")
    assert [cache.get("a") for _ in range(3)] == ["[1]"] * 3
    assert cache.info() == CacheInfo(hits=3, misses=1, size=1, limit=2)
    assert cache.info().hit_rate == 0.75


def test_threads_count_every_call_of_one_cache() -> None:
    cache = QueryCache(3)

    def use(number: int) -> None:
        cache.get(str(number % 5))
        cache.put(str(number % 5), "[1]")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(2000)))
    info = cache.info()
    assert (info.hits + info.misses, info.size) == (2000, 3)


def test_a_question_is_embedded_once_and_a_client_tells_how_often_it_had_the_vector(
    open_client: Open, letters: Letters
) -> None:
    memory = open_client(embedder=letters)
    for mode in ("plan", "execute", "debug", "chat"):
        memory.context("where is the invoice?", mode)
    assert letters.texts == ["where is the invoice?"]
    assert memory.cache_info().hit_rate == 0.75


def test_no_more_are_kept_than_the_limit(
    open_client: Open, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "QUERY_CACHE", 2)
    memory = open_client(embedder=letters)
    for query in ("one", "two", "three", "one"):
        memory.context(query)
    assert letters.texts == ["one", "two", "three", "one"]


def test_clients_with_the_same_embedder_share_the_vectors(
    open_client: Open, letters: Letters
) -> None:
    for user in ("ada", "bob"):
        memory = open_client(user=user, embedder=letters)
        memory.context("where is the invoice?")
    assert letters.texts == ["where is the invoice?"]
    assert memory.cache_info() == CacheInfo(hits=1, misses=1, size=1, limit=256)


@pytest.mark.filterwarnings("ignore::pgmemoir.EmbedderUnavailable")
def test_what_has_failed_one_client_is_not_tried_by_the_next(
    open_client: Open, unreachable: Unreachable
) -> None:
    for _ in range(2):
        open_client(embedder=unreachable).context("where is the invoice?")
    assert unreachable.attempts == 1


class Unhashable(Letters):
    """An embedder of which there is no dictionary."""

    __hash__ = None  # type: ignore[assignment]


def test_an_embedder_without_a_hash_keeps_the_vectors_of_its_client(open_client: Open) -> None:
    embedder = Unhashable()
    memory = open_client(embedder=embedder)
    for _ in range(2):
        memory.context("where is the invoice?")
    assert embedder.texts == ["where is the invoice?"]


def test_a_question_without_an_embedder_is_not_counted(open_client: Open) -> None:
    memory = open_client(embedder=None)
    memory.context("where is the invoice?")
    assert memory.cache_info().misses == 0


@pytest.mark.filterwarnings("ignore::pgmemoir.EmbedderUnavailable")
def test_no_vector_is_no_vector_kept(open_client: Open, unreachable: Unreachable) -> None:
    memory = open_client(embedder=unreachable)
    memory.context("where is the invoice?")
    assert (memory.cache_info().misses, memory.cache_info().size) == (1, 0)
