"""Logged recalls chosen again: what replay shows is what recall does once the settings changed."""

from __future__ import annotations

import random

import pytest
from tests.examples import share
from tests.rows import (
    NOW,
    add_event,
    ago,
    call,
    recall,
    refused,
    remember,
    remember_all,
    row_counts,
    sentences,
    store,
    value,
)

CHOSEN = """
SELECT ARRAY(SELECT r.ids[abs(c.place)]
             FROM unnest(r.chosen) WITH ORDINALITY AS c (place, number) ORDER BY c.number)
FROM memoir.retrieval AS r WHERE r.retrieval_id = %s
"""
MODES = (
    "plan",
    "execute",
    "debug",
    "chat",
    "conversation",
    "balanced",
    "search",
    "implicit",
    "assistant",
)
# A weight of a kind does not scale the score of these.
ADDITIVE = ("conversation", "search")
SETTINGS = ("threshold", "candidate_limit", "line_limit", "mmr_lambda", "mmr_lines", "duplicate_at")


def replay(conn, since=None, **more):
    """The replays of logged recalls, oldest first."""
    return call(conn, "replay", since=since, **more)


def chosen(conn, query, **more):
    """The ids of memories and, negative, events in the block of a recall made now."""
    return value(conn, CHOSEN, recall(conn, query, **more).retrieval_id)


def fill(conn, source, count):
    """Memories of several kinds and ages, turns with facts from them, events: they share words."""
    memories, turns, told = [], [], []
    for number, sentence in enumerate(sentences(count, 4, seed=source.random())):
        kind = source.choice(("task", "learning", "okr", "fact", "skill", "turn"))
        more = {"session_id": "s", "turn": number} if kind == "turn" else {}
        at = ago(days=source.randint(0, 90))
        memories.append({"content": sentence, "kind": kind, "created_at": at, **more})
        if kind == "fact" and turns:
            told.append((number, source.choice(turns)))
        elif kind == "turn":
            turns.append(number)
    ids = store(conn, memories)
    for fact, turn in told:
        derive(conn, ids[fact], ids[turn])
    for number in range(3):
        add_event(conn, "alert", {"disk": number})


def derive(conn, fact, turn):
    """Say that the fact was extracted from the turn."""
    values = "VALUES ('default', %s, %s, 'derived_from')"
    conn.execute(
        f"INSERT INTO memoir.relation (user_id, from_id, to_id, type) {values}", (fact, turn)
    )
    conn.execute("UPDATE memoir.trace SET derived = true WHERE memory_id = %s", (fact,))


def change(conn, mode, given):
    """Give a mode these settings for good."""
    for kind, weight in given.get("weights", {}).items():
        conn.execute(
            "INSERT INTO memoir.mode_weight VALUES (%s, %s, %s)"
            " ON CONFLICT (mode, kind) DO UPDATE SET weight = excluded.weight",
            (mode, kind, weight),
        )
    for name in SETTINGS:
        if name in given:
            conn.execute(f"UPDATE memoir.mode SET {name} = %s WHERE name = %s", (given[name], mode))


def made_up(source):
    """One to three settings."""
    possible = {
        "threshold": source.choice((0, 0.05, 0.2)),
        "candidate_limit": source.choice((5, 20, 60)),
        "line_limit": source.choice((1, 4, 12)),
        "mmr_lambda": source.choice((0.3, 0.9, 1)),
        "mmr_lines": source.choice((0, 3, 40)),
        "duplicate_at": source.choice((0.3, 0.5, 1)),
        "budget": source.choice((20, 100, 400)),
        "weights": {kind: source.choice((0, 0.5, 2)) for kind in ("task", "event", "fact")},
    }
    return {name: possible[name] for name in source.sample(sorted(possible), source.randint(1, 3))}


@pytest.mark.parametrize("seed", range(share(60)))
def test_an_exact_replay_is_what_recall_does_once_the_settings_changed(tx, seed):
    source = random.Random(seed)
    fill(tx, source, source.choice((25, 25, 90)))
    mode = source.choice(MODES)
    query = source.choice((None, " ".join(sentences(1, 12, seed=seed))))
    recall(tx, query, mode=mode, budget=120)
    given = made_up(source)
    if mode in ADDITIVE:
        given.pop("weights", None)
    (row,) = replay(tx, mode_settings=given)
    change(tx, mode, given)
    after = chosen(tx, query, mode=mode, budget=given.get("budget", 120))
    assert not row.exact or row.after_ids == after, given


def test_of_few_memories_every_replay_is_exact(tx):
    for seed in range(20):
        source = random.Random(seed)
        recall(tx, "tea", budget=60)
        given = made_up(source)
        given.pop("threshold", None)
        given.get("weights", {}).pop("event", None)
        assert all(row.exact for row in replay(tx, mode_settings=given)), given
        remember(tx, f"tea number {seed}", source.choice(("task", "fact")))


@pytest.mark.parametrize("mode", MODES)
def test_without_a_change_nothing_changes(tx, mode):
    fill(tx, random.Random(1), 95)
    remember(tx, "goal", "okr", data={"status": "pending"})
    for budget in (30, 120, 800, 5000):
        recall(tx, "bump fond lark", mode=mode, budget=budget)
        recall(tx, mode=mode, budget=budget)
    rows = replay(tx)
    assert [(row.overlap, row.exact) for row in rows] == [(1, True)] * 8
    assert [row.before_ids for row in rows] == [row.after_ids for row in rows]
    assert len(rows[-1].before_ids) > 2


def test_references_take_their_room_in_a_replay_too(tx):
    fill(tx, random.Random(1), 95)
    call(tx, "set_settings", settings={"show_references": True})
    for budget in (40, 60, 120, 200):
        recall(tx, "bump fond lark", budget=budget)
    assert [row.overlap for row in replay(tx)] == [1] * 4


def test_a_recall_of_the_past_is_replayed_as_of_then(tx):
    remember(tx, "tea goal", "okr", data={"status": "pending"}, created_at=ago(days=2))
    remember(tx, "tea", created_at=ago(days=2))
    recall(tx, "tea", as_of=ago(days=1), budget=20)
    assert [(row.overlap, row.exact) for row in replay(tx)] == [(1, True)]


def test_it_shows_what_enters_and_what_leaves(tx):
    task, fact = remember(tx, "green tea", "task"), remember(tx, "black tea", "fact")
    change(tx, "execute", {"line_limit": 1})
    recall(tx, "tea", mode="execute")
    (row,) = replay(tx, mode_settings={"weights": {"task": 0.5}})
    assert (row.before_ids, row.after_ids) == ([task], [fact])
    assert (row.entered_ids, row.left_ids, row.overlap) == ([fact], [task], 0)
    assert (row.mode, row.query, row.exact) == ("execute", "tea", True)


def test_the_overlap_is_the_jaccard_index(tx):
    for name in ("green", "black", "white"):
        remember(tx, f"tea {name}")
    recall(tx, "tea")
    (row,) = replay(tx, mode_settings={"line_limit": 2})
    assert (row.overlap, len(row.left_ids)) == (pytest.approx(2 / 3), 1)


def test_a_chinese_question_is_replayed(tx):
    one, other = remember(tx, "数据库部署失败"), remember(tx, "部署完成", "task")
    recall(tx, "数据库部署", budget=2000)
    (row,) = replay(tx, mode_settings={"line_limit": 1})
    assert (row.query, row.after_ids, row.left_ids) == ("数据库部署", [one], [other])


def test_a_changed_mode_shows_what_the_change_meant(tx):
    task, fact = remember(tx, "green tea", "task"), remember(tx, "black tea", "fact")
    change(tx, "execute", {"line_limit": 1})
    recall(tx, "tea", mode="execute")
    change(tx, "execute", {"weights": {"task": 0.5}})
    (row,) = replay(tx)
    assert (row.entered_ids, row.left_ids) == ([fact], [task])


def test_memories_the_log_did_not_keep_make_it_inexact(tx):
    remember_all(tx, (f"tea {number}" for number in range(50)), "task")
    remember_all(tx, (f"tea with fact {number}" for number in range(3)))
    recall(tx, "tea", mode="execute", budget=100)
    assert [row.exact for row in replay(tx)] == [True]
    assert [row.exact for row in replay(tx, mode_settings={"weights": {"fact": 3}})] == [False]


def test_a_kind_that_weighed_nothing_is_not_in_the_log(tx):
    change(tx, "execute", {"weights": {"fact": 0}})
    remember(tx, "tea", "fact")
    recall(tx, "tea", mode="execute")
    assert [row.exact for row in replay(tx, mode_settings={"weights": {"fact": 1}})] == [False]


def test_a_lower_threshold_lets_in_what_the_log_did_not_keep(tx):
    change(tx, "execute", {"threshold": 0.9})
    remember(tx, "green tea")
    recall(tx, "black tea", mode="execute")
    assert [row.exact for row in replay(tx, mode_settings={"threshold": 0})] == [False]


def test_a_candidate_that_was_deleted_makes_it_inexact(tx):
    one, other = remember(tx, "tea"), remember(tx, "green tea")
    recall(tx, "tea")
    tx.execute("DELETE FROM memoir.memory WHERE memory_id = %s", (one,))
    (row,) = replay(tx)
    assert (row.after_ids, row.left_ids, row.exact) == ([other], [one], False)


def test_weights_take_the_aliases_of_kinds(tx):
    task = remember(tx, "tea", "task")
    recall(tx, "tea")
    (row,) = replay(tx, mode_settings={"weights": {"Tasks": 0}})
    assert row.left_ids == [task]


def test_only_recalls_since_then_and_of_the_mode_are_replayed(tx):
    for mode in ("plan", "chat", "plan"):
        recall(tx, "tea", mode=mode)
    tx.execute(
        "UPDATE memoir.retrieval SET created_at = %s WHERE retrieval_id ="
        " (SELECT min(retrieval_id) FROM memoir.retrieval)",
        (NOW,),
    )
    assert [row.mode for row in replay(tx)] == ["plan", "chat", "plan"]
    assert [row.mode for row in replay(tx, of_mode="plan")] == ["plan", "plan"]
    assert [row.mode for row in replay(tx, since=ago(days=-1))] == ["chat", "plan"]


def test_recalls_of_a_mode_that_is_gone_are_left_out(tx):
    recall(tx, "tea", mode="chat")
    tx.execute("DELETE FROM memoir.mode WHERE name = 'chat'")
    assert replay(tx) == []


def test_users_see_their_own_recalls(tx):
    for user in ("ada", "bob"):
        remember(tx, "tea", user_id=user)
        recall(tx, f"tea of {user}", user_id=user)
    assert [row.query for row in replay(tx, user_id="ada")] == ["tea of ada"]


def test_a_replay_writes_nothing(tx):
    remember(tx, "tea")
    recall(tx, "tea")
    before = row_counts(tx)
    tx.execute("SET TRANSACTION READ ONLY")
    assert len(replay(tx, mode_settings={"mmr_lambda": 0.5})) == 1
    assert row_counts(tx) == before


def test_nothing_logged_gives_nothing(tx):
    assert replay(tx) == []


REFUSED = [
    ({"vector_weight": 1}, "ME008", 'setting "vector_weight" cannot be replayed'),
    ({"word_weight": 1}, "ME008", 'setting "word_weight" cannot be replayed'),
    ({"event_hours": 72}, "ME008", 'setting "event_hours" cannot be replayed'),
    ({"lambda": 1}, "ME008", 'unknown setting "lambda"'),
    ({"mmr_lambda": 0}, "ME008", "mmr_lambda must be"),
    ({"mmr_lambda": "0.9"}, "ME008", "mmr_lambda must be"),
    ({"mmr_lambda": None}, "ME008", "mmr_lambda must be"),
    ({"line_limit": 2.5}, "ME008", "line_limit must be a whole number"),
    ({"line_limit": 10**30}, "ME008", "line_limit must be"),
    ({"budget": 0}, "ME008", "budget must be"),
    ({"weights": {"task": -1}}, "ME008", "the weight of task must be"),
    ({"weights": {"tea": 1}}, "ME002", 'unknown kind "tea"'),
    ({"weights": [1]}, "ME008", "mode_settings and its weights are JSON objects"),
]


@pytest.mark.parametrize(("given", "code", "message"), REFUSED, ids=str)
def test_settings_that_cannot_be_replayed_are_refused_by_name(tx, given, code, message):
    said = refused(tx, "replay", since=None, mode_settings=given)
    assert said.sqlstate == code
    assert said.message_primary.startswith(message)
    assert said.message_hint


@pytest.mark.parametrize("mode", ADDITIVE)
def test_weights_are_refused_for_modes_whose_score_they_do_not_scale(tx, mode):
    remember(tx, "tea")
    recall(tx, "tea", mode=mode)
    recall(tx, "tea", mode="plan")
    given = {"weights": {"fact": 2}}
    said = refused(tx, "replay", since=None, mode_settings=given)
    assert (said.sqlstate, mode in said.message_primary) == ("ME008", True)
    assert [row.mode for row in replay(tx, mode_settings=given, of_mode="plan")] == ["plan"]


def test_a_weight_that_changed_since_makes_such_a_mode_inexact(tx):
    remember(tx, "tea")
    recall(tx, "tea", mode="conversation")
    change(tx, "conversation", {"weights": {"fact": 0.5}})
    assert [row.exact for row in replay(tx)] == [False]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"since": "1800-01-01"}, "ME011"),
        ({"since": None, "of_mode": "nobody"}, "ME001"),
        ({"since": None, "user_id": " "}, "ME006"),
        ({"since": None, "mode_settings": None}, "ME008"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused(tx, arguments, code):
    assert refused(tx, "replay", **arguments).sqlstate == code
