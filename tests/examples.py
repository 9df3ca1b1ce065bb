"""How properties are tried by hypothesis: with how many examples, and with the same every time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A property that says no number is tried so often when all cases are, and others in proportion.
ALL = 100
USUAL = 50
# A law of ours is not one of a version, and what differs shows in the first examples.
OF_AN_OLDER_VERSION = 10


def examples(number: int, **more: Any) -> settings:
    """Try a property with so many examples of `ALL`."""
    return settings(max_examples=share(number), **more)


def share(number: int) -> int:
    """So many of `ALL` examples that are made without hypothesis."""
    return max(1, number * settings().max_examples // ALL)


def load(number: int) -> None:
    """Try the properties of all files that are imported from now on with so many examples.

    The machine's speed is not a property of the code; the same examples every time are.
    Examples of one test share its transaction: a property clears what it made.
    """
    settings.register_profile(
        "house",
        max_examples=number,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    settings.load_profile("house")
    # Hypothesis draws on every constant of every file that was loaded: an edit anywhere would
    # change the examples of all tests, and so would running a part of them.
    providers._get_local_constants = providers.Constants
