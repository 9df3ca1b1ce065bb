"""Many things a few at a time, as one statement or one request takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(
    items: Iterable[T], most: int, largest: int, size: Callable[[T], int]
) -> Iterator[list[T]]:
    """Batches of at most ``most`` items, and of size ``largest`` unless one alone has more."""
    batch: list[T] = []
    total = 0
    for item in items:
        more = size(item)
        if batch and (len(batch) == most or total + more > largest):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += more
    if batch:
        yield batch
