"""Tools describe themselves, from the catalogue."""

from __future__ import annotations

import pytest
from tests.rows import refused, value

KINDS_OF_MEMORY = "SELECT array_agg(name ORDER BY kind_id) FROM memoir.kind WHERE name <> 'event'"


def schemas(conn, language="en"):
    """The functions of tool_schemas by name."""
    listed = value(conn, "SELECT memoir.tool_schemas(%s)", language)
    return {tool["function"]["name"]: tool["function"] for tool in listed}


def properties(conn, tool, language="en"):
    return schemas(conn, language)[tool]["parameters"]["properties"]


def test_every_tool_has_the_form_of_function_calling(tx):
    for tool in value(tx, "SELECT memoir.tool_schemas()"):
        assert tool.keys() == {"type", "function"}
        assert tool["type"] == "function"
        function = tool["function"]
        assert function.keys() == {"name", "description", "parameters"}
        assert function["parameters"].keys() == {
            "type",
            "properties",
            "required",
            "additionalProperties",
        }
        assert function["parameters"]["type"] == "object"
        assert function["parameters"]["additionalProperties"] is False


def test_the_tools_of_the_documents_are_there(tx):
    assert {
        "search_memories",
        "get_memory_detail",
        "summary",
        "memory_write",
        "memory_search",
    } <= schemas(tx).keys()


def test_search_memories_has_the_arguments_of_the_document(tx):
    given = properties(tx, "search_memories")
    assert {name: p["type"] for name, p in given.items()} == {
        "query": "string",
        "search_mode": "string",
        "keywords": "array",
        "memory_types": "array",
        "time_from": "string",
        "time_until": "string",
        "max_results": "integer",
        "min_relevance_score": "number",
    }
    assert given["search_mode"]["enum"] == ["semantic", "keyword", "hybrid"]
    assert given["search_mode"]["default"] == "hybrid"
    assert given["max_results"].items() >= {"minimum": 1, "maximum": 20, "default": 5}.items()
    bounds = {"minimum": 0, "maximum": 1, "default": 0.6}
    assert given["min_relevance_score"].items() >= bounds.items()
    assert given["time_from"]["format"] == "date-time"


def test_the_required_arguments_are_those_without_a_default(tx):
    required = {name: s["parameters"]["required"] for name, s in schemas(tx).items()}
    assert required["search_memories"] == ["query"]
    assert required["get_memory_detail"] == ["key"]
    assert required["summary"] == []
    assert required["memory_write"] == ["content"]


def test_no_model_is_asked_for_a_user_or_a_vector(tx):
    for tool in schemas(tx):
        assert not {"user_id", "query_vec", "embedding"} & properties(tx, tool).keys()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_tool_and_argument_is_described(tx, language):
    for name, function in schemas(tx, language).items():
        assert function["description"], name
        for argument, schema in function["parameters"]["properties"].items():
            assert schema["description"], (name, argument)


def test_the_words_are_those_of_the_comments(tx):
    comment = value(tx, "SELECT obj_description('memoir.get_memory_detail'::regproc)")
    tool = schemas(tx)["get_memory_detail"]
    assert comment.startswith(tool["description"].split(" Returns ")[0])
    assert tool["parameters"]["properties"]["key"]["description"] in comment
    assert "Errors" not in tool["description"]
    assert "ME0" not in tool["description"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_kinds_to_write_are_for_is_told_of_kinds_there_are(tx, language):
    category = properties(tx, "memory_write", language)["category"]
    told = [kind for kind in category["enum"] if kind in category["description"]]
    assert told == ["preference", "fact", "lesson", "goal", "procedural"]


def test_a_changed_comment_is_a_changed_description(tx):
    tx.execute(
        "COMMENT ON FUNCTION memoir.get_memory_detail IS"
        " 'Shows it. key: what to show. Returns all. Errors: ME012.'"
    )
    tool = schemas(tx)["get_memory_detail"]
    assert tool["description"] == "Shows it. Returns all."
    assert tool["parameters"]["properties"]["key"]["description"] == "what to show."


def test_chinese_words_are_chinese(tx):
    tool = schemas(tx, "zh-CN")["search_memories"]
    assert tool["description"].startswith("搜索用户的历史记忆")
    assert "关键词" in tool["parameters"]["properties"]["keywords"]["description"]


def test_kinds_are_listed_as_they_are(tx):
    kinds = value(tx, KINDS_OF_MEMORY)
    assert properties(tx, "search_memories")["memory_types"]["items"]["enum"] == kinds
    assert properties(tx, "memory_write")["category"]["enum"] == kinds
    tx.execute(
        "INSERT INTO memoir.kind VALUES (60, 'recipe', '{}', 'semantic', NULL, 0.5, 0,"
        " 'core', 'Recipes', 'How to cook.')"
    )
    assert "recipe" in properties(tx, "memory_write")["category"]["enum"]


def test_a_tool_that_is_not_offered_is_not_described(tx):
    tx.execute("UPDATE memoir.tool SET offered = false WHERE name = 'memory_search'")
    assert "memory_search" not in schemas(tx)


def test_a_tool_without_its_function_is_not_described(tx):
    tx.execute("INSERT INTO memoir.tool (name, place) VALUES ('not_written_yet', 99)")
    assert "not_written_yet" not in schemas(tx)


def test_a_tool_of_ones_own_is_a_function_and_a_row(tx):
    tx.execute(
        "CREATE FUNCTION memoir.wish(what text, times int DEFAULT -2, loud bool DEFAULT true,"
        " said text DEFAULT 'it''s') RETURNS text LANGUAGE sql RETURN what"
    )
    tx.execute("COMMENT ON FUNCTION memoir.wish IS 'Wishes. what: the wish. times: how often.'")
    tx.execute("INSERT INTO memoir.tool (name, place) VALUES ('wish', 99)")
    made = schemas(tx)["wish"]
    assert made["description"] == "Wishes."
    given = made["parameters"]["properties"]
    assert given["times"] == {"type": "integer", "default": -2, "description": "how often."}
    assert (given["loud"]["default"], given["said"]["default"]) == (True, "it's")


def test_an_unknown_language_is_refused(tx):
    error = refused(tx, "tool_schemas", language="fr")
    assert (error.sqlstate, error.message_detail) == ("ME008", "Languages: en, zh")
    assert refused(tx, "tool_schemas", language=None).sqlstate == "ME008"
