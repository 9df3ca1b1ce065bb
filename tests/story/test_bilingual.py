"""100 questions in two languages, half of them about memories in the other one, with no model.

The questions were written before the synonyms were looked at; a miss is mended by vocabulary that
would serve anyone, or it stays a miss.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.rows import call, explain, recall, remember, store

SET = json.loads(Path(__file__).with_name("bilingual.json").read_text(encoding="utf-8"))
TRANSLATED = json.loads(Path(__file__).with_name("translated.json").read_text(encoding="utf-8"))


def misses(conn, mode):
    """Questions whose memory is not among the first three recalled, with what came instead."""
    memories = SET["memories"]
    numbers = store(conn, ({"content": m["text"], "kind": m["kind"]} for m in memories))
    ids = dict(zip((m["id"] for m in memories), numbers, strict=True))
    call(conn, "refresh_statistics")
    names = {number: name for name, number in ids.items()}
    missed = []
    for question in SET["questions"]:
        first = recall(conn, question["ask"], mode=mode, budget=4000).memory_ids[:3]
        if ids[question["finds"]] not in first:
            missed.append(
                (
                    question["cross"],
                    question["ask"],
                    question["finds"],
                    [names[number] for number in first],
                )
            )
    return missed


def test_the_set_is_100_questions_half_of_them_across_languages():
    assert len(SET["memories"]) >= 60
    assert [len(SET["questions"]), sum(q["cross"] for q in SET["questions"])] == [100, 50]


@pytest.mark.parametrize("mode", ["execute", "chat"])
def test_80_of_100_questions_find_their_memory_among_the_first_three(tx, mode):
    missed = misses(tx, mode)
    across = [each for each in missed if each[0]]
    assert len(missed) <= 20, missed
    assert len(across) <= 12, across


def test_four_of_five_questions_in_the_other_language_find_their_memory_among_the_first_three(tx):
    """Memories and questions of every day and of work; with 1,330 pairs 28 of the 60 did."""
    memories = store(tx, ({"content": content} for content, _ in TRANSLATED))
    missed = [
        question
        for (_, question), memory in zip(TRANSLATED, memories, strict=True)
        if memory not in recall(tx, question).memory_ids[:3]
    ]
    assert len(missed) <= len(TRANSLATED) // 5, missed


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("我家猫的名字", "养了一只橘色的猫，叫咪咪"),
        ("药几点吃", "晚饭后要吃一片降压药"),
        ("谁欠我钱", "去年借给李四三千块钱，还没还"),
        ("我妻子叫什么？", "老婆叫赵六"),
        ("礼拜三几点开例会", "每周三十点是周会"),
        ("他住哪个宾馆", "订的酒店在静安寺"),
        ("母亲的电话号码", "妈妈的手机尾号是四四三二"),
    ],
)
def test_everyday_words_of_chinese_find_each_other(tx, question, content):
    memory = remember(tx, content)
    assert recall(tx, question).memory_ids == [memory]


def test_a_synonym_of_two_characters_is_not_one_of_them(tx):
    remember(tx, "对手在训练")
    phone = remember(tx, "手机没电了")
    assert recall(tx, "phone").memory_ids == [phone]
    (row,) = [row for row in explain(tx, "phone") if row.memory_id == phone]
    assert row.matched == ["phone → 手机"]


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("辦公室的地址", "办公室的地址是望京街 10 号"),
        ("办公室的地址", "辦公室的地址是信義路五段"),
        ("資料庫在哪台伺服器上", "数据库部署在三号服务器"),
        ("默认浏览器", "預設的瀏覽器是 Firefox"),
        ("伺服器逾時", "the server timeout is 30 s"),
        ("搭捷運上班", "他每天坐地铁去公司"),
    ],
)
def test_words_of_taiwan_find_those_of_the_mainland_and_english(tx, question, content):
    memory = remember(tx, content)
    remember(tx, "周末去爬山，带上相机和水")
    remember(tx, "She paints in the evening")
    assert recall(tx, question).memory_ids[0] == memory


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("What is her favorite color?", "Her favourite colour is green"),
        ("the behaviour of the cache", "The behavior of the cache is lazy"),
        ("Which wifi password is new?", "The Wi-Fi has a new password"),
        ("who is oncall", "Ken is on-call until Friday"),
        ("Where is my tshirt?", "The T-shirt is in the wash"),
        ("his x-ray", "The xray was fine"),
        ("sha256 of the file", "It has a SHA-256"),
    ],
)
def test_other_spellings_of_english_find_each_other(tx, question, content):
    memory = remember(tx, content)
    (row,) = [row for row in explain(tx, question) if row.memory_id == memory]
    assert any(" → " in word for word in row.matched)
    assert row.reason == "in block"


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("膝盖怎么了？", "My knee hurts when I climb stairs"),
        ("裁员之后收入怎么样", "My income dropped after the layoff"),
        ("what are the curtains made of", "我们家的窗帘是亚麻的"),
        ("is he an introvert?", "我觉得他的性格很内向"),
        ("25 people", "We hired twenty-five people"),
        ("twenty-one guests", "Dinner for 21 is booked"),
        ("85,000 EUR", "Her salary is 85k"),
        ("a loan of 2.5M", "They borrowed 2,500,000 from the bank"),
    ],
)
def test_words_of_every_day_and_numbers_find_each_other(tx, question, content):
    memory = remember(tx, content)
    remember(tx, "The gateway was restarted on Monday")
    assert recall(tx, question).memory_ids == [memory]


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("监控面板在哪里", "Grafana dashboards are in folder platform/slo"),
        ("how long until a DNS change takes effect", "域名切换后要等十分钟"),
        ("时钟偏差会怎样", "The clock of the node is off by 30 seconds"),
        ("特性开关清理规则", "Feature flags are removed two weeks after the rollout"),
        ("高峰期做什么", "Never migrate during peak traffic"),
        ("when is maintenance?", "每月第一个周日停机维护"),
        ("撤销发布的命令", "To revert: kubectl rollout undo"),
        ("有哪些命名空间", "Each team has a namespace of its own"),
        ("what is mounted there?", "三号节点挂载了对象存储"),
        ("租户的配额", "A tenant may store 50 GB"),
        ("when is the full rebuild?", "周日全量重建"),
        ("发给财务的附件", "Finance gets the attachment on Mondays"),
        ("where are the minutes?", "会议纪要放在共享盘"),
        ("外键和触发器", "No foreign key and no trigger on this table"),
        ("每个季度做什么", "The contract is renewed every quarter"),
    ],
)
def test_words_of_operations_find_each_other(tx, question, content):
    memory = remember(tx, content)
    remember(tx, "The dentist has moved")
    assert recall(tx, question).memory_ids == [memory]
