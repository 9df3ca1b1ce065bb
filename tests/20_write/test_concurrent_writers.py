"""Sixteen connections write to the memory of one user: no error, nothing twice, nothing lost."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.rows import call, refused, remember, remember_all, sentences, until_blocked, value
from writers import USER, faults, write_at_once

WRITERS = 16


def at_once(dsn, statement, parameters):
    """What sixteen connections say to the same statement at the same moment: value or error."""
    barrier = threading.Barrier(WRITERS)

    def work(number):
        with psycopg.connect(dsn, autocommit=True) as conn:
            barrier.wait()
            try:
                return value(conn, statement, *parameters(number))
            except psycopg.Error as error:
                return error.sqlstate

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(work, range(WRITERS)))


def test_whatever_sixteen_writers_do_memory_stays_true_and_whole(db, dsn):
    crowd = write_at_once(dsn, WRITERS, seconds=1, seed=1)
    assert [error for writer in crowd for error in writer.errors] == []
    texts = set().union(*(writer.texts for writer in crowd))
    assert faults(db, USER, texts) == []


def test_the_same_fact_said_sixteen_times_at_once_is_stored_once(db, dsn):
    remember = "SELECT action FROM memoir.remember('drinks tea', 'fact')"
    actions = at_once(dsn, remember, lambda _: ())
    assert sorted(actions) == ["ADD"] + ["NOOP"] * 15
    assert value(db, "SELECT count(*) FROM memoir.memory") == 1


def test_of_sixteen_values_of_a_slot_one_is_true_and_all_are_kept(db, dsn):
    remember = "SELECT memory_id FROM memoir.remember(%s, 'fact', subject => 'user.city')"
    ids = at_once(dsn, remember, lambda number: (f"lives at number {number}",))
    assert len(set(ids)) == 16
    assert value(db, "SELECT count(*) FROM memoir.memory WHERE status = 'active'") == 1
    assert faults(db, "default") == []


def test_batches_that_overlap_crosswise_do_not_wait_for_each_other(db, dsn):
    texts = [f"fact number {number}" for number in range(60)]

    def batch(number):
        given = texts if number % 2 else texts[::-1]
        return (json.dumps([{"content": text, "kind": "fact"} for text in given]),)

    added = "SELECT count(*) FROM memoir.remember_many(%s) WHERE action = 'ADD'"
    assert sum(at_once(dsn, added, batch)) == 60
    assert value(db, "SELECT count(*) FROM memoir.memory") == 60


def test_one_of_sixteen_who_forget_does(db, dsn):
    id_ = value(db, "SELECT memory_id FROM memoir.remember('drinks tea')")
    forget = "SELECT new_status FROM memoir.forget(%s)"
    assert sorted(at_once(dsn, forget, lambda _: (id_,))) == ["ME014"] * 15 + ["forgotten"]


def test_one_of_sixteen_decisions_about_a_memory_is_carried_out(db, dsn):
    id_ = value(db, "SELECT memory_id FROM memoir.remember('drinks tea')")
    apply = "SELECT action FROM memoir.apply_decisions(%s)"

    def decision(number):
        text = f"drinks {number} cups"
        return (json.dumps([{"action": "SUPERSEDE", "memory_id": id_, "content": text}]),)

    assert sorted(at_once(dsn, apply, decision)) == ["ME014"] * 15 + ["SUPERSEDE"]


def test_what_waits_to_be_confirmed_is_confirmed_by_one_of_sixteen_who_say_it(db, dsn):
    call(db, "set_settings", settings={"confirm": True})
    remember(db, "drinks tea", source="model")
    again = "SELECT action FROM memoir.remember('drinks tea', 'fact')"
    assert sorted(at_once(dsn, again, lambda _: ())) == ["NOOP"] * 15 + ["UPDATE"]


@pytest.mark.parametrize(
    ("function", "state", "code"),
    [
        ("confirm", "pending", "ME014"),
        ("reject", "pending", "ME014"),
        ("restore", "forgotten", "ME014"),
        ("purge", "forgotten", "ME012"),
    ],
)
def test_of_two_who_do_the_same_to_a_memory_one_is_refused(db, dsn, function, state, code):
    call(db, "set_settings", settings={"confirm": True})
    pending, forgotten = remember(db, "drinks tea", source="model"), remember(db, "sleeps at nine")
    call(db, "forget", memory_id=forgotten)
    id_ = {"pending": pending, "forgotten": forgotten}[state]
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        call(other, function, memory_id=id_)
        said = pool.submit(refused, db, function, memory_id=id_)
        until_blocked(other)
        other.commit()
        assert said.result().sqlstate == code


def test_of_keywords_that_sixteen_set_at_once_those_of_one_stay(db, dsn):
    id_ = value(db, "SELECT memory_id FROM memoir.remember('drinks tea')")
    words = "SELECT memoir.set_keywords(%s, ARRAY[%s, %s])"
    assert at_once(dsn, words, lambda n: (id_, f"a{n}", f"b{n}")) == [2] * WRITERS
    assert value(db, "SELECT count(*) FROM memoir.keyword WHERE origin = 'llm'") == 2


def test_a_text_that_was_changed_a_moment_before_is_not_written_over(db, dsn):
    (text,) = sentences(1, 15)
    id_ = remember(db, text)
    db.execute(  # it stops where it asks for the lock
        "CREATE OR REPLACE FUNCTION memoir._try_lock_user(user_id text) RETURNS boolean LANGUAGE"
        " plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(7), memoir._lock_user(user_id);"
        " RETURN true; END'"
    )
    with psycopg.connect(dsn) as other, psycopg.connect(dsn, autocommit=True) as writer:
        other.execute("SELECT pg_advisory_xact_lock(7)")
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(call, writer, "remember", content=f"{text} today", kind="fact")
            until_blocked(other)
            call(other, "update_memory", memory_id=id_, content="the office is closed")
            other.commit()
            assert said.result()[0].action == "ADD"
    kept = db.execute("SELECT content FROM memoir.memory ORDER BY memory_id").fetchall()
    assert kept == [("the office is closed",), (f"{text} today",)]


def test_the_vector_of_a_text_that_was_changed_a_moment_before_is_dropped(db, dsn):
    ids = remember_all(db, ["drinks tea", "sleeps at nine"])
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        call(other, "forget", memory_id=ids[1])
        said = pool.submit(remember, db, "drinks tea", embedding="[1,0,0]")
        until_blocked(other)
        call(other, "update_memory", memory_id=ids[0], content="the office is closed")
        other.commit()
        assert said.result() == ids[0]
    assert value(db, "SELECT count(embedding) FROM memoir.trace") == 0


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("mention", {"memory_id": 2, "entity": "Ada"}),
        ("relate", {"from_id": 1, "to_id": 2}),
        ("set_keywords", {"memory_id": 2, "keywords": ["tea"]}),
        ("remember", {"content": "drinks tea at nine", "sources": [2]}),
        ("remember_many", {"memories": '[{"content": "drinks tea at nine", "sources": [2]}]'}),
        ("gold_add", {"gold_set": "rest", "query": "When?", "relevant_ids": [2]}),
    ],
)
def test_a_memory_that_is_just_being_purged_is_missing(db, dsn, function, arguments):
    remember_all(db, ["drinks tea", "sleeps at nine"])
    with psycopg.connect(dsn) as other, ThreadPoolExecutor(1) as pool:
        call(other, "purge", memory_id=2)
        said = pool.submit(refused, db, function, **arguments)
        until_blocked(other)
        other.commit()
        assert said.result().sqlstate == "ME012"


def test_nothing_refers_to_a_near_duplicate_that_is_just_being_purged(db, dsn):
    (text,) = sentences(1, 15)
    id_ = remember(db, text)
    db.execute("SET lock_timeout = '1s'")
    with psycopg.connect(dsn) as other:
        call(other, "purge", memory_id=id_)
        (said,) = call(db, "remember", content=f"{text} today", kind="fact")
        other.commit()
    assert (said.action, said.reason, said.other_ids) == ("ADD", "new", [])


def test_a_near_duplicate_is_stored_beside_a_change_that_is_open(db, dsn):
    (text,) = sentences(1, 15)
    ids = [remember(db, text), remember(db, "sleeps at nine")]
    db.execute("SET lock_timeout = '1s'")
    with psycopg.connect(dsn) as other:
        call(other, "forget", memory_id=ids[1])
        (said,) = call(db, "remember", content=f"{text} today", kind="fact")
    assert (said.action, said.other_ids) == ("ADD", [ids[0]])


@pytest.mark.parametrize(
    "statement",
    [
        "relate(1, 2)",
        "unrelate(1, 2)",
        "mention(1, 'Rome')",
        "unmention(2, 'Oslo')",
        "undo(1)",
        "undo_run(1)",
        "set_keywords(1, '{tea}')",
        "update_memory(1, 'drinks milk')",
        "set_embedding(1, '[1,0,0]')",
    ],
)
def test_a_change_waits_for_the_one_that_is_open(db, dsn, statement):
    remember_all(db, ["drinks tea", "moved to Oslo", "sleeps at nine"])
    db.execute("SET lock_timeout = '20ms'")
    with psycopg.connect(dsn) as other:
        call(other, "forget", memory_id=3)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            db.execute(f"SELECT memoir.{statement}")


@pytest.mark.parametrize(
    "statement",
    [
        "remember('lives in Oslo', 'fact', subject => 'home')",
        "remember('lives in Rome', 'fact')",
        "update_memory(1, 'lives in Rome')",
        "restore(2)",
        'remember_many(\'[{"content": "lives in Oslo", "subject": "home"}]\')',
        'apply_decisions(\'[{"action": "ADD", "content": "Oslo", "subject": "home"}]\')',
        "remember('a first memory', user_id => 'eve', subject => 'home')",
        "mention(1, 'Rome', 'place')",
        "message_add('monday', 'user', 'hello')",
    ],
)
def test_what_another_did_unseen_is_a_serialization_failure(db, dsn, statement):
    remember_all(db, ["drinks tea", "lives in Rome"])
    call(db, "forget", memory_id=2)
    with psycopg.connect(dsn) as late:
        late.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        late.execute("SELECT FROM memoir.memory")
        for kind in "fact", "general":
            remember(db, "lives in Rome", kind, subject="home")
        remember(db, "lives in Rome")
        remember(db, "a first memory", user_id="eve")
        call(db, "mention", memory_id=2, entity="Rome", type="place")
        call(db, "message_add", session_id="monday", role="user", content="hello")
        with pytest.raises(psycopg.errors.SerializationFailure):
            late.execute(f"SELECT memoir.{statement}")


def test_of_two_that_do_not_see_each_other_one_takes_a_place_in_the_past(db, dsn):
    # Given a fact, and two connections of REPEATABLE READ, one of which began to read
    strict = make_conninfo(dsn, options="-c default_transaction_isolation=repeatable\\ read")
    remember(db, "Rome", subject="home", valid_from="2025-06-01")
    with psycopg.connect(strict) as early, psycopg.connect(strict) as late:
        late.execute("SELECT FROM memoir.memory")
        # When both learn what was before
        remember(early, "Oslo", subject="home", valid_from="2025-03-01")
        early.commit()
        # Then the second, who would not end where the first begins, is to try again
        with pytest.raises(psycopg.errors.SerializationFailure):
            remember(late, "Bern", subject="home", valid_from="2025-02-01")
