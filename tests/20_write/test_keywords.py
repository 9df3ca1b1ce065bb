"""Keywords of a memory: found by rule, given by the user or the model."""

from __future__ import annotations

import pytest
from tests.rows import call, refused, remember, remember_all, row_counts, value


def keywords(conn, memory_id, origin=None):
    """Keywords of a memory (from one origin), the heaviest first."""
    rows = conn.execute(
        "SELECT keyword FROM memoir.keyword WHERE memory_id = %s AND origin = coalesce(%s, origin)"
        " ORDER BY weight DESC, keyword",
        (memory_id, origin),
    )
    return [keyword for (keyword,) in rows]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("duplicate key E11000 on orders.user_id", ["orders.user_id", "e11000", "duplicate"]),
        ("ECONNREFUSED from redis on port 6379", ["econnrefused", "6379", "redis"]),
        ("the ImagePullBackOff of my-app", ["my-app", "imagepullbackoff"]),
        ("Ada likes the Mediterranean", ["mediterranean", "ada"]),
        ("认证服务失败了", ["失败", "服务", "认证"]),
        ("数据库的备份", ["数据库", "备份", "数据"]),
        ("苹果和香蕉", ["苹果", "香蕉"]),
        ("這個伺服器認證失敗了", ["伺服器", "失敗", "認證"]),
        ("部署到k8s集群 ERR_42", ["err_42", "部署", "集群"]),
        ("Café in Zürich, École", ["zürich", "café", "école"]),
        ("e\u0301cole franc\u0327aise", ["française", "école"]),
        ("Сервер в Москве", ["москве", "сервер"]),
        ("خادم القاهرة", ["القاهرة", "خادم"]),
        ("The wifi password is hunter2abc, ask Carla", ["password", "carla", "wifi"]),
        ("it is ok!", []),
    ],
)
def test_the_words_that_tell_a_memory_are_found_at_once(tx, content, found):
    assert keywords(tx, remember(tx, content), "system")[: len(found) or 1] == found


def test_the_rule_finds_five_keywords_at_most(tx):
    memory_id = remember(tx, "a_b c_d e_f g_h i_j k_l 认证 失败 数据库 Longword Otherword")
    assert len(keywords(tx, memory_id)) == 5


def test_tags_are_folded_and_stored_once(tx):
    memory_id = remember(tx, "tea", keywords=[" Green Tea", "green tea ", "HOT"])
    assert keywords(tx, memory_id, "user_tag") == ["green tea", "hot"]


def test_a_tag_outweighs_the_same_word_found_by_rule(tx):
    memory_id = remember(tx, "lemonade", keywords=["lemonade"])
    row = "SELECT weight, origin FROM memoir.keyword WHERE memory_id = %s"
    assert tx.execute(row, (memory_id,)).fetchall() == [(1, "user_tag")]


def test_the_same_memory_again_takes_new_tags(tx):
    memory_id = remember(tx, "tea", keywords=["hot"])
    (again,) = call(tx, "remember", content="tea", kind="fact", keywords=["green"])
    assert again.action == "NOOP"
    assert keywords(tx, memory_id, "user_tag") == ["green", "hot"]


@pytest.mark.parametrize("bad", [[""], ["  "], [None], ["x" * 101], [f"tag{n}" for n in range(51)]])
def test_unusable_tags_are_refused_and_nothing_is_stored(tx, bad):
    before = row_counts(tx)
    assert refused(tx, "remember", content="tea", keywords=bad).sqlstate == "ME008"
    assert row_counts(tx) == before


def test_sources_become_relations(tx):
    one, two = remember_all(tx, ["tea", "milk"])
    made = remember(tx, "tea with milk", sources=[one, two, one])
    rows = tx.execute("SELECT from_id, to_id, type, strength FROM memoir.relation ORDER BY to_id")
    assert rows.fetchall() == [(made, one, "derived_from", 1), (made, two, "derived_from", 1)]


@pytest.mark.parametrize("other", [-1, None])
def test_a_source_that_is_not_there_is_refused(tx, other):
    before = row_counts(tx)
    assert refused(tx, "remember", content="tea", sources=[other]).sqlstate == "ME012"
    assert row_counts(tx) == before


def test_a_source_of_another_user_is_refused(tx):
    theirs = remember(tx, "tea", user_id="bob")
    assert refused(tx, "remember", content="tea", sources=[theirs]).sqlstate == "ME012"


def test_the_models_keywords_replace_its_earlier_ones_only(tx):
    memory_id = remember(tx, "lemonade", keywords=["drink"])
    call(tx, "set_keywords", memory_id=memory_id, keywords=["sour", "cold"])
    call(tx, "set_keywords", memory_id=memory_id, keywords=["Fizzy", "drink"], weights=[0.4, 0.2])
    assert keywords(tx, memory_id) == ["drink", "lemonade", "fizzy"]
    assert keywords(tx, memory_id, "user_tag") == ["drink"]


@pytest.mark.parametrize(
    "bad",
    [
        {"keywords": ["a", "b", "c", "d", "e", "f"]},
        {"keywords": ["a"], "origin": "system"},
        {"keywords": ["a"], "origin": None},
        {"keywords": ["a"], "weights": [0.1, 0.2]},
        {"keywords": ["a"], "weights": [1.5]},
        {"keywords": ["x" * 101]},
    ],
)
def test_unusable_keywords_of_a_model_are_refused(tx, bad):
    memory_id = remember(tx, "tea")
    assert refused(tx, "set_keywords", memory_id=memory_id, **bad).sqlstate == "ME008"


def test_keywords_of_an_unknown_memory_are_refused(tx):
    assert refused(tx, "set_keywords", memory_id=-1, keywords=["a"]).sqlstate == "ME012"


def test_the_share_of_memories_with_keywords_is_shown(tx):
    remember_all(tx, ["lemonade", "milkshake", "ok", "coffee"])
    assert value(tx, "SELECT share FROM memoir.keyword_coverage") == 0.75
