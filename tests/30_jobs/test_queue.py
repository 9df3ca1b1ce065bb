"""Jobs: enqueued, claimed under a lease, finished once, failed and tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from tests.jobs import add_kind, claim, enqueue, fail, finish, job, ready, soon
from tests.rows import call, refused, row_counts, value

LATER = datetime.now(UTC) + timedelta(days=1)


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


def test_a_job_finished_twice_is_done_once(queue):
    job_id = enqueue(queue)
    claim(queue)
    finish(queue, job_id)
    finished_at = job(queue, job_id, "finished_at")
    assert finish(queue, job_id) == "done already"
    assert fail(queue, job_id) == "done already"
    assert job(queue, job_id, "finished_at") == finished_at


def test_a_claimed_job_is_nobody_elses_until_its_lease_ends(queue):
    job_id = enqueue(queue)
    claim(queue)
    assert (ready(queue), claim(queue, worker="w2")) == ([], [])
    assert ready(queue, at=soon()) == [("default", 1)]
    (taken,) = claim(queue, worker="w2", at=soon())
    assert (taken.job_id, taken.attempts) == (job_id, 2)


def test_a_worker_whose_lease_another_has_changes_nothing(queue):
    job_id = enqueue(queue)
    claim(queue)
    claim(queue, worker="w2", at=soon())
    assert finish(queue, job_id, worker="w1") == "lost"
    assert fail(queue, job_id, worker="w1") == "lost"
    assert job(queue, job_id, "status") == "running"
    assert finish(queue, job_id, worker="w2") == "done"


def test_a_lease_that_ended_is_still_good_while_nobody_took_the_job(queue):
    job_id = enqueue(queue, run_at="2026-01-01")
    claim(queue, at="2026-01-02")
    assert finish(queue, job_id, worker="w1") == "done"


def test_a_lease_can_be_extended_by_who_has_it(queue):
    job_id = enqueue(queue)
    claim(queue)
    more = {"job_id": job_id, "lease": "1 hour"}
    assert call(queue, "extend_lease", worker="w2", **more)[0].extend_lease is False
    assert call(queue, "extend_lease", worker="w1", **more)[0].extend_lease is True
    assert claim(queue, worker="w2", at=soon()) == []


def test_a_failed_job_waits_longer_each_time_and_is_dead_after_eight(queue):
    job_id, at, waits = enqueue(queue), datetime.now(UTC), []
    for _ in range(8):
        claim(queue, at=at)
        said = fail(queue, job_id, at=at)
        waits.append(job(queue, job_id, "extract(epoch FROM nullif(run_at, 'infinity') - now())"))
        at = at + timedelta(days=1)
    assert said == "dead"
    assert waits[-1] is None
    assert claim(queue, at=at) == []


def test_a_wait_is_at_least_half_of_what_the_settings_say(queue):
    seconds = "SELECT extract(epoch FROM memoir._backoff(%s))::float"
    for attempts, most in ((1, 10), (2, 40), (3, 160), (8, 21_600), (1000, 21_600)):
        assert most / 2 <= value(queue, seconds, attempts) <= most


def test_a_wait_that_the_model_asked_for_is_no_failed_attempt(queue):
    job_id = enqueue(queue)
    claim(queue)
    assert fail(queue, job_id, "429", retry_after="20 seconds") == "waiting"
    assert job(queue, job_id, "(attempts, run_at - now())") == ("0", "00:00:20")


def test_a_job_whose_workers_are_killed_eight_times_is_dead(queue):
    job_id = enqueue(queue)
    taken = [claim(queue, at=LATER + timedelta(days=n)) for n in range(9)]
    assert [len(each) for each in taken] == [1] * 8 + [0]
    assert job(queue, job_id, "status") == "dead"
    assert job(queue, job_id, "error") == "its worker did not come back"


def test_a_dead_job_can_be_woken(queue):
    job_id = enqueue(queue)
    queue.execute("UPDATE memoir.job SET attempts = 7")
    claim(queue)
    assert fail(queue, job_id) == "dead"
    assert (claim(queue, at=LATER), finish(queue, job_id)) == ([], "lost")
    assert call(queue, "retry_dead", user_id="bob")[0].retry_dead == 0
    assert call(queue, "retry_dead", kind="errand")[0].retry_dead == 1
    assert claim(queue)[0].attempts == 1


def test_why_a_job_failed_can_be_read(queue):
    job_id = enqueue(queue)
    claim(queue)
    fail(queue, job_id, "x" * 1000)
    (row,) = queue.execute("SELECT job_id, status, error FROM memoir.job_errors").fetchall()
    assert row == (job_id, "waiting", "x" * 500)


def test_what_an_error_says_of_a_key_is_not_kept(queue):
    job_id = enqueue(queue)
    claim(queue)
    fail(queue, job_id, "401 for key sk-" + "proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    assert "abcdefghij" not in job(queue, job_id, "error")


def test_a_user_gets_his_urgent_jobs_first_then_the_oldest(queue):
    late = enqueue(queue, run_at="2026-01-02")
    early = enqueue(queue, run_at="2026-01-01")
    urgent = enqueue(queue, priority=5)
    enqueue(queue, user_id="bob")
    assert [each.job_id for each in claim(queue, 3)] == [urgent, early, late]


def test_a_worker_claims_only_the_kinds_it_can_do(queue):
    add_kind(queue, "chore")
    enqueue(queue)
    chore = enqueue(queue, "chore")
    assert [each.job_id for each in claim(queue, kinds=["chore"])] == [chore]
    assert ready(queue, kinds=["chore"]) == []
    assert ready(queue, kinds=["errand"]) == [("default", 1)]


@pytest.mark.parametrize(
    ("function", "more"),
    [("ready_users", {}), ("claim", {"user_id": None, "n": 10, "worker": "w1"})],
)
def test_a_kind_of_jobs_that_there_is_not_is_refused(queue, function, more):
    error = refused(queue, function, kinds=["errand", "embd"], **more)
    assert (error.sqlstate, error.message_primary) == ("ME002", 'unknown kind of job "embd"')


def test_a_job_is_not_claimed_before_its_time(queue):
    enqueue(queue, run_at=soon())
    assert (ready(queue), claim(queue)) == ([], [])
    assert ready(queue, at=soon()) == [("default", 1)]


def test_who_waits_longest_is_ready_first(queue):
    for user, run_at in (("ada", "2026-01-03"), ("bob", "2026-01-01"), ("cy", "2026-01-02")):
        enqueue(queue, user_id=user, run_at=run_at)
        enqueue(queue, user_id=user, run_at="2026-02-01")
    assert ready(queue, n=2) == [("bob", 2), ("cy", 2)]


def test_jobs_of_one_key_are_one_job_while_it_waits(queue):
    job_id = enqueue(queue, dedup_key="milk")
    assert enqueue(queue, dedup_key="milk") == job_id
    assert enqueue(queue, dedup_key="milk", user_id="bob") != job_id
    claim(queue)
    assert enqueue(queue, dedup_key="milk") != job_id


def test_writers_of_one_key_do_not_wait_for_each_other_and_claim_makes_their_jobs_one(db, dsn):
    add_kind(db)
    with psycopg.connect(dsn) as other, psycopg.connect(dsn) as third:
        third.execute("SET lock_timeout = '1s'")
        assert enqueue(other, dedup_key="milk") != enqueue(third, dedup_key="milk")
    assert len(claim(db, 1)) == 1
    assert (ready(db), claim(db)) == ([], [])
    statuses = "SELECT array_agg(status ORDER BY status) FROM memoir.job"
    assert value(db, statuses) == ["done", "running"]


def test_a_double_that_another_worker_is_just_taking_stays_with_that_one(db, dsn):
    add_kind(db)
    first = enqueue(db, dedup_key="milk")
    claim(db)
    second = enqueue(db, dedup_key="milk")
    db.execute("SET lock_timeout = '1s'")
    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM memoir.job WHERE job_id = %s FOR UPDATE", (second,))
        assert [each.job_id for each in claim(db, 1, "w2", at=soon())] == [first]
    assert job(db, second, "status") == "waiting"


def test_two_workers_do_not_wait_for_each_other(db, dsn):
    add_kind(db)
    one, two, three = (enqueue(db) for _ in range(3))
    with psycopg.connect(dsn) as first, psycopg.connect(dsn) as second:
        second.execute("SET lock_timeout = '1s'")
        assert [each.job_id for each in claim(first, 2)] == [one, two]
        assert [each.job_id for each in claim(second, 2, "w2")] == [three]


def test_a_job_is_there_when_its_cause_is_and_is_announced(db, dsn):
    add_kind(db)
    with psycopg.connect(dsn, autocommit=True) as listener:
        listener.execute("LISTEN memoir_jobs")
        with db.transaction(force_rollback=True):
            enqueue(db)
        enqueue(db)
        (said,) = listener.notifies(timeout=60, stop_after=1)
    assert (said.channel, said.payload) == ("memoir_jobs", "errand")
    assert value(db, "SELECT count(*) FROM memoir.job") == 1


def test_the_queue_is_counted_by_kind(queue):
    for _ in range(3):
        enqueue(queue)
    claim(queue, 1)
    row = "SELECT waiting, running, dead, oldest IS NOT NULL FROM memoir.job_overview"
    assert queue.execute(row + " WHERE kind = 'errand'").fetchall() == [(2, 1, 0, True)]


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [
        ("enqueue", {"kind": "erand"}, "ME002"),
        ("enqueue", {"kind": "errand", "user_id": " "}, "ME006"),
        ("enqueue", {"kind": "errand", "dedup_key": ""}, "ME008"),
        ("enqueue", {"kind": "errand", "dedup_key": "x" * 501}, "ME008"),
        ("enqueue", {"kind": "errand", "run_at": "infinity"}, "ME011"),
        ("enqueue", {"kind": "errand", "run_at": "0044-03-15 BC"}, "ME011"),
        ("enqueue", {"kind": "errand", "run_at": "9999-01-01"}, "ME011"),
        ("enqueue", {"kind": "embed", "payload": {"memory_ids": "all"}}, "ME015"),
        ("enqueue", {"kind": "keywords", "payload": {"memory_id": "tea"}}, "ME015"),
        ("enqueue", {"kind": "keywords", "payload": {"memory_id": "1" + 18 * "0"}}, "ME015"),
        ("enqueue", {"kind": "consolidate", "payload": {"memory_ids": ["1", "b"]}}, "ME015"),
        ("enqueue", {"kind": "compress", "payload": {"memory_ids": ["1", "2", ""]}}, "ME015"),
        ("enqueue", {"kind": "archive", "payload": {"event_ids": ["-1"]}}, "ME015"),
        (
            "enqueue",
            {"kind": "extract", "payload": {"session_id": "s", "until_turn": 1 << 31}},
            "ME015",
        ),
        ("claim", {"user_id": None, "n": 0, "worker": "w1"}, "ME008"),
        ("claim", {"user_id": None, "n": 1, "worker": " "}, "ME008"),
        ("claim", {"user_id": None, "n": 1, "worker": "w1", "lease": "0"}, "ME008"),
        ("ready_users", {"n": 0}, "ME008"),
        ("finish", {"job_id": 1}, "ME012"),
        ("fail", {"job_id": 1, "error": "no"}, "ME012"),
        ("fail", {"job_id": 1, "error": "no", "retry_after": "-1s"}, "ME008"),
        ("extend_lease", {"job_id": 1, "worker": "w1"}, "ME012"),
        ("retry_dead", {"kind": "erand"}, "ME002"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(queue, function, arguments, code):
    before = row_counts(queue)
    said = refused(queue, function, **arguments)
    assert (said.sqlstate, bool(said.message_hint)) == (code, True)
    assert row_counts(queue) == before


@pytest.mark.parametrize("run_at", ["-infinity", "0044-03-15 BC"])
def test_no_job_waits_since_a_time_that_drivers_cannot_read(queue, run_at):
    row = (
        "INSERT INTO memoir.job (user_id, kind, payload, run_at) VALUES ('ada', 'errand', '{}', %s)"
    )
    with pytest.raises(psycopg.errors.CheckViolation):
        queue.execute(row, (run_at,))


def test_a_job_of_another_user_cannot_be_finished(queue):
    job_id = enqueue(queue, user_id="ada")
    claim(queue, user_id="ada")
    assert refused(queue, "finish", job_id=job_id, user_id="bob").sqlstate == "ME012"


@pytest.mark.parametrize("needs", ["chat", "embedding"])
def test_a_kind_of_ones_own_that_needs_a_model_is_refused(tx, needs):
    row = "INSERT INTO memoir.job_kind (name, needs, description) VALUES ('mine', %s, 'x')"
    with pytest.raises(psycopg.errors.CheckViolation, match="a_kind_of_your_own_needs_nothing"):
        tx.execute(row, (needs,))
