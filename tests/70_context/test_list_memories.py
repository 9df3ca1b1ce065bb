"""list_memories: filters, sorts and pages for whoever looks through his memories."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import NOW, ago, call, refused, remember, set_status

SORTS = ["created", "updated", "importance", "accessed"]


def contents(conn, **more):
    """The contents of one page."""
    return [m.content for m in call(conn, "list_memories", **more)]


def pages(conn, **more):
    """All pages, one after the other: their rows."""
    page = call(conn, "list_memories", **more)
    while page:
        yield page
        page = call(conn, "list_memories", after=page[-1].next, **more)


def recalled(conn, memory_id, count, at, user="default"):
    """Let a memory have been recalled so often, and last then."""
    row = (user, memory_id, count, at)
    conn.execute("INSERT INTO memoir.access VALUES (%s, %s, %s, %s)", row)


def test_the_newest_memory_comes_first(tx):
    for days, content in ((2, "tea"), (1, "milk"), (3, "coffee")):
        remember(tx, content, created_at=ago(days=days))
    remember(tx, "hers", user_id="ada")
    assert contents(tx) == ["milk", "tea", "coffee"]


def test_a_row_tells_everything_a_person_is_shown(tx):
    told = {"subject": "user.drink", "summary": "likes tea", "confidence": 0.9, "source": "agent"}
    place = {"session_id": "s", "turn": 3}
    memory = remember(
        tx, "tea\n" * 100, "preference", importance=0.5, created_at=ago(days=1), **told, **place
    )
    recalled(tx, memory, 5, ago(hours=1))
    (row,) = call(tx, "list_memories")
    assert (row.key, row.kind, row.content) == (str(memory), "preference", "tea\n" * 100)
    assert row.preview == ("tea " * 50)[:199] + "…"
    assert (row.importance, row.confidence, row.status) == (0.5, 0.9, "active")
    assert (row.subject, row.summary, row.origin) == ("user.drink", "likes tea", "agent")
    assert (row.session_id, row.turn, row.created_at) == ("s", 3, ago(days=1))
    assert (row.access_count, row.last_access) == (5, ago(hours=1))


def test_kinds_are_chosen_by_name_or_alias(tx):
    for kind in ("fact", "preference", "goal"):
        remember(tx, kind, kind, created_at=NOW)
    assert contents(tx, kinds=["facts", "goal"]) == ["goal", "fact"]
    assert refused(tx, "list_memories", kinds=["fact", "nonsense"]).sqlstate == "ME002"


def test_only_active_memories_are_listed_unless_others_are_asked_for(tx):
    for status in ("pending", "active", "superseded", "archived", "forgotten"):
        set_status(tx, remember(tx, status, created_at=NOW), status)
    assert contents(tx) == ["active"]
    assert contents(tx, status=["pending", "forgotten"]) == ["forgotten", "pending"]
    assert len(contents(tx, status=None)) == 5


def test_memories_of_a_time_are_listed_both_ends_included(tx):
    for days in range(5):
        remember(tx, f"day {days}", created_at=ago(days=days))
    assert contents(tx, since=ago(days=3), until=ago(days=2)) == ["day 2", "day 3"]
    assert refused(tx, "list_memories", since=NOW, until=ago(days=1)).sqlstate == "ME011"


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("TEA", ["green tea", "black tea"]),
        ("tea bla", ["black tea"]),
        ("drink", ["black tea"]),
        ("short", ["green tea"]),
        ("绿茶", ["我喜欢绿茶"]),
        ("100%", ["100% sure_thing"]),
        ("%", ["100% sure_thing"]),
        ("e_t", ["100% sure_thing"]),
        ("\\", []),
        ("\\t", []),
        ("teauser", []),
        ("  ", ["100% sure_thing", "我喜欢绿茶", "green tea", "black tea"]),
    ],
)
def test_a_search_finds_memories_that_have_all_its_words(tx, search, found):
    remember(tx, "black tea", subject="user.drink", created_at=ago(days=4))
    remember(tx, "green tea", summary="short", created_at=ago(days=3))
    remember(tx, "我喜欢绿茶", created_at=ago(days=2))
    remember(tx, "100% sure_thing", created_at=ago(days=1))
    assert contents(tx, search=search) == found


def test_memories_of_a_subject_or_a_session_are_listed(tx):
    remember(tx, "tea", subject="user.drink")
    remember(tx, "milk", session_id="s")
    assert contents(tx, subject="user.drink") == ["tea"]
    assert contents(tx, session_id="s") == ["milk"]


def test_lists_are_sorted_by_what_is_asked_for(tx):
    tea = remember(tx, "tea", importance=0.2, created_at=ago(days=1))
    milk = remember(tx, "milk", importance=0.9, created_at=ago(days=3))
    remember(tx, "water", importance=0.5, created_at=ago(days=2))
    recalled(tx, milk, 1, ago(days=2))
    recalled(tx, tea, 9, ago(days=3))
    tx.execute("UPDATE memoir.memory SET updated_at = created_at + interval '1 day' * importance")
    assert contents(tx, sort="created") == ["tea", "water", "milk"]
    assert contents(tx, sort="updated") == ["tea", "water", "milk"]
    assert contents(tx, sort="importance") == ["milk", "water", "tea"]
    assert contents(tx, sort="accessed") == ["milk", "tea", "water"]


@pytest.mark.parametrize("sort", SORTS)
def test_pages_are_the_list_even_where_all_are_equal(tx, sort):
    ids = [remember(tx, f"tea {n}", importance=0.5, created_at=NOW) for n in range(7)]
    read = [row for page in pages(tx, sort=sort, page_size=3) for row in page]
    assert [int(row.key) for row in read] == ids[::-1]


@pytest.mark.parametrize("sort", SORTS)
def test_memories_stored_while_paging_neither_repeat_nor_hide_others(tx, sort):
    for n in range(7):
        recalled(tx, remember(tx, f"tea {n}", importance=n / 10, created_at=ago(days=n)), 1, NOW)
    read = []
    for page in pages(tx, sort=sort, page_size=2):
        read += [row.content for row in page]
        remember(tx, f"new {len(read)}", importance=1, created_at=NOW)
    old = [content for content in read if content.startswith("tea")]
    assert sorted(old) == [f"tea {n}" for n in range(7)]


def test_a_page_goes_on_where_its_last_memory_is_gone(tx):
    for n in range(4):
        remember(tx, f"tea {n}", created_at=ago(days=n))
    first = call(tx, "list_memories", page_size=2)
    tx.execute("DELETE FROM memoir.memory WHERE memory_id = %s", (int(first[-1].key),))
    assert contents(tx, after=first[-1].next) == ["tea 2", "tea 3"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": ["active", "deleted"]},
        {"status": [None]},
        {"sort": "colour"},
        {"page_size": 0},
        {"page_size": 1001},
        {"after": "garbage"},
        {"after": "importance_0.5_1"},
        {"after": "created_Infinity_1"},
        {"after": "created_1e300_1"},
    ],
)
def test_a_list_that_cannot_be_is_refused(tx, wrong):
    assert refused(tx, "list_memories", **wrong).sqlstate == "ME008"


def test_lists_of_everything_left_out_are_the_default_list(tx):
    remember(tx, "tea")
    assert contents(tx, sort=None, page_size=None, kinds=[], search=None) == ["tea"]


def test_of_a_user_without_memories_nothing_is_listed(tx):
    assert contents(tx, user_id="nobody") == []
    assert refused(tx, "list_memories", user_id="x" * 201).sqlstate == "ME006"


def test_memories_are_listed_by_what_their_data_contains_and_show_it(tx):
    for place, data in enumerate(({"a": {"b": 1, "c": 2}}, {"a": {"b": 2}}, {})):
        remember(tx, f"memory {place}", data=data)
    (row,) = call(tx, "list_memories", data=Jsonb({"a": {"b": 1}}))
    assert (row.content, row.data) == ("memory 0", {"a": {"b": 1, "c": 2}})
    assert len(contents(tx, data=Jsonb({"a": {}}))) == 2
    assert refused(tx, "list_memories", data=Jsonb("a")).sqlstate == "ME008"


def test_a_subject_is_found_as_it_was_given(tx):
    remember(tx, "Ada writes Rust", "preference", subject="User.Editor ")
    assert contents(tx, subject="User.Editor ") == ["Ada writes Rust"]
    assert contents(tx, subject="") == []
