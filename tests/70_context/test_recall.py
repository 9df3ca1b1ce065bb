"""What a recall finds: by vector, by words, by both and by neither."""

from __future__ import annotations

import pytest
from tests.rows import (
    MODES,
    NOTHING,
    NOW,
    ago,
    call,
    explain,
    found,
    lines,
    recall,
    remember,
    remember_all,
    sentences,
    store,
    value,
)


def test_an_empty_memory_gives_a_block_that_says_so(tx):
    made = recall(tx, "tea")
    assert (made.block, made.memory_ids, made.candidates) == (NOTHING, [], 0)


def test_memories_come_by_the_nearness_of_their_vectors(tx):
    remember(tx, "west", embedding="[0,1,0]")
    remember(tx, "north-west", embedding="[1,1,0]")
    remember(tx, "north", embedding="[5,0,0]")
    assert found(tx, query_vec="[1,0,0]") == ["north", "north-west"]


def test_memories_come_by_their_words_without_a_vector(tx):
    remember(tx, "tea with sugar")
    remember(tx, "water with sugar")
    remember(tx, "tea with lemon")
    assert found(tx, "lemon tea") == ["tea with lemon", "tea with sugar"]


def test_vector_and_words_together_beat_either_alone(tx):
    remember(tx, "coffee black", embedding="[1,0,0]")
    remember(tx, "tea green", embedding="[0,1,0]")
    remember(tx, "tea black", embedding="[9,1,0]")
    assert found(tx, "tea", query_vec="[1,0,0]")[0] == "tea black"


def test_the_most_important_memories_come_without_a_question(tx):
    remember(tx, "minor", importance=0.1)
    remember(tx, "major", importance=0.9)
    remember(tx, "middle", importance=0.5)
    assert found(tx) == ["major", "middle", "minor"]


@pytest.mark.parametrize("question", ["", " ", "\u3000\n", "?!", "Who are you?"])
@pytest.mark.parametrize("mode", ["execute", "balanced", "search", "conversation"])
def test_so_they_do_for_a_question_with_nothing_to_look_for(tx, question, mode):
    minor, major = store(
        tx, [{"content": "minor", "importance": 0.8}, {"content": "major", "importance": 0.9}]
    )
    refresh = "SELECT memoir.refresh_statistics(u) FROM unnest(%s::text[]) AS u"
    for counted in ([], ["default"]):
        tx.execute(refresh, (counted,))
        assert recall(tx, question, mode=mode).memory_ids == [major, minor]
        rows = explain(tx, question, mode=mode)
        assert [(r.content, r.reason) for r in rows] == [
            ("major", "in block"),
            ("minor", "in block"),
        ]


def test_a_tag_that_is_a_stop_word_is_looked_for_in_a_mode_of_keywords(tx):
    store(tx, [{"content": "minor", "keywords": ["it"]}, {"content": "major", "importance": 1}])
    assert found(tx, "it", mode="search") == ["minor"]
    assert found(tx, "it") == ["major", "minor"]


def test_a_text_with_nothing_to_look_for_leaves_the_choice_to_the_vector(tx):
    remember(tx, "north", embedding="[1,0,0]", importance=0.1)
    remember(tx, "coffee", importance=1)
    assert found(tx, " ", query_vec="[1,0,0]") == found(tx, query_vec="[1,0,0]") == ["north"]


@pytest.mark.parametrize(
    ("question", "memory"),
    [
        ("deploying", "deployed on Monday"),
        ("errors", "an error in the log"),
        ("TEA", "a cup of tea"),
        ("user id", "set user_id first"),
        ("认证失败", "昨天登录的时候认证失败了"),
        ("数据库", "这个数据库很慢"),
        ("端口 8080", "服务器监听端口８０８０"),
        ("８０８０", "port 8080 is taken"),
        ("錯", "錯"),
        ("서울", "서울에 갔다"),
    ],
)
def test_words_are_found_in_the_forms_people_write(tx, question, memory):
    remember(tx, "something else entirely 其他内容")
    remember(tx, memory)
    assert found(tx, question) == [memory]


def test_nothing_is_found_that_shares_nothing(tx):
    remember(tx, "coffee", embedding="[0,1,0]")
    assert recall(tx, "tea").block == NOTHING
    assert recall(tx, query_vec="[1,0,0]").block == NOTHING


def test_a_memory_without_vector_is_found_by_words_beside_those_with(tx):
    remember(tx, "tea green", embedding="[1,0,0]")
    remember(tx, "tea black")
    assert set(found(tx, "tea", query_vec="[1,0,0]")) == {"tea green", "tea black"}


def test_a_memory_without_words_is_found_by_its_vector(tx):
    remember(tx, "???", embedding="[1,0,0]")
    assert found(tx, "tea", query_vec="[1,0,0]") == ["???"]


def test_a_memory_without_words_is_found_without_a_question(tx):
    remember(tx, "???")
    assert found(tx) == ["???"]


def test_a_question_without_words_finds_by_its_vector(tx):
    remember(tx, "tea", embedding="[1,0,0]")
    assert found(tx, "???", query_vec="[1,0,0]") == ["tea"]


def test_equal_scores_put_the_newer_first(tx):
    remember(tx, "tea one", created_at=ago(days=2))
    remember(tx, "tea three", created_at=NOW)
    remember(tx, "tea two", created_at=ago(days=1))
    assert found(tx, "tea") == ["tea three", "tea two", "tea one"]


def test_lines_stand_under_the_heading_of_their_kind_the_best_kind_first(tx):
    remember(tx, "tea lemon milk", "preference")
    remember(tx, "tea lemon", "fact")
    remember(tx, "tea sugar cup", "preference")
    assert recall(tx, "tea lemon milk").block == (
        "## User preferences\n- tea lemon milk\n- tea sugar cup\n## Known facts\n- tea lemon\n"
    )


def test_the_ids_are_the_memories_in_order_of_choice(tx):
    best = remember(tx, "tea lemon milk", "preference")
    second = remember(tx, "tea lemon", "fact")
    third = remember(tx, "tea sugar cup", "preference")
    remember(tx, "coffee")
    assert recall(tx, "tea lemon milk").memory_ids == [best, second, third]


@pytest.mark.parametrize("mode", MODES)
def test_the_ids_are_the_lines_of_the_block(tx, mode):
    for kind in ("task", "fact", "learning"):
        remember_all(tx, sentences(30, 6, seed=len(kind)), kind)
    made = recall(tx, sentences(1, 12)[0], mode=mode, budget=300)
    contents = tx.execute(
        "SELECT content FROM memoir.memory WHERE memory_id = ANY (%s)", (made.memory_ids,)
    )
    assert sorted(lines(made.block)) == sorted(content for (content,) in contents)


def test_one_among_two_thousand_is_found(tx):
    remember_all(tx, sentences(2_000, 8))
    memory_id = remember(tx, "the samovar is in the cellar")
    made = recall(tx, "samovar")
    assert made.memory_ids == [memory_id]


def test_one_vector_among_two_thousand_is_found(tx):
    numbers = range(1, 2_001)
    store(tx, ({"content": f"tea {n}", "embedding": f"[{n},1000,1]"} for n in numbers))
    assert found(tx, query_vec="[1999,1000,1]", budget=20)[0] in ("tea 1999", "tea 2000")


def test_a_wide_vector_is_found_like_a_narrow_one(tx):
    def vector(*head: float) -> str:
        return str([*head] + [0.0] * (1_536 - len(head)))

    remember(tx, "west", embedding=vector(0, 1))
    remember(tx, "north-west", embedding=vector(1, 1))
    remember(tx, "north", embedding=vector(1, 0))
    remember(tx, "no direction")
    assert found(tx, query_vec=vector(1, 0)) == ["north", "north-west"]
    assert found(tx, "direction north", query_vec=vector(1, 0))[0] == "north"


def test_a_long_chinese_text_is_found_like_a_short_one(tx):
    body = "".join(chr(0x4E00 + i) for i in range(400))
    remember(tx, "斑马" + body)
    remember(tx, "斑马和狮子")
    remember(tx, "狮子")
    assert value(tx, "SELECT count(*) FROM memoir.trace WHERE wide") == 1
    assert found(tx, "斑马", budget=3_000) == ["斑马" + body, "斑马和狮子"]


def test_wide_and_narrow_memories_compete_by_score_alone(tx):
    body = "".join(chr(0x4E00 + i) for i in range(400))
    remember(tx, "红茶柠檬" + body)
    remember(tx, "红茶")
    assert found(tx, "红茶柠檬", budget=3_000) == ["红茶柠檬" + body, "红茶"]


@pytest.mark.parametrize("mode", MODES)
def test_a_user_sees_nothing_of_another(tx, mode):
    remember(tx, "tea of Ada", embedding="[1,0,0]", user_id="ada")
    tx.execute("SELECT memoir.event_add('alert', '{\"tea\": 1}', 'ada')")
    remember(tx, "goal of Ada", "okr", data={"status": "pending"}, user_id="ada")
    bobs = remember(tx, "tea of Bob", user_id="bob")
    made = recall(tx, "tea goal", query_vec="[1,0,0]", user_id="bob", mode=mode)
    assert made.memory_ids == [bobs]
    assert "Ada" not in made.block
    assert "alert" not in made.block


def test_the_setting_says_whose_memory_is_recalled(tx):
    remember(tx, "tea of Ada", user_id="ada")
    remember(tx, "tea of nobody")
    tx.execute("SET LOCAL memoir.user_id = 'ada'")
    assert found(tx, "tea") == ["tea of Ada"]


def test_a_recall_is_of_execute_unless_told(tx):
    remember(tx, "tea", "task")
    recall(tx, "tea")
    assert value(tx, "SELECT mode FROM memoir.retrieval") == "execute"


def test_the_same_question_of_the_same_time_gives_the_same_block(tx):
    told = enumerate(sentences(60, 8))
    store(tx, ({"content": c, "kind": "task", "created_at": ago(days=n)} for n, c in told))
    question = sentences(1, 12)[0]
    first = recall(tx, question, as_of=NOW)
    remember(tx, "later " + question, "task", created_at=NOW.replace(year=2026))
    call(tx, "refresh_statistics")
    second = recall(tx, question, as_of=NOW)
    assert (second.block, second.memory_ids) == (first.block, first.memory_ids)


def test_a_memory_is_not_known_before_it_was_made(tx):
    remember(tx, "tea old", created_at=ago(days=10))
    remember(tx, "tea new", created_at=ago(days=1))
    assert found(tx, "tea", as_of=ago(days=2)) == ["tea old"]


def test_a_memory_is_known_from_the_moment_it_was_made(tx):
    remember(tx, "tea", created_at=NOW)
    assert found(tx, "tea", as_of=NOW) == ["tea"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("vector", ["[1,2,0]", None])
@pytest.mark.parametrize("counted", [True, False])
def test_asking_as_of_now_is_asking_now(tx, mode, vector, counted):
    kinds = ("task", "fact", "okr")
    memories = [
        {"content": content, "kind": kinds[number % 3], "embedding": f"[{number},{60 - number},1]"}
        for number, content in enumerate(sentences(60, 8))
    ]
    store(tx, memories)
    if counted:
        call(tx, "refresh_statistics")
    tx.execute("""SELECT memoir.event_add('alert', '{"disk": 91}')""")
    asked = {"query_text": sentences(1, 12)[0], "query_vec": vector, "mode": mode}
    now = value(tx, "SELECT now()")
    live, past = recall(tx, **asked), recall(tx, **asked, as_of=now)
    assert (live.block, live.memory_ids) == (past.block, past.memory_ids)
