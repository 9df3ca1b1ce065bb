"""How properties are tried by hypothesis: with how many examples, and with the same every time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A property that says no number is tried so often, by version of PostgreSQL, and others in
# proportion: a law of ours is not one of a version, and what differs shows in the first examples.
USUAL = {18: 100, 16: 10}


def examples(number: int, **more: Any) -> settings:
    """Try a property with so many examples, and with a part of them on an older PostgreSQL."""
    return settings(max_examples=share(number), **more)


def share(number: int) -> int:
    """So many examples, made without hypothesis, and a part of them on an older PostgreSQL."""
    return max(1, number * settings().max_examples // USUAL[18])


def load(version: int) -> None:
    """Try the properties of all files that are imported from now on with this PostgreSQL.

    The machine's speed is not a property of the code; the same examples every time are.
    Examples of one test share its transaction: a property clears what it made.
    """
    settings.register_profile(
        "house",
        max_examples=USUAL[version],
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    settings.load_profile("house")
    # Hypothesis draws on every constant of every file that was loaded: an edit anywhere would
    # change the examples of all tests, and so would running a part of them.
    providers._get_local_constants = providers.Constants
