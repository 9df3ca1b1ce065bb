"""Questions that ask when, texts that say when, and texts that are questions."""

from __future__ import annotations

import pytest
from tests.rows import value, working_at_most

ASKS_WHEN = [
    "When did Caroline go to the support group?",
    "when's the deadline",
    "Do you remember when she moved?",
    "And when?",
    "When Jon has lost his job?",
    "What date was the concert?",
    "Which year did John start surfing?",
    "In which month did they meet?",
    "What is the exact date of the release?",
    "How long ago was the accident?",
    "How many weeks ago did we talk?",
    "Since when does he smoke?",
    "What time is it?",
    "我们什么时候开会？",
    "何时上线",
    "哪天去的",
    "哪一年毕业的",
    "会议是几号",
    "生日是哪个月",
    "多久以前的事",
    "什麼時候開會",
    "是哪個週末",
    "幾個月前搬家的",
    "会議はいつですか",
    "何曜日に会いましたか",
    "회의는 언제예요?",
    "며칠에 만났어요",
]
ASKS_SOMETHING_ELSE = [
    "",
    "What did I eat when I was in Paris?",
    "When I was in Paris, what did I eat?",
    "What does Maria like?",
    "Whenever it rains",
    "How long has she painted?",
    "How many weeks does it take?",
    "What day-to-day tasks are there?",
    "Which time zone is it?",
    "喜欢什么颜色",
    "哪里",
    "几年级",
    "几个人",
    "幾年級",
    "いつも何を食べますか",
    "몇 시간 걸려요",
]
SAYS_WHEN = [
    "I went there yesterday.",
    "See you tomorrow!",
    "Last week was hard",
    "next Friday",
    "We met on Tuesday",
    "It was two years ago",
    "since 2019",
    "back in May",
    "on May 8th",
    "8 Aug works",
    "July was hot",
    "in three weeks",
    "born 1984",
    "2023-05-08",
    "5/8/2023",
    "the last few days",
    "in the summer",
    "昨天去了",
    "上周开会",
    "5月8日生日",
    "三天前",
    "2023年",
    "周五见",
    "去年夏天",
    "上個月去了",
    "後天出發",
    "三個小時後",
    "國慶節去了杭州",
    "春节在老家",
    "先週引っ越した",
    "来月から働く",
    "金曜日に会う",
    "어제 만났다",
    "지난주에 이사했다",
    "이사는 지난\n주에 했다",
    "搬家是 3\n天前",
    "2023년 5월에 태어났다",
]
SAYS_NO_TIME = [
    "",
    "I like tea.",
    "That may be",
    "They march on",
    "Port 54321 is open",
    "April likes June",
    "at last",
    "agony",
    "我喜欢喝茶",
    "三个人",
    "五年级",
    "五年級",
]
TIMES = """yesterday today tonight tomorrow nowadays weekend ago monday tuesday wednesday thursday
    friday saturday sunday january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec night day week month quarter
    year spring summer autumn fall winter morning afternoon evening 1999 2023 5/8/23"""
PHRASES = ["{}", "({}s!)", "in {}", "last {}", "the next two {}s", "in-{}", "5th of {}", "{} 5"]
QUESTIONS = [
    "Do you like tea?",
    "Really? ",
    'She said "why?"',
    "(why?)",
    "**why?**",
    "Tea? 😀🎉",
    "Heart? ❤️",
    "Why?!",
    "你喜欢茶吗",
    "你喜欢茶吗。",
    "他人呢！",
    "真的？",
    "为什么？”",
]
STATEMENTS = [
    "",
    "I like tea.",
    "Why? Because.",
    "What a day!",
    "我喜欢茶",
    "吗啡是药",
    "a?b",
]


def flag(conn, function, text):
    return value(conn, f"SELECT memoir.{function}(%s)", text)


def test_it_asks_when(tx):
    assert [text for text in ASKS_WHEN if not flag(tx, "_asks_when", text)] == []


def test_it_asks_something_else(tx):
    assert [text for text in ASKS_SOMETHING_ELSE if flag(tx, "_asks_when", text)] == []


def test_it_says_when(tx):
    assert [text for text in SAYS_WHEN if not flag(tx, "_has_time_word", text)] == []


def test_it_says_no_time(tx):
    assert [text for text in SAYS_NO_TIME if flag(tx, "_has_time_word", text)] == []


def test_a_memory_is_looked_through_for_a_time_wherever_there_may_be_one(tx):
    texts = [phrase.format(word) for word in TIMES.split() for phrase in PHRASES]
    missed = tx.execute(
        "SELECT t FROM unnest(%s::text[]) AS t, memoir._word_vector(t, t, '') AS w"
        " WHERE memoir._has_time_word(t)"
        " AND w.terms <#> memoir._term_set('{}', ARRAY[memoir._feature('when')]) = 0",
        (texts + SAYS_WHEN,),
    )
    assert missed.fetchall() == []


def test_it_is_a_question(tx):
    assert [text for text in QUESTIONS if not flag(tx, "_is_question", text)] == []


def test_it_is_a_statement(tx):
    assert [text for text in STATEMENTS if flag(tx, "_is_question", text)] == []


@pytest.mark.parametrize("piece", ["?", "? ", "when ", "what ", "in the ", "5月", "月", "9", "吗"])
@pytest.mark.parametrize("function", ["_asks_when", "_has_time_word", "_is_question"])
def test_a_hundred_thousand_characters_are_answered_within_five_seconds(tx, function, piece):
    with working_at_most(tx, 5):
        assert flag(tx, function, (piece * 100_000)[:100_000] + "x") in {True, False}
