"""hot_memories: what is recalled most often."""

from __future__ import annotations

from tests.rows import NOW, ago, remember

HOT = "SELECT place, content, access_count FROM memoir.hot_memories WHERE user_id = %s ORDER BY 1"


def recalled(conn, content, count, at=NOW, user="default"):
    """A memory that was recalled so often."""
    memory = remember(conn, content, user_id=user)
    row = (user, memory, count, at)
    conn.execute("INSERT INTO memoir.access VALUES (%s, %s, %s, %s)", row)
    return memory


def hot(conn, user="default"):
    """Place, content and count of the hot memories of a user."""
    return conn.execute(HOT, (user,)).fetchall()


def test_the_memory_recalled_most_is_the_hottest_of_equals_the_latest(tx):
    for content, count, days in (("tea", 2, 1), ("milk", 5, 9), ("coffee", 2, 0), ("water", 0, 0)):
        recalled(tx, content, count, ago(days=days))
    recalled(tx, "hers", 99, user="ada")
    assert hot(tx) == [(1, "milk", 5), (2, "coffee", 2), (3, "tea", 2)]
    assert hot(tx, "ada") == [(1, "hers", 99)]


def test_there_are_twenty_a_user(tx):
    for number in range(25):
        recalled(tx, f"tea {number}", number + 1)
    assert [count for _, _, count in hot(tx)] == list(range(25, 5, -1))


def test_a_memory_that_is_not_recalled_any_more_is_not_hot(tx):
    memory = recalled(tx, "tea", 5)
    tx.execute("UPDATE memoir.memory SET status = 'forgotten' WHERE memory_id = %s", (memory,))
    assert hot(tx) == []
