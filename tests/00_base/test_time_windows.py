"""The spans of time a question names, in English and Chinese, seen from a Wednesday in 2023."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.rows import value

AT = "2023-11-15 12:00+00"
NOON = "2023-11-15T12"

# Spans as "first day - day after", a single day as itself.
SPANS = [
    ("What happened in May 2023?", "2023-05-01 2023-06-01"),
    ("the trip of May 2023", "2023-05-01 2023-06-01"),
    ("in may of 2023", "2023-05-01 2023-06-01"),
    ("back in early May 2023", "2023-05-01 2023-06-01"),
    ("in Sept. 2023", "2023-09-01 2023-10-01"),
    ("on 8 May, 2023", "2023-05-08"),
    ("on the 8th of May 2023", "2023-05-08"),
    ("May 8th 2023", "2023-05-08"),
    ("December 1,2022", "2022-12-01"),
    ("from May 8-10, 2023", "2023-05-08 2023-05-11"),
    ("2023-05-08", "2023-05-08"),
    ("at 2023-05-08T13:56:00Z exactly", "2023-05-08"),
    ("in 2023-05", "2023-05-01 2023-06-01"),
    ("2023/5/8", "2023-05-08"),
    ("05/08/2023", "2023-05-08"),
    ("25/08/2023", "2023-08-25"),
    ("5/8/23", "2023-05-08"),
    ("29 February 2020", "2020-02-29"),
    ("in 2022", "2022-01-01 2023-01-01"),
    ("the 2022 budget", "2022-01-01 2023-01-01"),
    ("since 2022", f"2022-01-01 {NOON}"),
    ("since last year", f"2022-01-01 {NOON}"),
    ("since December", f"2022-12-01 {NOON}"),
    ("in May last year", "2022-05-01 2022-06-01"),
    ("last May", "2023-05-01 2023-06-01"),
    ("last December", "2022-12-01 2023-01-01"),
    ("between August 11 and August 15 2023", "2023-08-11 2023-08-16"),
    ("from May to July 2022", "2022-05-01 2022-08-01"),
    ("from November to January 2023", "2022-11-01 2023-02-01"),
    ("from 2019 to 2021", "2019-01-01 2022-01-01"),
    ("in June 2022 and in May 2021", "2021-05-01 2021-06-01, 2022-06-01 2022-07-01"),
    ("in 2022, what did we do in June?", "2022-06-01 2022-07-01"),
    ("last summer", "2023-06-01 2023-09-01"),
    ("this fall", "2023-09-01 2023-12-01"),
    ("last winter", "2022-12-01 2023-03-01"),
    ("the summer of 2022", "2022-06-01 2022-09-01"),
    ("in summer 2022", "2022-06-01 2022-09-01"),
    ("in the spring of last year", "2022-03-01 2022-06-01"),
    ("yesterday", "2023-11-14"),
    ("What did I eat last night?", "2023-11-14"),
    ("the day before yesterday", "2023-11-13"),
    ("today", "2023-11-15"),
    ("this morning", "2023-11-15"),
    ("last week", "2023-11-06 2023-11-13"),
    ("this week", "2023-11-13 2023-11-20"),
    ("last weekend", "2023-11-11 2023-11-13"),
    ("last month", "2023-10-01 2023-11-01"),
    ("this month", "2023-11-01 2023-12-01"),
    ("last quarter", "2023-07-01 2023-10-01"),
    ("last year", "2022-01-01 2023-01-01"),
    ("this year", "2023-01-01 2024-01-01"),
    ("last Friday", "2023-11-10"),
    ("last Wednesday", "2023-11-08"),
    ("what we said on Wednesday", "2023-11-15"),
    ("this Friday", "2023-11-17"),
    ("two days ago", "2023-11-13"),
    ("2 weeks ago", "2023-10-30 2023-11-06"),
    ("a week ago", "2023-11-06 2023-11-13"),
    ("a couple of weeks ago", "2023-10-30 2023-11-06"),
    ("a few weeks ago", "2023-10-02 2023-11-06"),
    ("three months ago", "2023-08-01 2023-09-01"),
    ("4 years ago", "2019-01-01 2020-01-01"),
    ("an hour ago", "2023-11-15T11 2023-11-15T12"),
    ("in the past 3 days", f"2023-11-12 {NOON}"),
    ("over the last two weeks", f"2023-11-01 {NOON}"),
    ("over the past month", f"2023-10-15 {NOON}"),
    ("2023年5月发生了什么", "2023-05-01 2023-06-01"),
    ("２０２３年５月", "2023-05-01 2023-06-01"),
    ("2023 年 5 月 8 日", "2023-05-08"),
    ("二〇二三年五月十八日", "2023-05-18"),
    ("23年5月", "2023-05-01 2023-06-01"),
    ("2022年", "2022-01-01 2023-01-01"),
    ("2022年以来", f"2022-01-01 {NOON}"),
    ("从2022年5月到7月", "2022-05-01 2022-08-01"),
    ("昨天", "2023-11-14"),
    ("前天说的", "2023-11-13"),
    ("大前天", "2023-11-12"),
    ("今天", "2023-11-15"),
    ("上周", "2023-11-06 2023-11-13"),
    ("上星期", "2023-11-06 2023-11-13"),
    ("上上周", "2023-10-30 2023-11-06"),
    ("上周末", "2023-11-11 2023-11-13"),
    ("上周五", "2023-11-10"),
    ("上周日", "2023-11-12"),
    ("周五", "2023-11-10"),
    ("本周五", "2023-11-17"),
    ("这个星期", "2023-11-13 2023-11-20"),
    ("上个月", "2023-10-01 2023-11-01"),
    ("去年", "2022-01-01 2023-01-01"),
    ("前年", "2021-01-01 2022-01-01"),
    ("今年", "2023-01-01 2024-01-01"),
    ("去年夏天", "2022-06-01 2022-09-01"),
    ("去年的五月", "2022-05-01 2022-06-01"),
    ("三天前", "2023-11-12"),
    ("三天以前", "2023-11-12"),
    ("两周前", "2023-10-30 2023-11-06"),
    ("三个月以前", "2023-08-01 2023-09-01"),
    ("几天前", "2023-11-09 2023-11-14"),
    ("过去三天", f"2023-11-12 {NOON}"),
    ("最近两周", f"2023-11-01 {NOON}"),
    ("上週五", "2023-11-10"),
    ("上個禮拜", "2023-11-06 2023-11-13"),
    ("三個月前", "2023-08-01 2023-09-01"),
    ("這兩天", f"2023-11-13 {NOON}"),
    ("過去幾小時前", "2023-11-15T06 2023-11-15T11"),
    ("half a year ago", "2023-05-01 2023-06-01"),
    ("半年前", "2023-05-01 2023-06-01"),
    ("近半年", f"2023-05-15 {NOON}"),
    ("你前几天说的", "2023-11-09 2023-11-14"),
    ("前兩天", f"2023-11-13 {NOON}"),
    ("上一周", "2023-11-06 2023-11-13"),
    ("上一季度", "2023-07-01 2023-10-01"),
    ("2022年第三季度", "2022-07-01 2022-10-01"),
    ("去年Q4", "2022-10-01 2023-01-01"),
    ("今年上半年", "2023-01-01 2023-07-01"),
    ("2022年5月1日-7日", "2022-05-01 2022-05-08"),
    ("2022年5月1到7号", "2022-05-01 2022-05-08"),
    ("去年国庆去了哪里", "2022-10-01 2022-10-08"),
    ("2022年的國慶節", "2022-10-01 2022-10-08"),
    ("今年五一假期", "2023-05-01 2023-05-06"),
    ("去年五一去了哪里", "2022-05-01 2022-05-06"),
    ("今年元旦", "2023-01-01"),
    ("去年双十一买的", "2022-11-11"),
    ("去年圣诞", "2022-12-25"),
    ("去年の夏に", "2022-01-01 2023-01-01"),
    ("先週の金曜日に", "2023-11-10"),
    ("先週末の予定は", "2023-11-11 2023-11-13"),
    ("先月の予算", "2023-10-01 2023-11-01"),
    ("一昨日の会議", "2023-11-13"),
    ("昨年の5月", "2022-05-01 2022-06-01"),
    ("三ヶ月前の出張", "2023-08-01 2023-09-01"),
    ("2週間前に", "2023-10-30 2023-11-06"),
    ("어제 회의", "2023-11-14"),
    ("그저께", "2023-11-13"),
    ("지난주 금요일에", "2023-11-10"),
    ("지난 주말에", "2023-11-11 2023-11-13"),
    ("이번 달 예산", "2023-11-01 2023-12-01"),
    ("작년 5월", "2022-05-01 2022-06-01"),
    ("2022년 5월 8일", "2022-05-08"),
    ("3일 전", "2023-11-12"),
    ("두 달 전에", "2023-09-01 2023-10-01"),
    ("before March 2023", "1900-01-01 2023-03-01"),
    ("what we said before May", "1900-01-01 2023-05-01"),
    ("before last summer", "1900-01-01 2023-06-01"),
    ("before yesterday", "1900-01-01 2023-11-14"),
    ("until May 2022", "1900-01-01 2022-06-01"),
    ("till last week", "1900-01-01 2023-11-13"),
    ("after 2023-05-01", f"2023-05-02 {NOON}"),
    ("after May", f"2023-06-01 {NOON}"),
    ("after last summer", f"2023-09-01 {NOON}"),
    ("after last week", f"2023-11-13 {NOON}"),
    ("since last summer", f"2023-06-01 {NOON}"),
    ("since last week", f"2023-11-06 {NOON}"),
    ("since yesterday", f"2023-11-14 {NOON}"),
    ("since Monday", f"2023-11-13 {NOON}"),
    ("since three weeks ago", f"2023-10-23 {NOON}"),
    ("from March 2022 onwards", f"2022-03-01 {NOON}"),
    ("two weeks before August 11, 2023", "2023-07-28 2023-08-12"),
    ("on the Sunday before 25 October 2022", "2022-10-18 2022-10-26"),
    ("a few days after 2023-05-01", "2023-05-01 2023-05-06"),
    ("May to July 2022", "2022-05-01 2022-08-01"),
    ("May 5 to June 9, 2022", "2022-05-05 2022-06-10"),
    ("May-July 2022", "2022-05-01 2022-08-01"),
    ("2020 to 2022", "2020-01-01 2023-01-01"),
    ("2020-2022", "2020-01-01 2023-01-01"),
    ("the last week of July 2022", "2022-07-01 2022-08-01"),
    ("the week before last", "2023-10-30 2023-11-06"),
    ("the year before last", "2021-01-01 2022-01-01"),
    ("3月之前", "1900-01-01 2023-03-01"),
    ("三月以前", "1900-01-01 2023-03-01"),
    ("5月1日之前", "1900-01-01 2023-05-01"),
    ("去年之前", "1900-01-01 2022-01-01"),
    ("昨天之前", "1900-01-01 2023-11-14"),
    ("到2022年5月为止", "1900-01-01 2022-06-01"),
    ("5月1日之后", f"2023-05-02 {NOON}"),
    ("去年夏天后", f"2022-09-01 {NOON}"),
    ("上个月以来", f"2023-10-01 {NOON}"),
    ("自2022年起", f"2022-01-01 {NOON}"),
    ("从去年开始", f"2022-01-01 {NOON}"),
    ("2022年5月5日前后", "2022-05-05"),
    ("去年的今天", "2022-01-01 2023-01-01"),
    ("大前年", "2020-01-01 2021-01-01"),
    ("三十五天前", "2023-10-11"),
    ("5月以降の予定", f"2023-05-01 {NOON}"),
    ("2022年5月から7月まで", "2022-05-01 2022-08-01"),
    ("昨日までの話", "1900-01-01 2023-11-15"),
    ("2022년 5월부터 7월까지", "2022-05-01 2022-08-01"),
    ("지난주부터", f"2023-11-06 {NOON}"),
]

NO_SPAN = [
    "",
    "What does Maria like to cook?",
    "may I ask something",
    "How may 2 agents share a memory?",
    "This may be the last call",
    "Where did they march on?",
    "What did April say to June about August?",
    "an august day",
    "How did he fall asleep?",
    "Does she use Spring or Express?",
    "a second march second time",
    "recently",
    "at last",
    "When is her birthday?",
    "error 2013 in line 2019",
    "in 2000 users",
    "port 2023-1234",
    "1/2 of 3/4",
    "31 February 2023",
    "2023-02-30",
    "2023年13月",
    "2023年5月40日",
    "in the year 99999",
    "99999年",
    "0 May 2023",
    "next week",
    "下周五开会",
    "每周五开会",
    "五个月的孩子",
    "吃了一月饼",
    "一周一次",
    "用户喜欢什么样的代码风格？",
    "工作了20年",
    "李国庆说了什么",
    "五一路的咖啡馆",
    "第五一三项",
    "圣诞树放在哪里",
    "出发前几天要做什么",
    "前三季度",
    "Q3.1 版本",
    "农历八月十五",
    "2010年代",
    "クリスマスツリーはどこ",
    "1일 1식을 하는 사람은 누구",
    "一百二十三天前",
]

# Months and days without a year: these of the ten years up to now, none in the future.
WITHOUT_YEAR = [
    ("What happened in May?", "05-01", 2014, 2023),
    ("on May 8", "05-08", 2014, 2023),
    ("on Dec 24", "12-24", 2014, 2022),
    ("in December", "12-01", 2014, 2022),
    ("When did she go in the summer?", "06-01", 2014, 2023),
    ("5月8日", "05-08", 2014, 2023),
    ("十二月", "12-01", 2014, 2022),
    ("圣诞节", "12-25", 2014, 2022),
    ("クリスマスに何をした", "12-25", 2014, 2022),
    ("双11", "11-11", 2014, 2023),
]


def windows(conn, question, at=AT):
    conn.execute("SET LOCAL TimeZone = 'UTC'")
    return value(conn, "SELECT memoir._time_windows(%s, %s)", question, at)


def written(text):
    """The ranges of a row of the table."""
    pairs = []
    for span in text.split(", "):
        ends = [datetime.fromisoformat(end).replace(tzinfo=UTC) for end in span.split()]
        pairs.append((ends[0], ends[-1] if len(ends) > 1 else ends[0] + timedelta(days=1)))
    return pairs


@pytest.mark.parametrize(("question", "spans"), SPANS)
def test_a_question_names_these_days(tx, question, spans):
    found = [(span.lower, span.upper) for span in windows(tx, question)]
    assert found == written(spans)


@pytest.mark.parametrize("question", NO_SPAN)
def test_a_question_that_names_no_time_has_no_span(tx, question):
    assert windows(tx, question) is None


@pytest.mark.parametrize(("question", "start", "first", "last"), WITHOUT_YEAR)
def test_without_a_year_it_is_that_of_ten_years(tx, question, start, first, last):
    found = [span.lower.strftime("%Y-%m-%d") for span in windows(tx, question)]
    assert found == [f"{year}-{start}" for year in range(first, last + 1)]


def test_a_day_is_that_of_the_session(tx):
    tx.execute("SET LOCAL TimeZone = 'Asia/Shanghai'")
    asked = "SELECT lower(memoir._time_windows('yesterday', '2023-11-15 20:00+00'))"
    assert value(tx, asked) == datetime(2023, 11, 14, 16, tzinfo=UTC)


@pytest.mark.parametrize("at", ["infinity", "-infinity", "0044-03-15 BC", "9999-12-31", None])
def test_a_now_no_calendar_has_gives_no_span(tx, at):
    assert windows(tx, "last week and in May 2023", at) is None


def test_no_question_names_no_time(tx):
    assert windows(tx, None) is None


@pytest.mark.parametrize(
    "piece",
    ["99 years before 1900 ", "since last may ", "5月之前", "5月から6月", "二十",
     "9", "1 may 2 ", "五月", "2023年13月", "from May to ", "last 999 years ", "999 years ago ",
     "12/12/12", "-", "<", "十", "二〇", "in 2023-13-45 ", "00000000", "this ", "٣ May ", "周"],
)  # fmt: skip
def test_ten_thousand_characters_never_raise(tx, piece):
    windows(tx, (piece * 10_000)[:10_000])
