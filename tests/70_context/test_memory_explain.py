"""Why a memory is in the block or not: the same choice as recall, with reasons."""

from __future__ import annotations

import pytest
from tests.file_database import file_database
from tests.rows import (
    MODES,
    NOW,
    OTHER_MODES,
    add_event,
    ago,
    call,
    explain,
    plan_once,
    recall,
    refused,
    remember,
    remember_all,
    row_counts,
    sentences,
    set_to,
    store,
)

pytestmark = pytest.mark.usefixtures("side_by_side")


def reasons(conn, query_text=None, **more):
    """Reason by content."""
    return {row.content: row.reason for row in explain(conn, query_text, **more)}


@pytest.fixture(scope="module")
def filled_once(installed):
    """A hundred memories of three kinds and ages, half with vectors, events, and a goal."""
    with file_database(installed, "explained") as conn:
        set_to(conn, consolidate=False)
        fill(conn)
        yield conn


@pytest.fixture
def filled(filled_once):
    """The same, as it was for every test."""
    with filled_once.transaction(force_rollback=True):
        plan_once(filled_once)
        yield filled_once


def fill(conn):
    contents = sentences(99, 7)
    memories = [
        {
            "content": content,
            "kind": ("task", "learning", "fact")[number % 3],
            "embedding": f"[{number},{100 - number},1]" if number % 2 else None,
            "created_at": ago(days=number),
            "summary": "short" if number % 5 == 0 else None,
        }
        for number, content in enumerate([*contents, contents[0] + " again"])
    ]
    store(conn, memories)
    for hours in range(4):
        add_event(conn, "alert", {"disk": hours}, created_at=ago(hours=hours))
    remember(conn, contents[1] + " goal", "okr", data={"status": "pending"}, created_at=ago(days=9))


@pytest.mark.parametrize("mode", [*MODES, *OTHER_MODES, "conversation"])
@pytest.mark.parametrize("budget", [30, 800])
def test_the_rows_in_the_block_are_those_of_recall(filled, mode, budget):
    question = " ".join(sentences(3, 7))
    for vector in ("[1,3,0]", None):
        asked = {"query_vec": vector, "mode": mode, "budget": budget, "as_of": NOW}
        rows = [row for row in explain(filled, question, **asked) if row.reason == "in block"]
        assert [row.place for row in rows] == list(range(1, len(rows) + 1))
        chosen = [row.memory_id for row in rows if row.memory_id]
        assert chosen == recall(filled, question, **asked).memory_ids


@pytest.mark.parametrize("mode", [*MODES, *OTHER_MODES, "conversation"])
@pytest.mark.parametrize("counted", [True, False])
def test_the_rows_of_a_live_block_are_those_of_recall(filled, mode, counted):
    if counted:
        call(filled, "refresh_statistics")
    asked = {"query_text": " ".join(sentences(3, 7)), "query_vec": "[1,3,0]", "mode": mode}
    rows = [row for row in explain(filled, **asked) if row.reason == "in block"]
    assert [row.memory_id for row in rows if row.memory_id] == recall(filled, **asked).memory_ids


def test_rows_come_by_place_then_score(filled):
    rows = explain(filled, " ".join(sentences(3, 7)), budget=150, as_of=NOW)
    places = [row.place for row in rows if row.place]
    rest = [row.score for row in rows if not row.place and row.score is not None]
    assert places == list(range(1, len(places) + 1))
    assert rest == sorted(rest, reverse=True)
    assert [row.place for row in rows[: len(places)]] == places


def test_every_memory_and_recent_event_has_one_row(filled):
    rows = explain(filled, "tea", as_of=NOW)
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
    assert reasons(tx, "tea", mode="plan") == {"tea house (pending)": "profile"}
    assert reasons(tx, "tea", mode="chat") == {"tea house (pending)": "in block"}


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


def test_a_memory_that_was_summed_up_names_what_tells_it(tx):
    turn = remember(tx, "green tea for me, please", "turn")
    fact = remember(tx, "Ada drinks green tea", sources=[turn])
    rows = reasons(tx, "green tea Ada drinks", mode="conversation")
    assert rows == {
        "Ada drinks green tea": "in block",
        "green tea for me, please": f"told by memory {fact}",
    }


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


def test_the_tokens_of_a_row_shown_by_its_summary_are_those_of_the_summary(tx):
    remember(tx, "tea " * 200, summary="green tea")
    remember(tx, "green tea", user_id="ada")
    (row,) = explain(tx, "tea", budget=20)
    (short,) = explain(tx, "tea", user_id="ada")
    assert (row.reason, row.tokens) == ("in block", short.tokens)


def test_it_writes_nothing(filled):
    before = row_counts(filled)
    explain(filled, "tea", query_vec="[1,0,0]")
    assert row_counts(filled) == before


def test_it_shows_nothing_of_another_user(tx):
    remember(tx, "tea", user_id="ada")
    add_event(tx, "alert", {"tea": 1}, user_id="ada")
    assert explain(tx, "tea", user_id="bob") == []


def test_a_thousand_rows_are_shown_the_block_first(tx):
    remember_all(tx, sentences(1_200, 6))
    rows = explain(tx)
    assert len(rows) == 1_000
    assert rows[0].place == 1


def about(conn, memory_id, query_text="tea", **more):
    """The one row of a question about one memory."""
    (row,) = explain(conn, query_text, only_memory=memory_id, **more)
    return row


def test_asked_about_one_memory_it_shows_that_one_as_among_all(filled):
    question = " ".join(sentences(3, 7))
    rows = [row for row in explain(filled, question, budget=150, as_of=NOW) if row.memory_id]
    for row in rows[::9]:
        assert about(filled, row.memory_id, question, budget=150, as_of=NOW) == row


def test_a_memory_beyond_the_first_thousand_rows_can_be_asked_about(tx):
    last = remember_all(tx, sentences(1_100, 6))[-1]
    assert last not in {row.memory_id for row in explain(tx, "tea")}
    assert about(tx, last).reason == "below threshold"


def test_a_memory_that_no_longer_holds_says_so(tx):
    memory_id = remember(tx, "tea")
    tx.execute("UPDATE memoir.memory SET status = 'superseded'")
    tx.execute("UPDATE memoir.trace SET active = false")
    assert about(tx, memory_id).reason == "superseded"


def test_a_memory_of_later_can_be_asked_about(tx):
    assert about(tx, remember(tx, "tea"), as_of=NOW).reason == "not known yet"


def test_an_active_memory_without_a_trace_says_so(tx):
    memory_id = remember(tx, "tea")
    tx.execute("DELETE FROM memoir.trace")
    assert about(tx, memory_id).reason == "no trace of the active model"


def test_a_line_beyond_those_of_the_mode_says_so(tx):
    ids = [remember(tx, f"tea {name}", created_at=NOW) for name in ("one", "two", "three", "four")]
    for mode in ("assistant", "implicit"):
        reasons_of = [about(tx, memory_id, mode=mode, as_of=NOW).reason for memory_id in ids]
        assert reasons_of.count("beyond the line limit") == 1


def test_as_of_infinity_is_now_as_in_recall(tx):
    tea = remember(tx, "tea is green")
    assert recall(tx, "tea", as_of="infinity").memory_ids == [tea]
    assert [row.reason for row in explain(tx, "tea", as_of="infinity")] == ["in block"]


def test_in_a_temporary_session_nothing_is_in_the_block(tx):
    remember(tx, "tea is green")
    call(tx, "session_start", session_id="aside", temporary=True)
    (row,) = explain(tx, "tea", session_id="aside")
    assert (row.place, row.reason) == (None, "the session is temporary")


def test_with_memory_off_nothing_is_in_the_block(tx):
    remember(tx, "tea is green")
    call(tx, "set_settings", settings={"memory": False})
    (row,) = explain(tx, "tea")
    assert (row.place, row.reason) == (None, "memory is off")


@pytest.mark.parametrize("owner", ["default", "ada"])
def test_a_memory_the_user_has_not_is_refused(tx, owner):
    memory_id = remember(tx, "tea", user_id="bob")
    said = refused(tx, "memory_explain", query_text="tea", user_id=owner, only_memory=memory_id)
    assert said.sqlstate == "ME012"
    assert said.message_primary == f'user "{owner}" has no memory {memory_id}'
    assert "remember() or recall()" in said.message_hint


def test_it_names_the_words_of_the_question_that_a_memory_has(tx):
    remember(tx, "green tea at the 数据库 conference")
    (row,) = explain(tx, "green coffee for the 数据库?")
    assert set(row.matched) >= {"green", "数据", "据库"}
    assert not {"coffee", "tea"} & set(row.matched)


def test_it_names_the_synonym_that_a_memory_has(tx):
    remember(tx, "auth error after the deploy")
    (row,) = explain(tx, "认证失败")
    assert "认证 → auth" in row.matched


def test_a_memory_with_none_of_the_words_has_matched_none(tx):
    remember(tx, "coffee", embedding="[1,0,0]")
    (row,) = explain(tx, "tea", query_vec="[1,0,0]")
    assert row.matched == []


def test_it_names_the_link_that_brought_a_memory_in(tx):
    tea, pot = remember(tx, "green tea"), remember(tx, "earthen pot")
    tx.execute(
        "INSERT INTO memoir.relation VALUES ('default', %s, %s, 'supports', 0.8)", (tea, pot)
    )
    row = about(tx, pot, "green tea", mode="assistant")
    assert (row.graph, row.score) == (pytest.approx(0.8), pytest.approx(0.5 * 0.8))
    assert row.via == f"supported by {tea}"


def test_the_parts_of_a_search_are_shown(tx):
    memory_id = remember(tx, "green tea", "preference", created_at=ago(days=30))
    tx.execute("INSERT INTO memoir.keyword VALUES ('default', 'tea', %s)", (memory_id,))
    tx.execute("INSERT INTO memoir.access VALUES ('default', %s, 3, %s)", (memory_id, NOW))
    row = about(tx, memory_id, "tea", mode="search", as_of=NOW)
    shown = (row.keyword, row.coverage, row.recency, row.interaction, row.priority, row.importance)
    assert shown == pytest.approx((1, 1, 0.75, 0.75, 1, 0.9))
    assert row.relevance == pytest.approx(0.4 + 0.4 + 0.2 * 0.75)
    assert row.score == pytest.approx(0.7 * row.relevance + 0.2 * 0.75 + 0.1)
