"""Memories that contradict each other are reported, and left as they are."""

from __future__ import annotations

import pytest
from tests.rows import NOW, call, remember, row_counts, say, set_to


def contradictions(conn, **more):
    return [(row.memory_ids, row.why) for row in call(conn, "contradictions", **more)]


@pytest.fixture
def alone(tx):
    """A connection whose memories are stored without comparing them."""
    set_to(tx, consolidate=False)
    return tx


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I like coffee", "I don't like coffee."),
        ("She likes coffee", "she does not like coffee"),
        ("the door can be opened", "The door cannot be opened"),
        ("我喜欢喝咖啡", "我不喜欢喝咖啡"),
        ("他有一只狗", "他没有一只狗"),
        ("Ada eats meat", "Ada does not eat meat any more"),
        ("我喜欢喝咖啡", "我不再喜欢喝咖啡"),
        ("我喜歡喝咖啡", "我已經不喜歡喝咖啡了"),
        ("服务器已经升级", "服务器还没升级"),
        ("梅已婚", "梅未婚"),
    ],
)
def test_a_negation_contradicts(alone, one, other):
    ids = [remember(alone, one), remember(alone, other)]
    assert contradictions(alone) == [(ids, "alike, but one says not")]


@pytest.mark.parametrize(
    ("one", "other"),
    [("the port is 8080", "The port is 9090"), ("rent: 1,200.50", "rent: 1,300.00")],
)
def test_another_number_contradicts(alone, one, other):
    ids = [remember(alone, one), remember(alone, other)]
    assert contradictions(alone) == [(ids, "alike but for a number")]


@pytest.mark.parametrize(
    "contents",
    [
        ["I like coffee", "I like tea"],
        ["I like coffee", "i like  COFFEE!"],
        ["Ada doesn't like coffee", "Ada no longer likes coffee"],
        ["他不喜欢喝咖啡", "他没喜欢喝咖啡"],
        ["他不喜欢喝咖啡了", "他不再喜欢喝咖啡"],
        ["服务器已经升级", "服务器升级了"],
        [f"invoice {n} paid" for n in range(5)],
    ],
)
def test_other_things_said_do_not(alone, contents):
    for content in contents:
        remember(alone, content)
    assert contradictions(alone) == []


def test_what_was_said_in_a_conversation_states_nothing(alone):
    say(alone, "s", "give me 3", "give me 4")
    assert contradictions(alone) == []


def test_a_relation_says_so(alone):
    tea, milk = remember(alone, "tea at five"), remember(alone, "milk at noon")
    for from_id, to_id in ((tea, milk), (milk, tea)):
        call(alone, "relate", from_id=from_id, to_id=to_id, type="contradicts")
    assert contradictions(alone) == [([tea, milk], "related as contradicting")]


def test_several_kinds_of_one_subject_contradict(alone):
    one = remember(alone, "uses Vue", "fact", subject="user.framework")
    other = remember(alone, "prefers React", "preference", subject="user.framework")
    assert contradictions(alone) == [([one, other], 'several kinds tell "user.framework"')]


def test_only_what_is_active_and_valid_counts(alone):
    one, _ = remember(alone, "I like coffee"), remember(alone, "I do not like coffee")
    alone.execute(
        "UPDATE memoir.memory SET valid_from = '2020-01-01', valid_until = '2021-01-01'"
        " WHERE memory_id = %s",
        (one,),
    )
    assert contradictions(alone) == []


def test_users_are_kept_apart(alone):
    remember(alone, "I like coffee", user_id="ada")
    remember(alone, "I do not like coffee", user_id="bob")
    assert contradictions(alone, user_id="ada") == []


def test_maintain_reports_them_and_without_a_model_changes_nothing(alone):
    ids = [remember(alone, "the port is 8080"), remember(alone, "the port is 9090")]
    call(alone, "set_settings", settings={"auto_extract": False})
    call(alone, "refresh_statistics")
    before = row_counts(alone)
    (row,) = [row for row in call(alone, "maintain") if row.action == "contradiction"]
    assert (row.user_id, row.details["ids"]) == ("default", [str(each) for each in ids])
    assert row_counts(alone) == before


def test_the_report_counts_memories_by_state_and_status(tx):
    remember(tx, "green tea", "preference", embedding="[1,0]")
    old = remember(tx, "cold milk", "context", created_at=NOW)
    row = call(tx, "maintain")[-1]
    assert (row.action, row.memories, row.user_id) == ("report", 1, None)
    assert row.details == {
        "status": {"active": 1, "forgotten": 1},
        "relevance": {"active": 1},
        "without_vector": 0,
        "keyword_coverage": 1,
    }
    assert old
