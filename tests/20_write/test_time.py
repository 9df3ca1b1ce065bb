"""Slots, validity, and what a recall of the past finds."""

from __future__ import annotations

from itertools import permutations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import (
    ago,
    call,
    candidate_scores,
    explain,
    found,
    headings,
    recall,
    remember,
    status,
    store,
    value,
)

VUE, REACT, SVELTE = "builds with Vue", "builds with React", "builds with Svelte"


def choose(conn, content, days, **more):
    """What became of a framework named so many days ago."""
    said = {"kind": "preference", "subject": "user.framework", "created_at": ago(days=days)}
    return call(conn, "remember", content=content, **(said | more))[0]


def slot(conn):
    """The memories of the slot in time: content, status, begin and end in days ago."""
    rows = conn.execute(
        "SELECT content, status, valid_from, valid_until FROM memoir.memory"
        " WHERE subject = 'user.framework' AND status <> 'forgotten' ORDER BY valid_from"
    )
    return [(text, status, days(begin), days(end)) for text, status, begin, end in rows]


def days(time):
    """How many days ago it was."""
    return None if time is None else (ago() - time).days


def known(conn, days_ago):
    """What a recall of that time has."""
    return found(conn, "builds", as_of=ago(days=days_ago))


def test_a_newer_preference_closes_the_older_one(tx):
    choose(tx, VUE, 30)
    second = choose(tx, REACT, 10)
    assert (second.action, second.reason) == ("SUPERSEDE", "newer on the same subject")
    assert slot(tx) == [(VUE, "superseded", 30, 10), (REACT, "active", 10, None)]


def test_the_newer_one_is_linked_to_what_it_supersedes(tx):
    first, second = choose(tx, VUE, 30), choose(tx, REACT, 10)
    assert second.other_ids == [first.memory_id]
    link = "SELECT (from_id, to_id, type)::text FROM memoir.relation"
    assert value(tx, link) == f"({second.memory_id},{first.memory_id},supersedes)"


def test_recall_has_the_newest_and_a_recall_of_the_past_the_one_of_then(tx):
    choose(tx, VUE, 30)
    choose(tx, REACT, 10)
    assert found(tx, "builds") == [REACT]
    assert [known(tx, at) for at in (31, 20, 10, 5)] == [[], [VUE], [REACT], [REACT]]


def test_a_fact_that_arrives_late_takes_its_place_in_the_past(tx):
    choose(tx, VUE, 30)
    react = choose(tx, REACT, 10)
    late = choose(tx, SVELTE, 1, valid_from=ago(days=20))
    assert (late.action, late.other_ids) == ("ADD", [react.memory_id])
    assert slot(tx) == [
        (VUE, "superseded", 30, 20),
        (SVELTE, "superseded", 20, 10),
        (REACT, "active", 10, None),
    ]
    assert found(tx, "builds") == [REACT]


def test_what_was_not_known_then_is_not_recalled_as_of_then(tx):
    choose(tx, VUE, 30)
    choose(tx, REACT, 10, valid_from=ago(days=20))
    assert known(tx, 15) == [VUE]
    assert known(tx, 5) == [REACT]


def test_of_two_that_arrive_late_neither_changes_what_was_known_before(tx):
    choose(tx, VUE, 30)
    choose(tx, REACT, 10)
    choose(tx, SVELTE, 3, valid_from=ago(days=20))
    choose(tx, "builds with Solid", 2, valid_from=ago(days=25))
    assert [known(tx, at) for at in (22, 15, 5)] == [[VUE], [VUE], [REACT]]


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_announced_is_not_so_before(tx, order):
    for content, told, begins in [(VUE, 30, 30), (REACT, 20, 10)][::order]:
        choose(tx, content, told, valid_from=ago(days=begins))
    assert [known(tx, at) for at in (25, 15, 5)] == [[VUE], [VUE], [REACT]]


def test_the_oldest_may_arrive_last(tx):
    choose(tx, REACT, 10)
    choose(tx, VUE, 30)
    assert slot(tx) == [(VUE, "superseded", 30, 10), (REACT, "active", 10, None)]
    assert known(tx, 20) == [VUE]


def test_the_middle_one_may_arrive_last(tx):
    choose(tx, VUE, 30)
    choose(tx, SVELTE, 10)
    choose(tx, REACT, 20)
    assert [known(tx, at) for at in (25, 15, 5)] == [[VUE], [REACT], [SVELTE]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_one_value_was_known_in_whatever_order_they_were_stored(tx, order):
    # Given a value told late, and one told before it that was true after it
    told = [(VUE, 30, 30), (SVELTE, 5, 20), (REACT, 10, 10)]
    # When they arrive in any order
    for content, told_at, begins in (told[place] for place in order):
        choose(tx, content, told_at, valid_from=ago(days=begins))
    assert [known(tx, at) for at in (25, 15, 7, 3)] == [[VUE], [VUE], [REACT], [REACT]]


def test_of_two_of_the_same_moment_the_later_one_wins(tx):
    choose(tx, VUE, 10)
    choose(tx, REACT, 10)
    assert found(tx, "builds") == [REACT]
    lasted = "SELECT extract(microseconds FROM valid_until - valid_from) FROM memoir.memory"
    assert value(tx, f"{lasted} WHERE status = 'superseded'") == 1


@pytest.mark.parametrize("ahead", ["1 hour", "1 microsecond"])
def test_what_is_told_last_without_a_time_is_the_newest_though_the_clock_was_set_back(tx, ahead):
    later = value(tx, "SELECT now() + %s::interval", ahead)
    oslo = remember(tx, "Ada lives in Oslo", subject="user.city", created_at=later)
    (rome,) = call(tx, "remember", content="Ada lives in Rome", kind="fact", subject="user.city")
    assert (rome.action, rome.other_ids) == ("SUPERSEDE", [oslo])
    (again,) = call(tx, "remember", content="Ada lives in Rome", kind="fact", subject="user.city")
    assert (again.action, again.memory_id) == ("NOOP", rome.memory_id)


def test_what_is_to_come_stays_to_come_when_something_else_is_told(tx):
    later = value(tx, "SELECT now() + interval '1 hour'")
    oslo = remember(tx, "Ada lives in Oslo", subject="user.city", valid_from=later)
    (rome,) = call(tx, "remember", content="Ada lives in Rome", kind="fact", subject="user.city")
    assert (rome.action, rome.other_ids) == ("ADD", [oslo])


def test_many_of_the_same_moment_find_their_places_without_a_search_each(tx):
    scans = """SELECT seq_scan + idx_scan FROM pg_stat_xact_user_tables
               WHERE relid = 'memoir.memory'::regclass"""
    before = value(tx, scans)
    said = {"kind": "preference", "subject": "user.framework", "created_at": ago(days=10)}
    store(tx, [{"content": f"builds with framework {n}", **said} for n in range(30)])
    assert slot(tx)[-1][:2] == ("builds with framework 29", "active")
    assert value(tx, scans) - before < 30 * 30
    # Nor are the words of each compared with those of all: a thousand took 18 seconds.
    store(tx, [{"content": "Builds with framework 0!", **said}])
    assert slot(tx)[-1][:2] == ("Builds with framework 0!", "active")
    # A file that is read again stores nothing, however many of one moment it has.
    stored = slot(tx)
    store(tx, [{"content": f"builds with framework {n}", **said} for n in range(30)])
    assert slot(tx) == stored


def test_what_waits_by_the_dozen_does_not_hide_what_is_true(tx):
    vue = choose(tx, VUE, 30)
    call(tx, "set_settings", settings={"confirm": True})
    proposed = {"kind": "preference", "subject": "user.framework", "source": "agent"}
    store(tx, [{"content": f"builds with framework {n}", **proposed} for n in range(20)])
    again = choose(tx, "Builds with Vue.", 0)
    assert (again.action, again.memory_id) == ("NOOP", vue.memory_id)


def test_a_slot_is_one_of_its_kind_whatever_its_case(tx):
    choose(tx, VUE, 30)
    assert choose(tx, REACT, 10, subject=" User.Framework ").action == "SUPERSEDE"
    assert choose(tx, SVELTE, 5, kind="goal").action == "ADD"
    assert choose(tx, SVELTE, 5, user_id="ada").action == "ADD"


def test_the_same_again_in_a_slot_is_not_stored(tx):
    first = choose(tx, VUE, 30)
    again = choose(tx, VUE, 10)
    assert (again.action, again.memory_id) == ("NOOP", first.memory_id)
    choose(tx, REACT, 5)
    assert choose(tx, VUE, 20).action == "NOOP"
    assert choose(tx, VUE, 1).action == "SUPERSEDE"


def test_the_same_again_in_the_next_session_is_as_true_since_as_long(tx):
    first = choose(tx, VUE, 90, session_id="a")
    again = choose(tx, "Builds with Vue.", 30, session_id="b")
    assert (again.action, again.memory_id) == ("NOOP", first.memory_id)
    choose(tx, VUE, 20, session_id="b", valid_until=ago(days=1))
    assert slot(tx) == [(VUE, "superseded", 90, 20), (VUE, "active", 20, 1)]


def test_a_long_history_of_a_slot_is_not_read_to_add_to_it(db):
    # Given a slot that had a value for each of 2000 days
    db.execute(
        """
        INSERT INTO memoir.memory (user_id, kind, subject, content, importance, status, valid_from,
                                   valid_until, created_at, content_hash)
        SELECT 'default', 'preference', 'user.framework', 'framework ' || n, 0.5, 'superseded',
               d - n * interval '1 day', d - (n - 1) * interval '1 day', d, sha256(n::text::bytea)
        FROM generate_series(1, 2000) AS n, CAST(%s AS timestamptz) AS d
        """,
        [ago(days=30)],
    )
    choose(db, VUE, 30)
    db.execute("ANALYZE memoir.memory")
    read = """SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
              WHERE relid = 'memoir.memory'::regclass"""
    with db.transaction():
        # When it gets another
        before = value(db, read)
        done = choose(db, REACT, 10)
        # Then few rows are read
        assert done.action == "SUPERSEDE"
        assert value(db, read) - before < 100


def test_turns_have_no_slot(tx):
    for turn in range(2):
        done = choose(tx, f"I use {turn}", 1, kind="turn", turn=turn, session_id="s")
        assert done.action == "ADD"


def test_a_memory_ends_when_it_was_said_to(tx):
    remember(tx, "the build is red", valid_from=ago(days=5), valid_until=ago(days=2))
    assert found(tx, "build") == []
    assert explain(tx, "build")[0].reason == "expired"
    remember(tx, "the deploy is frozen", valid_until="2999-01-01")
    assert found(tx, "deploy") == ["the deploy is frozen"]


SHIFT = "Ada works the night shift at the harbour office"


@pytest.fixture
def ended(tx):
    """Ada worked the night shift until three days ago."""
    return remember(tx, SHIFT, created_at=ago(days=9), valid_until=ago(days=3))


@pytest.mark.parametrize("again", [SHIFT, SHIFT + "."])
@pytest.mark.parametrize("source", ["user", "agent"])
@pytest.mark.usefixtures("ended")
def test_what_has_ended_is_true_again_when_it_is_said_again(tx, again, source):
    call(tx, "set_settings", settings='{"confirm": true}')
    done = call(tx, "remember", content=again, kind="fact", source=source)[0]
    if source == "agent":
        assert done.action == "PENDING"
        call(tx, "confirm", memory_id=done.memory_id)
    assert found(tx, "shift") == [again]
    assert found(tx, "shift", as_of=ago(days=5)) == [SHIFT]
    assert found(tx, "shift", as_of=ago(days=2)) == []


def test_what_made_way_for_its_text_keeps_its_time_and_can_come_back(tx, ended):
    again = remember(tx, SHIFT)
    old = call(tx, "history", memory_id=ended)[-1]
    assert (old.action, old.reason) == ("SUPERSEDE", f"memory {again} follows")
    call(tx, "undo", memory_id=again)
    assert (status(tx, again), status(tx, ended)) == ("forgotten", "active")


def test_undo_run_takes_back_that_what_has_ended_is_true_again(tx, ended):
    decided = Jsonb([{"action": "ADD", "kind": "fact", "content": SHIFT}])
    (done,) = call(tx, "apply_decisions", decisions=decided)
    call(tx, "undo_run", run_id=done.run_id)
    assert (status(tx, done.memory_id), status(tx, ended)) == ("forgotten", "active")


@pytest.mark.usefixtures("ended")
def test_what_has_ended_is_said_again_twice_in_a_batch(tx):
    twice = Jsonb([{"content": SHIFT, "kind": "fact"}] * 2)
    done = call(tx, "remember_many", memories=twice)
    assert [row.action for row in done] == ["ADD", "NOOP"]
    assert found(tx, "shift") == [SHIFT]


def test_what_was_said_before_it_ended_is_known(tx, ended):
    done = call(tx, "remember", content=SHIFT, kind="fact", created_at=ago(days=5))[0]
    assert (done.action, done.memory_id) == ("NOOP", ended)


@pytest.mark.parametrize("subject", [None, "ada.shift"])
def test_an_end_that_is_said_later_is_taken(tx, subject):
    first = remember(tx, SHIFT, subject=subject, created_at=ago(days=9))
    said = {"content": SHIFT, "kind": "fact", "subject": subject, "valid_until": "2999-01-01Z"}
    done = call(tx, "remember", **said)[0]
    assert (done.action, done.memory_id) == ("UPDATE", first)
    assert value(tx, "SELECT valid_until = '2999-01-01Z' FROM memoir.memory")


@pytest.mark.parametrize(
    ("told", "decided", "then", "today"),
    [
        ({}, {"valid_until": str(ago(days=6))}, [7, 3], [7]),
        ({"valid_until": ago(days=6)}, {"valid_until": str(ago(days=2))}, [7], [7, 3]),
        ({}, {"valid_from": str(ago(days=5))}, [7, 3], [3]),
    ],
    ids=["over", "extended", "begins later"],
)
@pytest.mark.parametrize("status", ["active", "archived"])
@pytest.mark.parametrize("mode", ["execute", "balanced"])
def test_a_time_told_later_was_not_known_then(tx, told, decided, then, today, mode, status):
    # Given a memory of nine days ago, whose end or start decisions of today move
    memory_id = remember(tx, SHIFT, created_at=ago(days=9), **told)
    for moved in ({key: str(ago(days=4)) for key in decided}, decided):
        decision = Jsonb([{"action": "UPDATE", "memory_id": memory_id, **moved}])
        call(tx, "apply_decisions", decisions=decision)
    if status == "archived":
        tx.execute("UPDATE memoir.memory SET status = 'archived', retired_at = now()")
        tx.execute("UPDATE memoir.trace SET active = false")
    # When it was stored today, nobody knows when the time was told; else it was after those days
    for recorded, expected in (("now()", today), ("created_at", then)):
        tx.execute(f"UPDATE memoir.memory SET recorded_at = {recorded}")
        # Then a recall of the past goes by what was told, and explain does
        for days_ago in (7, 3):
            asked = {"as_of": ago(days=days_ago), "mode": mode}
            rows = explain(tx, "shift", **asked, only_memory=memory_id)
            assert found(tx, "shift", **asked) == [SHIFT] * (days_ago in expected)
            assert any(row.reason == "in block" for row in rows) == (days_ago in expected)


def test_an_end_told_later_was_not_known_then_of_what_has_made_way_since(tx):
    # Given a slot whose end was told two days after it, and which was filled anew after that
    memory_id = remember(tx, SHIFT, subject="ada.shift", created_at=ago(days=9))
    tx.execute("UPDATE memoir.memory SET recorded_at = created_at")
    over = [{"action": "UPDATE", "memory_id": memory_id, "valid_until": str(ago(days=6))}]
    call(tx, "apply_decisions", decisions=Jsonb(over))
    tx.execute("UPDATE memoir.revision SET created_at = %s", (ago(days=4),))
    remember(tx, "Ada works by day", subject="ada.shift", created_at=ago(days=2))
    # Then it was known until its end was told
    past = [found(tx, "works shift", as_of=ago(days=days)) for days in (7, 5, 3, 1)]
    assert past == [[SHIFT], [SHIFT], [], ["Ada works by day"]]


@pytest.mark.parametrize("door", ["supersede", "by", "content"])
def test_which_of_two_known_ones_was_over_is_known_once_it_is_decided(tx, door):
    # Given two of last month that were both recalled, until it is decided today
    old = remember(tx, VUE, created_at=ago(days=30))
    new = remember(tx, REACT, created_at=ago(days=20))
    said = {"by": str(new)} if door == "by" else {"content": REACT, "kind": "fact"}
    if door == "supersede":
        call(tx, "supersede", memory_id=old, by_id=new)
    else:
        decision = {"action": "SUPERSEDE", "memory_id": str(old), **said}
        call(tx, "apply_decisions", decisions=Jsonb([decision]))
    # Then a recall of the past has both, as it had then
    assert found(tx, "builds") == [REACT]
    assert sorted(known(tx, 10)) == [REACT, VUE]


def test_what_is_rewritten_is_recalled_as_of_then_as_it_was(tx):
    memory_id = remember(tx, "the port is 8080", created_at=ago(days=30))
    for port in (7070, 9090):
        call(tx, "update_memory", memory_id=memory_id, content=f"the port is {port}")
    assert found(tx, "port") == ["the port is 9090"]
    assert found(tx, "port 8080", as_of=ago(days=5)) == ["the port is 8080"]


@pytest.mark.parametrize("budget", [20, 800])
@pytest.mark.parametrize(
    "change", [{"content": "a"}, {"kind": "task"}, {"subject": "b"}, {"summary": "c"}], ids=str
)
def test_a_change_of_today_changes_no_recall_of_the_past(tx, change, budget):
    # Given a memory with a subject, and a summary that alone fits a small budget
    told = {"created_at": ago(days=9), "subject": "gateway", "summary": "on 8080"}
    memory_id = remember(tx, "it answers on port 8080 " + "or one behind it " * 9, **told)
    asked = {"query_text": "gateway", "mode": "conversation", "as_of": ago(days=5)}
    past = recall(tx, **asked, budget=budget).block, [*candidate_scores(tx, **asked).values()]
    # When it is changed
    call(tx, "update_memory", memory_id=memory_id, **change)
    # Then its line and its score of then are what they were
    assert recall(tx, **asked, budget=budget).block == past[0]
    assert [*candidate_scores(tx, **asked).values()] == past[1]


def test_a_goal_of_the_past_stands_though_it_is_none_today(tx):
    goal = remember(tx, "Tea", "okr", data={"status": "pending"}, created_at=ago(days=9))
    past = recall(tx, "what?", as_of=ago(days=5)).block
    call(tx, "update_memory", memory_id=goal, kind="fact")
    assert recall(tx, "what?", as_of=ago(days=5)).block == past
    assert headings(past) == ["Current goals"]


def test_a_goal_of_the_past_stands_as_it_was(db):
    goal = {"title": "Tea", "status": "in_progress", "progress": 40}
    remember(db, "grow tea", "okr", data=goal, created_at=ago(days=30))
    before = value(db, "SELECT now()")
    for progress in (60, 80):
        remember(db, "grow tea", "okr", data={**goal, "progress": progress})
    blocks = [recall(db, "what?", as_of=at).block for at in (None, before, ago(days=40))]
    assert ["80%" in blocks[0], "40%" in blocks[1], "Tea" in blocks[2]] == [True, True, False]


def test_what_is_forgotten_is_not_recalled_as_of_a_time_before(tx):
    memory_id = remember(tx, "the port is 8080", created_at=ago(days=30))
    call(tx, "forget", memory_id=memory_id)
    assert found(tx, "port", as_of=ago(days=5)) == []


def test_explain_of_the_past_has_a_superseded_memory_once(tx):
    first = choose(tx, VUE, 30)
    choose(tx, REACT, 10)
    rows = explain(tx, "builds", as_of=ago(days=20))
    assert (rows[0].memory_id, rows[0].reason) == (first.memory_id, "in block")
    assert len({r.memory_id for r in rows}) == len(rows) == 2


@pytest.mark.parametrize("size", [201, 3000])
def test_a_subject_has_200_characters_at_most(tx, size):
    with pytest.raises(Exception, match=f"subject has {size} characters"):
        remember(tx, "tea", subject="x" * size)
