"""Search as a tool: the best memories one by one, filtered, with the total."""

from __future__ import annotations

from itertools import product

import pytest
from psycopg.types.json import Jsonb
from tests.rows import ago, call, previews, refused, remember, remember_all, sentences, value


def search(conn, query="tea", **more):
    return call(conn, "search_memories", query=query, **{"min_relevance_score": 0, **more})


def tag(conn, key, *keywords):
    conn.execute(
        "INSERT INTO memoir.keyword (user_id, keyword, memory_id, origin)"
        " SELECT 'default', k, %s, 'user_tag' FROM unnest(%s::text[]) AS k"
        " ON CONFLICT DO NOTHING",
        (key, list(keywords)),
    )


def only_keywords(conn, key=None, *keywords):
    """Take the keywords of all memories, but for those given to one."""
    conn.execute("DELETE FROM memoir.keyword")
    tag(conn, key, *keywords)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        *product(["用戶認證失敗", "認證"], ["認證", "认证"]),
        ("cafés", "cafés"),
        ("Zürich", "zurich"),
    ],
)
def test_a_query_in_other_characters_or_with_accents_finds_a_keyword_of_either_kind(
    tx, query, word
):
    key = remember(tx, "tea")
    only_keywords(tx, key, word)
    (row,) = search(tx, query, search_mode="keyword")
    assert row.relevance > 0


def test_the_keywords_of_a_result_come_the_heaviest_first(tx):
    only_keywords(tx, remember(tx, "tea"), "cup", "leaf", "pot")
    tx.execute("UPDATE memoir.keyword SET weight = 0.5 WHERE keyword = 'cup'")
    (row,) = search(tx)
    assert row.keywords == ["leaf", "pot", "cup"]


@pytest.mark.parametrize(("query", "told"), [("zurich", "Zürich"), ("Łódź", "Lodz")])
def test_a_search_finds_what_was_told_with_other_accents(tx, query, told):
    remember(tx, f"office in {told}")
    assert previews(search(tx, query)) == [f"office in {told}"]


def test_a_row_says_what_the_document_asks(tx):
    text = "green tea " * 50
    key = remember(tx, text, "fact", data={"a": 1}, summary="tea", created_at=ago(days=1))
    (row,) = search(tx, "green tea")
    assert (row.key, row.kind, row.preview, row.summary) == (str(key), "fact", text[:200], "tea")
    assert (row.created_at, row.metadata, row.total_found) == (ago(days=1), {"a": 1}, 1)
    assert 0 < row.relevance <= 1


def test_relevance_is_d2s_base_of_mode_search(tx):
    remember(tx, "green tea")
    leaves = remember(tx, "leaves")
    only_keywords(tx, leaves, "tea")
    rows = {row.preview: row.relevance for row in search(tx, "tea")}
    assert rows["green tea"] == pytest.approx(0.4 * 0 + 0.4 * 1 + 0.2 * 1)
    assert rows["leaves"] == pytest.approx(0.4 * 1 + 0.4 * 0 + 0.2 * 1)


def test_a_query_without_a_known_keyword_does_without_that_part(tx):
    remember(tx, "green tea", created_at="2020-01-01")
    only_keywords(tx)
    (row,) = search(tx, "tea")
    assert row.relevance == pytest.approx((0.4 * 1 + 0.2 * 0.5) / 0.6)


def test_the_order_is_d2s_final_ranking(tx):
    remember(tx, "green tea", "fact")
    used, wished = remember(tx, "green tea used"), remember(tx, "green tea wished", "preference")
    tx.execute("INSERT INTO memoir.access VALUES ('default', %s, 3, now())", (used,))
    only_keywords(tx, remember(tx, "leaves"), "tea")
    rows = search(tx, "tea")
    assert [row.key for row in rows[:2]] == [str(used), str(wished)]
    boosts = [0.2 * 3 / 4, 0.1, 0]
    scores = [row.score for row in rows if "green" in row.preview]
    assert scores == pytest.approx([0.7 * 0.6 + boost for boost in boosts])


def test_the_newer_of_two_alike_comes_first(tx):
    remember(tx, "tea old", created_at="2025-01-01")
    remember(tx, "tea new")
    assert previews(search(tx)) == ["tea new", "tea old"]


def test_semantic_is_the_cosine(tx):
    remember(tx, "green tea", embedding="[1,0]")
    remember(tx, "coffee", embedding="[3,4]")
    rows = search(tx, "x", search_mode="semantic", query_vec="[1,0]")
    assert previews(rows) == ["green tea", "coffee"]
    assert [row.relevance for row in rows] == pytest.approx([1, 0.6])
    assert {row.strategy for row in rows} == {"semantic"}


def test_semantic_without_a_vector_goes_by_words_and_says_so(tx):
    remember(tx, "green tea")
    (row,) = search(tx, "green", search_mode="semantic")
    assert row.relevance == pytest.approx(1)
    assert row.strategy == "semantic by words, for want of a vector"


def test_keyword_pays_no_attention_to_vector_and_age(tx):
    remember(tx, "green tea", embedding="[1,0]", created_at="2020-01-01")
    remember(tx, "coffee", embedding="[0,1]")
    rows = search(tx, "tea", search_mode="keyword", query_vec="[0,1]")
    assert previews(rows) == ["green tea"]
    assert rows[0].strategy == "keyword"


def test_hybrid_with_a_vector_finds_what_has_no_common_word(tx):
    remember(tx, "认证失败", embedding="[1,0]")
    remember(tx, "tea", embedding="[0,1]")
    rows = search(tx, "auth error", query_vec="[1,0]")
    assert previews(rows)[0] == "认证失败"
    assert rows[0].strategy == "hybrid of keywords, words, vector and recency"


def test_in_hybrid_the_text_part_is_the_mean_of_words_and_cosine(tx):
    remember(tx, "green tea", embedding="[3,4]")
    only_keywords(tx, remember(tx, "leaves"), "tea")
    (row,) = (r for r in search(tx, "tea", query_vec="[1,0]") if r.preview == "green tea")
    assert row.relevance == pytest.approx(0.4 * (1 + 0.6) / 2 + 0.2, abs=1e-3)


def test_what_shares_nothing_with_the_query_is_not_found(tx):
    remember(tx, "coffee")
    assert search(tx, "tea") == []


def test_the_minimum_leaves_out_what_is_less_relevant(tx):
    remember(tx, "green tea", embedding="[1,0]")
    remember(tx, "coffee", embedding="[3,4]")
    made = {"search_mode": "semantic", "query_vec": "[1,0]"}
    assert len(search(tx, "x", **made, min_relevance_score=0.5)) == 2
    assert previews(search(tx, "x", **made, min_relevance_score=0.7)) == ["green tea"]
    rows = search(tx, "x", **made, min_relevance_score=0.7)
    assert rows[0].total_found == 1


def test_the_limit_bounds_the_rows_not_the_total(tx):
    for number in range(9):
        remember(tx, f"tea {number}")
    rows = search(tx, "tea")
    assert (len(rows), {row.total_found for row in rows}) == (5, {9})
    assert len(search(tx, "tea", max_results=20)) == 9


def test_a_keyword_filter_is_exact_and_knows_no_case(tx):
    one, two = remember(tx, "tea one"), remember(tx, "tea two")
    tag(tx, one, "auth-4011", "登录")
    tag(tx, two, "auth-40110")
    assert previews(search(tx, "tea", keywords=["AUTH-4011"])) == ["tea one"]
    assert previews(search(tx, "tea", keywords=["登录", "nothing"])) == ["tea one"]
    assert previews(search(tx, "tea", keywords=["ＡＵＴＨ-4011 "])) == ["tea one"]
    assert len(search(tx, "tea", keywords=["auth-40110", "auth-4011"])) == 2


@pytest.mark.parametrize("keyword", [".*", "%", "_", "a|b", "(", "[a-z]+", "\\", "'; --"])
def test_a_pattern_as_a_keyword_is_text(tx, keyword):
    one, two = remember(tx, "tea one"), remember(tx, "tea two")
    tag(tx, one, "plain")
    assert search(tx, "tea", keywords=[keyword]) == []
    tag(tx, two, keyword)
    assert previews(search(tx, "tea", keywords=[keyword])) == ["tea two"]


@pytest.mark.parametrize("query", ["", "  ", "the and of", "?!...", "。，"])
def test_keywords_alone_give_all_that_carry_them(tx, query):
    dull, vital = remember(tx, "one", importance=0.2), remember(tx, "two", importance=0.9)
    remember(tx, "three")
    for key in (dull, vital):
        tag(tx, key, "drink")
    rows = search(tx, query, keywords=["drink"], min_relevance_score=1)
    assert previews(rows) == ["two", "one"]
    assert {(row.relevance, row.strategy) for row in rows} == {(1, "keyword filter")}


@pytest.mark.parametrize("query", ["the and of", "?!...", "。，", "的"])
def test_a_query_without_words_finds_nothing(tx, query):
    remember(tx, "tea")
    assert search(tx, query) == []


def test_an_empty_list_filters_nothing(tx):
    remember(tx, "tea")
    assert len(search(tx, "tea", keywords=[], memory_types=[])) == 1
    assert len(search(tx, "tea", keywords=[" ", None])) == 1


def test_kinds_filter_by_name_and_alias(tx):
    remember(tx, "tea fact", "fact")
    remember(tx, "tea preference", "preference")
    remember(tx, "tea task", "task")
    rows = search(tx, "tea", memory_types=["user_preference", "FACT"])
    assert sorted(previews(rows)) == ["tea fact", "tea preference"]


def test_a_time_range_holds_its_ends(tx):
    for days in (1, 2, 3, 4):
        remember(tx, f"tea {days}", created_at=ago(days=days))
    rows = search(tx, "tea", time_from=ago(days=3), time_until=ago(days=2))
    assert sorted(previews(rows)) == ["tea 2", "tea 3"]
    assert sorted(previews(search(tx, "tea", time_from=ago(days=2)))) == ["tea 1", "tea 2"]
    moment = {"time_from": ago(days=2), "time_until": ago(days=2)}
    assert previews(search(tx, "tea", **moment)) == ["tea 2"]


def test_filters_come_before_the_limit(tx):
    remember_all(tx, (f"tea {number}" for number in range(30)), "task")
    remember(tx, "tea fact", "fact", created_at="2020-01-01")
    (row,) = search(tx, "tea", memory_types=["fact"], max_results=1)
    assert (row.preview, row.total_found) == ("tea fact", 1)


def test_forgotten_and_expired_memories_and_events_are_not_found(tx):
    gone, over = remember(tx, "tea gone"), remember(tx, "tea over", created_at="2025-01-01")
    tx.execute("UPDATE memoir.memory SET status = 'forgotten' WHERE memory_id = %s", (gone,))
    tx.execute("UPDATE memoir.trace SET active = false WHERE memory_id = %s", (gone,))
    tx.execute("UPDATE memoir.memory SET valid_until = '2025-02-01' WHERE memory_id = %s", (over,))
    call(tx, "event_add", type="alert", payload={"tea": 1})
    for key in (gone, over):
        tag(tx, key, "drink")
    assert search(tx, "tea") == []
    assert search(tx, "", keywords=["drink"]) == []


def test_another_users_memory_is_not_found(tx):
    remember(tx, "tea", user_id="ada")
    assert search(tx, "tea", user_id="bob") == []
    assert len(search(tx, "tea", user_id="ada")) == 1


def test_a_synonym_is_searched_besides_and_named(tx):
    tx.execute("INSERT INTO memoir.synonym VALUES ('redbush', 'rooibos', 0.9)")
    key = remember(tx, "green leaves")
    tag(tx, key, "rooibos")
    (row,) = search(tx, "redbush")
    assert (row.preview, row.expanded_keywords) == ("green leaves", ["rooibos"])


def test_a_synonym_of_a_short_word_is_a_keyword_match_in_a_question_too(tx):
    pairs = {"db": "database", "k8s": "kubernetes", "vm": "virtual machine"}
    tx.execute(
        "INSERT INTO memoir.synonym SELECT * FROM unnest(%s::text[], %s::text[])"
        " ON CONFLICT DO NOTHING",
        ([*pairs], [*pairs.values()]),
    )
    for user, (short, long) in enumerate(pairs.items()):
        remember(tx, f"The {long} is restarted on Sundays", keywords=[long], user_id=f"{user}")
        (row,) = search(tx, f"How is the {short} doing?", user_id=f"{user}")
        # Keywords x 0.7, words x the similarity of the pair (0.7 or 0.9), recency.
        assert row.relevance >= 0.4 * 0.7 + 0.4 * 0.7 + 0.2 - 1e-6, short


def test_statistics_do_not_change_the_result(tx):
    remember_all(tx, sentences(40, 6))
    query = sentences(1, 8, seed=2)[0]
    before = search(tx, query)
    call(tx, "refresh_statistics")
    assert search(tx, query) == before


def test_a_query_of_10_000_characters_is_searched(tx):
    remember(tx, "green tea")
    words = " ".join(sentences(200, 10))[:9990]
    assert previews(search(tx, words + " green tea")) == ["green tea"]


def test_a_search_leaves_no_row_anywhere(tx):
    remember(tx, "tea")
    tx.execute("SET TRANSACTION READ ONLY")
    assert len(search(tx, "tea")) == 1


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("ME002", {"memory_types": ["fact", "nonsense"]}),
        ("ME002", {"memory_types": [None]}),
        ("ME003", {"query_vec": "[1,2,3]"}),
        ("ME004", {"query_vec": "[0,0]"}),
        ("ME006", {"user_id": " "}),
        ("ME007", {"query": ""}),
        ("ME007", {"query": None}),
        ("ME007", {"query": " \n", "keywords": [" "]}),
        ("ME008", {"search_mode": "fuzzy"}),
        ("ME008", {"search_mode": None}),
        ("ME008", {"max_results": 0}),
        ("ME008", {"max_results": 21}),
        ("ME008", {"max_results": None}),
        ("ME008", {"min_relevance_score": -0.1}),
        ("ME008", {"min_relevance_score": 1.1}),
        ("ME008", {"min_relevance_score": float("nan")}),
        ("ME008", {"min_relevance_score": None}),
        ("ME011", {"time_from": "2025-01-02", "time_until": "2025-01-01"}),
    ],
)
def test_bad_input_is_refused(tx, code, arguments):
    remember(tx, "tea", embedding="[1,0]")
    error = refused(tx, "search_memories", **{"query": "tea", **arguments})
    assert (error.sqlstate, bool(error.message_hint)) == (code, True)


def test_an_unknown_search_mode_lists_the_known(tx):
    error = refused(tx, "search_memories", query="tea", search_mode="fuzzy")
    assert error.message_primary == 'unknown search_mode "fuzzy"'
    assert error.message_detail == "Search modes: semantic, keyword, hybrid"


def test_the_default_is_hybrid_five_results_and_0_6(tx):
    defaults = value(tx, "SELECT pg_get_function_arguments('memoir.search_memories'::regproc)")
    assert "search_mode text DEFAULT 'hybrid'::text" in defaults
    assert "max_results integer DEFAULT 5" in defaults
    assert "min_relevance_score double precision DEFAULT 0.6" in defaults


def test_only_memories_whose_data_contains_the_given_are_found(tx):
    for place, data in enumerate(({"n": 1}, {"n": 1, "tags": ["a", "b"]}, {"n": 2}, None)):
        remember(tx, f"tea of {place}", data=data or {}, created_at=ago(days=place))
    assert previews(search(tx, data=Jsonb({"n": 1}))) == ["tea of 0", "tea of 1"]
    (row,) = search(tx, data=Jsonb({"tags": ["b"]}), max_results=1)
    assert (row.preview, row.total_found) == ("tea of 1", 1)
    assert search(tx, data=Jsonb({"n": 3})) == []
    assert len(search(tx, data=Jsonb({}))) == 4
    assert refused(tx, "search_memories", query="tea", data=Jsonb([1])).sqlstate == "ME008"


def test_only_memories_of_a_conversation_are_found(tx):
    for place, session in enumerate(("s1", "s2", "s1", None)):
        remember(tx, f"tea of {place}", session_id=session, created_at=ago(days=place))
    assert previews(search(tx, session_id="s1")) == ["tea of 0", "tea of 2"]
    assert search(tx, session_id="s1", data=Jsonb({"n": 1})) == []
    assert search(tx, session_id="s3") == []


def test_a_model_cannot_filter_by_data(tx):
    wrong = {"name": "search_memories", "arguments": Jsonb({"query": "tea", "data": {"n": 1}})}
    assert 'no argument "data"' in refused(tx, "call_tool", **wrong).message_primary
