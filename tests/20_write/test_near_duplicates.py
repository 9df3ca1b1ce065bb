"""What remember() decides about a text that says nearly what a stored one says."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb
from tests.rows import call, found, recall, refused, remember, remember_all, set_to, value

LONG = "the gateway deploy needs the office VPN and a fresh token every Monday morning"
NEAR, FAR = "[0.99,0.1,0.1]", "[0,1,0]"


def said(conn, content, **more):
    """What became of a fact."""
    return call(conn, "remember", content=content, kind=more.pop("kind", "fact"), **more)[0]


def decided(conn, stored, given):
    """What the rule says of a text beside a stored one: action and relation."""
    return conn.execute("SELECT (memoir._decide(%s, %s)).*", (stored, given)).fetchone()


@pytest.mark.parametrize(
    ("stored", "given", "action", "relation"),
    [
        ("Tea is green", "tea is GREEN!", "NOOP", None),
        ("Tea is green and hot", "tea is green", "NOOP", None),
        ("Tea is green", "Tea is green and hot", "UPDATE", None),
        ("Tea is green", "Tea is not green", "ADD", "contradicts"),
        ("I do not like tea", "like tea", "ADD", "contradicts"),
        ("Ann doesn't drink tea", "Ann drinks tea", "ADD", "contradicts"),
        ("Do not deploy on Friday", "do not deploy on Friday, ever", "UPDATE", None),
        ("The port is 8080", "The port is 9090", "ADD", "related"),
        ("Teapots are green", "tea", "ADD", "related"),
        ("Ann's blood type is A+", "Ann's blood type is A-", "ADD", "related"),
        ("Ann writes C", "Ann writes C++", "ADD", "related"),
        ("The balance is 500", "The balance is −500", "ADD", "related"),
        ("It takes < 200 ms", "It takes >200 ms", "ADD", "related"),
        ("The hotel: ⭐⭐⭐", "The hotel: ⭐", "ADD", "related"),
        ("We meet at 10:30", "We meet at 10.", "ADD", "related"),
        ("It needs version 1.1.5", "It needs version 1.1", "ADD", "related"),
        ("Open 10–12", "Open 10", "ADD", "related"),
        ("It costs 1,200", "It costs 1", "ADD", "related"),
        ("The rent is $900", "The rent is €900", "ADD", "related"),
        ("- a *well-known* hotel -- in C#", "a well known hotel in c#", "NOOP", None),
        ("Ann doesn’t drink tea", "Ann doesn't drink tea!", "NOOP", None),
        ("温度低于5度", "温度低于-5度", "ADD", "related"),
        ("用户喜欢绿茶", "用户喜欢绿茶。", "NOOP", None),
        ("用户喜欢绿茶", "用户喜欢绿茶和咖啡", "UPDATE", None),
        ("用户喜欢绿茶", "用户不喜欢绿茶", "ADD", "contradicts"),
        ("用戶喜歡綠茶", "用戶討厭綠茶", "ADD", "contradicts"),
        ("上線前跑測試", "上線前別跑測試", "ADD", "contradicts"),
        ("緑茶が好きではない", "緑茶が好き", "ADD", "contradicts"),
        ("毎朝緑茶を飲みます", "毎朝緑茶を飲みません", "ADD", "contradicts"),
        ("녹차를 마십니다", "녹차를 마시지 않습니다", "ADD", "contradicts"),
        ("녹차를 마십니다", "녹차를 안 마십니다", "ADD", "contradicts"),
        ("緑茶が好き", "緑茶が好き。", "NOOP", None),
    ],
)
def test_what_contains_the_other_stays_and_contradictions_both(tx, stored, given, action, relation):
    assert decided(tx, stored, given) == (action, relation)


@pytest.mark.parametrize("content", ["Tea is green!", "tea is green"])
def test_the_same_in_other_words_is_not_stored(tx, content):
    first = remember(tx, "Tea is green")
    done = said(tx, content)
    assert (done.action, done.memory_id) == ("NOOP", first)
    assert found(tx, "tea") == ["Tea is green"]


def test_what_was_said_in_other_words_is_kept_in_the_history(tx):
    first = remember(tx, "Tea is green")
    said(tx, "tea is GREEN!")
    rows = call(tx, "history", memory_id=first)
    assert [(r.action, r.reason) for r in rows] == [
        ("ADD", None),
        ("NOOP", "said again: tea is GREEN!"),
    ]


def test_a_text_that_says_more_replaces_the_stored_one(tx):
    first = remember(tx, LONG, data={"day": 1})
    done = said(tx, LONG + " early", data={"hour": 7}, importance=0.9)
    assert (done.action, done.memory_id) == ("UPDATE", first)
    assert found(tx, "deploy") == [LONG + " early"]
    row = "SELECT (data, importance)::text FROM memoir.memory"
    assert value(tx, row) == '("{""day"": 1, ""hour"": 7}",0.9)'


def test_the_text_that_was_replaced_is_in_the_history_and_comes_back(tx):
    first = remember(tx, LONG)
    said(tx, LONG + " early")
    assert [r.content for r in call(tx, "history", memory_id=first)] == [LONG, LONG + " early"]
    call(tx, "undo", memory_id=first)
    assert found(tx, "deploy") == [LONG]


def test_texts_that_contradict_each_other_both_stay_and_are_related(tx):
    first = remember(tx, LONG)
    done = said(tx, LONG.replace("needs", "never needs"))
    assert (done.action, done.other_ids) == ("ADD", [first])
    assert value(tx, "SELECT type FROM memoir.relation") == "contradicts"


def test_near_vectors_are_alike_whatever_the_words(tx):
    first = remember(tx, "tea is a green drink", embedding="[1,0,0]")
    done = said(tx, "a green beverage: tea", embedding=NEAR)
    assert (done.action, done.other_ids) == ("ADD", [first])
    assert value(tx, "SELECT type FROM memoir.relation") == "related"


def test_far_vectors_are_not_alike_though_the_words_are(tx):
    remember(tx, "tea is green", embedding="[1,0,0]")
    assert said(tx, "tea is green!", embedding=FAR).other_ids == []


def test_a_vector_that_replaces_a_text_is_that_of_the_new_one(tx):
    remember(tx, LONG, embedding="[1,0,0]")
    said(tx, LONG + " early", embedding=NEAR)
    stored = "SELECT embedding::text FROM memoir.trace WHERE active"
    assert value(tx, stored).startswith("[0.99")


@pytest.mark.parametrize("other", [{"kind": "task"}, {"user_id": "ada"}, {"turn": 3}])
def test_only_memories_of_the_user_and_kind_that_are_no_turns_are_alike(tx, other):
    remember(tx, "tea is green")
    assert said(tx, "Tea is green!", **other).action == "ADD"


def test_turns_that_say_the_same_are_all_kept(tx):
    for turn in range(3):
        assert said(tx, "yes, tea!", kind="turn", session_id="s", turn=turn).action == "ADD"


@pytest.mark.parametrize("vector", [None, "[1,0,0]"])
def test_a_duplicate_is_found_beside_what_differs_by_a_sign(tx, vector):
    remember(tx, "Ann's blood type is A-", embedding=vector, session_id="a")
    second = remember(tx, "Ann's blood type is A+", session_id="b")
    done = said(tx, "Ann's blood type is A+", embedding=vector, session_id="c")
    assert (done.action, done.memory_id) == ("NOOP", second)


def test_a_duplicate_is_found_behind_many_memories_of_the_same_word(tx):
    first = remember(tx, "Gudrun grows saffron in Ålesund")
    remember_all(tx, [f"Gudrun calls number {n}" for n in range(60)])
    assert said(tx, "gudrun grows saffron in Ålesund!").memory_id == first


def test_with_consolidate_off_near_duplicates_stand_side_by_side(tx):
    set_to(tx, consolidate=False)
    remember(tx, "tea is green")
    assert said(tx, "Tea is green!").action == "ADD"
    assert said(tx, "tea is green").action == "NOOP"


def test_tags_and_sources_go_to_the_memory_that_stays(tx):
    turn = remember(tx, "I say: tea is green", "turn", session_id="s", turn=0)
    first = remember(tx, "tea is green")
    said(tx, "Tea is green!", keywords=["drinks"], sources=[turn])
    assert value(tx, "SELECT memory_id FROM memoir.keyword WHERE keyword = 'drinks'") == first
    assert value(tx, "SELECT from_id FROM memoir.relation WHERE type = 'derived_from'") == first


def test_the_same_text_with_other_data_changes_the_data(tx):
    goal = {"title": "Tea", "status": "in_progress", "progress": 40}
    first = remember(tx, "grow tea", "okr", data=goal)
    done = said(tx, "grow tea", kind="okr", data={**goal, "progress": 60})
    assert (done.action, done.memory_id) == ("UPDATE", first)
    assert "60%" in recall(tx, "what now?", mode="plan").block


@pytest.mark.parametrize("text", ["tea is green", "Tea is green!"])
@pytest.mark.parametrize(
    ("told", "becomes"),
    [
        ({"importance": 0.9}, (0.9, 1, {"a": 1})),
        ({"confidence": 0.1}, (0.4, 0.1, {"a": 1})),
        ({"data": {"a": 1, "b": None}}, (0.4, 1, {"a": 1, "b": None})),
    ],
    ids=["importance", "confidence", "data"],
)
def test_the_same_again_with_other_values_changes_them_and_can_be_undone(tx, text, told, becomes):
    values = "SELECT ROW(importance, confidence, data) FROM memoir.memory"
    first = remember(tx, "tea is green", importance=0.4, data={"a": 1})
    before = value(tx, values)
    again = said(tx, text, **told)
    assert (again.action, again.memory_id) == ("UPDATE", first)
    assert value(
        tx, "SELECT jsonb_build_array(importance, confidence, data) FROM memoir.memory"
    ) == list(becomes)
    call(tx, "undo", memory_id=first)
    assert value(tx, values) == before


def test_the_same_again_with_nothing_told_leaves_what_it_has(tx):
    remember(tx, "tea is green", importance=0.9, confidence=0.3, data={"a": 1})
    assert said(tx, "tea is green").action == "NOOP"
    assert said(tx, "tea is green", importance=0.9, confidence=0.3).action == "NOOP"
    assert value(tx, "SELECT (importance, confidence) = (.9, .3) FROM memoir.memory")


def test_what_a_model_thinks_of_it_when_it_says_it_again_changes_nothing(tx):
    remember(tx, "tea is green", importance=0.9)
    for text in ("tea is green", "Tea is green!"):
        assert said(tx, text, importance=0.4, confidence=0.2, source="model").action == "NOOP"


def test_a_batch_meets_its_own_duplicates(tx):
    memories = [{"content": c, "kind": "fact"} for c in ("tea is green", "Tea is green!", "milk")]
    rows = call(tx, "remember_many", memories=Jsonb(memories))
    assert [r.action for r in rows] == ["ADD", "NOOP", "ADD"]
    assert rows[1].memory_id == rows[0].memory_id


def test_a_batch_that_gives_a_memory_another_text_says_its_old_one_again(tx):
    old = "the gateway answers on port 8443 for clients of the network in the evening hours"
    id_ = remember(tx, old)
    memories = [{"content": c, "kind": "fact"} for c in (f"{old} only", old, f"{old} only")]
    rows = call(tx, "remember_many", memories=Jsonb(memories))
    assert [(r.action, r.memory_id) for r in rows] == [
        ("UPDATE", id_),
        ("NOOP", id_),
        ("NOOP", id_),
    ]
    assert tx.execute("SELECT content FROM memoir.memory").fetchall() == [(f"{old} only",)]


def test_a_near_duplicate_that_is_refused_leaves_nothing(tx):
    remember(tx, "tea is green")
    before = value(tx, "SELECT count(*) FROM memoir.revision")
    refused(tx, "remember", content="Tea is green!", kind="fact", importance=2.0)
    assert value(tx, "SELECT count(*) FROM memoir.revision") == before


def test_the_search_reads_few_rows_of_many_before_anything_was_analyzed(db):
    rows = [{"content": f"gateway note number {n}", "kind": "fact"} for n in range(2000)]
    read = """SELECT sum(idx_tup_fetch) FROM pg_stat_xact_user_tables
              WHERE schemaname = 'memoir' AND relname IN ('keyword', 'trace', 'memory')"""
    with db.transaction():
        call(db, "remember_many", memories=Jsonb(rows))
        for planned_anew in (False, True):
            if planned_anew:
                db.execute("DISCARD PLANS")
            before = value(db, read)
            said(db, f"gateway note of quite another number, {planned_anew}")
            assert value(db, read) - before < 200
