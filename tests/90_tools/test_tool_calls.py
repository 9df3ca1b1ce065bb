"""Tool calls are logged and counted."""

from __future__ import annotations

from tests.rows import recall, refused, remember, value


def ask(conn, name, arguments="{}", user=None):
    return value(conn, "SELECT memoir.call_tool(%s, %s, %s)", name, arguments, user)


def test_a_call_leaves_a_row(tx):
    key = remember(tx, "tea")
    ask(tx, "memory_search", '{"query": "tea", "top_k": 3, "category": null}')
    columns = "user_id, tool, arguments, memory_ids, total_found, elapsed_ms > 0"
    assert tx.execute(f"SELECT {columns} FROM memoir.tool_call").fetchall() == [
        ("default", "memory_search", {"query": "tea", "top_k": 3}, [key], 1, True)
    ]


def test_a_call_for_one_memory_names_it(tx):
    key = remember(tx, "tea")
    ask(tx, "get_memory_detail", f'{{"key": "{key}"}}')
    assert value(tx, "SELECT memory_ids FROM memoir.tool_call") == [key]


def test_a_refused_call_leaves_none(tx):
    refused(tx, "call_tool", name="memory_search", arguments={"query": " "})
    assert value(tx, "SELECT count(*) FROM memoir.tool_call") == 0


def test_long_arguments_are_cut(tx):
    ask(tx, "memory_write", '{"content": "' + "tea " * 1000 + '"}')
    assert value(tx, "SELECT length(arguments ->> 'content') FROM memoir.tool_call") == 200


def test_a_search_in_sql_is_no_tool_call(tx):
    tx.execute("SELECT memoir.search_memories('tea'), memoir.summary()")
    assert value(tx, "SELECT count(*) FROM memoir.tool_call") == 0


def test_calls_are_counted_by_user_and_tool(tx):
    remember(tx, "tea", user_id="ada")
    for query in ("tea", "coffee", "water"):
        ask(tx, "memory_search", f'{{"query": "{query}"}}', "ada")
    ask(tx, "summary", user="ada")
    ask(tx, "summary", user="bob")
    columns = "user_id, tool, calls, days, calls_per_day, found_nothing"
    rows = tx.execute(f"SELECT {columns} FROM memoir.tool_calls ORDER BY user_id, tool")
    assert rows.fetchall() == [
        ("ada", "memory_search", 3, 1, 3, 2),
        ("ada", "summary", 1, 1, 1, 0),
        ("bob", "summary", 1, 1, 1, 0),
    ]


def test_calls_are_set_against_recalls(tx):
    ask(tx, "summary")
    recall(tx, "tea")
    recall(tx, "coffee")
    assert value(tx, "SELECT calls_per_recall FROM memoir.tool_calls") == 0.5


def test_without_recalls_there_is_no_ratio(tx):
    ask(tx, "summary")
    assert value(tx, "SELECT calls_per_recall FROM memoir.tool_calls") is None


def test_days_with_calls_are_counted_once(tx):
    for _ in range(3):
        ask(tx, "summary")
    tx.execute(
        "UPDATE memoir.tool_call SET created_at = created_at - interval '5 days'"
        " WHERE tool_call_id = (SELECT min(tool_call_id) FROM memoir.tool_call)"
    )
    row = tx.execute("SELECT days, calls_per_day FROM memoir.tool_calls").fetchone()
    assert row == (2, 1.5)
