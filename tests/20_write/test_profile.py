"""Goals and capabilities: loaded, not searched."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import (
    NOTHING,
    NOW,
    ago,
    call,
    explain,
    found,
    headings,
    recall,
    remember,
    value,
)


def goal(conn, title, priority=0, progress=0, status="in_progress", **more):
    """Store a goal; its id."""
    data = {"title": title, "status": status, "priority": priority, "progress": progress}
    return remember(conn, f"goal {title}", "okr", data=data, **more)


def test_a_goal_is_shown_with_status_and_progress(tx):
    goal(tx, "Open the tea house", progress=40)
    assert recall(tx).block == "## Current goals\n- Open the tea house (in_progress, 40%)\n"


@pytest.mark.parametrize("status", ["in_progress", "cancelled"])
def test_a_progress_written_with_its_sign_has_one(tx, status):
    goal(tx, "Open the tea house", progress="40%", status=status)
    block = recall(tx, query_text="tea house", mode="chat").block
    assert block.endswith(f"Open the tea house ({status}, 40%)\n")


def test_goals_come_by_priority_then_progress(tx):
    goal(tx, "second", priority=0, progress=10)
    goal(tx, "third", priority=1, progress=90)
    goal(tx, "first", priority=0, progress=50)
    assert [line.split()[0] for line in found(tx)] == ["first", "second", "third"]


def test_three_goals_are_shown(tx):
    for priority in range(5):
        goal(tx, f"goal{priority}", priority=priority)
    assert [line.split()[0] for line in found(tx, "nothing")] == ["goal0", "goal1", "goal2"]


def test_numbers_are_compared_as_numbers(tx):
    goal(tx, "ten", priority=10)
    goal(tx, "nine", priority=9)
    goal(tx, "text", priority="2")
    assert [line.split()[0] for line in found(tx)] == ["text", "nine", "ten"]


def test_a_goal_without_a_usable_priority_comes_last(tx):
    goal(tx, "none", priority=None)
    goal(tx, "word", priority="someday")
    goal(tx, "late", priority=99)
    assert found(tx)[0].startswith("late")


@pytest.mark.parametrize(
    "words",
    [["P0", "p1", "P2"], ["Critical", "high", "low"], ["high", " normal", "low"], ["高", "中"]],
)
def test_goals_come_by_priorities_in_words(tx, words):
    goal(tx, "none", priority=None)
    for word in reversed(words):
        goal(tx, word.strip(), priority=word)
    assert [line.split()[0] for line in found(tx)[: len(words)]] == [w.strip() for w in words]


def test_a_priority_in_words_stands_among_numbers(tx):
    goal(tx, "one", priority=1)
    goal(tx, "two", priority="P2")
    goal(tx, "zero", priority="urgent")
    assert [line.split()[0] for line in found(tx)] == ["zero", "one", "two"]


@pytest.mark.parametrize("status", ["In Progress", "to-do", "OPEN", "进行中"])
def test_a_goal_is_open_in_the_words_of_any_tracker(tx, status):
    goal(tx, "Open the tea house", status=status)
    assert found(tx, "unrelated") == [f"Open the tea house ({status}, 0%)"]


@pytest.mark.parametrize("status", ["done", "cancelled", "已完成", None])
def test_a_goal_that_is_not_open_is_not_in_the_profile(tx, status):
    goal(tx, "Open the tea house", status=status)
    assert recall(tx, "unrelated").block == NOTHING


def test_a_heading_of_ones_own_stands_as_it_is(tx):
    tx.execute("UPDATE memoir.kind SET heading = '目标' WHERE name = 'okr'")
    goal(tx, "Open the tea house")
    assert headings(recall(tx, "unrelated").block) == ["目标"]


def test_a_pending_goal_is_in_the_profile(tx):
    goal(tx, "Open the tea house", status="pending")
    assert found(tx, "unrelated") == ["Open the tea house (pending, 0%)"]


@pytest.mark.parametrize("mode", ["plan", "execute", "debug"])
def test_a_goal_is_shown_once(tx, mode):
    goal(tx, "Open the tea house")
    assert found(tx, "goal tea house", mode=mode) == ["Open the tea house (in_progress, 0%)"]


def test_chat_shows_no_profile(tx):
    goal(tx, "Open the tea house")
    remember(tx, "Can brew tea", "capability")
    assert recall(tx, "unrelated", mode="chat").block == NOTHING


def test_chat_may_find_a_goal_as_a_memory(tx):
    goal(tx, "Open the tea house")
    assert found(tx, "tea house", mode="chat") == ["goal Open the tea house (in_progress, 0%)"]


def test_a_goal_that_has_ended_says_so(tx):
    goal(tx, "Open the tea house", status="cancelled", progress=40)
    remember(tx, "goal to sell the van", "okr", data={"status": "done"})
    remember(tx, "goal to bake", "okr")
    lines = ["Open the tea house (cancelled, 40%)", "to sell the van (done)", "to bake"]
    assert sorted(found(tx, "goal", mode="plan")) == sorted(f"goal {line}" for line in lines)


def test_the_line_of_a_goal_follows_its_status(tx):
    memory_id = goal(tx, "Open the tea house", created_at=ago(days=9))
    for status in ("done", "dropped"):
        call(tx, "update_memory", memory_id=memory_id, data=Jsonb({"status": status}))
        assert found(tx, "house") == [f"goal Open the tea house ({status})"]
    call(tx, "undo", memory_id=memory_id)
    assert found(tx, "house") == ["goal Open the tea house (done)"]
    call(tx, "update_memory", memory_id=memory_id, content="Sell the tea house")
    assert found(tx, "house") == ["Sell the tea house (done)"]
    call(tx, "update_memory", memory_id=memory_id, kind="task")
    assert found(tx, "house") == ["Sell the tea house"]


@pytest.mark.parametrize("more", [{"summary": "Tea house"}, {}])
def test_a_goal_of_which_less_is_shown_keeps_its_status(tx, more):
    memory_id = remember(tx, "tea house " * 110, "okr", data={"status": "open"}, **more)
    for status in ("open", "done"):
        call(tx, "update_memory", memory_id=memory_id, data=Jsonb({"status": status}))
        (line,) = found(tx, "tea", mode="chat", budget=100)
        assert len(line) < 300
        assert line.endswith(f" ({status})")


@pytest.mark.parametrize("later", [{"data": Jsonb({"status": "done"})}, {"kind": "fact"}])
def test_a_recall_of_the_past_shows_a_goal_as_it_stood(tx, later):
    memory_id = goal(tx, "Open the tea house", created_at=ago(days=9))
    call(tx, "update_memory", memory_id=memory_id, **later)
    past = found(tx, "house", mode="chat", as_of=ago(days=1))
    assert past == ["goal Open the tea house (in_progress, 0%)"]


@pytest.mark.parametrize("before", [True, False])
def test_the_row_of_a_goal_that_ends_changes_its_line(db, before):
    db.execute("CREATE TABLE goals (id int PRIMARY KEY, content text, status text)")
    written = "INSERT INTO goals VALUES (1, 'Open the tea house', 'open')"
    if before:
        db.execute(written)
    how = {"kind": "okr", "relation": "goals", "data": ["status"], "user_id": "default"}
    call(db, "attach_source", name="goals", **how)
    db.execute("CALL memoir.read_source('goals')" if before else written)
    assert found(db, "tea", mode="chat") == ["Open the tea house (open)"]
    db.execute("UPDATE goals SET status = 'done'")
    assert found(db, "tea", mode="chat") == ["Open the tea house (done)"]


def test_a_goal_that_mentions_something_keeps_its_status(tx):
    memory_id = goal(tx, "Open the tea house", status="done")
    call(tx, "mention", memory_id=memory_id, entity="Ada")
    assert found(tx, "tea", mode="chat") == ["goal Open the tea house (done, 0%)"]


def test_the_profile_comes_first(tx):
    remember(tx, "Buy tea", "task")
    goal(tx, "Open the tea house")
    assert headings(recall(tx, "buy tea").block) == ["Current goals", "Tasks"]


def test_plan_puts_goals_first_among_memories(tx):
    for number in range(4):
        goal(tx, f"tea house {number}", priority=number, created_at=NOW)
    remember(tx, "tea house to clean", "task", created_at=NOW)
    ranked = explain(tx, "tea house", mode="plan", as_of=NOW)
    assert [row.kind for row in ranked if row.reason == "in block"] == ["okr", "task"]


def test_capabilities_are_shown_by_importance(tx):
    remember(tx, "Can bake", "capability", importance=0.2)
    remember(tx, "Can brew", "capability", importance=0.8)
    assert recall(tx).block == "## Main capabilities\n- Can brew\n- Can bake\n"


def test_the_capabilities_take_about_100_tokens(tx):
    for number in range(30):
        remember(tx, f"Can do the work of kind {number} in the house", "capability")
    cost = value(tx, "SELECT memoir.estimate_tokens(snippet) FROM memoir.profile")
    assert 60 <= cost <= 100


def test_a_capability_is_shown_by_its_summary(tx):
    remember(tx, "Can brew tea of every sort " * 10, "capability", summary="Brews tea")
    assert found(tx) == ["Brews tea"]


@pytest.mark.parametrize("as_of", [None, "infinity", NOW])
def test_of_a_profile_over_the_budget_stands_what_fits(tx, as_of):
    goal(tx, "Open the tea house", priority=0, created_at="2025-01-01")
    goal(tx, "Publish a history of tea in seven volumes " * 4, priority=1, created_at="2025-01-01")
    goal(tx, "Sell the van", priority=2, created_at="2025-01-01")
    remember(tx, "Can brew", "capability", created_at="2025-01-01")
    remember(tx, "Tea", "fact", created_at="2025-01-01")
    found = recall(tx, "tea", mode="plan", budget=50, as_of=as_of)
    assert found.block == (
        "## Current goals\n- Open the tea house (in_progress, 0%)\n"
        "- Sell the van (in_progress, 0%)\n"
        "## Main capabilities\n- Can brew\n## Known facts\n- Tea\n"
    )
    assert found.tokens <= 50


def test_a_profile_over_the_budget_is_left_out(tx):
    goal(tx, "Open the tea house on the corner")
    remember(tx, "Tea", "fact")
    assert recall(tx, "tea", budget=8).block == "## Known facts\n- Tea\n"


def test_a_goal_of_another_user_is_not_shown(tx):
    goal(tx, "Open the tea house", user_id="ada")
    assert recall(tx, user_id="bob").block == NOTHING


def test_a_goal_not_yet_set_is_not_shown(tx):
    goal(tx, "old", created_at=ago(days=2))
    goal(tx, "new", created_at=NOW)
    assert found(tx, as_of=ago(days=1)) == ["old (in_progress, 0%)"]


def test_a_goal_with_an_end_is_shown_until_then(tx):
    goal(tx, "Open the tea house", created_at=ago(days=9), valid_until="2999-01-01")
    assert found(tx) == ["Open the tea house (in_progress, 0%)"]
    goal(tx, "Drink tea")
    tx.execute(
        "UPDATE memoir.memory SET valid_until = %s WHERE valid_until > now()", (ago(days=1),)
    )
    assert found(tx) == ["Drink tea (in_progress, 0%)"]
    assert [row.reason for row in explain(tx) if "house" in row.content] == ["expired"]


def test_a_goal_of_another_kind_now_is_none_in_the_profile(tx):
    memory_id = goal(tx, "Open the tea house")
    call(tx, "update_memory", memory_id=memory_id, kind="fact")
    assert "Current goals" not in recall(tx).block


def test_data_of_any_shape_breaks_nothing(tx):
    for data in ("[1]", '"x"', "null", "7", '{"status": {"a": 1}}'):
        stored = remember(tx, f"goal {data}", "okr")
        tx.execute("UPDATE memoir.memory SET data = %s WHERE memory_id = %s", (data, stored))
    goal(tx, "Open the tea house")
    assert found(tx, "unrelated") == ["Open the tea house (in_progress, 0%)"]
