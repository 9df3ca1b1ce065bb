"""Vectors as a caller or an embedder gives them, in PostgreSQL's binary form of a halfvec.

Text takes three to five times as long here and, for 384 numbers, 50 us more at the server.
"""

from __future__ import annotations

import math
import reprlib
import struct
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Protocol

from psycopg import adapt, pq

from .errors import UnusableVector

# The largest finite halfvec component.
_LARGEST_HALF = 65504.0


class _HasToList(Protocol):
    def to_list(self) -> list[float]: ...


class _HasTolist(Protocol):
    def tolist(self) -> Any: ...


VectorLike = Sequence[float] | _HasToList | _HasTolist
"""A list of numbers, a numpy array, or a ``Vector`` or ``HalfVector`` of pgvector."""


class HalfVector(bytes):
    """A halfvec in binary form."""


class HalfVectors(bytes):
    """An array of them."""


class HalfVectorDumper(adapt.Dumper):
    """Sends both as they are; the cast in the statement says what they are."""

    format = pq.Format.BINARY

    def dump(self, obj: HalfVector | HalfVectors) -> bytes:
        """The bytes."""
        return obj


def half_vector(vector: VectorLike) -> HalfVector:
    """A vector as it is sent.

    Raises:
        UnusableVector: it is empty, not numbers, or holds NaN, infinity or more than 65504.
    """
    numbers = _numbers(vector)
    if not numbers:
        raise UnusableVector("the vector is empty", hint="Leave the vector out to recall by words.")
    try:
        if math.isfinite(sum(numbers)):
            return HalfVector(struct.pack(f">HH{len(numbers)}e", len(numbers), 0, *numbers))
    except (OverflowError, struct.error):
        pass
    for place, number in enumerate(numbers):
        if not -_LARGEST_HALF <= number <= _LARGEST_HALF:  # NaN is not, either
            raise UnusableVector(
                f"component {place} of the vector is {number}",
                hint="Components are finite numbers of at most 65504.",
            )
    raise UnusableVector(f"a vector of {len(numbers)} components does not fit a halfvec")


def formed(vector: VectorLike) -> HalfVector | None:
    """The `half_vector` of one that a model made; None: it is all zeros.

    Raises:
        UnusableVector: as it does.
    """
    numbers = _numbers(vector)
    return half_vector(numbers) if any(numbers) else None


def half_vectors(vectors: Sequence[HalfVector | None], oid: int) -> HalfVectors:
    """Vectors, None for NULL, as one array.

    Args:
        oid: of the type halfvec in this database.
    """
    has_null = any(vector is None for vector in vectors)
    parts = [struct.pack(">iiI", 1 if vectors else 0, has_null, oid)]
    if vectors:
        parts.append(struct.pack(">ii", len(vectors), 1))
    for vector in vectors:
        size = -1 if vector is None else len(vector)
        parts += [struct.pack(">i", size), vector or b""]
    return HalfVectors(b"".join(parts))


def given_vector(memory: Mapping[str, Any]) -> HalfVector | None:
    """The vector a memory or a question brings."""
    vector = memory.get("vector")
    return None if vector is None else half_vector(vector)


def _numbers(vector: VectorLike) -> list[float]:
    """The components as floats."""
    if hasattr(vector, "to_list"):
        values: Iterable[Any] = vector.to_list()
    elif hasattr(vector, "tolist"):
        values = vector.tolist()
    else:
        values = vector
    try:
        if isinstance(values, str | bytes | bytearray | Mapping | Set):
            raise TypeError
        return list(map(float, values))
    except (TypeError, ValueError, OverflowError) as error:
        raise UnusableVector(
            f"the vector is {reprlib.repr(values)}, not one list of numbers",
            hint="Pass a list, a numpy array or a pgvector Vector; json.loads() reads its text.",
        ) from error
