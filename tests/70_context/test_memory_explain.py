"""Why a memory is in the block or not: the same choice as recall, with reasons."""

from __future__ import annotations

import pytest
from tests.rows import (
    MODES,
    NOW,
    add_event,
    ago,
    call,
    explain,
    recall,
    remember,
    remember_all,
    row_counts,
    sentences,
)


def reasons(conn, query_text=None, **more):
    """Reason by content."""
    return {row.content: row.reason for row in explain(conn, query_text, **more)}


def fill(conn):
    """A hundred memories of three kinds and ages, half with vectors, events, and a goal."""
    contents = sentences(99, 7)
    for number, content in enumerate([*contents, contents[0] + " again"]):
        embedding = f"[{number},{100 - number},1]" if number % 2 else None
        kind = ("task", "learning", "fact")[number % 3]
        summary = "short" if number % 5 == 0 else None
        more = {"embedding": embedding, "created_at": ago(days=number), "summary": summary}
        remember(conn, content, kind, **more)
    for hours in range(4):
        add_event(conn, "alert", {"disk": hours}, created_at=ago(hours=hours))
    remember(conn, contents[1] + " goal", "okr", data={"status": "pending"}, created_at=ago(days=9))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("budget", [30, 150, 800, 3_000])
def test_the_rows_in_the_block_are_those_of_recall(tx, mode, budget):
    fill(tx)
    question = " ".join(sentences(3, 7))
    for vector in ("[1,3,0]", None):
        asked = {"query_vec": vector, "mode": mode, "budget": budget, "as_of": NOW}
        rows = [row for row in explain(tx, question, **asked) if row.reason == "in block"]
        assert [row.place for row in rows] == list(range(1, len(rows) + 1))
        chosen = [row.memory_id for row in rows if row.memory_id]
        assert chosen == recall(tx, question, **asked).memory_ids


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("counted", [True, False])
def test_the_rows_of_a_live_block_are_those_of_recall(tx, mode, counted):
    fill(tx)
    if counted:
        call(tx, "refresh_statistics")
    asked = {"query_text": " ".join(sentences(3, 7)), "query_vec": "[1,3,0]", "mode": mode}
    rows = [row for row in explain(tx, **asked) if row.reason == "in block"]
    assert [row.memory_id for row in rows if row.memory_id] == recall(tx, **asked).memory_ids


def test_rows_come_by_place_then_score(tx):
    fill(tx)
    rows = explain(tx, " ".join(sentences(3, 7)), budget=150, as_of=NOW)
    places = [row.place for row in rows if row.place]
    rest = [row.score for row in rows if not row.place and row.score is not None]
    assert places == list(range(1, len(places) + 1))
    assert rest == sorted(rest, reverse=True)
    assert [row.place for row in rows[: len(places)]] == places


def test_every_memory_and_recent_event_has_one_row(tx):
    fill(tx)
    rows = explain(tx, "tea", as_of=NOW)
    assert len(rows) == len({(row.memory_id, row.event_id) for row in rows}) == 105


def test_an_event_has_its_id(tx):
    event_id = add_event(tx, "alert", {"disk": 91}, created_at=NOW)
    (row,) = explain(tx, as_of=NOW)
    assert (row.kind, row.memory_id, row.event_id) == ("event", None, event_id)


def test_a_line_in_the_block_says_so(tx):
    remember(tx, "green tea")
    assert reasons(tx, "tea") == {"green tea": "in block"}


def test_a_goal_of_the_profile_says_so(tx):
    remember(tx, "tea house", "okr", data={"status": "pending"})
    assert reasons(tx, "tea", mode="plan") == {"tea house": "profile"}
    assert reasons(tx, "tea", mode="chat") == {"tea house": "in block"}


def test_a_memory_that_shares_nothing_is_below_the_threshold(tx):
    remember(tx, "coffee")
    assert reasons(tx, "tea") == {"coffee": "below threshold"}


def test_a_memory_with_nothing_to_compare_says_so(tx):
    remember(tx, "coffee")
    assert reasons(tx, query_vec="[1,0,0]") == {"coffee": "no vector and no words to compare"}


def test_a_duplicate_names_what_it_repeats(tx):
    first = remember(tx, "tea lemon milk sugar", created_at=NOW)
    remember(tx, "tea lemon milk sugar!", created_at=ago(days=1))
    assert reasons(tx, "tea")["tea lemon milk sugar!"] == f"duplicate of memory {first}"


def test_a_duplicate_of_an_event_names_the_event(tx):
    add_event(tx, "alert", {"disk": "full"}, created_at=ago(hours=1))
    newer = add_event(tx, "alert", {"disk": "full"}, created_at=NOW)
    rows = {row.event_id: row.reason for row in explain(tx, as_of=NOW)}
    assert sorted(rows.values()) == [f"duplicate of event {newer}", "in block"]


def test_a_line_that_does_not_fit_is_over_budget(tx):
    remember(tx, "tea " + "cup " * 50)
    remember(tx, "tea")
    assert reasons(tx, "tea", budget=15)["tea"] == "in block"
    assert reasons(tx, "tea", budget=15)["tea " + "cup " * 49 + "cup"] == "over budget"


def test_what_the_block_has_no_more_room_for_is_over_budget(tx):
    for name in ("green", "black", "white", "yellow"):
        remember(tx, f"tea {name}")
    assert sorted(reasons(tx, "tea", budget=8).values()) == ["in block", *["over budget"] * 3]


def test_what_a_limit_of_lines_leaves_out_is_not_called_over_budget(tx):
    tx.execute("UPDATE memoir.mode SET line_limit = 1 WHERE name = 'chat'")
    for name in ("green", "black"):
        remember(tx, f"tea {name}")
    said = sorted(reasons(tx, "tea", mode="chat").values())
    assert said == ["beyond the line limit", "in block"]


def test_what_is_not_among_the_best_is_beyond_the_candidate_limit(tx):
    tx.execute("UPDATE memoir.mode SET candidate_limit = 2 WHERE name = 'chat'")
    for name in ("green", "black", "white"):
        remember(tx, f"tea {name}")
    said = sorted(reasons(tx, "tea", mode="chat", budget=11).values())
    assert said == ["beyond the candidate limit", "in block", "in block"]


def test_a_memory_of_later_is_not_known_yet(tx):
    remember(tx, "tea", created_at=NOW)
    assert reasons(tx, "tea", as_of=ago(days=1)) == {"tea": "not known yet"}


@pytest.mark.parametrize("status", ["pending", "superseded", "archived", "forgotten"])
def test_a_memory_that_is_not_active_says_its_status(tx, status):
    remember(tx, "tea")
    tx.execute("UPDATE memoir.memory SET status = %s", (status,))
    tx.execute("UPDATE memoir.trace SET active = false")
    assert reasons(tx, "tea") == {"tea": status}


def test_it_shows_every_part_of_the_score(tx):
    remember(tx, "tea", "task", embedding="[1,0,0]", created_at=ago(days=30))
    (row,) = explain(tx, "tea milk", query_vec="[1,0,0]", as_of=NOW)
    shown = (row.cosine, row.coverage, row.relevance, row.decay, row.weight, row.score)
    coverage = 0.287682 / (0.287682 + 1.386294)
    relevance = (1 + coverage) / 2
    expected = (1, coverage, relevance, 0.5, 1.2, relevance * 0.5 * 1.2)
    assert shown == pytest.approx(expected, abs=1e-6)


def test_the_tokens_of_a_row_are_those_of_its_line(tx):
    remember(tx, "green tea")
    (row,) = explain(tx, "tea")
    (tokens,) = tx.execute(r"SELECT memoir.estimate_tokens(E'- green tea\n')").fetchone()
    assert row.tokens == tokens


def test_it_writes_nothing(tx):
    fill(tx)
    before = row_counts(tx)
    explain(tx, "tea", query_vec="[1,0,0]")
    assert row_counts(tx) == before


def test_it_shows_nothing_of_another_user(tx):
    remember(tx, "tea", user_id="ada")
    add_event(tx, "alert", {"tea": 1}, user_id="ada")
    assert explain(tx, "tea", user_id="bob") == []


def test_a_thousand_rows_are_shown_the_block_first(tx):
    remember_all(tx, sentences(1_200, 6))
    rows = explain(tx)
    assert len(rows) == 1_000
    assert rows[0].place == 1
