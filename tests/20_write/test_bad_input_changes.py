"""Changes that cannot be: each is refused with a code and a hint, and nothing is written."""

from __future__ import annotations

import re

import pytest
from psycopg.types.json import Jsonb
from tests.rows import ago, call, refused, remember, row_counts, value


def code(conn, function, **arguments):
    """The SQLSTATE of a call that must be refused and leave every table as it was."""
    before = row_counts(conn)
    said = refused(conn, function, **arguments)
    assert row_counts(conn) == before
    assert said.message_hint
    return said.sqlstate


@pytest.fixture
def pair(tx):
    """Two memories of the user."""
    return remember(tx, "lives in Oslo"), remember(tx, "likes chess")


@pytest.fixture
def theirs(tx):
    """A memory of somebody else."""
    return remember(tx, "lives in Rome", user_id="bob")


def test_a_memory_does_not_supersede_itself(tx, pair):
    assert code(tx, "supersede", memory_id=pair[0], by_id=pair[0]) == "ME014"


def test_a_memory_of_another_user_neither_supersedes_nor_is_superseded(tx, pair, theirs):
    assert code(tx, "supersede", memory_id=theirs, by_id=pair[0]) == "ME012"
    assert code(tx, "supersede", memory_id=pair[0], by_id=theirs) == "ME012"


def test_a_forgotten_memory_neither_supersedes_nor_is_superseded(tx, pair):
    call(tx, "forget", memory_id=pair[0])
    assert code(tx, "supersede", memory_id=pair[0], by_id=pair[1]) == "ME014"
    assert code(tx, "supersede", memory_id=pair[1], by_id=pair[0]) == "ME014"


@pytest.mark.parametrize("function", ["forget", "restore", "undo", "history"])
def test_a_memory_of_another_user_is_not_touched(tx, theirs, function):
    assert code(tx, function, memory_id=theirs) == "ME012"


@pytest.mark.parametrize("function", ["forget", "restore", "undo", "history"])
@pytest.mark.parametrize("memory_id", [0, -1, 2**62, None])
def test_a_memory_that_is_not_there_is_not_touched(tx, function, memory_id):
    assert code(tx, function, memory_id=memory_id) == "ME012"


def test_what_was_undone_to_the_beginning_has_nothing_to_undo(tx, pair):
    call(tx, "undo", memory_id=pair[0])
    assert code(tx, "undo", memory_id=pair[0]) == "ME014"


def test_a_change_is_not_undone_over_a_later_one(tx):
    old = remember(tx, "lives in Oslo", subject="user.city")
    new = remember(tx, "lives in Rome", subject="user.city")
    call(tx, "forget", memory_id=old)
    assert code(tx, "undo", memory_id=new) == "ME014"


def test_a_run_that_is_not_there_is_not_undone(tx):
    assert code(tx, "undo_run", run_id=0) == "ME012"


def test_a_run_that_decided_to_change_nothing_says_so(tx):
    run = call(tx, "apply_decisions", decisions=Jsonb([{"action": "NOOP"}]))[0].run_id
    said = refused(tx, "undo_run", run_id=run)
    assert said.message_primary == f'run {run} changed no memory of user "default"'


def test_a_live_memory_is_not_restored(tx, pair):
    assert code(tx, "restore", memory_id=pair[0]) == "ME014"


def test_a_forgotten_memory_is_not_forgotten_again(tx, pair):
    call(tx, "forget", memory_id=pair[0])
    assert code(tx, "forget", memory_id=pair[0]) == "ME014"


def test_a_memory_whose_slot_was_filled_is_not_restored(tx):
    old = remember(tx, "lives in Oslo", subject="user.city")
    call(tx, "forget", memory_id=old)
    remember(tx, "lives in Rome", subject="user.city")
    assert code(tx, "restore", memory_id=old) == "ME014"


def test_what_was_true_before_a_forgotten_memory_is_restored_by_the_undo_that_is_told(tx):
    old = remember(tx, "lives in Oslo", subject="user.city")
    new = remember(tx, "lives in Rome", subject="user.city")
    call(tx, "forget", memory_id=new)
    said = refused(tx, "restore", memory_id=old).message_hint
    told = f"SELECT * FROM memoir.undo({old}, user_id => 'default')"
    assert said == f"{told} takes back what replaced it."
    for step in (refused(tx, "undo", memory_id=old).message_hint, said):
        tx.execute(step.partition(")")[0] + ")")
    assert value(tx, "SELECT status FROM memoir.memory WHERE memory_id = %s", old) == "active"


def test_a_memory_that_was_said_again_is_not_restored_beside_it(tx, pair):
    call(tx, "forget", memory_id=pair[0])
    remember(tx, "lives in Oslo")
    for dry_run in (True, False):
        assert code(tx, "restore", memory_id=pair[0], dry_run=dry_run) == "ME014"


def test_a_forgotten_memory_is_not_updated(tx, pair):
    call(tx, "forget", memory_id=pair[0])
    assert code(tx, "update_memory", memory_id=pair[0], content="x") == "ME014"


@pytest.mark.parametrize(
    ("status", "function", "arguments"),
    [
        ("forgotten", "update_memory", {"content": "x"}),
        ("archived", "update_memory", {"content": "x"}),
        ("pending", "supersede", {"by_id": 1}),
        ("active", "restore", {}),
        ("forgotten", "undo", {}),
    ],
)
def test_a_hint_can_be_followed_for_any_user(tx, status, function, arguments):
    id_ = remember(tx, "lives in Oslo", user_id="d'Arc")
    if function == "undo":
        call(tx, "undo", memory_id=id_, user_id="d'Arc")
    tx.execute("UPDATE memoir.memory SET status = %s", [status])
    said = refused(tx, function, memory_id=id_, user_id="d'Arc", **arguments)
    advised = re.search(r"memoir\.\w+\(.+?\)(?= )", said.message_hint)
    assert tx.execute(f"SELECT * FROM {advised[0]}").fetchall()


@pytest.mark.parametrize("days", [5, 10])
def test_what_is_true_ends_after_it_begins(tx, days):
    times = {"valid_from": ago(days=5), "valid_until": ago(days=days)}
    assert code(tx, "remember", content="lives in Oslo", **times) == "ME011"


@pytest.mark.parametrize("strength", [2, -0.1, float("nan")])
def test_a_relation_is_no_stronger_than_one(tx, pair, strength):
    ids = {"from_id": pair[0], "to_id": pair[1]}
    assert code(tx, "relate", **ids, strength=strength) == "ME008"


def test_an_unknown_action_is_no_decision(tx, pair):
    decision = {"action": "ERASE", "memory_id": pair[0]}
    assert code(tx, "apply_decisions", decisions=Jsonb([decision])) == "ME015"


def test_ids_that_are_not_the_users_are_no_decision(tx, theirs):
    decision = {"action": "DELETE", "memory_id": theirs}
    assert code(tx, "apply_decisions", decisions=Jsonb([decision])) == "ME012"


@pytest.mark.parametrize("function", ["update_memory", "forget", "undo", "supersede"])
def test_who_changes_a_memory_is_a_name(tx, pair, function):
    more = {"update_memory": {"content": "lives in Rome"}, "supersede": {"by_id": pair[1]}}
    arguments = {"memory_id": pair[0]} | more.get(function, {})
    assert code(tx, function, **arguments, author="a" * 201) == "ME008"


def test_who_restores_or_decides_is_a_name(tx, pair):
    decision = {"action": "NOOP", "memory_id": pair[1]}
    call(tx, "forget", memory_id=pair[0])
    assert code(tx, "restore", memory_id=pair[0], author="a" * 201) == "ME008"
    decided = {"decisions": Jsonb([decision]), "author": "a" * 201}
    assert code(tx, "apply_decisions", **decided) == "ME008"


def test_who_undoes_a_run_is_a_name(tx, pair):
    decision = {"action": "DELETE", "memory_id": pair[0]}
    run = call(tx, "apply_decisions", decisions=Jsonb([decision]))[0].run_id
    assert code(tx, "undo_run", run_id=run, author="a" * 201) == "ME008"


def test_a_name_of_200_characters_is_kept(tx, pair):
    call(tx, "forget", memory_id=pair[0], author="名" * 200)
    said = tx.execute("SELECT author FROM memoir.history(%s)", [pair[0]]).fetchall()
    assert ("名" * 200,) in said


def test_a_memory_gets_no_data_but_an_object(tx, pair):
    assert code(tx, "update_memory", memory_id=pair[0], data=Jsonb([1])) == "ME008"
    assert call(tx, "update_memory", memory_id=pair[0], data=Jsonb(None))[0][0] == "NOOP"


def test_data_that_is_null_is_none(tx):
    remember(tx, "drinks tea", data=Jsonb(None))
    assert value(tx, "SELECT data FROM memoir.memory") == {}
