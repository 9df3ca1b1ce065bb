"""Jobs: enqueued, claimed under a lease, finished once, failed and tried again."""

from __future__ import annotations

import pytest
from tests.jobs import add_kind, claim, enqueue, finish


@pytest.fixture
def queue(tx):
    add_kind(tx)
    return tx


def test_a_job_is_claimed_and_done(queue):
    job_id = enqueue(queue, payload={"fetch": "milk"})
    (taken,) = claim(queue)
    assert (taken.job_id, taken.user_id, taken.kind) == (job_id, "default", "errand")
    assert (taken.payload, taken.attempts, taken.messages) == ({"fetch": "milk"}, 1, None)
    assert finish(queue, job_id, worker="w1") == "done"
    assert claim(queue) == []
