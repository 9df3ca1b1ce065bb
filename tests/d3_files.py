"""The files of D3 as its document quotes them, generated ones, and the calls about them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import psycopg
from hypothesis import strategies as st
from tests.rows import call, value

Json = dict[str, Any]

# D3 2.1 and 2.2.
MEMORY: Json = json.loads("""
{
  "version": 2,
  "last_updated": "2026-02-21T10:30:00Z",
  "rolling_summary": "用户是一名 Python 开发者，偏好简洁代码风格，使用 Windows 系统...",
  "memories": [
    {
      "id": "a1b2c3d4",
      "category": "preferences",
      "content": "用户偏好东方航空，尤其是早班机",
      "salience": 0.85,
      "created_at": "2026-02-21T10:30:00Z",
      "last_accessed": "2026-02-21T14:00:00Z",
      "access_count": 3,
      "source": "user_explicit"
    },
    {
      "id": "e5f6g7h8",
      "category": "procedural",
      "content": "fetch_url 工具对动态渲染网页（如 React/Vue SPA）无效",
      "salience": 0.9,
      "created_at": "2026-02-20T15:20:00Z",
      "last_accessed": "2026-02-21T09:00:00Z",
      "access_count": 5,
      "source": "auto_reflection",
      "context": {
        "tool": "fetch_url",
        "error_type": "dynamic_content",
        "learned_from": "session_abc123"
      }
    }
  ]
}
""")
LOG: Json = json.loads("""
{
  "date": "2026-02-21",
  "entries": [
    {
      "time": "14:30:00",
      "type": "event",
      "content": "完成了项目 API 文档编写"
    },
    {
      "time": "15:45:00",
      "type": "auto_extract",
      "content": "用户喜欢在下午3点开会",
      "category": "preferences"
    },
    {
      "time": "16:20:00",
      "type": "reflection",
      "content": "fetch_url 对 https://example.com 失败，该站点是 React SPA",
      "tool": "fetch_url",
      "error": "empty_content"
    }
  ],
  "summary": null,
  "archived": false
}
""")
# What the agent of D3 began its MEMORY.md and its logs with, filled by it and by hand.
MEMORY_MD = """\
# MEMORY - 长期记忆

> 此文件由 Agent 自动维护，用户也可以手动编辑。

## 用户偏好
- [2026-02-14][0a1b2c3d] 优先推荐东方航空
- [2026-02-15 09:30] 回答用中文

## 重要事实
_（暂无记录）_

## 任务备忘
- [ ] 给 API 写文档
- [x] [2026-02-13] 升级 PostgreSQL

## 反思日志
- 先看日志，
  再猜原因
"""
LOG_MD = """\
# Daily Log - 2026-02-20

- [14:30] 完成了文档
- [15:45] [auto] [preferences] 用户喜欢在下午3点开会
- 没有时间的一条
"""

# No half surrogates and no NUL, which JSON can say and a database cannot store.
_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t中🍵"))
_SAID = _TEXTS.filter(lambda text: any(c.isalpha() for c in text))
_EXTRAS = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2026, 1, 1)).map(datetime.isoformat)
_CATEGORIES = st.sampled_from(
    ["preferences", "facts", "tasks", "reflections", "procedural", "general"]
)


def _object(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Json]:
    """Objects with these fields, some of them left out, others added, in any order."""
    known = {*required, *optional}
    extras = st.dictionaries(_TEXTS.filter(lambda key: key not in known), _EXTRAS, max_size=2)
    fields = st.fixed_dictionaries(required, optional=optional)
    pairs = st.tuples(fields, extras).flatmap(
        lambda both: st.permutations([*both[0].items(), *both[1].items()])
    )
    return pairs.map(dict)


_ENTRIES = _object(
    {"id": st.uuids().map(lambda key: key.hex[:8]), "category": _CATEGORIES, "content": _SAID},
    {
        "salience": st.floats(0, 1).map(lambda share: round(share, 3)),
        "created_at": _TIMES,
        "last_accessed": _TIMES,
        "access_count": st.integers(0, 99),
        "source": st.sampled_from(["user_explicit", "auto_reflection", "migration"]),
        "context": st.dictionaries(_TEXTS, _EXTRAS, max_size=3),
    },
)
MEMORIES = _object(
    {
        "version": st.just(2),
        "memories": st.lists(_ENTRIES, max_size=5, unique_by=lambda entry: entry["id"]),
    },
    {"last_updated": _TIMES, "rolling_summary": _TEXTS},
)
_LOGGED = _object(
    {
        "time": st.times().map(lambda at: at.isoformat("seconds")),
        "type": st.sampled_from(["event", "auto_extract", "reflection"]),
        "content": _SAID,
    },
    {"category": _CATEGORIES, "tool": _TEXTS, "error": _TEXTS},
)
LOGS = _object(
    {"date": st.just("2026-02-21"), "entries": st.lists(_LOGGED, max_size=5)},
    {"summary": st.none() | _TEXTS, "archived": st.booleans()},
)


def text(document: Any) -> str:
    """A document as D3's agent writes it."""
    return json.dumps(document, ensure_ascii=False, indent=2)


def take(conn: psycopg.Connection, document: Any, **more: Any) -> list[Any]:
    """Import memory.json; a row an entry."""
    given = document if isinstance(document, str) else text(document)
    return call(conn, "import_memory_json", document=given, **more)


def take_log(conn: psycopg.Connection, document: Any, **more: Any) -> list[Any]:
    """Import the log of a day; a row an entry."""
    given = document if isinstance(document, str) else text(document)
    return call(conn, "import_day_log", document=given, **more)


def actions(rows: list[Any]) -> list[str]:
    """What became of each entry."""
    return [row.action for row in rows]


def printed(conn: psycopg.Connection, user: str = "default") -> str:
    """The memories of a user as memory.json."""
    return value(conn, "SELECT memoir.export_memory_json(%s)", user)


def printed_log(conn: psycopg.Connection, day: str = "2026-02-21", zone: str = "UTC") -> str:
    """The log of a day."""
    return value(conn, "SELECT memoir.export_day_log(%s, NULL, %s)", day, zone)
