"""Files of other programs: which wrote one, and the memories in it."""

from __future__ import annotations

import json
import time
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pytest

from pgmemoir.errors import BadFile
from pgmemoir.importers import FORMATS, Items, detect, read
from pgmemoir.importers.document import Document

MEM0 = {
    "id": "892db2ae",
    "memory": "Likes to play cricket on weekends 🏏",
    "hash": "285d07801ae42054732314853e9eadd7",
    "metadata": {"category": "hobbies"},
    "created_at": "2024-07-26T10:29:36.630547-07:00",
    "updated_at": None,
    "user_id": "alice",
    "run_id": "r1",
}
ITEM = {
    "namespace": ["memories", "ada"],
    "key": "k1",
    "value": {"content": "喜欢茶", "rating": 5},
    "created_at": "2024-07-26T10:29:36+00:00",
    "updated_at": "2024-07-27T10:29:36+00:00",
}


def items(format: str, value: Any, mapping: dict[str, str] | None = None) -> Items:
    text = value if isinstance(value, str) else json.dumps(value)
    return read(text.encode(), format, "file", mapping or {})


def contents(format: str, value: Any, mapping: dict[str, str] | None = None) -> list[str]:
    return [memory["content"] for memory in items(format, value, mapping).memories]


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('{"pgmemoir": {"version": 1}}', "pgmemoir"),
        ('\ufeff{"pgmemoir": {"version": 1}}', "pgmemoir"),
        (json.dumps({"results": [MEM0], "relations": []}), "mem0"),
        (json.dumps({"count": 1, "next": None, "results": [MEM0]}), "mem0"),
        (json.dumps({"memories": [MEM0], "entities": []}), "mem0"),
        (json.dumps([MEM0, MEM0]), "mem0"),
        (json.dumps([{"results": [MEM0]}, {"results": [MEM0]}]), "mem0"),
        (json.dumps([ITEM]), "langgraph"),
        (json.dumps({"items": [ITEM]}), "langgraph"),
        (json.dumps(ITEM) + "\n" + json.dumps(ITEM), "langgraph"),
        ('{"content": "tea", "kind": "fact"}\n{"content": "milk"}', "jsonl"),
        ('{"content": "tea", "kind": "fact", "items": ["cup", "pot"]}', "jsonl"),
        ('{"results": [{"content": "tea", "kind": "fact"}]}', "conversation"),
        ('{"content": "tea", "role": "user", "kind": "x"}', "conversation"),
        ('{"content": "tea"}', "conversation"),
        ('[{"speaker": "Ada", "text": "hi"}]', "conversation"),
        ('{"sessions": [{"messages": [{"text": "hi"}]}]}', "conversation"),
        ("content,kind\ntea,fact", "csv"),
        ('kind;"content"\r\nfact;tea', "csv"),
        ('{"results": [], "relations": []}', "mem0"),
        ("hello", "conversation"),
        ("", "conversation"),
        ('{"content": "tea", "kind": "fact"}\n{"content": ', "jsonl"),
    ],
)
def test_a_file_tells_its_format(text: str, format: str) -> None:
    assert format in FORMATS
    assert detect(text.encode(), "file", {}) == format


def test_a_mapping_or_the_name_says_that_it_has_rows() -> None:
    assert detect(b"text\ntea", "file", {"content": "text"}) == "csv"
    assert detect(b"text\ntea", "file.csv", {}) == "csv"
    assert detect(b'{"text": "tea"}', "file", {"content": "text"}) == "jsonl"


@pytest.mark.parametrize("value", [{"results": [MEM0]}, [MEM0], MEM0, [{"results": [MEM0]}]])
def test_a_memory_of_mem0_keeps_what_it_had(value: Any) -> None:
    found = items("mem0", value)
    (memory,) = found.memories
    assert found.users == ["alice"]
    assert memory["content"] == MEM0["memory"]
    assert (memory["kind"], memory["source"]) == ("fact", "mem0")
    assert memory["created_at"] == datetime(2024, 7, 26, 17, 29, 36, 630547, tzinfo=UTC)
    assert memory["data"] == {
        "category": "hobbies",
        "mem0": {"id": "892db2ae", "hash": MEM0["hash"], "run_id": "r1"},
    }


def test_mem0_says_until_when_and_under_which_words() -> None:
    (memory,) = items(
        "mem0", [{**MEM0, "expiration_date": "2030-01-01", "categories": ["sports"]}]
    ).memories
    assert memory["valid_until"] == datetime(2030, 1, 2, tzinfo=UTC)  # that day is the last
    assert memory["keywords"] == ["sports"]
    (memory,) = items("mem0", [{**MEM0, "categories": [None, ""]}]).memories
    assert "keywords" not in memory


def test_a_memory_of_mem0_without_a_user_is_its_agents_or_its_runs() -> None:
    owners = ({"agent_id": "chef", "run_id": "r"}, {"run_id": "r"}, {"user_id": "a", "run_id": "r"})
    found = items("mem0", [{"id": "1", "memory": "tea", **owner} for owner in owners])
    assert found.users == ["chef", "r", "a"]


@pytest.mark.parametrize("relations", [None, 5, []])
def test_relations_of_mem0_that_are_none_are_not_told(relations: Any) -> None:
    assert items("mem0", {"results": [MEM0], "relations": relations}).notes == []


def test_the_graph_of_mem0_is_left_out_and_told() -> None:
    found = items("mem0", {"results": [{**MEM0, "memory": ""}], "relations": [{}, {}]})
    assert (found.skipped, found.memories) == (1, [])
    assert found.notes == ["its graph (relations: 2) left out"]


def test_a_memory_that_mem0_has_deleted_is_left_out_and_told() -> None:
    found = items("mem0", {"results": [{**MEM0, "event": "DELETE"}, {**MEM0, "event": "ADD"}]})
    assert (len(found.memories), found.skipped) == (1, 0)
    assert found.notes == ["1 deleted there left out"]


def test_an_item_of_langgraph_keeps_where_it_was() -> None:
    (memory,) = items("langgraph", [ITEM]).memories
    assert (memory["content"], memory["source"]) == ("喜欢茶", "langgraph")
    assert memory["data"] == {
        "rating": 5,
        "langgraph": {
            "namespace": ["memories", "ada"],
            "key": "k1",
            "updated_at": "2024-07-27T10:29:36+00:00",
        },
    }


def test_each_namespace_of_langgraph_is_a_user_unless_a_part_of_it_is() -> None:
    found = [ITEM, {**ITEM, "namespace": ["memories", "bob"]}]
    assert items("langgraph", found).users == ["memories.ada", "memories.bob"]
    mapping = {"user_id": "namespace.2", "subject": "key", "importance": "weight"}
    read = items("langgraph", [*found, {**ITEM, "value": {"text": "x", "weight": "0.3"}}], mapping)
    assert read.users == ["ada", "bob", "ada"]
    assert {memory["subject"] for memory in read.memories} == {"k1"}
    assert [memory.get("importance") for memory in read.memories] == [None, None, 0.3]
    with pytest.raises(BadFile, match=r"no namespace.3; its namespace is memories.ada"):
        items("langgraph", [ITEM], {"user_id": "namespace.3"})


def test_the_text_of_a_langgraph_value_may_be_named() -> None:
    value = {"fact": "likes tea", "text": "x"}
    (memory,) = items("langgraph", [{**ITEM, "value": value}], {"content": "fact"}).memories
    assert (memory["content"], (memory["data"] or {})["text"]) == ("likes tea", "x")
    assert "fact" not in (memory["data"] or {})
    assert contents("langgraph", [ITEM], {"content": "fact"}) == ["喜欢茶"]


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"text": "tea"}, "tea"),
        ({"memory": "tea"}, "tea"),
        ({"data": "tea"}, "tea"),
        ({"kind": "Memory", "content": {"content": "tea"}}, "tea"),
        ({"likes": "茶"}, '{"likes": "茶"}'),
        (["tea", 1], '["tea", 1]'),
        ("tea", "tea"),
    ],
)
def test_the_text_of_a_langgraph_value_is_found(value: Any, content: str) -> None:
    assert contents("langgraph", [{**ITEM, "value": value}]) == [content]


@pytest.mark.parametrize("value", [None, {}, "", " ", {"content": {"content": "\n"}}])
def test_a_langgraph_item_without_text_is_left_out(value: Any) -> None:
    found = items("langgraph", [{**ITEM, "value": value}, ITEM])
    assert (found.skipped, len(found.memories)) == (1, 1)


def test_a_row_of_the_table_of_langgraph_is_an_item() -> None:
    row = {"prefix": "memories.ada", "key": "k1", "value": {"text": "tea"}}
    (memory,) = items("langgraph", [row]).memories
    assert (memory["data"] or {})["langgraph"]["namespace"] == ["memories", "ada"]
    assert "valid_until" not in memory
    (memory,) = items("langgraph", [{**row, "expires_at": "2030-01-01T00:00:00+00:00"}]).memories
    assert memory["valid_until"] == datetime(2030, 1, 1, tzinfo=UTC)


CSV = (
    "\ufeffcontent,kind,created_at,keywords,importance,team\r\n"
    '"a ""b"",\r\nc",fact,2024-01-02,"x, y",0.5,ops\r\n'
    "\r\n"
    "茶,,,,,\r\n"
)


def test_csv_has_quotes_commas_and_lines_in_a_cell() -> None:
    found = items("csv", CSV)
    first, second = found.memories
    assert first == {
        "content": 'a "b",\r\nc',
        "kind": "fact",
        "created_at": datetime(2024, 1, 2, tzinfo=UTC),
        "keywords": ["x", "y"],
        "importance": 0.5,
        "data": {"team": "ops"},
        "source": "import",
    }
    assert second == {"content": "茶", "kind": "general", "source": "import"}
    assert found.lines == [2, 5]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_delimiter_of_csv_is_found(sign: str) -> None:
    text = f"kind{sign}content{sign}a\nfact{sign}tea, green; hot | black{sign}1".replace(
        "tea, green; hot | black", '"tea, green; hot | black"'
    )
    assert contents("csv", text) == ["tea, green; hot | black"]


def test_csv_of_excel_names_its_delimiter_or_is_in_utf16() -> None:
    text = "sep=;\r\ncontent;kind\r\ntea, green, hot;fact\r\n"
    found = items("csv", text)
    assert ([memory["content"] for memory in found.memories], found.lines) == (
        ["tea, green, hot"],
        [3],
    )
    assert detect(text.encode(), "stdin", {}) == "csv"
    data = "content\tkind\r\n豆浆\tfact\r\n".encode("utf-16")
    assert detect(data, "stdin", {}) == "csv"
    assert read(data, "csv", "file", {}).memories[0]["content"] == "豆浆"


def test_columns_may_have_other_names() -> None:
    mapping = {"content": "text", "created_at": "date"}
    (memory,) = items("csv", "id,text,date\n7,tea,2024-01-02", mapping).memories
    assert (memory["content"], memory["data"]) == ("tea", {"id": "7"})
    assert memory["created_at"] == datetime(2024, 1, 2, tzinfo=UTC)
    assert contents("jsonl", '{"text": "tea"}', mapping) == ["tea"]


def test_jsonl_has_the_fields_of_remember_and_their_names_in_sql() -> None:
    line = {
        "content": "tea 🍵",
        "session_id": "s",
        "position": 2,
        "origin": "agent",
        "embedding": [1, 2],
        "user_id": "ada",
        "data": {"a": None},
        "extra": 1,
    }
    found = items("jsonl", line)
    assert found.users == ["ada"]
    assert found.memories == [
        {
            "content": "tea 🍵",
            "kind": "general",
            "session": "s",
            "turn": 2,
            "source": "agent",
            "vector": [1, 2],
            "data": {"a": None, "extra": 1},
        }
    ]


def test_of_our_export_current_memories_come_with_the_tags_that_people_gave() -> None:
    words = [{"keyword": "green", "origin": "user_tag"}, {"keyword": "tea", "origin": "system"}]
    tea = {
        "memory_id": 7,
        "content": "tea",
        "status": "active",
        "origin": "agent",
        "data": {"a": 1},
    }
    lines = [
        {"user": {"settings": {}}},
        {"memory": {**tea, "keywords": words, "embedding": [1, 2]}},
        {"memory": {**tea, "status": "forgotten"}},
        {},
    ]
    found = items("jsonl", "\n".join(map(json.dumps, lines)))
    assert (found.lines, found.skipped) == ([2], 1)
    assert found.memories == [
        {
            "content": "tea",
            "kind": "general",
            "source": "agent",
            "data": {"a": 1},
            "keywords": ["green"],
            "vector": [1, 2],
        }
    ]


@pytest.mark.parametrize(
    ("format", "text", "problem"),
    [
        ("mem0", '[{"id": 1,\n "memory": 3}]', "file, line 1: memory is 3, not text"),
        ("mem0", '[{"id": 1, "memory": "a"},\n17]', "line 1: an entry is an object, this is 17"),
        ("mem0", '[\n{"id": 1, "memory": "a", "user_id": 7}]', "line 2: user_id is 7"),
        ("mem0", '[\n{"id": 1, "memory": "a", "metadata": []}', "line 2: not JSON"),
        ("mem0", '[\n{"memory": "a", "created_at": "soon"}]', 'line 2: created_at is "soon"'),
        ("mem0", '[\n{"memory": "a", "categories": "food"}]', 'categories is "food", not a list'),
        ("langgraph", '{"key": 1, "value": "a", "prefix": 5}', "prefix is 5, not a list"),
        ("langgraph", '[\n\n{"key": 1}]', "line 3: an item has value, this one has not"),
        ("langgraph", '{"key": 1, "value": {}}', "an item has a namespace"),
        ("jsonl", '{"content": "a"}\n[1]', "line 2: a memory is an object, this is 1"),
        ("jsonl", '{"content": "a"}\n{"content": 1}', "line 2: content is 1, not text"),
        ("jsonl", '{"content": "a"}\n\n{"content"', "line 3: not JSON"),
        ("jsonl", '{"content": "a", "importance": NaN}', "importance is NaN, not a number"),
        ("jsonl", '{"content": "a", "importance": 1' + "0" * 400 + "}", "0, not a number"),
        ("jsonl", '{"content": "a", "turn": 1.5}', "turn is 1.5, not a number"),
        ("jsonl", '{"content": "a\\u0000"}', "line 1: the content holds a NUL character"),
        (
            "jsonl",
            '{"content": "a"}\n{"turn": 1' + "0" * 5000 + "}",
            "line 2: a number has too many",
        ),
        ("jsonl", '{"content": "a", "keywords": 1}', "keywords is 1, not a list"),
        (
            "jsonl",
            '{"memory": {"status": "active", "keywords": ["a"]}}',
            'line 1: keywords is ["a"], not a list of objects',
        ),
        ("jsonl", '{"content": "a", "data": "[]"}', "not a JSON object"),
        ("csv", "content,kind\na\n", "line 2: 1 cells under 2 columns"),
        ("csv", "content,kind\n\na,b,c\n", "line 3: 3 cells under 2 columns"),
        ("csv", "content,created_at\na,soon\n", 'line 2: created_at is "soon"'),
        ("csv", 'content,kind\n"a\nb",c,d\n', "line 2: 3 cells"),
        ("csv", 'content\n"a" b\n', "line 2: "),
        ("csv", 'content\na\n"b\nc\nd\n', "line 3: in the row that begins here: unexpected end"),
        ("csv", "text\na\n", "line 1: there is no column content; there are text"),
        ("csv", "once " * 1000, "there are " + "once " * 40 + "..."),
        ("csv", '"a\nhint: b",c', "there are a hint: b, c"),
        ("csv", "content,content\na,b\n", "two columns are named 'content'"),
        ("csv", "", "there is no column content; there are none"),
    ],
)
def test_a_fault_is_told_with_its_line(format: str, text: str, problem: str) -> None:
    with pytest.raises(BadFile) as caught:
        items(format, text)
    assert problem in caught.value.message
    assert caught.value.hint


def test_what_is_not_utf8_is_told_with_its_line() -> None:
    with pytest.raises(BadFile, match="file, line 2: not UTF-8"):
        read(b"content\n\xe9", "csv", "file", {})


def test_lines_without_anything_take_the_room_of_their_text_alone() -> None:
    data = b"\n" * 1_000_000 + b'{"content": "tea", "kind": "fact"}\n'
    tracemalloc.start()
    try:
        found = read(data, "jsonl", "blank.jsonl", {})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.lines, peak < 4_000_000) == ([1_000_001], True)


def test_places_are_asked_for_in_any_order() -> None:
    document = Document("a\n\nb\nc", "x")
    assert [document.line(place) for place in (5, 0, 3, 6, 1, 2, 5)] == [4, 1, 3, 4, 1, 2, 4]


def test_a_first_row_of_many_columns_is_read_at_once() -> None:
    began = time.process_time()
    with pytest.raises(BadFile, match="two columns"):
        items("csv", "," * 50_000)
    assert time.process_time() - began < 1  # each counted among all it took 5


def test_a_mapping_of_no_field_or_no_column_is_refused() -> None:
    with pytest.raises(BadFile, match="a memory has no field 'contant'"):
        items("csv", "a\nb", {"contant": "a"})
    with pytest.raises(BadFile, match="there is no column 'b'; there are a"):
        items("csv", "a\nb", {"content": "b"})
