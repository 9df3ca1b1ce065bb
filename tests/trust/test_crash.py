"""A server that is killed under load has all that it had said when it comes back."""

from __future__ import annotations

import crash
import pytest
from common import opened
from tests.conftest import folder_of_a_server

pytestmark = pytest.mark.once

# What a process wrote the system still has when the process is killed.
FAST = {"fsync": "off"}


@pytest.fixture(scope="module")
def survived(pytestconfig):
    """What is told of a load under which the server and one of its processes were killed."""
    with (
        folder_of_a_server() as folder,
        opened(None, pytestconfig.getoption("pg"), folder, FAST) as place,
    ):
        crashes = crash.Crashes(place, seed=6)
        crashes.prepare()
        crashes.run(rounds=2, seconds=0.4)
        return crashes.result()


def test_nothing_is_lost_or_half_there_or_done_twice(survived):
    assert survived["problems"] == []


def test_the_load_was_hit_and_went_on(survived):
    assert survived["killed"].keys() == {"server", "backend"}
    assert sum(did.get("lost", 0) for did in survived["did"].values()) > 5
    assert sum(did.get("done", 0) for did in survived["did"].values()) >= 60
    assert survived["own_indexes"] > 0
