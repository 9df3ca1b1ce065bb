"""What nobody asked for is enqueued for the chat model: once, and not without bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import chain

import psycopg
import pytest
from tests.jobs import answered, claim, enqueue
from tests.rows import (
    ago,
    call,
    refused,
    remember,
    remember_all,
    say,
    sentences,
    set_to,
    until_blocked,
    value,
)

NEAR = ["[1,0,0]", "[0.999,0.01,0]"]


def ages(conn, days):
    """All memories were stored so many days ago, and what was done to them, too."""
    shift = f"interval '{days} days'"
    conn.execute(
        f"UPDATE memoir.memory SET created_at = created_at - {shift},"
        f" recorded_at = recorded_at - {shift}"
    )
    conn.execute(f"UPDATE memoir.revision SET created_at = created_at - {shift}")
    conn.execute(f"UPDATE memoir.access SET last_at = last_at - {shift}")


def jobs(conn, kind):
    """The ids in the waiting jobs of a kind."""
    rows = conn.execute(
        "SELECT payload -> 'memory_ids' FROM memoir.job"
        " WHERE kind = %s AND status = 'waiting' ORDER BY job_id",
        (kind,),
    )
    return [None if ids is None else [int(i) for i in ids] for (ids,) in rows]


def nightly(conn, **more):
    """What was enqueued: (kind, number) of each."""
    return [(row.kind, row.jobs) for row in call(conn, "enqueue_nightly", **more)]


def facts(conn, count, **more):
    """Facts that are not alike; their ids."""
    return remember_all(conn, sentences(count, 6), **more)


def late_pair(conn, user="default"):
    """Two memories that only their vectors, which come later, show to be alike."""
    ids = remember_all(conn, ["Ada likes green tea", "tea that is green pleases Ada"], user=user)
    for memory_id, vector in zip(ids, NEAR, strict=True):
        call(conn, "set_embedding", memory_id=memory_id, embedding=vector, user_id=user)
    return ids


@pytest.mark.parametrize(
    ("stored", "given"),
    [("Ada likes tea", "Ada does not like tea"), ("the port is 8080", "the port is 9090")],
)
def test_what_the_rule_leaves_side_by_side_a_model_is_asked_about(tx, stored, given):
    ids = [remember(tx, stored, embedding=NEAR[0]), remember(tx, given, embedding=NEAR[1])]
    assert jobs(tx, "consolidate") == [ids]


def test_the_newer_of_a_pair_is_what_is_true_since_later_not_what_was_stored_later(tx):
    new = remember(tx, "the port is 9090", embedding=NEAR[0], created_at=ago(days=2))
    old = remember(tx, "the port is 8080", embedding=NEAR[1], created_at=ago(days=9))
    assert jobs(tx, "consolidate") == [[old, new]]


def test_what_is_like_nothing_is_no_job(tx):
    facts(tx, 3)
    assert value(tx, "SELECT count(*) FROM memoir.job") == 0


def test_without_a_model_jobs_of_a_user_do_not_pile_up(tx):
    set_to(tx, nightly_jobs=2)
    for number in range(5):
        remember(tx, f"the port is {number}", embedding=NEAR[0])
    assert len(jobs(tx, "consolidate")) == 2


@pytest.mark.parametrize("setting", ["memory", "auto_extract"])
def test_who_switched_it_off_is_left_alone(tx, setting):
    late_pair(tx)
    call(tx, "set_settings", settings={setting: False})
    facts(tx, 3)
    ages(tx, 100)
    assert nightly(tx) == []


def test_memories_that_their_vectors_show_to_be_alike_are_found_at_night_and_once(tx):
    ids = late_pair(tx)
    assert jobs(tx, "consolidate") == []
    assert nightly(tx) == [("consolidate", 1)]
    assert jobs(tx, "consolidate") == [ids]
    assert nightly(tx) == []


def test_a_pair_of_which_one_is_purged_at_this_moment_is_no_job(db, dsn):
    ids = late_pair(db)
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        call(other, "purge", memory_id=ids[0])
        found = pool.submit(nightly, db)
        until_blocked(other)
        other.commit()
        assert found.result() == []


def test_a_pair_that_stays_is_not_asked_about_again(tx):
    late_pair(tx)
    nightly(tx)
    (claimed,) = claim(tx, kinds=["consolidate"])
    answered(tx, claimed, {"action": "keep_both", "content": None, "reason": "two things"})
    tx.execute("INSERT INTO memoir.uncompared SELECT user_id, memory_id FROM memoir.memory")
    assert nightly(tx) == []


def test_pairs_without_room_are_found_the_next_night(tx):
    for user in ("ada", "bob"):
        late_pair(tx, user)
    enqueue(tx, "consolidate", payload={"memory_ids": ["1", "2"]}, user_id="ada")
    set_to(tx, nightly_jobs=1)
    assert [(r.user_id, r.jobs) for r in call(tx, "enqueue_nightly")] == [("bob", 1)]
    set_to(tx, nightly_jobs=2)
    assert [(r.user_id, r.jobs) for r in call(tx, "enqueue_nightly")] == [("ada", 1)]


def test_of_more_pairs_than_there_is_room_for_the_others_wait(tx):
    tea = late_pair(tx)
    port = remember_all(tx, ["clients reach port 8080", "nobody has closed port 8080 this week"])
    for memory_id, vector in zip(port, ["[0,1,0]", "[0.01,0.999,0]"], strict=True):
        call(tx, "set_embedding", memory_id=memory_id, embedding=vector)
    set_to(tx, nightly_jobs=1)
    assert nightly(tx) == [("consolidate", 1)]
    assert nightly(tx) == []
    set_to(tx, nightly_jobs=9)
    assert nightly(tx) == [("consolidate", 1)]
    assert jobs(tx, "consolidate") == [tea, port]


@pytest.mark.usefixtures("side_by_side")
def test_contradictions_are_asked_about_once(tx):
    ids = [remember(tx, "Ada likes tea"), remember(tx, "Ada does not like tea")]
    assert nightly(tx) == [("consolidate", 1)]
    assert jobs(tx, "consolidate") == [ids]
    assert nightly(tx) == []


def test_turns_and_slots_are_not_compared(tx):
    say(tx, "monday", "Ada likes green tea", "Ada likes green teas")
    remember(tx, "Oslo", subject="user.city")
    for (memory_id,) in tx.execute("SELECT memory_id FROM memoir.memory").fetchall():
        call(tx, "set_embedding", memory_id=memory_id, embedding=NEAR[0])
    assert value(tx, "SELECT count(*) FROM memoir.uncompared") == 0


def test_three_old_memories_of_a_kind_are_compressed(tx):
    ids = facts(tx, 3)
    facts(tx, 2, kind="pattern")
    ages(tx, 91)
    assert nightly(tx) == [("compress", 1)]
    assert jobs(tx, "compress") == [ids]
    assert nightly(tx) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memoir.memory SET recorded_at = now() WHERE memory_id = %s",
        "UPDATE memoir.memory SET subject = 'user.drink' WHERE memory_id = %s",
        "UPDATE memoir.memory SET valid_until = 'infinity' WHERE memory_id = %s",
        "UPDATE memoir.memory SET status = 'superseded' WHERE memory_id = %s",
        "UPDATE memoir.memory SET position = 1 WHERE memory_id = %s",
        "UPDATE memoir.memory SET source = 'tasks', source_key = '1' WHERE memory_id = %s",
        "UPDATE memoir.memory SET content = repeat('a', 4001) WHERE memory_id = %s",
        "INSERT INTO memoir.access SELECT user_id, memory_id, 1, now() FROM memoir.memory"
        " WHERE memory_id = %s",
        "INSERT INTO memoir.access SELECT user_id, memory_id, 5, created_at FROM memoir.memory"
        " WHERE memory_id = %s",
        "SELECT memoir.update_memory(%s, importance => 0.9)",
        "SELECT memoir.forget(%s)",
    ],
)
def test_what_is_in_use_or_has_its_place_is_not_compressed(tx, change):
    ids = facts(tx, 3)
    ages(tx, 91)
    tx.execute(change, (ids[1],))
    assert nightly(tx) == []


def test_what_upkeep_has_lowered_is_compressed(tx):
    ids = facts(tx, 3)
    ages(tx, 91)
    lower = """_revise('default', %s, ARRAY['{"importance": 0.1}'::jsonb], 'LOWER'"""
    tx.execute(f"SELECT memoir.{lower}, 'maintain', 'old', NULL, NULL)", (ids[:1],))
    assert nightly(tx) == [("compress", 1)]


def test_what_somebody_asked_for_goes_first(tx):
    facts(tx, 3)
    ages(tx, 91)
    nightly(tx)
    asked = enqueue(tx, "rolling_summary")
    assert claim(tx, n=1)[0].job_id == asked


def test_a_job_has_no_more_than_a_hundred_memories_and_not_too_many_tokens(tx):
    ids = facts(tx, 105)
    ages(tx, 91)
    nightly(tx)
    assert jobs(tx, "compress") == [ids[:100], ids[100:]]
    tx.execute("DELETE FROM memoir.job")
    set_to(tx, compress_tokens=200)
    nightly(tx)
    assert max(map(len, jobs(tx, "compress"))) < 30
    assert list(chain(*jobs(tx, "compress"))) == ids


def test_a_user_who_confirms_is_not_asked_about_a_hundred_memories(tx):
    facts(tx, 3)
    ages(tx, 91)
    call(tx, "set_settings", settings={"confirm": True})
    assert nightly(tx) == []


def test_a_summary_is_made_anew_when_enough_has_changed(tx):
    facts(tx, 10)
    assert nightly(tx) == [("rolling_summary", 1)]
    assert nightly(tx) == []
    (claimed,) = claim(tx, kinds=["rolling_summary"])
    assert answered(tx, claimed, {"summary": "Ada drinks."}) == "done"
    assert nightly(tx) == []


def test_a_summary_is_made_anew_when_what_it_may_tell_has_ended(tx):
    (tea,) = facts(tx, 1)
    enqueue(tx, "rolling_summary")
    (claimed,) = claim(tx, kinds=["rolling_summary"])
    tx.execute('UPDATE memoir.job SET payload = payload || \'{"said_at": "2025-06-01Z"}\'')
    answered(tx, claimed, {"summary": "Ada drinks tea."})
    assert nightly(tx) == []
    call(tx, "supersede", memory_id=tea, by_id=remember(tx, "Ada drinks water"))
    assert nightly(tx) == [("rolling_summary", 1)]


def test_who_wants_none_of_it_has_none(tx):
    set_to(tx, nightly_jobs=0, keyword_jobs=True)
    facts(tx, 10)
    ages(tx, 91)
    assert nightly(tx) == []


def test_keywords_are_asked_for_only_where_somebody_wants_that(tx):
    facts(tx, 2)
    assert nightly(tx) == []
    set_to(tx, keyword_jobs=True)
    assert nightly(tx) == [("keywords", 2)]
    assert nightly(tx) == []
    for claimed in claim(tx, kinds=["keywords"]):
        answered(tx, claimed, {"keywords": []})
    assert nightly(tx) == []


def test_maintain_enqueues_and_a_dry_run_only_tells(tx):
    late_pair(tx)
    facts(tx, 3, kind="pattern")
    ages(tx, 91)
    told = [("jobs enqueued", {"compress": 1, "consolidate": 1})]
    for dry_run, left in ((True, 0), (False, 1), (False, 1)):
        rows = call(tx, "maintain", dry_run=dry_run)
        said = [(r.action, r.details) for r in rows if r.action == "jobs enqueued"]
        assert said == (told if dry_run or not left else said)
        assert len(jobs(tx, "consolidate")) == left


def test_no_user_is_refused(tx):
    assert refused(tx, "enqueue_nightly", only_user="").sqlstate == "ME006"
    late = datetime(9999, 1, 1, tzinfo=UTC)
    assert refused(tx, "enqueue_nightly", at=late).sqlstate == "ME011"
