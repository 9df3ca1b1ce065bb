"""Users with indexes of their own on the slower roads: search, related, explain, the past.

The memories are so few that all are candidates: what is found is what comparing all finds.
"""

from datetime import timedelta

import pytest
from psycopg.types.json import Jsonb
from tests.file_database import file_database
from tests.rows import (
    NOW,
    call,
    fill,
    remember,
    remember_all,
    rows_read,
    set_to,
    store,
    value,
    wave,
)

ASKED = {"query_vec": wave(7), "query_text": "note7 word7", "budget": 400}
SEARCHED = {"query_vec": wave(7), "query": "note7 word7", "min_relevance_score": 0}


@pytest.fixture(scope="module")
def filled(installed):
    """A user with 46 memories and indexes of his own; six lessons are of earlier days."""
    with file_database(installed, "large_users") as conn:
        fill(conn, 40)
        for n in range(6):
            remember(
                conn,
                f"A lesson of day {n} and note7",
                "learning",
                embedding=wave(n + 100),
                importance=n / 10,
                created_at=NOW - timedelta(days=n),
                keywords=["lesson", f"day{n}"],
            )
        set_to(conn, ann_gain=0.01)
        conn.execute("SELECT memoir.maintain()")
        assert value(conn, "SELECT max(ann) FROM memoir.profile") == 1
        yield conn


@pytest.fixture
def large(filled):
    """A connection to the database of that user; what a test writes is rolled back."""
    with filled.transaction(force_rollback=True):
        yield filled


def both(conn, function, *columns, **arguments):
    """What a call says of the user with indexes, and of the same one without."""
    answers = []
    for number in (1, 0):
        conn.execute("UPDATE memoir.profile SET ann = %s", (number,))
        rows = call(conn, function, **arguments)
        answers.append([tuple(getattr(row, column) for column in columns) for row in rows])
    assert answers[0]
    return answers


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"search_mode": "semantic"},
        {"search_mode": "keyword", "query_vec": None},
        {"memory_types": ["learning"]},
        {"time_from": NOW - timedelta(days=3.5), "time_until": NOW},
        {"keywords": ["day2", "day4"]},
        {"query": "", "query_vec": None, "keywords": ["lesson"]},
    ],
)
def test_a_search_finds_the_same(large, filters):
    own, exact = both(large, "search_memories", "key", "score", **{**SEARCHED, **filters})
    assert own == exact


def test_a_search_says_that_it_counts_the_nearest_alone(large):
    (row, *_) = call(large, "search_memories", **SEARCHED)
    assert row.strategy.endswith(", of the memories nearest to it")


def test_a_search_finds_what_has_the_data_however_far_it_is(large):
    large.execute("UPDATE memoir.mode SET candidate_limit = 1 WHERE name = 'search'")
    fill(large, 400, first=200)
    large.execute("UPDATE memoir.memory SET data = '{\"of\": 1}' WHERE content ~ 'day [235]'")
    filtered = {**SEARCHED, "query": "note3", "data": Jsonb({"of": 1})}
    own, exact = both(large, "search_memories", "key", "score", "total_found", **filtered)
    assert own == exact


def test_a_search_finds_what_is_of_the_session_however_far_it_is(large):
    large.execute("UPDATE memoir.mode SET candidate_limit = 1 WHERE name = 'search'")
    fill(large, 400, first=200)
    large.execute("UPDATE memoir.memory SET session_id = 's' WHERE content ~ 'day [235]'")
    filtered = {**SEARCHED, "query": "note3", "session_id": "s"}
    own, exact = both(large, "search_memories", "key", "score", "total_found", **filtered)
    assert own == exact
    of_session = "SELECT memoir._filtered_pool('default', '{1,2,3,4}', NULL, 's')"
    assert rows_read(large, of_session) < 20  # not all 446, twice


@pytest.mark.parametrize("filters", [{"memory_types": ["learning"]}, {"time_until": NOW}])
def test_a_search_by_a_common_keyword_finds_what_passes_the_other_filters(large, filters):
    notes = [{"content": f"note {n}", "keywords": ["lesson"]} for n in range(501)]
    store(large, notes)
    asked = {"query": "", "keywords": ["lesson"], "max_results": 20, **filters}
    many, all_ = both(large, "search_memories", "preview", **asked)
    assert many == all_
    assert len(many) == 6


def test_the_quick_search_finds_the_same(large):
    own, exact = both(large, "memory_search", "key", query="note7 word7", query_vec=wave(7))
    assert own == exact


@pytest.mark.parametrize("mode", ["execute", "conversation", "balanced", "search", "assistant"])
@pytest.mark.parametrize("days", [0.5, 2.5])
def test_the_past_is_what_was_known_then(large, mode, days):
    asked = {**ASKED, "mode": mode, "as_of": NOW - timedelta(days=days)}
    set_to(large, log_recalls=False)
    own, exact = both(large, "recall", "memory_ids", **asked)
    assert [sorted(ids) for (ids,) in own] == [sorted(ids) for (ids,) in exact]


def test_what_was_superseded_since_is_a_memory_of_the_past(large):
    ids = "SELECT memory_id FROM memoir.memory WHERE strpos(content, %s) > 0"
    old, new = (value(large, ids, f"day {day} ") for day in (2, 0))
    call(large, "supersede", memory_id=old, by_id=new)
    # Told today: then it stood beside the newer one.
    blocks = [call(large, "recall", **ASKED, as_of=at)[0].block for at in (None, NOW)]
    assert ["day 2" in block for block in blocks] == [False, True]


def test_what_is_not_valid_yet_is_no_memory_of_the_past(large):
    asked = {**ASKED, "as_of": NOW}
    large.execute("UPDATE memoir.memory SET valid_from = now() WHERE content LIKE '%day 3%'")
    lines = call(large, "recall", **asked)[0].block
    assert "day 2" in lines
    assert "day 3" not in lines


@pytest.mark.parametrize("mode", ["execute", "conversation", "balanced", "chat"])
def test_without_a_question_the_most_important_come(large, mode):
    own, exact = both(large, "recall", "memory_ids", mode=mode, budget=400)
    assert own == exact


@pytest.mark.parametrize("mode", ["execute", "conversation", "search"])
def test_memory_explain_says_what_recall_does(large, mode):
    (block,) = call(large, "recall", mode=mode, **ASKED)
    rows = [r for r in call(large, "memory_explain", mode=mode, **ASKED) if r.place]
    assert [row.memory_id for row in rows] == block.memory_ids


def test_memory_explain_compares_what_recall_does(large):
    # The notes, which are as near as can be, weigh little: a lesson would score more.
    large.execute(
        "INSERT INTO memoir.mode_weight (mode, kind, weight) VALUES ('chat', 'fact', .0001)"
    )
    vectors = {"note": wave(7), "lesson": "[1,0,0,0,0,0,0,0]"}
    large.execute(
        "UPDATE memoir.trace SET embedding = CASE WHEN line ~ '^note' THEN %(note)s"
        " ELSE %(lesson)s END::halfvec",
        vectors,
    )
    asked = {"query_vec": wave(7), "mode": "chat", "budget": 60}
    (block,) = call(large, "recall", **asked)
    rows = call(large, "memory_explain", **asked)
    assert [row.memory_id for row in rows if row.place] == block.memory_ids
    lesson = value(large, "SELECT max(memory_id) FROM memoir.memory WHERE kind = 'learning'")
    (said,) = call(large, "memory_explain", **asked, only_memory=lesson)
    assert said.reason == "not near the question"


def test_memory_explain_tells_of_one_that_is_far_and_one_that_is_gone(large):
    far, gone = remember_all(large, ["nothing alike", "nothing either"])
    large.execute("UPDATE memoir.memory SET status = 'archived' WHERE memory_id = %s", (gone,))
    large.execute("UPDATE memoir.trace SET active = false WHERE memory_id = %s", (gone,))
    ((near, *_), (archived, *_)) = (
        call(large, "memory_explain", **ASKED, only_memory=memory) for memory in (far, gone)
    )
    assert near.memory_id == far
    assert archived.reason == "archived"


def test_related_finds_the_same(large):
    memory = value(large, "SELECT min(memory_id) FROM memoir.memory")
    own, exact = both(large, "related", "related_id", "strength", "via", memory_id=memory)
    assert own == exact


def test_a_summary_is_what_was_counted_last(large):
    columns = ("memories", "by_kind", "oldest", "newest", "top_keywords", "with_embedding")
    own, exact = both(large, "summary", *columns)
    assert own == exact
    large.execute("UPDATE memoir.profile SET ann = 1")
    remember(large, "one more")
    assert call(large, "summary")[0].memories == 46
    large.execute("SELECT memoir.refresh_statistics()")
    assert call(large, "summary")[0].memories == 47


def test_words_of_a_question_are_counted_by_the_statistics(large):
    own, exact = both(large, "query_terms", "word", "share", "leave_out", query_text="note7 zebra")
    assert own == exact


def test_of_a_common_keyword_so_many_are_found_for_each_form(large):
    counts = [
        value(large, "SELECT count(*) FROM memoir._keyword_match('default', '{lesson}', %s)", most)
        for most in (2, None)
    ]
    assert counts == [2, 6]
