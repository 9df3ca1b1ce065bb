"""The settings of a mode beyond D0's: what each does, and that none breaks on odd numbers."""

from __future__ import annotations

import pytest
from tests.rows import (
    MODES,
    NOW,
    OTHER_MODES,
    add_event,
    ago,
    explain,
    found,
    recall,
    remember,
    sentences,
    store,
    value,
)

pytestmark = pytest.mark.usefixtures("planned_once")

ALL = MODES + OTHER_MODES


def scores(conn, query_text="tea", **more):
    """Score by content."""
    return {row.content: row.score for row in explain(conn, query_text, as_of=NOW, **more)}


def set_mode(conn, mode="chat", **settings):
    """Change settings of a mode."""
    for name, setting in settings.items():
        conn.execute(f"UPDATE memoir.mode SET {name} = %s WHERE name = %s", (setting, mode))


def accessed(conn, memory_id, count, at):
    """Record when a memory was recalled."""
    use = (memory_id, count, at)
    conn.execute("INSERT INTO memoir.access VALUES ('default', %s, %s, %s)", use)


def expire(conn, memory_id, at):
    """End the validity of a memory."""
    conn.execute("UPDATE memoir.memory SET valid_until = %s WHERE memory_id = %s", (at, memory_id))


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("as_of", [None, NOW])
def test_words_alone_find_a_memory_in_every_mode(tx, mode, as_of):
    remember(tx, "green tea", embedding="[1,0,0]", created_at=ago(days=1))
    tx.execute("INSERT INTO memoir.keyword SELECT 'default', 'tea', memory_id FROM memoir.memory")
    assert found(tx, "tea", mode=mode, as_of=as_of) == ["green tea"]


@pytest.mark.parametrize("mode", ALL)
def test_a_vector_alone_finds_a_memory_in_every_mode(tx, mode):
    remember(tx, "green tea", embedding="[1,0,0]", created_at=ago(days=1))
    assert found(tx, query_vec="[1,0,0]", mode=mode, as_of=NOW) == ["green tea"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vector", ["[1,2,0]", None])
def test_both_statements_recall_the_same(tx, mode, vector):
    memories = [
        {
            "content": content,
            "kind": ("task", "learning", "okr")[number % 3],
            "embedding": f"[{number},{60 - number},1]" if number % 4 else None,
        }
        for number, content in enumerate(sentences(60, 8))
    ]
    store(tx, memories)
    add_event(tx, "alert", {"disk": 91})
    asked = {"query_text": sentences(1, 12)[0], "query_vec": vector, "mode": mode}
    quick = recall(tx, **asked)
    set_mode(tx, mode, extra_lines=1)
    assert value(tx, "SELECT fast FROM memoir.mode WHERE name = %s", mode) is False
    slow = recall(tx, **asked)
    assert (quick.block, quick.memory_ids, quick.candidates) == (
        slow.block,
        slow.memory_ids,
        slow.candidates,
    )


def test_only_the_modes_that_the_quick_statement_serves_are_fast(tx):
    rows = dict(tx.execute("SELECT name, fast FROM memoir.mode").fetchall())
    assert {mode: rows[mode] for mode in ALL} == {mode: mode in MODES for mode in ALL}


@pytest.mark.parametrize(
    "setting", ["keyword", "recency", "importance", "graph", "interaction", "priority"]
)
def test_a_mode_with_a_further_weight_is_not_fast(tx, setting):
    set_mode(tx, **{f"{setting}_weight": 0.1})
    assert value(tx, "SELECT fast FROM memoir.mode WHERE name = 'chat'") is False


def test_weights_are_shares_of_their_sum(tx):
    remember(tx, "tea", importance=0.5, created_at=NOW)
    set_mode(tx, vector_weight=3, word_weight=3, importance_weight=2)
    assert scores(tx, mode="chat") == pytest.approx({"tea": (6 * 1 + 2 * 0.5) / 8})


def test_what_is_below_the_minimum_relevance_is_left_out(tx):
    remember(tx, "green tea", created_at=NOW)
    remember(tx, "tea", created_at=NOW)
    set_mode(tx, minimum_relevance=0.9)
    assert found(tx, "green tea", mode="chat", as_of=NOW) == ["green tea"]
    rows = {row.content: row.reason for row in explain(tx, "green tea", mode="chat", as_of=NOW)}
    assert rows == {"green tea": "in block", "tea": "below minimum relevance"}


def test_what_is_exactly_the_minimum_relevance_stays(tx):
    remember(tx, "half", embedding="[3,4,0]", created_at=NOW)
    set_mode(tx, "assistant", minimum_relevance=0.6)
    assert found(tx, query_vec="[1,0,0]", mode="assistant", as_of=NOW) == ["half"]


@pytest.mark.parametrize(("mode", "limit"), [("balanced", 10), ("implicit", 3), ("assistant", 3)])
@pytest.mark.parametrize("as_of", [None, NOW])
def test_a_mode_gives_as_many_lines_as_its_document_says(tx, mode, limit, as_of):
    contents = ("tea " + content for content in sentences(20, 6))
    store(tx, ({"content": content, "created_at": ago(days=1)} for content in contents))
    assert len(found(tx, "tea", mode=mode, as_of=as_of, budget=5_000)) == limit


def test_procedural_memories_have_lines_of_their_own(tx):
    for number, content in enumerate(sentences(8, 6)):
        remember(tx, "tea " + content, "fact", importance=0.9)
        remember(tx, f"tea tool {number}: " + content[::-1], "procedural", importance=0.2)
    lines = found(tx, "tea", mode="implicit", budget=5_000)
    tools = [line for line in lines if line.startswith("tea tool")]
    assert (len(lines) - len(tools), len(tools)) == (3, 8)


def test_no_more_procedural_memories_than_the_mode_allows(tx):
    for content in sentences(8, 6):
        remember(tx, "tea " + content, "lesson")
    set_mode(tx, "implicit", extra_lines=2)
    assert len(found(tx, "tea", mode="implicit", budget=5_000)) == 2


@pytest.mark.parametrize("mode", [*ALL, "conversation"])
def test_an_expired_memory_is_not_recalled(tx, mode):
    memory_id = remember(tx, "tea", importance=1, created_at=ago(days=1))
    tx.execute("INSERT INTO memoir.keyword VALUES ('default', 'tea', %s)", (memory_id,))
    expire(tx, memory_id, NOW)
    assert found(tx, "tea", mode=mode) == []
    (row,) = explain(tx, "tea", mode=mode)
    assert row.reason == "expired"


def test_a_memory_is_valid_until_its_end(tx):
    expire(tx, remember(tx, "tea", created_at=ago(days=3)), ago(days=1))
    assert found(tx, "tea", as_of=ago(days=2), mode="assistant") == ["tea"]
    assert found(tx, "tea", as_of=ago(days=1), mode="assistant") == []


def test_a_past_recall_knows_nothing_that_became_valid_later(tx):
    remember(tx, "tea", created_at=ago(days=3))
    tx.execute("UPDATE memoir.memory SET valid_from = %s", (ago(days=1),))
    (row,) = explain(tx, "tea", as_of=ago(days=2))
    assert row.reason == "not valid yet"
    assert found(tx, "tea", as_of=ago(days=1)) == ["tea"]


def test_a_past_recall_does_not_see_later_access(tx):
    accessed(tx, remember(tx, "tea", created_at=ago(days=9)), 5, ago(days=1))
    before, after = (
        explain(tx, "tea", mode="search", as_of=ago(days=days))[0].interaction for days in (2, 1)
    )
    assert (before, after) == (0, pytest.approx(5 / 6))


def test_recency_counts_whole_days_in_the_modes_of_documents_that_do(tx):
    accessed(tx, remember(tx, "tea", created_at=ago(days=9)), 1, ago(days=2, hours=23))
    (row,) = explain(tx, "tea", mode="implicit", as_of=NOW)
    assert row.recency == pytest.approx(0.904837418, abs=1e-9)
    set_mode(tx, "implicit", whole_days=False)
    (row,) = explain(tx, "tea", mode="implicit", as_of=NOW)
    assert row.recency == pytest.approx(0.862503, abs=1e-6)


def test_a_new_memory_can_be_recalled_implicitly_before_any_access(tx):
    remember(tx, "tea", importance=0.5, created_at=NOW)
    assert scores(tx, mode="implicit") == pytest.approx({"tea": 0.5})


def test_a_question_without_words_does_without_keywords(tx):
    remember(tx, "tea", embedding="[3,4,0]", created_at=NOW)
    (row,) = explain(tx, query_vec="[1,0,0]", mode="search", as_of=NOW)
    assert row.relevance == pytest.approx((0.4 * 0.6 + 0.2 * 1) / 0.6)


def test_words_that_are_no_keyword_count_as_none(tx):
    remember(tx, "tea", created_at=NOW)
    tx.execute("DELETE FROM memoir.keyword")
    (row,) = explain(tx, "tea", mode="search", as_of=NOW)
    assert (row.keyword, row.relevance) == (0, pytest.approx(0.4 + 0.2))


def test_kinds_decay_again_at_once_when_the_mode_says_so(tx):
    remember(tx, "tea", "task", created_at=ago(days=30))
    assert scores(tx, mode="assistant") == pytest.approx({"tea": 1})
    set_mode(tx, "assistant", kind_decay=True)
    assert scores(tx, mode="assistant") == pytest.approx({"tea": 0.5})


def test_a_changed_priority_acts_at_once(tx):
    remember(tx, "tea", "command_output", created_at=NOW)
    before = scores(tx, mode="search")["tea"]
    tx.execute("UPDATE memoir.kind SET priority = 4 WHERE name = 'preference'")
    assert scores(tx, mode="search")["tea"] == pytest.approx(before - 0.1 * (2 / 4) / 2)


@pytest.mark.parametrize("power", [0.5, 1, 4])
@pytest.mark.parametrize("importance", [0, 1e-300, 1e-7, 1])
def test_a_memory_of_fifty_years_and_any_importance_has_a_score(tx, power, importance):
    remember(tx, "tea", "task", importance=importance, created_at="1971-01-01")
    set_mode(tx, recency_rate=5, recency_power=power, importance_power=power)
    (row,) = explain(tx, "tea", mode="chat", as_of=NOW)
    assert 0 <= row.score < 1e-9


def test_an_event_has_its_own_relevance_in_every_mode(tx):
    add_event(tx, "alert", {"n": 1}, created_at=NOW)
    set_mode(tx, "balanced", event_limit=5)
    (row,) = explain(tx, "whatever", mode="balanced", as_of=NOW)
    assert (row.relevance, row.score) == (0.5, pytest.approx(0.5 * 1))


@pytest.mark.parametrize(
    ("setting", "refused"),
    [("keyword_weight", -1), ("recency_floor", 2), ("recency_power", 5), ("recency_from", "read")],
)
def test_a_setting_out_of_range_is_refused(tx, setting, refused):
    with pytest.raises(Exception, match="check constraint"), tx.transaction():
        set_mode(tx, **{setting: refused})
