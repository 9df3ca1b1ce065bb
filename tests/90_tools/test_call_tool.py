"""One door for every tool: JSON in, JSON out, errors as SQLSTATE."""

from __future__ import annotations

import json
from datetime import datetime

import psycopg
import pytest
from tests.rows import call, refused, remember, row_counts, value

TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
EXAMPLES = {"string": "green tea", "integer": 3, "number": 0.5, "boolean": False}


def ask(conn, name, arguments=None, user=None, query_vec=None):
    """The answer of call_tool."""
    given = (name, json.dumps(arguments or {}), user, query_vec)
    return value(conn, "SELECT memoir.call_tool(%s, %s, %s, %s)", *given)


def satisfies(schema, instance):
    """Whether a value satisfies the JSON Schema keywords that tool_schemas uses."""
    if schema["type"] == "object":
        known = schema["properties"]
        return (
            set(schema["required"]) <= instance.keys() <= known.keys()
            and not schema["additionalProperties"]
            and all(satisfies(known[name], item) for name, item in instance.items())
        )
    return (
        isinstance(instance, TYPES[schema["type"]])
        and (schema["type"] == "boolean" or not isinstance(instance, bool))
        and instance in schema.get("enum", [instance])
        and ("minimum" not in schema or schema["minimum"] <= instance <= schema["maximum"])
        and (schema.get("format") != "date-time" or bool(datetime.fromisoformat(instance)))
        and (schema["type"] != "array" or all(satisfies(schema["items"], i) for i in instance))
    )


def example(schema, key):
    """A value that satisfies a schema."""
    if schema.get("format") == "date-time":
        return "2025-06-01T12:00:00Z"
    if schema["type"] == "array":
        return [example(schema["items"], key)]
    return schema["enum"][-1] if "enum" in schema else EXAMPLES[schema["type"]]


@pytest.mark.parametrize("all_arguments", [True, False])
def test_every_tool_can_be_called_as_its_schema_says(tx, all_arguments):
    key = str(remember(tx, "green tea"))
    for tool in value(tx, "SELECT memoir.tool_schemas()"):
        function = tool["function"]
        schema = function["parameters"]
        wanted = schema["properties"] if all_arguments else schema["required"]
        given = {n: example(schema["properties"][n], key) for n in wanted}
        given |= {"key": key} if "key" in given else {}
        assert satisfies(schema, given)
        assert isinstance(ask(tx, function["name"], given), dict), function["name"]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("search_memories", {}),
        ("search_memories", {"query": True}),
        ("search_memories", {"query": "x", "limit": 5}),
        ("search_memories", {"query": "x", "search_mode": "fuzzy"}),
        ("search_memories", {"query": "x", "max_results": 21}),
        ("search_memories", {"query": "x", "max_results": 1.5}),
        ("search_memories", {"query": "x", "keywords": "tea, milk"}),
        ("search_memories", {"query": "x", "keywords": [True]}),
        ("search_memories", {"query": "x", "min_relevance_score": "high"}),
        ("memory_search", {"query": "x", "use_decay": "yes"}),
        ("memory_write", {"content": "x", "salience": 1.1}),
        ("get_memory_detail", {"key": ["1"]}),
    ],
)
def test_what_a_schema_forbids_is_refused(tx, name, given):
    listed = value(tx, "SELECT memoir.tool_schemas()")
    (schema,) = (t["function"]["parameters"] for t in listed if t["function"]["name"] == name)
    assert not satisfies(schema, given)
    before = row_counts(tx)
    error = refused(tx, "call_tool", name=name, arguments=given)
    assert (error.sqlstate, bool(error.message_hint)) == ("ME008", True)
    assert row_counts(tx) == before


def test_the_answer_of_a_search_has_the_form_of_the_document(tx):
    key = remember(tx, "green tea", "fact", data={"a": 1}, summary="tea")
    made = ask(tx, "search_memories", {"query": "green tea", "min_relevance_score": 0.3})
    assert made.keys() == {"total_found", "results", "search_strategy_used", "expanded_keywords"}
    (result,) = made["results"]
    assert made["total_found"] == 1
    names = "key kind relevance score preview summary created_at keywords metadata"
    assert result.keys() == set(names.split())
    assert (result["key"], result["preview"]) == (str(key), "green tea")
    assert (result["metadata"], result["summary"]) == ({"a": 1}, "tea")


def test_a_search_that_finds_nothing_says_how_it_searched(tx):
    made = ask(tx, "search_memories", {"query": "nothing like it"})
    assert (made["total_found"], made["results"]) == (0, [])
    assert made["search_strategy_used"] == "hybrid of keywords, words and recency"


def test_a_search_below_the_minimum_says_how_near_it_came(tx):
    remember(tx, "green tea", created_at="2020-01-01")
    strict = {"query": "green coffee", "min_relevance_score": 1}
    made = ask(tx, "search_memories", strict)
    assert (made["total_found"], made["results"]) == (0, [])
    lower = strict | {"min_relevance_score": made["best_relevance"]}
    assert ask(tx, "search_memories", lower)["total_found"] == 1


def test_tool_and_function_give_the_same(tx):
    for number in range(7):
        remember(tx, f"tea {number}")
    rows = tx.execute("SELECT key, relevance, total_found FROM memoir.search_memories('tea')")
    made = ask(tx, "search_memories", {"query": "tea"})
    as_rows = [(r["key"], r["relevance"], made["total_found"]) for r in made["results"]]
    assert rows.fetchall() == as_rows


def test_null_is_the_same_as_left_out(tx):
    remember(tx, "green tea")
    nulls = {"query": "tea", "keywords": None, "max_results": None, "time_from": None}
    assert ask(tx, "search_memories", nulls) == ask(tx, "search_memories", {"query": "tea"})


@pytest.mark.parametrize(
    ("name", "said", "meant"),
    [
        ("search_memories", {"max_results": " 3 "}, {"max_results": 3}),
        ("search_memories", {"min_relevance_score": "0.5"}, {"min_relevance_score": 0.5}),
        ("search_memories", {"keywords": "tea"}, {"keywords": ["tea"]}),
        ("search_memories", {"keywords": '["tea"]'}, {"keywords": ["tea"]}),
        ("search_memories", {"keywords": ["tea", 7]}, {"keywords": ["tea", "7"]}),
        ("search_memories", {"memory_types": "fact"}, {"memory_types": ["fact"]}),
        ("search_memories", {"search_mode": " Keyword"}, {"search_mode": "keyword"}),
        ("search_memories", {"query": 2024}, {"query": "2024"}),
        ("search_memories", {"keywords": "", "time_from": "", "search_mode": ""}, {}),
        ("memory_search", {"use_decay": "False"}, {"use_decay": False}),
        ("memory_write", {"write_to": "Daily"}, {"write_to": "daily"}),
        ("memory_write", {"category": ""}, {}),
    ],
)
def test_what_can_mean_nothing_else_is_taken_for_it(tx, name, said, meant):
    text = {"content": "tea"} if name == "memory_write" else {"query": "tea"}
    ask(tx, name, {**text, **said})
    assert value(tx, "SELECT arguments FROM memoir.tool_call") == {**text, **meant}


def test_a_kind_may_be_written_in_other_letters_and_a_key_with_its_sign(tx):
    ask(tx, "memory_write", {"content": "tea", "category": " Preference "})
    key = value(tx, "SELECT memory_id FROM memoir.memory WHERE kind = 'preference'")
    for said in (key, f" {key} ", f"#{key}", f"[{key}]"):
        assert ask(tx, "get_memory_detail", {"key": said})["content"] == "tea"


@pytest.mark.parametrize("said", ["null", '""', '" "', '"{}"', '"null"'])
def test_arguments_may_be_json_as_text_and_none(tx, said):
    answer = value(tx, "SELECT memoir.call_tool('summary', %s::jsonb)", said)
    assert answer["memories"] == 0


def test_a_whole_number_may_be_written_with_a_point(tx):
    remember(tx, "tea")
    assert ask(tx, "memory_search", {"query": "tea", "top_k": 2.0})["total_found"] == 1


def test_the_vector_goes_where_the_tool_has_one(tx):
    ask(tx, "memory_write", {"content": "green tea"}, query_vec="[1,0]")
    made = ask(tx, "search_memories", {"query": "x", "search_mode": "semantic"}, None, "[1,0]")
    assert (made["search_strategy_used"], made["total_found"]) == ("semantic", 1)


def test_a_tool_works_on_the_memory_of_its_user(tx):
    key = str(remember(tx, "tea", user_id="ada"))
    assert ask(tx, "get_memory_detail", {"key": key}, "ada")["content"] == "tea"
    assert (
        refused(
            tx, "call_tool", name="get_memory_detail", arguments={"key": key}, user_id="bob"
        ).sqlstate
        == "ME012"
    )


def test_no_model_chooses_the_user(tx):
    error = refused(tx, "call_tool", name="summary", arguments={"user_id": "ada"})
    assert error.message_primary == 'tool summary has no argument "user_id"'


@pytest.mark.parametrize("name", ["purge", "", "summary()", "call_tool", "_search", "pg_sleep"])
def test_an_unknown_tool_is_refused_and_the_tools_are_listed(tx, name):
    error = refused(tx, "call_tool", name=name)
    assert (error.sqlstate, error.message_primary) == ("ME012", f'unknown tool "{name}"')
    assert error.message_detail.startswith("Tools: search_memories, get_memory_detail")


def test_a_tool_that_is_not_offered_is_unknown(tx):
    tx.execute("UPDATE memoir.tool SET offered = false WHERE name = 'memory_write'")
    error = refused(tx, "call_tool", name="memory_write", arguments={"content": "x"})
    assert (error.sqlstate, "memory_write" in error.message_detail) == ("ME012", False)


def test_an_unknown_argument_is_named_and_the_known_are_listed(tx):
    error = refused(tx, "call_tool", name="get_memory_detail", arguments={"id": "1"})
    assert error.message_primary == 'tool get_memory_detail has no argument "id"'
    assert error.message_detail == "Arguments: key"


def test_a_missing_argument_is_named(tx):
    error = refused(tx, "call_tool", name="search_memories", arguments={"query": None})
    assert error.message_primary == 'argument "query" of search_memories is missing'


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"query": ["x"]}, '"query" of search_memories must be a string, not ["x"]'),
        ({"query": "x", "max_results": "five"}, "must be an integer"),
        ({"query": "x", "max_results": 3e9}, "must be an integer, not 3000000000"),
        ({"query": "x", "keywords": {"a": 1}}, "must be an array of strings"),
        ({"query": "x", "time_from": "soon"}, "must be a time such as"),
        ({"query": "x", "time_from": 2025}, "must be a time such as"),
        ({"query": "x", "time_from": "01/02/2025"}, "must be a time such as"),
        ({"query": "x", "min_relevance_score": True}, "must be a number, not true"),
    ],
)
def test_a_wrong_type_is_named(tx, given, wanted):
    error = refused(tx, "call_tool", name="search_memories", arguments=given)
    assert (error.sqlstate, wanted in error.message_primary) == ("ME008", True)


@pytest.mark.parametrize("given", ["[]", "1", '"query"', '"[]"'])
def test_arguments_are_an_object(tx, given):
    with pytest.raises(psycopg.Error, match="must be a JSON object") as caught:
        tx.execute("SELECT memoir.call_tool('summary', %s::jsonb)", (given,))
    assert caught.value.sqlstate == "ME008"


def test_related_memories_have_keys_of_text(tx):
    tx.execute("ALTER TABLE memoir.memory ALTER memory_id RESTART 9007199254740993")
    one, two = remember(tx, "green tea"), remember(tx, "water")
    tx.execute(
        "INSERT INTO memoir.relation VALUES ('default', %s, %s, 'supports', 0.9)", (one, two)
    )
    (found,) = ask(tx, "related", {"key": str(one), "max_results": 1})["results"]
    assert found.keys() == {"key", "kind", "preview", "strength", "via"}
    assert (found["key"], found["preview"]) == (str(two), "water")


def test_numbers_in_an_answer_have_nine_places_at_most(tx):
    tea, water = remember(tx, "green tea"), remember(tx, "water")
    call(tx, "relate", from_id=tea, to_id=water, type="supports", strength=1 / 3)
    (found,) = ask(tx, "related", {"key": str(tea)})["results"]
    assert found["strength"] == 0.333333333


def test_text_that_looks_like_sql_is_text(tx):
    remember(tx, "tea")
    text = "'); DROP TABLE memoir.memory; --"
    ask(tx, "search_memories", {"query": text, "keywords": [text, "$1", "%s"]})
    ask(tx, "memory_write", {"content": text})
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 2


def test_an_error_of_the_tool_keeps_its_code_and_leaves_nothing(tx):
    before = row_counts(tx)
    error = refused(tx, "call_tool", name="memory_write", arguments={"content": " "})
    assert error.sqlstate == "ME007"
    assert row_counts(tx) == before


def test_a_tool_of_ones_own_is_called_with_its_types(tx):
    tx.execute(
        "CREATE FUNCTION memoir.wish(what text, at timestamptz, extra jsonb DEFAULT NULL,"
        " OUT said text, OUT year int) LANGUAGE sql RETURN"
        " ROW(what || (extra ->> 'a'), date_part('year', at)::int)"
    )
    tx.execute("INSERT INTO memoir.tool (name, place) VALUES ('wish', 99)")
    given = {"what": "tea", "at": "2025-06-01T00:00:00Z", "extra": {"a": "!"}}
    assert ask(tx, "wish", given) == {"said": "tea!", "year": 2025}


def test_rows_of_a_tool_of_ones_own_are_results(tx):
    tx.execute(
        "CREATE FUNCTION memoir.wishes(OUT wish text) RETURNS SETOF text LANGUAGE sql"
        " AS $$VALUES ('a'), ('b')$$"
    )
    tx.execute("INSERT INTO memoir.tool (name, place) VALUES ('wishes', 99)")
    assert ask(tx, "wishes") == {"results": ["a", "b"]}


def test_a_reading_tool_works_where_nothing_may_be_written(tx):
    remember(tx, "tea")
    tx.execute("SET TRANSACTION READ ONLY")
    assert ask(tx, "memory_search", {"query": "tea"})["total_found"] == 1
