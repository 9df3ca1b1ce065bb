"""Search and tools through the client, and a conversation with a model over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from openai import BadRequestError, OpenAI
from tests.openai_server import Body, OpenAIServer

from pgmemoir import (
    BadText,
    Memoir,
    NotFound,
    OutOfRange,
    UnknownKind,
)

from .conftest import Letters, Unreachable

pytestmark = pytest.mark.once

Open = Callable[..., Any]
Cli = Callable[..., Result]
TOOLS_PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


class Model(OpenAIServer):
    """A chat model that calls the tool ``wants`` at the first turn, and then quotes its answer.

    It refuses what OpenAI's API refuses: other forms of tools, and messages out of order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wants: tuple[str, str] = ("search_memories", "{}")
        self.client = OpenAI(base_url=self.url, api_key="none", max_retries=0)

    def refusal(self, body: Body) -> str | None:
        """What is wrong with the tools of a request."""
        for tool in body["tools"]:
            function = tool["function"]
            if tool["type"] != "function" or not re.fullmatch(
                "[a-zA-Z0-9_-]{1,64}", function["name"]
            ):
                return "not a function"
            if len(function["description"]) > 1024:
                return f"the description of {function['name']} is too long"
            schema = function["parameters"]
            if schema["type"] != "object" or not set(schema["required"]) <= set(
                schema["properties"]
            ):
                return f"the parameters of {function['name']} are no schema"
        return None

    def message(self, body: Body) -> Body:
        """A tool call, or the answer that quotes the last tool's."""
        last = body["messages"][-1]
        if last["role"] == "tool":
            content = "According to memory: " + last["content"]
            return {"role": "assistant", "content": content}
        name, arguments = self.wants
        called = {"name": name, "arguments": arguments}
        calls = [{"id": "call_1", "type": "function", "function": called}]
        return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as made:
        yield made
        made.client.close()


def converse(model: Model, memory: Memoir, question: str) -> str:
    """An agent's turn, by the example of docs/tools.md."""
    example = re.search(r"```python\n(.*?)llm, MODEL = .*?\n(.*?)```", TOOLS_PAGE, re.DOTALL)
    assert example
    names: dict[str, Any] = {"llm": model.client, "MODEL": "m"}
    exec(example[1] + example[2], names)
    return str(names["answer"](memory, "s", question))


def test_a_model_searches_over_http(model: Model, dsn: str) -> None:
    model.wants = ("search_memories", '{"query": "cookie name", "min_relevance_score": 0.3}')
    with Memoir(dsn, embedder=None) as memory:
        memory.remember("the session cookie is called harbor_sid")
        answer = converse(model, memory, "what was the name of our cookie?")
    assert "harbor_sid" in answer
    assert "search_memories" in model.chats[0]["messages"][0]["content"]


def test_a_model_is_told_of_its_wrong_call(model: Model, dsn: str) -> None:
    model.wants = ("search_memories", '{"query": "cookie", "limit": 3}')
    with Memoir(dsn, embedder=None) as memory:
        assert 'no argument \\"limit\\"' in converse(model, memory, "our cookie?")
        said = [(message.role, message.content) for message in memory.messages("s")]
    assert said[0] == ("user", "our cookie?")
    assert said[1][0] == "assistant"


def test_a_model_writes_over_http_and_the_call_is_counted(
    model: Model, dsn: str, db: psycopg.Connection
) -> None:
    model.wants = ("memory_write", '{"content": "Ada flies early", "category": "preference"}')
    with Memoir(dsn, user="ada", embedder=None) as memory:
        assert '"action": "ADD"' in converse(model, memory, "I always fly early")
    kept = db.execute("SELECT user_id, kind, content FROM memoir.memory").fetchall()
    assert kept == [("ada", "preference", "Ada flies early")]
    counted = db.execute("SELECT user_id, tool, calls FROM memoir.tool_calls").fetchall()
    assert counted == [("ada", "memory_write", 1)]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_tool_is_accepted_over_http(model: Model, dsn: str, language: str) -> None:
    with Memoir(dsn, embedder=None) as memory:
        tools: Any = memory.tools(language)
    asked: Any = [{"role": "user", "content": "hi"}]
    assert model.client.chat.completions.create(model="m", messages=asked, tools=tools)
    tools[0]["function"]["name"] = "no name"
    with pytest.raises(BadRequestError):
        model.client.chat.completions.create(model="m", messages=asked, tools=tools)


def test_a_search_gives_results(open_client: Open) -> None:
    memory = open_client(embedder=None)
    kept = memory.remember("the cookie is harbor_sid", "fact", summary="cookie", data={"a": 1})
    (found,) = memory.search("cookie", min_relevance_score=0.3)
    assert (found.key, found.kind, found.preview) == (
        str(kept.memory_id),
        "fact",
        "the cookie is harbor_sid",
    )
    assert (found.summary, found.metadata, found.total_found) == ("cookie", {"a": 1}, 1)
    assert found.created_at.tzinfo is not None


def test_a_search_embeds_its_query_once(open_client: Open, letters: Letters) -> None:
    memory = open_client(embedder=letters)
    memory.remember("abc", "fact")
    for _ in range(2):
        assert memory.search("cab", "semantic")[0].strategy == "semantic"
    assert letters.texts == ["abc", "cab"]


def test_a_search_by_keyword_needs_no_embedder(open_client: Open, unreachable: Unreachable) -> None:
    memory = open_client(embedder=unreachable)
    assert memory.search("tea", "keyword") == []
    assert unreachable.attempts == 0


def test_a_search_takes_every_argument(open_client: Open) -> None:
    memory = open_client(embedder=None)
    for day in (1, 2, 3):
        memory.remember(f"tea {day}", "fact", created_at=datetime(2025, 1, day))
    found = memory.search(
        "tea",
        "hybrid",
        keywords=[],
        memory_types=("fact",),
        time_from=datetime(2025, 1, 2),
        time_until=datetime(2025, 1, 2, tzinfo=UTC),
        max_results=20,
        min_relevance_score=0,
    )
    assert [each.preview for each in found] == ["tea 2"]


def test_what_a_search_refuses_has_its_class(open_client: Open) -> None:
    memory = open_client(embedder=None)
    with pytest.raises(OutOfRange, match="max_results must be between 1 and 20, not 21"):
        memory.search("tea", max_results=21)
    with pytest.raises(OutOfRange, match='unknown search_mode "fuzzy"'):
        memory.search("tea", "fuzzy")
    with pytest.raises(UnknownKind):
        memory.search("tea", memory_types=["nonsense"])
    with pytest.raises(BadText, match="keywords is one text"):
        memory.search("tea", keywords="tea")


def test_a_result_leads_to_the_whole_memory(open_client: Open) -> None:
    memory = open_client(embedder=None)
    memory.remember("tea " * 100, "fact", session="s", turn=2)
    (found,) = memory.search("tea", min_relevance_score=0)
    detail = memory.memory_detail(found.key)
    assert (detail.content, detail.session_id, detail.turn) == ("tea " * 100, "s", 2)
    with pytest.raises(NotFound):
        memory.memory_detail("0")


def test_tools_and_prompt_speak_two_languages(open_client: Open) -> None:
    memory = open_client(embedder=None)
    assert memory.tools()[0]["function"]["name"] == "search_memories"
    assert "搜索" in memory.tools("zh")[0]["function"]["description"]
    assert memory.system_prompt("zh").startswith("你可以访问用户的长期记忆")
    with pytest.raises(OutOfRange, match='no tools in language "fr"'):
        memory.tools("fr")


def test_a_tool_call_embeds_what_is_stored_and_what_is_searched(
    open_client: Open, letters: Letters
) -> None:
    memory = open_client(embedder=letters)
    memory.call_tool("memory_write", {"content": "abc"})
    made = memory.call_tool("search_memories", '{"query": "cba", "search_mode": "semantic"}')
    assert (made["search_strategy_used"], made["total_found"]) == ("semantic", 1)
    memory.call_tool("summary")
    assert letters.texts == ["abc", "cba"]


def _as_read(data: str) -> Any:
    try:
        return json.loads(data)  # Python 3.13 and newer read deeper ones
    except (ValueError, RecursionError):
        return data


@pytest.mark.parametrize(
    "data", ['{"a": ' * 3000 + "1" + "}" * 3000, '{"a": ' + "9" * 5000 + "}"], ids=["deep", "long"]
)
def test_what_python_does_not_read_keeps_no_other_from_it(
    open_client: Open, db: psycopg.Connection, data: str
) -> None:
    memory = open_client(embedder=None)
    memory.remember("green tea", "fact", data={"cup": 1})
    db.execute("SELECT memoir.remember('black tea from a webhook', 'fact', data => %s)", [data])
    found = {each.preview: each.metadata for each in memory.search("tea", min_relevance_score=0)}
    assert found == {"green tea": {"cup": 1}, "black tea from a webhook": _as_read(data)}
    assert "webhook" in str(memory.call_tool("search_memories", '{"query": "tea webhook"}'))


@pytest.mark.parametrize("arguments", ["{", "[]", "1", '"x"', [1], "[" * 100_000])
def test_arguments_that_are_no_object_are_refused(dsn: str, arguments: Any) -> None:
    with Memoir(dsn, embedder=None) as memory, pytest.raises(OutOfRange, match="the arguments are"):
        memory.call_tool("summary", arguments)


@pytest.mark.parametrize("arguments", [None, "", " ", "null", "{}"])
def test_no_arguments_are_none_however_they_are_written(dsn: str, arguments: Any) -> None:
    with Memoir(dsn, embedder=None) as memory:
        assert memory.call_tool("summary", arguments)["memories"] == 0


def test_a_model_is_told_what_to_send_instead(dsn: str) -> None:
    said = r'the arguments are \["茶"\], not a JSON object\s+hint: Send one JSON object, such as {'
    with Memoir(dsn, embedder=None) as memory, pytest.raises(OutOfRange, match=said):
        memory.call_tool("search_memories", '["茶"]')


def test_a_nul_in_the_arguments_is_refused(dsn: str) -> None:
    with Memoir(dsn, embedder=None) as memory, pytest.raises(BadText, match=r"arguments\.query"):
        memory.call_tool("search_memories", '{"query": "a\\u0000"}')


def test_the_command_line_searches(memoir: Cli) -> None:
    memoir("remember", "认证失败时先看 JWKS 缓存", "--kind", "lesson")
    done = memoir("search", "认证失败", "--minimum", "0.1", "--kind", "lesson", "--limit", "3")
    head, _, row, count = done.stdout.splitlines()
    assert head.split() == ["key", "kind", "relev", "score", "content", "keywords"]
    assert "认证失败时先看 JWKS 缓存" in row
    assert count == "1 of 1 found, hybrid of keywords, words and recency"


def test_a_search_is_filtered_by_data(memoir: Cli, dsn: str) -> None:
    for project in ("x", "y"):
        memoir("remember", f"the pipes of {project}", "--data", json.dumps({"project": project}))
    asked = ("search", "pipes", "--minimum", "0.1", "--json")
    (row,) = json.loads(memoir(*asked, "--data", '{"project": "y"}').stdout)
    assert row["preview"] == "the pipes of y"
    with Memoir(dsn, embedder=None) as memory:
        (found,) = memory.search("pipes", min_relevance_score=0.1, data={"project": "x"})
        assert found.preview == "the pipes of x"
        memory.remember("the pipes of z", session="s")
        (found,) = memory.search("pipes", min_relevance_score=0.1, session="s")
        assert found.preview == "the pipes of z"
        with pytest.raises(BadText, match="data is str"):
            memory.search("pipes", data="x")  # type: ignore[arg-type]


def test_the_command_line_prints_json_of_a_search(memoir: Cli) -> None:
    memoir("remember", "a fact about pipes")
    (row,) = json.loads(memoir("search", "pipes", "--minimum", "0.1", "--json").stdout)
    assert row["preview"] == "a fact about pipes"
    assert datetime.fromisoformat(row["created_at"]).tzinfo is not None


def test_a_search_in_vain_says_so(memoir: Cli) -> None:
    done = memoir(
        "search", "pipes", "--keyword", "x", "--since", "2025-01-01", "--until", "2026-01-01"
    )
    assert (done.exit_code, done.stdout) == (
        0,
        "nothing found: try other words\n",
    )


def test_a_search_below_the_minimum_tells_what_would_find_it(memoir: Cli) -> None:
    memoir("remember", "the disk of the server in the cellar was full yesterday")
    said = memoir("search", "磁盘", "--minimum", "1").stdout
    assert said.startswith("nothing found with relevance 1, but with 0.9")
    assert "cellar" in memoir("search", "磁盘", "--minimum", said.split()[-1]).stdout


def test_a_search_in_vain_is_one_where_a_program_reads_it(
    memoir: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(Memoir, "search", lambda *_, **how: asked.append(how) or [])
    assert memoir("search", "pipes", "--json").stdout == "[]\n"
    assert [how["min_relevance_score"] for how in asked] == [0.6]


def test_a_wrong_search_is_an_error_with_a_hint(memoir: Cli) -> None:
    done = memoir("search", "x", "--mode", "fuzzy")
    assert done.exit_code == 1
    assert done.stderr.startswith('error: unknown search_mode "fuzzy"')
