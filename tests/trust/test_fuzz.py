"""Every public function with arguments nobody should pass, and each fault that this once found."""

from __future__ import annotations

import os

import pytest
from psycopg.types.json import Jsonb
from tests.examples import share
from tests.jobs import add_kind, claim, enqueue
from tests.rows import (
    MODES,
    OTHER_MODES,
    call,
    lines,
    recall,
    refused,
    remember,
    say,
    value,
    working_at_most,
)
from tests.trust.arguments import Call, Function
from tests.trust.arguments import functions as catalogue
from tests.trust.fuzz import MOST_SECONDS, Fuzz, build_world, defects, drawn

ENDS = ("-infinity", "4714-11-24 00:00:00+00 BC", "294276-12-31 23:59:59+00", "infinity")


def test_no_call_ends_in_an_error_that_is_not_documented(db):
    build_world(db)
    functions = catalogue(db)
    number = max(share(8) * len(functions), int(os.environ.get("FUZZ_CALLS", "0")))
    outcomes = Fuzz(db).run(drawn(db, functions, number, int(os.environ.get("FUZZ_SEED", "2"))))
    called = {outcome.call.function.name for outcome in outcomes}
    assert called == {function.name for function in functions if not function.is_procedure}
    assert defects(outcomes) == []


def test_a_call_that_ends_its_process_is_named(db):
    db.execute("""CREATE FUNCTION memoir.crash() RETURNS boolean LANGUAGE sql
        AS 'SELECT pg_terminate_backend(pg_backend_pid())'""")
    told = defects(Fuzz(db).run([Call(Function("crash", False, ()), {})] * 2))
    assert any(line.startswith("\ncrash 57P01") for line in told)


@pytest.mark.parametrize("mode", [*MODES, *OTHER_MODES, "conversation"])
def test_a_memory_of_a_kind_that_fades_fast_does_not_stop_any_recall(tx, mode):
    remember(tx, "the disk is full", "event", created_at="2020-01-01")
    say(tx, "monday", "Is the disk full?")
    before = recall(tx, "disk full", mode=mode)
    call(tx, "refresh_statistics")
    assert recall(tx, "disk full", mode=mode).block == before.block


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("as_of", ENDS[:3])
def test_a_recall_at_the_ends_of_time_is_refused_or_empty(tx, mode, as_of):
    remember(tx, "tea")
    if as_of.startswith("2"):
        assert lines(recall(tx, "tea", mode=mode, as_of=as_of).block) in (["tea"], [])
    else:
        assert refused(tx, "recall", query_text="tea", mode=mode, as_of=as_of).sqlstate == "ME011"


def test_the_words_of_a_long_chinese_text_take_milliseconds(tx):
    with working_at_most(tx, MOST_SECONDS / 4):
        assert set(value(tx, "SELECT memoir.tokens(repeat('认证', 20000))")) == {"认证", "证认"}


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("claim", {"n": 1, "user_id": None}),
        ("fail", {"error": "no"}),
        ("extend_lease", {}),
    ],
)
@pytest.mark.parametrize("at", ENDS)
def test_a_job_cannot_be_kept_for_ever_by_a_clock(tx, function, arguments, at):
    enqueue(tx, add_kind(tx))
    job = {} if function == "claim" else {"job_id": claim(tx, worker="w")[0].job_id}
    said = refused(tx, function, **job, **arguments, worker="w", at=at)
    assert said.sqlstate == "ME011"


def test_a_lease_of_many_years_is_refused(tx):
    said = refused(tx, "claim", user_id=None, n=1, worker="w", lease="178000000 years")
    assert said.sqlstate == "ME008"


@pytest.mark.parametrize("function", ["use_model", "add_model"])
def test_the_name_of_a_model_has_200_characters_at_most(tx, function):
    call(tx, "use_model", name="tiny", dimensions=3)
    said = refused(tx, function, name="x" * 201, dimensions=3)
    assert (said.sqlstate, len(said.message_primary) < 400) == ("ME008", True)


def test_a_change_without_an_author_is_the_users(tx):
    tea, coffee = remember(tx, "tea"), remember(tx, "coffee")
    call(tx, "forget", memory_id=tea, author=None)
    call(tx, "restore", memory_id=tea, author=None)
    call(tx, "supersede", memory_id=tea, by_id=coffee, author=None)
    call(tx, "undo", memory_id=tea, author=None)
    assert {row.author for row in call(tx, "history", memory_id=tea)} == {"user"}


def test_keywords_may_be_taken_away_and_must_be_given(tx):
    tea = remember(tx, "tea", keywords=["drink"])
    assert call(tx, "set_keywords", memory_id=tea, keywords=[], origin="user_tag")[0][0] == 0
    assert refused(tx, "set_keywords", memory_id=tea, keywords=None).sqlstate == "ME008"


def test_memories_used_may_come_in_an_array_of_arrays(tx):
    tea = remember(tx, "tea")
    made = recall(tx, "tea")
    for _ in range(2):
        call(tx, "mark_used", retrieval_id=made.retrieval_id, memory_ids=[[tea, 0], [0, tea]])
    found = value(tx, "SELECT used_ids FROM memoir.retrieval WHERE retrieval_id = %s",
                  made.retrieval_id)  # fmt: skip
    assert found == [tea]


def test_a_value_of_another_type_in_a_batch_is_an_argument_out_of_range(tx):
    said = refused(tx, "remember_many", memories=Jsonb([{"content": "x", "importance": "high"}]))
    assert (said.sqlstate, said.message_primary[:9]) == ("ME008", "memory 1:")


@pytest.mark.parametrize("mode", [*MODES, *OTHER_MODES])
def test_an_importance_too_small_for_a_product_is_none(tx, mode):
    remember(tx, "tea", importance=5e-324)
    assert value(tx, "SELECT importance FROM memoir.memory") == 0
    recall(tx, "tea", mode=mode)
    call(tx, "maintain", dry_run=True, at="2100-01-01")


@pytest.mark.parametrize("day", ["5874897-12-31", "4713-01-01 BC", "infinity"])
def test_the_log_of_a_day_out_of_time_is_refused(tx, day):
    assert refused(tx, "export_day_log", day=day).sqlstate == "ME011"


@pytest.mark.parametrize("function", ["maintain", "memory_relevance"])
@pytest.mark.parametrize("at", ENDS)
def test_upkeep_looks_a_hundred_years_ahead_at_most(tx, function, at):
    remember(tx, "tea")
    more = {"dry_run": True} if function == "maintain" else {}
    assert refused(tx, function, at=at, **more).sqlstate == "ME011"
