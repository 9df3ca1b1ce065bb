"""The instructions that make an agent search unasked."""

from __future__ import annotations

import re

import pytest
from tests.rows import refused, value


def prompt(conn, language="en"):
    return value(conn, "SELECT memoir.system_prompt(%s)", language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_names_only_tools_and_arguments_that_exist(tx, language):
    tools = value(tx, "SELECT memoir.tool_schemas()")
    names = {tool["function"]["name"] for tool in tools}
    arguments = {name for tool in tools for name in tool["function"]["parameters"]["properties"]}
    text = prompt(tx, language)
    assert "search_memories" in text
    assert set(re.findall(r"`(\w+)`", text)) <= names
    assert set(re.findall(r"[a-z]+(?:_[a-z]+)+", text)) <= names | arguments


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_says_when_how_and_what_for(tx, language):
    text = prompt(tx, language)
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 3
    for hint in ("memory_types", 'search_mode="semantic"', "keywords", "0.8", "0.6"):
        assert hint in text


def test_a_tool_that_is_not_offered_is_not_mentioned(tx):
    tx.execute("UPDATE memoir.tool SET offered = false WHERE name = 'memory_write'")
    assert "memory_write" not in prompt(tx)
    assert "search_memories" in prompt(tx)


def test_the_newest_active_version_is_used(tx):
    tx.execute(
        "INSERT INTO memoir.prompt (kind, language, version, template, active)"
        " VALUES ('system_prompt', 'en', 2, 'Two.', true),"
        " ('system_prompt', 'en', 3, 'Three.', false)"
    )
    assert prompt(tx) == "Two."


def test_a_language_of_ones_own_is_a_row(tx):
    tx.execute(
        "INSERT INTO memoir.prompt (kind, language, version, template)"
        " VALUES ('system_prompt', 'de', 1, 'Hallo.')"
    )
    assert prompt(tx, "de_AT") == "Hallo."
    assert value(tx, "SELECT memoir.tool_schemas('de')") == value(
        tx, "SELECT memoir.tool_schemas()"
    )


def test_an_unknown_language_is_refused(tx):
    error = refused(tx, "system_prompt", language="fr")
    assert (error.sqlstate, error.message_detail) == ("ME008", "Languages: en, zh")
