"""Whatever a user did: export, import, export gives the same lines."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.moving import export, import_lines
from tests.rows import ago, call

WORDS = st.sampled_from(
    [
        "tea",
        "the deploy of the gateway needs a token",
        "喜欢 喝茶",
        "🏯 城 \t tab",
        'a "b" \\ c',
        "naïve",
    ]
)
PLACE = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(
        st.just("remember"),
        st.fixed_dictionaries(
            {"content": st.tuples(WORDS, WORDS).map(" / ".join)},
            optional={
                "kind": st.sampled_from(["fact", "learning", "okr", "preference"]),
                "subject": st.sampled_from(["drink", "城市"]),
                "importance": st.floats(0, 1),
                "data": st.fixed_dictionaries({"a": st.sampled_from([None, [], 0.1, "\u00e9 \n"])}),
                "embedding": st.lists(st.integers(1, 9), min_size=2, max_size=2).map(str),
                "session_id": st.sampled_from(["s", "会话"]),
                "created_at": st.integers(1, 400).map(lambda days: ago(days=days)),
                "keywords": st.lists(WORDS, max_size=2),
            },
        ),
    ),
    st.tuples(st.just("update_memory"), st.tuples(PLACE, WORDS)),
    st.tuples(st.just("forget"), PLACE),
    st.tuples(st.just("restore"), PLACE),
    st.tuples(st.just("undo"), PLACE),
    st.tuples(st.just("supersede"), st.tuples(PLACE, PLACE)),
    st.tuples(st.just("relate"), st.tuples(PLACE, PLACE)),
    st.tuples(st.just("mention"), st.tuples(PLACE, WORDS)),
    st.tuples(st.just("event_add"), st.dictionaries(WORDS, WORDS, min_size=1, max_size=2)),
    st.tuples(st.just("message_add"), WORDS),
    st.tuples(st.just("recall"), WORDS),
)


BEGINNING: list[tuple[str, Any]] = [
    ("remember", {"content": "Ada lives in 杭州", "subject": "城市", "embedding": "[1,2]"}),
    ("remember", {"content": "Ada walks to work", "keywords": ["way"]}),
]


def act(conn: psycopg.Connection, step: tuple[str, Any], ids: list[int]) -> None:
    """One step of a user's life; what is refused is no step."""
    name, given_ = step
    at = {place: ids[place % len(ids)] for place in range(6)} if ids else dict.fromkeys(range(6), 0)
    says = {"user_id": "ada"}
    arguments: dict[str, Any] = {
        "remember": lambda: given_,
        "update_memory": lambda: {"memory_id": at[given_[0]], "content": given_[1]},
        "supersede": lambda: {"memory_id": at[given_[0]], "by_id": at[given_[1]]},
        "relate": lambda: {"from_id": at[given_[0]], "to_id": at[given_[1]]},
        "mention": lambda: {"memory_id": at[given_[0]], "entity": given_[1]},
        "event_add": lambda: {"type": "alert", "payload": given_},
        "message_add": lambda: {"session_id": "s", "role": "user", "content": given_},
        "recall": lambda: {"query_text": given_},
    }.get(name, lambda: {"memory_id": at[given_]})()
    with suppress(psycopg.Error), conn.transaction():
        rows = call(conn, name, **arguments, **says)
        if name == "remember":
            ids.append(rows[0].memory_id)


@examples(25)
@given(st.lists(STEPS, max_size=14), st.booleans())
def test_an_import_gives_the_same_export(tx, steps, vectors):
    ids: list[int] = []
    for step in (*BEGINNING, *steps):
        act(tx, step, ids)
    lines = export(tx, "ada", vectors=vectors)
    import_lines(tx, lines, "bob")
    assert export(tx, "bob", vectors=vectors)[1:] == lines[1:]
    for user in ("ada", "bob"):
        call(tx, "purge_user", user_id=user)
