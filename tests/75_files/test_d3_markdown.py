"""MEMORY.md and logs/*.md of D3's first version: what is read in them, and that it is read once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.d3_files import (
    LOG,
    LOG_MD,
    MEMORY,
    MEMORY_MD,
    actions,
    printed,
    printed_log,
    take,
    take_log,
    text,
)
from tests.rows import call, calls_made, refused, row_counts, value, working_at_most

AT = "2026-03-01T00:00:00Z"


def items(conn: Any, markdown: str) -> list[tuple[str, str]]:
    """The deepest heading and the text of every item."""
    rows = conn.execute("SELECT headings, content FROM memoir._old_items(%s)", (markdown,))
    return [(headings[-1] if headings else "", content) for headings, content in rows]


def migrate(conn: Any, markdown: str, **more: Any) -> list[dict[str, Any]]:
    """Take MEMORY.md into memory; the entries of the exported file."""
    call(conn, "migrate_memory_md", document=markdown, at=AT, **more)
    return json.loads(printed(conn))["memories"]


def one(conn: Any, line: str) -> dict[str, Any]:
    """The entry that one line of MEMORY.md becomes."""
    (entry,) = migrate(conn, line)
    return entry


def test_the_file_of_the_agent_becomes_memories(tx):
    entries = migrate(tx, MEMORY_MD)
    assert [(e["id"], e["category"], e["content"], e["created_at"]) for e in entries] == [
        ("0a1b2c3d", "preferences", "优先推荐东方航空", "2026-02-14T00:00:00"),
        ("7b59c8bd", "preferences", "回答用中文", "2026-02-15T09:30:00"),
        ("4354cb9b", "tasks", "给 API 写文档", AT),
        ("d9bbb113", "tasks", "升级 PostgreSQL", "2026-02-13T00:00:00"),
        ("0d8a6169", "reflections", "先看日志，\n再猜原因", AT),
    ]
    assert [e.get("done") for e in entries] == [None, None, False, True, None]
    assert {e["source"] for e in entries} == {"migration"}


def test_a_line_that_stands_there_often_is_an_entry_each_time(tx):
    with working_at_most(tx, 3):  # each from the first one on took 9 s
        found = value(tx, "SELECT memoir._convert_memory_md(%s, now())", "- tea\n" * 800)
    assert len({entry["id"] for entry in found}) == 800


def test_migrating_twice_changes_nothing(tx):
    migrate(tx, MEMORY_MD)
    before = row_counts(tx)
    assert set(actions(call(tx, "migrate_memory_md", document=MEMORY_MD, at=AT))) == {"NOOP"}
    assert row_counts(tx) == before


def test_what_is_known_by_its_id_is_left_alone(tx):
    take(tx, MEMORY)
    older = "- [2026-02-01][a1b2c3d4] 用户偏好国航\n- [2026-02-02] 新的一条"
    done = call(tx, "migrate_memory_md", document=older)
    assert [(row.action, row.reason) for row in done] == [
        ("ADD", "new"),
        ("NOOP", "an entry has this id already"),
    ]
    entries = json.loads(printed(tx))["memories"]
    assert entries[:2] == MEMORY["memories"]
    assert entries[2]["content"] == "新的一条"


def test_a_dry_run_changes_nothing(tx):
    before = row_counts(tx)
    done = call(tx, "migrate_memory_md", document=MEMORY_MD, dry_run=True)
    assert actions(done) == ["ADD"] * 5
    assert row_counts(tx) == before


def test_an_item_is_a_list_item_or_a_paragraph(tx):
    markdown = """\
---
title: notes
---
# Memory
> a remark about the file

A paragraph
of two lines.

<!-- hidden
- this, too -->
## Facts
* one
  - nested
    deeper

  its second paragraph
1. two
> a quote belongs to it
---
## Tasks
_(none)_
"""
    assert items(tx, markdown) == [
        ("Memory", "A paragraph\nof two lines."),
        ("Facts", "one\n- nested\ndeeper\n\nits second paragraph"),
        ("Facts", "two\n> a quote belongs to it"),
    ]


def test_a_list_may_be_set_in_from_the_margin(tx):
    markdown = (
        "## Facts\n\n  * one\n    * nested\n  * two\nand more\n  * three\n\n## Tasks\n- a\n  - b"
    )
    assert items(tx, markdown) == [
        ("Facts", "one\n* nested"),
        ("Facts", "two\nand more"),
        ("Facts", "three"),
        ("Tasks", "a\n- b"),
    ]


def test_code_is_part_of_its_item(tx):
    markdown = "- run\n\n```sh\n# no heading\n- no item\n```\n- next"
    assert items(tx, markdown) == [
        ("", "run\n\n```sh\n# no heading\n- no item\n```"),
        ("", "next"),
    ]


def test_line_ends_of_windows_and_a_byte_order_mark_do_not_matter(tx):
    assert items(tx, "\ufeff" + MEMORY_MD.replace("\n", "\r\n")) == items(tx, MEMORY_MD)


@pytest.mark.parametrize(
    ("heading", "category", "remark"),
    [
        ("## 用户偏好", "preferences", None),
        ("## 偏好", "preferences", None),
        ("## 習慣", "preferences", None),
        ("## 待辦事項", "tasks", None),
        ("## 經驗教訓", "reflections", None),
        ("### Key Facts", "facts", "Key Facts"),
        ("# TASKS", "tasks", None),
        ("## ⭐ 重要事实", "facts", None),
        ("## 反思总结", "reflections", None),
        ("## 工具经验", "procedural", None),
        ("## How to", "procedural", None),
        ("## Project X", "general", "Project X"),
        ("## 其他", "general", None),
    ],
)
def test_a_heading_names_the_category(tx, heading, category, remark):
    entry = one(tx, f"{heading}\n- something")
    assert (entry["category"], entry.get("heading")) == (category, remark)


@pytest.mark.parametrize(
    ("line", "content", "created_at"),
    [
        ("- [2026-02-21] tea", "tea", "2026-02-21T00:00:00"),
        ("- [2026-02-21 9:05] tea", "tea", "2026-02-21T09:05:00"),
        ("- [2026-02-21T09:05:30] tea", "tea", "2026-02-21T09:05:30"),
        ("- (2026/2/1) tea", "tea", "2026-02-01T00:00:00"),
        ("- **2026-02-21**: tea", "tea", "2026-02-21T00:00:00"),
        ("- 2026年2月21日：喝茶", "喝茶", "2026-02-21T00:00:00"),
        ("- 2026-02-21 is the day", "2026-02-21 is the day", AT),
        ("- [2026-02-30] no day", "[2026-02-30] no day", AT),
    ],
)
def test_a_date_before_a_text_is_its_time(tx, line, content, created_at):
    entry = one(tx, line)
    assert (entry["content"], entry["created_at"]) == (content, created_at)


def test_equal_lines_get_ids_of_their_own(tx):
    entries = migrate(tx, "- [2026-02-21] tea\n- [2026-02-21] tea\n- [2026-02-21][aaaaaaaa] x")
    assert [entry["content"] for entry in entries] == ["tea", "tea", "x"]
    assert len({entry["id"] for entry in entries}) == 3


def test_a_file_with_nothing_in_it_is_nothing(tx):
    assert migrate(tx, "# MEMORY\n\n## 用户偏好\n_（暂无记录）_\n") == []


def test_a_time_that_has_not_come_is_refused(tx):
    told = refused(tx, "migrate_memory_md", document="- tea", at="2999-01-01")
    assert told.sqlstate == "ME011"


def test_a_log_becomes_entries(tx):
    call(tx, "migrate_day_log_md", day="2026-02-20", document=LOG_MD)
    assert json.loads(printed_log(tx, "2026-02-20")) == {
        "date": "2026-02-20",
        "entries": [
            {"time": "14:30:00", "type": "event", "content": "完成了文档"},
            {
                "time": "15:45:00",
                "type": "auto_extract",
                "content": "用户喜欢在下午3点开会",
                "category": "preferences",
            },
            {"time": "15:45:00", "type": "event", "content": "没有时间的一条"},
        ],
        "summary": None,
        "archived": False,
    }


def test_a_log_is_migrated_once(tx):
    call(tx, "migrate_day_log_md", day="2026-02-20", document=LOG_MD)
    before = row_counts(tx)
    again = call(tx, "migrate_day_log_md", day="2026-02-20", document=LOG_MD)
    assert actions(again) == ["NOOP"] * 3
    assert row_counts(tx) == before


def test_the_items_of_a_log_are_read_once(tx):
    markdown = "\n".join(f"- [14:30] tea {n}" for n in range(20))
    migrate_log = f"SELECT memoir.migrate_day_log_md('2026-02-20', '{markdown}')"
    assert calls_made(tx, "_kind_of_heading", migrate_log) == 20


def test_a_log_that_has_a_newer_form_keeps_it(tx):
    document = LOG | {"summary": "一天", "archived": True}
    take_log(tx, document)
    call(tx, "migrate_day_log_md", day=LOG["date"], document="- [14:30] 完成了项目 API 文档编写")
    assert printed_log(tx) == text(document)


@pytest.mark.parametrize(
    ("markdown", "time", "content"),
    [
        ("- [9:05:30] tea", "09:05:30", "tea"),
        ("- 14:30 tea", "14:30:00", "tea"),
        ("**14:30** - tea", "14:30:00", "tea"),
        ("## 14:30 会议\n喝茶", "14:30:00", "喝茶"),
        ("- tea at 14:30", "00:00:00", "tea at 14:30"),
        ("- [auto] [mood] tea", "00:00:00", "[mood] tea"),
    ],
)
def test_a_time_before_an_entry_is_its_time(tx, markdown, time, content):
    call(tx, "migrate_day_log_md", day="2026-02-20", document=markdown)
    (entry,) = json.loads(printed_log(tx, "2026-02-20"))["entries"]
    assert (entry["time"], entry["content"]) == (time, content)
