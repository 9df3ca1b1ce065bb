"""The rows of the registry against the tables and lines of the documents, quoted as they stand."""

from __future__ import annotations

import re

import pytest
from tests.rows import value

D0_MODE_WEIGHTS = """
| source | plan | execute | debug | chat |
|--------|------|---------|-------|------|
| task | 1.0 | 1.2 | 1.0 | 0.8 |
| learning | 0.8 | 1.0 | 1.5 | 0.6 |
| event | 0.5 | 0.8 | 1.5 | 0.3 |
| okr | 1.5 | 0.5 | 0.3 | 1.0 |
"""

D0_LAYERS = """
| 记忆层 | Cecelia 数据源 | 检索方式 | 衰减策略 |
|--------|---------------|---------|---------|
| **语义记忆** (Semantic) | tasks + learnings | 向量搜索 | tasks: 半衰期 30 天, learnings: 90 天 |
| **事件记忆** (Episodic) | cecelia_events | 时间窗口 + type 过滤 | 24h 窗口（debug 模式 72h） |
| **画像配置** (Profile) | goals (OKR) + capabilities + 系统配置 | 直接加载（不搜索） | 不衰减 |
"""

D0_HALF_LIVES = """
| source | HALF_LIFE |
|---|---|
| task | 30 |
| learning | 90 |
| event | 1 |
| okr | Infinity |
| capability | Infinity |
"""

D0_EVENTS = """
  const hours = mode === 'debug' ? 72 : 24;
      AND type IN ('task_failed', 'task_completed', 'alert', 'layer2_health', 'escalation')
    ORDER BY created_at DESC
    LIMIT 10
    relevance: 0.5, // 事件基础分，靠 modeWeight 调节
"""

D0_SELECTION = """
function simpleDedup(scored, threshold = 0.8) {
function mmrRerank(candidates, topK, lambda = 0.7) {
| 搜索结果多样性 | 可能 3 条重复 | top 5 结果两两 Jaccard < 0.8 |
"""

D4_IMPORTANCES = """
| 类型 | 说明 | 示例 | 重要性权重 |
|------|------|------|-----------|
| **偏好** | 用户的主观喜好 | "喜欢TypeScript"、"偏好简洁代码" | 0.9 |
| **事实** | 客观的用户信息 | "正在开发MJ Studio"、"使用Nuxt 4" | 0.8 |
| **教训** | 失败经验和解决方案 | "Docker需要代理才能构建" | 0.85 |
| **目标** | 用户的待办和计划 | "计划添加视频生成功能" | 0.7 |
| **情境** | 临时的上下文信息 | "刚才提到的那个API" | 0.4 |
"""

D4_KINDS = {
    "preference": "偏好",
    "fact": "事实",
    "lesson": "教训",
    "goal": "目标",
    "context": "情境",
}


def table(markdown: str) -> list[list[str]]:
    """The cells of a Markdown table without its rule, header first."""
    rows = [line.strip("| ").split(" | ") for line in markdown.strip().splitlines()]
    return [[cell.strip("* ") for cell in row] for row in rows if not row[0].startswith("--")]


def number(text: str, before: str) -> float:
    """The number that follows some words of a document."""
    return float(re.search(re.escape(before) + r"([\d.]+)", text)[1])


def test_mode_weights_are_those_of_the_document(tx):
    (_, *modes), *rows = table(D0_MODE_WEIGHTS)
    stored = tx.execute("SELECT kind, mode, weight FROM memoir.mode_weight")
    assert {(kind, mode): weight for kind, mode, weight in stored} == {
        (kind, mode): float(weight)
        for kind, *weights in rows
        for mode, weight in zip(modes, weights, strict=True)
    }


def test_half_lives_are_those_of_the_document(tx):
    stored = dict(tx.execute("SELECT name, half_life_days FROM memoir.kind").fetchall())
    for kind, days in table(D0_HALF_LIVES)[1:]:
        assert stored[kind] == (None if days == "Infinity" else float(days)), kind


def test_only_tasks_learnings_and_events_decay(tx):
    decaying = tx.execute("SELECT name FROM memoir.kind WHERE half_life_days IS NOT NULL")
    assert {name for (name,) in decaying} == {"task", "learning", "event"}


def test_half_lives_agree_with_the_table_of_layers(tx):
    stored = dict(tx.execute("SELECT name, half_life_days FROM memoir.kind").fetchall())
    assert stored["task"] == number(D0_LAYERS, "tasks: 半衰期 ")
    assert stored["learning"] == number(D0_LAYERS, "learnings: ")


@pytest.mark.parametrize("kind", D4_KINDS)
def test_importances_are_those_of_the_document(tx, kind):
    by_name = {row[0]: float(row[-1]) for row in table(D4_IMPORTANCES)[1:]}
    stored = value(tx, "SELECT importance FROM memoir.kind WHERE name = %s", kind)
    assert stored == by_name[D4_KINDS[kind]]


def test_events_are_recalled_for_24_hours_and_72_in_debug(tx):
    stored = dict(tx.execute("SELECT name, event_hours FROM memoir.mode").fetchall())
    debug, others = number(D0_EVENTS, "'debug' ? "), number(D0_EVENTS, " : ")
    assert stored == {"plan": others, "execute": others, "debug": debug, "chat": others}


def test_the_recalled_event_types_are_those_of_the_document(tx):
    named = re.findall(r"'(\w+)'", re.search(r"type IN \((.*)\)", D0_EVENTS)[1])
    stored = tx.execute("SELECT event_types FROM memoir.mode").fetchall()
    assert [set(types) for (types,) in stored] == [set(named)] * 4


def test_the_number_and_relevance_of_events_are_those_of_the_document(tx):
    stored = tx.execute("SELECT DISTINCT event_limit, event_relevance FROM memoir.mode").fetchall()
    assert stored == [(number(D0_EVENTS, "LIMIT "), number(D0_EVENTS, "relevance: "))]


def test_selection_numbers_are_those_of_the_document(tx):
    stored = tx.execute("SELECT DISTINCT mmr_lambda, duplicate_at, mmr_lines FROM memoir.mode")
    assert stored.fetchall() == [
        (
            number(D0_SELECTION, "lambda = "),
            number(D0_SELECTION, "threshold = "),
            number(D0_SELECTION, "| top "),
        )
    ]


def test_every_mode_but_chat_shows_the_profile(tx):
    stored = dict(tx.execute("SELECT name, profile FROM memoir.mode").fetchall())
    assert stored == {"plan": True, "execute": True, "debug": True, "chat": False}


def test_priorities_order_preference_before_command_output_before_the_rest(tx):
    ordered = tx.execute("SELECT name FROM memoir.kind ORDER BY priority DESC, name LIMIT 3")
    assert [name for (name,) in ordered] == ["preference", "command_output", "capability"]


def test_the_default_arguments_of_recall_are_execute_and_800(tx):
    arguments = value(
        tx,
        "SELECT pg_get_function_arguments(oid) FROM pg_proc"
        " WHERE proname = 'memory_context' AND pronamespace = 'memoir'::regnamespace",
    )
    assert "mode text DEFAULT 'execute'::text, budget integer DEFAULT 800," in arguments
