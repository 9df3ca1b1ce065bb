"""Splits items into batches that one statement or one request takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T], max_items: int, max_size: int, size: Callable[[T], int]
) -> Iterator[list[T]]:
    """Batches of at most ``max_items``, whose sizes add up to ``max_size`` unless one has more."""
    batch: list[T] = []
    total = 0
    for item in items:
        more = size(item)
        if batch and (len(batch) == max_items or total + more > max_size):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += more
    if batch:
        yield batch
