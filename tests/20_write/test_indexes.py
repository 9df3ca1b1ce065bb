"""A plan that a connection made while there was hardly a memory serves it when there are many."""

from __future__ import annotations

from tests.rows import remember, remember_all, value


def scans(conn, index):
    """How often this transaction looked into an index."""
    return value(conn, "SELECT pg_stat_get_xact_numscans(%s::regclass)", f"memoir.{index}")


def test_a_foreign_key_first_checked_in_an_empty_table_is_checked_by_the_primary_key(tx):
    tx.execute("TRUNCATE memoir.memory CASCADE")
    tx.execute("DISCARD PLANS")
    remember(tx, "tea")
    before = scans(tx, "memory_pkey")
    remember_all(tx, [f"milk {n}" for n in range(20)])
    assert scans(tx, "memory_pkey") - before >= 20
    assert scans(tx, "memory_created") == 0


def test_the_newest_memories_are_read_from_their_index(tx):
    tx.execute("TRUNCATE memoir.memory CASCADE")
    remember_all(tx, [f"milk {n}" for n in range(300)])
    tx.execute("ANALYZE memoir.memory")
    before = scans(tx, "memory_created")
    tx.execute("SELECT FROM memoir.list_memories(page_size => 5)")
    assert scans(tx, "memory_created") - before == 1
