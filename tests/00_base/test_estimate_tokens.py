"""The estimate of model tokens: .21 an ASCII character, more for signs, digits, other scripts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import share
from tests.rows import value

# Texts, and the o200k_base tokens that gpt-tokenizer 4.0.0 counts in them.
COUNTED = {
    "English": [
        (18, "Maria: I finally signed up for the pottery class on Tuesday, want to come along?"),
        (15, "The deploy failed twice: the connection pool was smaller than the worker count."),
        (16, "She prefers short answers, dislikes emoji, and reads mail only in the morning."),
        (13, "Wow, that's great! How did the kids like the museum?"),
        (14, "The pharmacist mispronounced chlorpheniramine throughout the teleconference."),
    ],
    "Chinese": [
        (14, "用户偏好简洁的回答，不喜欢表情符号。"),
        (19, "上周五部署失败，原因是数据库连接池太小，重启后恢复。"),
        (17, "重要：生产环境禁止直接修改表结构，必须走迁移脚本！"),
        (21, "项目代号“青鸟”，负责人李雷，预计 2026 年 3 月上线。"),
        (15, "记忆检索 → 重排 → 注入（预算 800）"),
    ],
    "Japanese and Korean": [
        (13, "ユーザーは朝にメールを読むのが好きです。"),
        (17, "データベースの接続に失敗しました。設定を確認してください。"),
        (12, "사용자는 짧은 답변을 선호합니다."),
    ],
    "European languages with accents": [
        (23, "Tomek: Brzmi świetnie, ale muszę pomóc siostrze przy przeprowadzce."),
        (24, "Včera jsem začala chodit na keramiku, moje první miska je úplně křivá."),
        (19, "Igår började jag på en keramikkurs, min första skål blev väldigt sned."),
        (17, "Dün seramik kursuna başladım, yaptığım kase biraz yamuk oldu."),
        (17, "Anna: Hast du am Wochenende schon etwas vor? Wir wollten in die Berge fahren."),
        (18, "Ayer empecé las clases de cerámica, me quedó una taza bastante torcida."),
    ],
    "traditional Chinese": [
        (23, "這個週末你們要做什麼？我們打算帶孩子去墾丁玩水。"),
        (16, "使用者喜歡簡短的回答，不喜歡表情符號。"),
        (20, "我家的貓又把花瓶打破了，真的拿牠沒辦法。"),
        (20, "我對花生過敏，點餐的時候請提醒我看一下成分。"),
    ],
    "code": [
        (22, "def recall(self, query: str | None = None, budget: int = 800) -> Recall:"),
        (18, "SELECT user_id, count(*) FROM trace WHERE active AND NOT wide GROUP BY 1;"),
        (19, "const tokenCount = countTokens(messages.map((m) => m.content).join('\\n'));"),
        (20, "if (!ctx->ready || ctx->nslots <= 0) { return -EINVAL; }"),
        (12, "| mode | threshold | lambda | `candidate_limit` |"),
        (18, "kubectl -n prod rollout restart deploy/api-gateway && kubectl get pods -w"),
    ],
    "JSON": [
        (35, '{"user_id": "u-1042", "kind": "preference", "weight": 0.8, "tags": ["ui", "tone"]}'),
        (25, '{"status":500,"error":"connection refused","host":"10.0.3.17","retries":3}'),
        (26, '[{"id":1,"name":"alpha","ok":true},{"id":2,"name":"beta","ok":null}]'),
    ],
    "addresses": [
        (21, "https://docs.example.org/v2/memory/search?user=1042&limit=20#results"),
        (30, "See /var/lib/postgresql/18/main/pg_wal and s3://backup-eu/2026/11/21/base.tar.gz"),
        (28, "ops+alerts@mail.example.com, 192.168.10.254:5432, E0425, ORA-00942"),
    ],
    "keys and numbers": [
        (37, "c2VjcmV0LWtleS1mb3ItdGVzdHMtb25seS1ub3QtcmVhbC1hdC1hbGw="),
        (40, "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAGXRFWHRTb2Z0d2FyZQ=="),
        (43, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        (18, "550e8400-e29b-41d4-a716-446655440000"),
        (19, "3.14159265358979323846264338327950288419716939937510"),
        (31, "1234567890 0987654321 13800138000 2026-11-21T06:15:00+08:00"),
    ],
    "emoji": [
        (12, "Done 🎉🎉 see you tomorrow 😀👍🏽"),
        (10, "❤️🔥🚀✅ 部署完成 ✨"),
    ],
}
LINES = [line for lines in COUNTED.values() for line in lines]
TEXT = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=80)


def estimate(conn, text):
    return value(conn, "SELECT memoir.estimate_tokens(%s)", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a" * 100, 21),
        ("!" * 100, 76),
        ("认" * 100, 88),
        ("认" * 50 + "a" * 50, 55),
        ("123", 3),
        ("1234567", 7),
        ("aBcDe", 5),
        ("😀", 3),
        ("ł", 3),
        ("這", 3),
    ],
)
def test_the_formula_gives_what_it_says(tx, text, expected):
    assert estimate(tx, text) == expected


def test_no_text_has_no_estimate(tx):
    assert estimate(tx, None) is None


@given(text=TEXT)
def test_a_text_costs_at_least_a_token_and_never_a_negative_number(tx, text):
    assert estimate(tx, text) >= min(1, len(text))


@given(one=TEXT, other=TEXT)
def test_two_lines_together_cost_no_more_than_each_alone(tx, one, other):
    together = estimate(tx, one + "\n" + other)
    assert together <= estimate(tx, one) + estimate(tx, "\n") + estimate(tx, other)


@given(line=TEXT)
def test_a_line_costs_what_it_does_in_the_block(tx, line):
    costs = "SELECT memoir._cost_of_line(%s), memoir._token_cost('- ' || %s || E'\\n')"
    of_line, in_block = tx.execute(costs, (line, line)).fetchone()
    assert of_line == in_block


def estimate_and_real(conn, lines):
    """Tokens of a block of these lines."""
    block = "\n".join(text for _, text in lines)
    return estimate(conn, block), sum(tokens for tokens, _ in lines)


@pytest.mark.parametrize("sort", list(COUNTED))
def test_a_block_of_one_sort_of_text_is_not_estimated_too_low(tx, sort):
    estimated, real = estimate_and_real(tx, COUNTED[sort])
    assert real <= estimated <= 1.5 * real


@pytest.mark.parametrize("seed", range(share(50)))
def test_a_block_of_any_twelve_lines_is_not_estimated_too_low(tx, seed):
    estimated, real = estimate_and_real(tx, random.Random(seed).sample(LINES, 12))
    assert real <= estimated <= 1.5 * real
