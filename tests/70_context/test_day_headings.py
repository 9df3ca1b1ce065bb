"""Lines under the day they are of: "last Saturday" is an answer only beside a date."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.rows import (
    NOW,
    add_event,
    add_mode,
    ago,
    call,
    explain,
    headings,
    recall,
    remember,
    say,
    sentences,
    store,
    value,
)

PORTO = datetime(2025, 5, 9, 12, tzinfo=UTC)
TEA = datetime(2025, 5, 20, 23, tzinfo=UTC)
BY_DAY = "## 2025-05-09\n- I was in Porto last week.\n## 2025-05-20\n- Porto was lovely.\n"


@pytest.fixture
def porto(tx):
    """Two days of a conversation."""
    say(tx, "friday", "I was in Porto last week.", created_at=PORTO)
    say(tx, "tuesday", "Porto was lovely.", created_at=TEA)
    return tx


def of_porto(conn, query, **more):
    """The block of a recall in mode conversation."""
    return recall(conn, query, **{"mode": "conversation", "as_of": NOW, **more}).block


@pytest.mark.parametrize(
    "question",
    [
        "When was Ken in Porto?",
        "Porto 是什么时候去的",
        "Who was in Porto in May 2025?",
        "5月谁去了 Porto",
    ],
)
def test_where_the_question_asks_when_or_names_a_time_lines_stand_under_their_day(porto, question):
    assert sorted(headings(of_porto(porto, question))) == ["2025-05-09", "2025-05-20"]


@pytest.mark.parametrize("question", ["When was the week in Porto?", "When was Porto lovely?"])
def test_lines_and_their_days_stand_as_they_were_told_and_not_the_best_first(porto, question):
    assert of_porto(porto, question) == BY_DAY


def test_what_was_stored_late_stands_under_its_day_before_those_after_it(porto):
    remember(porto, "Ken loves Porto", created_at=ago(days=300))
    days = headings(of_porto(porto, "When was Ken in Porto?"))
    assert len(days) == 3
    assert days == sorted(days)


def test_other_questions_get_the_kind(porto):
    assert headings(of_porto(porto, "Who was in Porto?")) == ["Conversation"]


def test_a_live_recall_prints_the_same_as_one_of_the_past(porto):
    question = "When was the week in Porto?"
    assert of_porto(porto, question, as_of=None) == BY_DAY


def test_a_fact_and_a_turn_of_one_day_stand_together(porto):
    remember(porto, "Ken likes Porto", created_at=PORTO, subject="ken.porto")
    days = headings(of_porto(porto, "When was Ken in Porto?"))
    assert sorted(days) == ["2025-05-09", "2025-05-20"]


def test_days_are_those_of_the_sessions_time_zone(porto):
    porto.execute("SET LOCAL TimeZone = 'Asia/Shanghai'")
    days = headings(of_porto(porto, "When was Ken in Porto?"))
    assert sorted(days) == ["2025-05-09", "2025-05-21"]


def test_always_needs_no_question_and_never_heeds_none(porto):
    add_mode(porto, "dated", day_headings="always")
    add_mode(porto, "plain", day_headings="never", time_boost=0.4, when_boost=0.1)
    assert of_porto(porto, None, mode="dated").count("## 2025-05-") == 2
    assert headings(of_porto(porto, "When was Ken in Porto?", mode="plain")) == ["Conversation"]


def test_the_profile_and_events_keep_their_headings(tx):
    goal = {"title": "Search", "status": "in_progress"}
    remember(tx, "Ship search", "okr", data=goal, created_at=ago(days=9))
    remember(tx, "search is slow", created_at=ago(days=3))
    add_event(tx, "alert", {"search": "down"}, created_at=ago(hours=1))
    mode = add_mode(tx, profile=True, event_limit=5, day_headings="always")
    found = recall(tx, "search", mode=mode, as_of=NOW)
    assert headings(found.block) == ["Current goals", "2025-05-29", "Recent events"]


def told(conn, count):
    """Turns of many days."""
    store(
        conn,
        [
            {
                "content": said,
                "kind": "turn",
                "session_id": f"s{n % 7}",
                "turn": n,
                "created_at": ago(days=n % 7),
            }
            for n, said in enumerate(sentences(count, 6))
        ],
    )
    return "When? " + " ".join(sentences(2, 6))


@pytest.mark.parametrize("budget", [12, 20, 40, 60, 100, 200, 800])
def test_days_count_into_the_budget_and_explain_counts_them_too(tx, budget):
    question = told(tx, 40)
    found = recall(tx, question, mode="conversation", budget=budget)
    rows = explain(tx, question, mode="conversation", budget=budget)
    assert value(tx, "SELECT memoir.estimate_tokens(%s)", found.block) == found.tokens <= budget
    assert [row.memory_id for row in rows if row.place] == found.memory_ids


def test_a_replay_counts_them_as_the_recall_did(tx):
    found = recall(tx, told(tx, 40), mode="conversation", budget=60)
    (again,) = call(tx, "replay", since=None)
    assert sorted(again.after_ids) == sorted(found.memory_ids)


def test_a_replay_of_a_question_that_the_log_has_cut_is_not_certain(tx):
    told(tx, 10)
    recall(tx, f"{'tell me of tea ' * 20}and when was that?", mode="conversation", budget=60)
    (again,) = call(tx, "replay", since=None)
    assert not again.exact


def test_references_stand_in_lines_under_a_day(porto):
    call(porto, "set_settings", settings={"show_references": True})
    assert of_porto(porto, "When was the week in Porto?").startswith("## 2025-05-09\n- [")
