"""The shapes of conversations that are understood, and what is said about the others."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from time import process_time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pgmemoir.importers import conversation
from pgmemoir.importers.conversation import BadConversation, Conversation, parse
from pgmemoir.memories import Listed


def read(value: Any, name: str = "chat") -> Conversation:
    text = value if isinstance(value, str) else json.dumps(value)
    return parse(text.encode(), name)


def contents(value: Any) -> list[str]:
    return [turn["content"] for turn in read(value).turns]


def places(value: Any) -> list[tuple[Any, Any]]:
    return [(turn["session"], turn["turn"]) for turn in read(value).turns]


MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


@pytest.mark.parametrize(
    "value",
    [
        MESSAGES,
        {"messages": MESSAGES},
        {"turns": MESSAGES},
        {"conversation": MESSAGES},
        {"sessions": [{"id": "chat", "messages": MESSAGES}]},
        {"sessions": {"chat": MESSAGES}},
        "\n".join(map(json.dumps, MESSAGES)),
        "\ufeff" + json.dumps(MESSAGES, indent=4) + "\n\n",
    ],
)
def test_every_shape_gives_the_same_turns(value: Any) -> None:
    assert contents(value) == ["user: hi", "assistant: hello"]
    assert places(value) == [("chat", 0), ("chat", 1)]


@pytest.mark.parametrize("key", ["content", "text", "message"])
def test_the_text_may_have_three_names(key: str) -> None:
    assert contents([{key: "hi"}]) == ["hi"]


def test_conversations_of_sharegpt_are_read() -> None:
    said = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    both = [{"id": "one", "conversations": said}, {"id": "two", "conversations": said}]
    assert contents(both[:1]) == ["human: hi", "gpt: hello"]
    assert places(both) == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]


def test_a_message_may_tell_of_its_conversation() -> None:
    message = {"from": {"name": "Ada"}, "conversation": {"id": "7"}, "text": "hi"}
    assert contents([message]) == ["Ada: hi"]


def test_text_parts_are_joined_and_images_left_out() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, {"text": "two"}]
    assert contents([{"content": parts}]) == ["one\ntwo"]


@pytest.mark.parametrize("key", ["speaker", "role", "author", "name", "sender", "from", "user"])
def test_the_speaker_may_have_seven_names(key: str) -> None:
    (turn,) = read([{key: "Caroline", "text": "hi"}]).turns
    assert (turn["speaker"], turn["content"]) == ("Caroline", "Caroline: hi")


def test_who_has_no_name_has_a_role() -> None:
    assert contents(
        [{"speaker": " ", "author": {"name": None, "role": " user "}, "text": "hi"}]
    ) == ["user: hi"]
    for role in ("ai", "system", "tool"):
        assert contents([{"type": role, "content": "hi"}]) == [f"{role}: hi"]


@pytest.mark.parametrize(
    "message",
    [
        {"content": "hi", "tool_calls": []},
        {"content": None, "text": "hi"},
        {"text": "hi", "data": {"content": "no"}},
    ],
)
def test_the_text_of_a_message_is_what_it_says(message: Any) -> None:
    assert contents([message]) == contents({"messages": message}) == ["hi"]


@pytest.mark.parametrize("text", ["Caroline: hi", "caroline : hi", " Caroline：你好"])
def test_the_speaker_is_not_named_twice(text: str) -> None:
    assert contents([{"speaker": "Caroline", "text": text}]) == [text]


LANGCHAIN = {"type": "human", "data": {"content": "hi", "type": "human", "name": None}}


@pytest.mark.parametrize(
    "message",
    [
        LANGCHAIN,
        {"session_id": "chat", "message": LANGCHAIN},
        {"type": "human", "content": "hi", "name": None},
        {"role": "human", "blocks": [{"block_type": "text", "text": "hi"}]},
    ],
)
def test_messages_of_langchain_and_llamaindex_are_read(message: Any) -> None:
    assert contents([message]) == ["human: hi"]
    assert places([message]) == [("chat", 0)]


@pytest.mark.parametrize("key", ["ts", "time", "timestamp", "created_at", "date"])
@pytest.mark.parametrize(
    "value",
    [
        "2024-01-02T03:04:05Z",
        " 2024-01-02 03:04:05 ",
        "2024-01-02T05:04:05+02:00",
        1704164645,
        1704164645000,
        "1704164645",
    ],
)
def test_the_time_may_be_written_in_many_ways(key: str, value: Any) -> None:
    (turn,) = read([{"text": "hi", key: value}]).turns
    assert turn["created_at"] == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("key", ["session", "session_id", "conversation_id"])
def test_a_message_may_name_its_session(key: str) -> None:
    value = [{"text": "a", key: 1}, {"text": "b", key: 2}, {"text": "c", key: 1}]
    assert places(value) == [("1", 0), ("2", 0), ("1", 1)]


def test_sessions_without_a_name_are_numbered() -> None:
    value = {"sessions": [{"messages": [{"text": "a"}]}, [{"text": "b"}, {"text": "c"}]]}
    assert places(value) == [("chat/1", 0), ("chat/2", 0), ("chat/2", 1)]
    lines = "\n".join(json.dumps({"id": "", "messages": [{"text": text}]}) for text in "ab")
    assert places(lines) == [("chat/1", 0), ("chat/2", 0)]


def test_stored_messages_give_places_to_those_of_their_session_alone() -> None:
    told = read({"sessions": {"a": [{"text": "x"}], "b": [{"text": "new"}, {"text": "x"}]}})
    stored = SimpleNamespace(content="x", turn=3, created_at=datetime(2024, 1, 2, tzinfo=UTC))
    told.follow("a", [cast(Listed, stored)])
    assert [turn["turn"] for turn in told.turns] == [3, 0, 1]


def test_messages_take_the_time_of_their_session() -> None:
    session = {"messages": [{"text": "a"}]}
    dated = {"date": "2024-01-02"}
    for value in ({"sessions": [{**dated, **session}]}, {**dated, "sessions": [session]}):
        assert read(value).turns[0]["created_at"] == datetime(2024, 1, 2, tzinfo=UTC)


def test_a_message_may_be_wrapped_in_its_envelope() -> None:
    value = {"timestamp": "2024-01-02", "message": {"role": "user", "content": "hi"}}
    (turn,) = read([value]).turns
    assert turn["content"] == "user: hi"
    assert turn["created_at"] == datetime(2024, 1, 2, tzinfo=UTC)


def test_conversations_of_claude_are_read() -> None:
    message = {"sender": "human", "text": "hi", "content": [{"type": "text", "text": "hi"}]}
    chats = [{"uuid": name, "name": "Tea", "chat_messages": [message]} for name in "ab"]
    assert contents(chats) == ["human: hi", "human: hi"]
    assert places(chats) == [("a", 0), ("b", 0)]


def node(text: str | None, parent: str | None, **content: Any) -> dict[str, Any]:
    """A node in the tree of a conversation of ChatGPT."""
    said = {"content_type": "text", "parts": [text], **content}
    message = {"author": {"role": "user", "name": None}, "create_time": 1704164645, "content": said}
    return {"message": None if text is None else message, "parent": parent, "children": []}


def test_a_conversation_of_chatgpt_is_read_as_it_is_shown() -> None:
    tree = {
        "root": node(None, None),
        "asked": node("hi", "root"),
        "image": node("", "asked", parts=[{"content_type": "image_asset_pointer"}]),
        "edited": node("hello?", "asked"),
        "last": node("hello", "image"),
    }
    value = [{"title": "Tea", "id": "c1", "mapping": tree, "current_node": "last"}]
    assert contents(value) == ["user: hi", "user: hello"]
    assert places(value) == [("c1", 0), ("c1", 2)]
    assert read(value).turns[0]["created_at"] == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("last", [None, "b", [], "gone"])
def test_a_tree_that_leads_nowhere_or_round_and_round_ends(last: Any) -> None:
    tree = {"a": node("hi", "b"), "b": node("hello", "a")}
    said = ["user: hi", "user: hello"] if last == "b" else []
    value = [{"mapping": tree, "current_node": last}, *MESSAGES]
    assert contents(value) == [*said, "user: hi", "assistant: hello"]


def test_messages_without_text_are_skipped_but_keep_their_place() -> None:
    value = [{"text": "a"}, {"role": "assistant", "content": None, "tool_calls": []}, {"text": "b"}]
    assert places(value) == [("chat", 0), ("chat", 2)]
    assert read(value).skipped == read(value[1:2]).skipped == 1


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"text": "a"}\n{"text": "b"\n{"text": "c"}', 2, "not JSON"),
        ('[{"text": "a"},\n {"text": "b"},\n {"txt": "c"}]', 3, "this one has txt"),
        ('[\n{"text": "a", "ts": "yesterday"}]', 2, 'ts is "yesterday"'),
        ('[\n{"text": "a", "ts": "1950-01-01"}]', 2, "before 1970"),
        ('[\n{"text": "a", "ts": "2950-01-01"}]', 2, "more than a day ahead"),
        ('[\n{"text": "a", "ts": true}]', 2, "ts is true"),
        ('[\n{"text": "a", "ts": 1e300}]', 2, "ts is 1e\\+300"),
        ('{"text": "a"}\n17', 2, "a message is an object, this is 17"),
        ('[\n{"text": {"a": 1}}]', 2, "not text"),
        ('[\n\n{"text": "a\\u0000b"}]', 3, "holds a NUL character at position 1"),
        ('[\n{"text": "a\\ud800"}]', 2, "not valid Unicode"),
        ("[" * 100_000, 1, "nested too deeply"),
        ("nonsense", 1, "not JSON"),
        ('[{"text": "a"}, {"text": "b', 1, r"not JSON: Unterminated string .* line 1 column 26"),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(BadConversation, match=f"chat, line {line}: .*{problem}"):
        read(text)


def test_a_file_that_is_not_utf8_is_told_with_its_line() -> None:
    with pytest.raises(BadConversation, match="chat, line 2: not UTF-8"):
        parse(b'{"text": "a"}\n{"text": "\xe9"}', "chat")


@pytest.mark.parametrize("text", ["", "\n", "[]", '{"messages": []}'])
def test_a_file_without_messages_is_an_error(text: str) -> None:
    with pytest.raises(BadConversation, match="holds no messages"):
        read(text)


def longest(old: list[Any], new: list[Any]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(new) + 1)
    for each in old:
        last = row
        row = [0]
        for place, other in enumerate(new):
            row.append(last[place] + 1 if each == other else max(last[place + 1], row[-1]))
    return row[-1]


def test_as_many_messages_as_possible_keep_their_places() -> None:
    for seed in range(300):
        random = Random(seed)
        old, new = ([random.randint(0, seed % 5) for _ in range(seed % 13)] for _ in "ab")
        pairs = sorted(conversation._same(old, new[seed % 3 :]))
        assert all(old[row] == new[seed % 3 :][place] for row, place in pairs)
        assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
        assert len(pairs) == longest(old, new[seed % 3 :])


@pytest.mark.parametrize("room", [0, conversation._BITS])
def test_messages_that_are_said_again_and_again_are_found(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_BITS", room)
    number = 1000 if room else 50
    old, new = ([f"{name} {n}" if n % 2 else "ok" for n in range(number)] for name in "ab")
    before = process_time()
    old, new = ["ok", "a", *old], ["ok", "b", "c", *new]
    pairs = list(conversation._same(old, new))
    assert len(pairs) == number // 2 + 1
    assert all(row >= 0 and old[row] == new[place] for row, place in pairs)
    assert process_time() - before < 2
