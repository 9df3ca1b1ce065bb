"""A plan that a connection made while there was hardly a memory serves it when there are many."""

from __future__ import annotations

from tests.rows import remember, remember_all, value


def scans(conn, index):
    """How often this session looked into an index, as far as it has not reported it yet."""
    return value(conn, "SELECT pg_stat_get_xact_numscans(%s::regclass)", f"memoir.{index}")


def test_a_foreign_key_first_checked_in_an_empty_table_is_checked_by_the_primary_key(tx):
    tx.execute("TRUNCATE memoir.memory CASCADE")
    tx.execute("DISCARD PLANS")
    by_time = scans(tx, "memory_created")
    remember(tx, "tea")
    by_key = scans(tx, "memory_pkey")
    remember_all(tx, [f"milk {n}" for n in range(20)])
    assert scans(tx, "memory_pkey") - by_key >= 20
    assert scans(tx, "memory_created") == by_time


def test_the_newest_memories_are_read_from_their_index(tx):
    tx.execute("TRUNCATE memoir.memory CASCADE")
    remember_all(tx, [f"milk {n}" for n in range(300)])
    tx.execute("ANALYZE memoir.memory")
    before = scans(tx, "memory_created")
    tx.execute("SELECT FROM memoir.list_memories(page_size => 5)")
    assert scans(tx, "memory_created") - before == 1
