"""A day of a coding agent, in the SQL a reader would type."""

from __future__ import annotations

import pytest
from tests.rows import value

LAST_MONTHS = """
SELECT memoir.remember('Rotate the signing keys of the login service', 'task',
                       created_at => now() - interval '30 days');
SELECT memoir.remember('Write the release notes', 'task',
                       created_at => now() - interval '2 days');
SELECT memoir.remember('Logins fail after a key rotation until the cache is flushed', 'learning',
                       summary => 'Flush the cache after a key rotation',
                       created_at => now() - interval '90 days');
SELECT memoir.remember('认证失败多半是令牌缓存没有刷新', 'learning',
                       created_at => now() - interval '10 days');
SELECT memoir.remember('Make logins reliable', 'okr',
    data => '{"title": "Login reliability 99.9 %", "status": "in_progress", "progress": 60}');
SELECT memoir.remember('Can read logs and restart services', 'capability');
"""
TODAY = """
SELECT memoir.event_add('task_failed', '{"task": "nightly login check", "error": "401"}',
                        created_at => now() - interval '1 hour');
SELECT memoir.event_add('alert', '{"service": "login", "rate": 0.4}',
                        created_at => now() - interval '40 hours');
"""
ASK = """
SELECT memoir.memory_context(NULL, %s, 800, 'Why do logins fail after the key rotation? 认证失败')
"""
EXECUTE_BLOCK = """\
## Current goals
- Login reliability 99.9 % (in_progress, 60%)
## Main capabilities
- Can read logs and restart services
## Learnings
- 认证失败多半是令牌缓存没有刷新
- Logins fail after a key rotation until the cache is flushed
## Recent events
- [task_failed] {"task": "nightly login check", "error": "401"}
## Tasks
- Rotate the signing keys of the login service
"""
EXPLAIN = """
SELECT kind, reason FROM memoir.memory_explain(
    mode => 'execute', query_text => 'Why do logins fail after the key rotation? 认证失败')
"""
WHAT_HELPED = """
WITH answer AS (SELECT * FROM memoir.recall(query_text => 'logins fail', mode => 'execute'))
SELECT memoir.mark_used(retrieval_id, memory_ids[1:1]) FROM answer
"""


@pytest.fixture
def day(tx):
    """The agent's database this morning."""
    tx.execute(LAST_MONTHS)
    tx.execute(TODAY)
    return tx


def test_it_does_a_task_with_what_it_learned(day):
    assert value(day, ASK, "execute") == EXECUTE_BLOCK


def test_it_debugs_with_three_days_of_events(day):
    block = value(day, ASK, "debug")
    assert "[task_failed]" in block
    assert '[alert] {"rate": 0.4, "service": "login"}' in block


def test_it_plans_with_its_goals_first(day):
    assert value(day, ASK, "plan").startswith("## Current goals\n- Login reliability 99.9 % (")


def test_it_chats_without_goals(day):
    block = value(day, ASK, "chat")
    assert "Login reliability" not in block
    assert "the cache is flushed" in block


def test_it_hears_why_a_line_is_not_there(day):
    assert sorted(day.execute(EXPLAIN).fetchall()) == [
        ("capability", "profile"),
        ("event", "in block"),
        ("learning", "in block"),
        ("learning", "in block"),
        ("okr", "profile"),
        ("task", "below threshold"),
        ("task", "in block"),
    ]


def test_it_says_what_helped_and_is_told_a_hit_rate(day):
    assert value(day, WHAT_HELPED) == 1
    assert value(day, "SELECT hit_rate FROM memoir.hit_rate WHERE mode = 'execute'") == 1


def test_it_remembers_only_once(day):
    before = value(day, "SELECT count(*) FROM memoir.memory")
    day.execute(LAST_MONTHS)
    assert value(day, "SELECT count(*) FROM memoir.memory") == before
