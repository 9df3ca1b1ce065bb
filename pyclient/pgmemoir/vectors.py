"""Vectors as a caller or an embedder gives them, in the text and the binary form of a halfvec."""

from __future__ import annotations

import math
import reprlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Protocol, TypeVar

from psycopg import adapt, pq

from .errors import UnusableVector

Form = TypeVar("Form", str, bytes)

# The largest finite halfvec component.
_LARGEST_HALF = 65504.0


class _HasToList(Protocol):
    def to_list(self) -> list[float]: ...


class _HasTolist(Protocol):
    def tolist(self) -> Any: ...


VectorLike = Sequence[float] | _HasToList | _HasTolist
"""A list of numbers, a numpy array, or a ``Vector`` or ``HalfVector`` of pgvector."""


class HalfVectors(bytes):
    """An array of halfvec in PostgreSQL's binary form: a fifth of the time of the text form."""


class HalfVectorsDumper(adapt.Dumper):
    """Sends `HalfVectors` as they are; the cast in the statement says what they are."""

    format = pq.Format.BINARY

    def dump(self, obj: HalfVectors) -> bytes:
        """The bytes."""
        return obj


def vector_text(vector: VectorLike) -> str:
    """A vector in the text form of PostgreSQL, with the digits a halfvec can hold.

    Raises:
        UnusableVector: it is empty, not numbers, or holds NaN, infinity or more than 65504.
    """
    numbers = _numbers(vector)
    if not numbers:
        raise UnusableVector("the vector is empty", hint="Leave the vector out to recall by words.")
    if not all(map(_fits_half, numbers)):
        place = next(i for i, number in enumerate(numbers) if not _fits_half(number))
        raise UnusableVector(
            f"component {place} of the vector is {numbers[place]}",
            hint="Components are finite numbers of at most 65504.",
        )
    return "[" + ",".join(["%.6g"] * len(numbers)) % tuple(numbers) + "]"


def half_vector(vector: VectorLike) -> bytes:
    """A vector as an element of `half_vectors`.

    Raises:
        UnusableVector: as `vector_text`.
    """
    numbers = _numbers(vector)
    try:
        if numbers and math.isfinite(sum(numbers)):
            return struct.pack(f">HH{len(numbers)}e", len(numbers), 0, *numbers)
    except (OverflowError, struct.error):
        pass
    vector_text(numbers)
    raise UnusableVector(f"a vector of {len(numbers)} components does not fit a halfvec")


def formed(vector: VectorLike, form: Callable[[list[float]], Form]) -> Form | None:
    """A vector that a model made, as `vector_text` or `half_vector` has it; None: it is all zeros.

    Raises:
        UnusableVector: as they do.
    """
    numbers = _numbers(vector)
    return form(numbers) if any(numbers) else None


def half_vectors(vectors: Sequence[bytes | None], oid: int) -> HalfVectors:
    """Each a `half_vector`, or None for NULL, in the binary form of an array.

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


def given_vector(memory: Mapping[str, Any]) -> str | None:
    """The vector a memory or a question brings, in text form."""
    vector = memory.get("vector")
    return None if vector is None else vector_text(vector)


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
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise UnusableVector(
            f"the vector is {reprlib.repr(values)}, not one list of numbers",
            hint="Pass a list, a numpy array or a pgvector Vector; json.loads() reads its text.",
        ) from error


def _fits_half(number: float) -> bool:
    """False for NaN and infinity too."""
    return -_LARGEST_HALF <= number <= _LARGEST_HALF
