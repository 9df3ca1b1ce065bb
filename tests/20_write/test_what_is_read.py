"""A call about one memory reads the rows of that memory, however many the user has.

The plans are those the server makes without statistics, and with those of many users with hardly
a row each, where "user_id = ..." seems to find one row.
"""

from __future__ import annotations

import psycopg
import pytest
from tests.everything import READS, WRITES, make_world
from tests.file_database import file_database
from tests.rows import remember_all, rows_read

# What these are for is to read all that a user has, or all of one sort.
READ_ALL = {
    *("cache_stats", "contradictions", "entities", "evaluate", "evaluate_queries"),
    *("export_day_log", "export_markdown", "export_memory_json", "export_user", "health"),
    *("list_memories", "log_days", "memories_without_vector", "memory_context"),
    *("memory_explain", "memory_relevance", "memory_search", "models", "query_terms"),
    *("ready_users", "recall", "related", "replay", "search_memories", "stats"),
    *("suggest_weights", "summary", "vector_backlog"),
    *("add_model", "claim", "detach_source", "drop_model", "enqueue_nightly", "fill_model"),
    *("import_markdown", "import_memory_json", "import_user", "maintain", "migrate_memory_md"),
    *("purge", "purge_user", "refresh_statistics", "switch_model", "sync_markdown"),
}
OF_A_TEXT = """SELECT * FROM memoir.apply_decisions(
    '[{"action": "UPDATE", "memory_id": 3, "content": "lives in Bergen"}]')"""
OF_AN_END = """SELECT memoir.apply_decisions(
    '[{"action": "UPDATE", "memory_id": 2, "valid_until": "2999-01-01"}]');
SELECT memoir.remember('uses vi', 'preference', subject => 'user.editor')"""
CALLS = {
    **READS, **WRITES,
    "apply_decisions, another text": OF_A_TEXT, "remember, another end": OF_AN_END,
}  # fmt: skip
BOUNDED = [name for name in CALLS if name not in READ_ALL]
OF_ALL = ["claim", "entities", "fill_model", "memory_relevance"]

# Beside each memory one it is related to, a change, and an entity of its own.
HANGING = """
CREATE OR REPLACE TEMP VIEW later AS SELECT user_id, memory_id, content FROM memoir.memory
WHERE user_id = 'default' AND memory_id > 101
  AND memory_id NOT IN (SELECT memory_id FROM memoir.revision);
INSERT INTO memoir.relation (user_id, from_id, to_id, type)
SELECT user_id, memory_id, memory_id - 1, 'related' FROM later;
INSERT INTO memoir.revision (user_id, memory_id, action, author, change_id, run_id)
SELECT user_id, memory_id, 'LOWER', 'upkeep', memory_id,
       CASE WHEN memory_id < 110 THEN 1 END FROM later;
INSERT INTO memoir.entity (user_id, entity_id, name) SELECT * FROM later;
ALTER TABLE memoir.mention DISABLE TRIGGER mention_changed;
INSERT INTO memoir.mention SELECT user_id, memory_id, memory_id FROM later;
ALTER TABLE memoir.mention ENABLE TRIGGER mention_changed
"""
# What some memories of the world are, for each of 500 others.
OTHERS = """
SET session_replication_role = replica;
INSERT INTO memoir.memory
SELECT (jsonb_populate_record(m, jsonb_build_object('user_id', 'u' || u,
                                                    'memory_id', 1000 * u + m.memory_id))).*
FROM memoir.memory AS m, generate_series(1, 500) AS u WHERE m.memory_id IN (1, 3, 4);
INSERT INTO memoir.trace
SELECT (jsonb_populate_record(t, jsonb_build_object('user_id', 'u' || u,
                                                    'memory_id', 1000 * u + t.memory_id))).*
FROM memoir.trace AS t, generate_series(1, 500) AS u WHERE t.memory_id IN (1, 3, 4);
INSERT INTO memoir.keyword
SELECT (jsonb_populate_record(k, jsonb_build_object('user_id', 'u' || u,
                                                    'memory_id', 1000 * u + k.memory_id))).*
FROM memoir.keyword AS k, generate_series(1, 500) AS u WHERE k.memory_id IN (1, 3, 4);
INSERT INTO memoir.revision (user_id, revision_id, memory_id, action, author, change_id)
SELECT 'u' || u, 1000 * u, 1000 * u + 1, 'UPDATE', 'user', 1000 * u
FROM generate_series(1, 500) AS u;
INSERT INTO memoir.relation (user_id, from_id, to_id, type)
SELECT 'u' || u, 1000 * u + 3, 1000 * u + 4, 'related' FROM generate_series(1, 500) AS u;
INSERT INTO memoir.entity (user_id, entity_id, name)
SELECT 'u' || u, 1000 * u, 'Oslo' FROM generate_series(1, 500) AS u;
INSERT INTO memoir.mention
SELECT 'u' || u, 1000 * u, 1000 * u + 3 FROM generate_series(1, 500) AS u;
SET session_replication_role = origin;
ANALYZE
"""


def add_memories(conn: psycopg.Connection, first: int, last: int) -> None:
    """Store memories of the world's user with these ids."""
    conn.execute("SELECT setval('memoir.memory_memory_id_seq', %s, false)", [first])
    remember_all(conn, [f"note{n} of part{n % 50}" for n in range(first, last + 1)])
    conn.execute(HANGING)
    conn.execute("DISCARD PLANS")


def read_by(conn: psycopg.Connection, name: str, planned: str = "force_custom_plan") -> int:
    """How many rows a call reads, planned so."""
    with conn.transaction(force_rollback=True):
        conn.execute(f"SET LOCAL plan_cache_mode = {planned}")
        return rows_read(conn, CALLS[name])


def most_read(conn: psycopg.Connection, name: str) -> int:
    """How many rows a call reads at most, planned for its values or for any."""
    return max(read_by(conn, name), read_by(conn, name, "force_generic_plan"))


@pytest.fixture(scope="module", params=["", OTHERS], ids=["no_statistics", "a_row_a_user"])
def world(installed, request):
    """A user with 500 memories, and what each call read when he had 50."""
    with file_database(installed, "world") as conn:
        make_world(conn)
        conn.execute(request.param)
        add_memories(conn, 101, 150)
        read = {name: read_by(conn, name) for name in BOUNDED + OF_ALL}
        add_memories(conn, 151, 600)
        yield conn, read


@pytest.mark.parametrize("name", BOUNDED)
def test_what_a_call_reads_does_not_grow_with_the_users_memories(world, name):
    conn, read = world
    assert most_read(conn, name) < read[name] + 200


@pytest.mark.parametrize("name", OF_ALL)
def test_what_reads_all_memories_reads_them_a_number_of_times(world, name):
    conn, read = world
    assert most_read(conn, name) < 15 * read[name]


WORDS = """
INSERT INTO memoir.keyword (user_id, keyword, memory_id)
SELECT 'default', 'word' || n, 101 + n % 500 FROM generate_series(1, 20000) AS n
"""
CHANGED = """EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF)
SELECT memoir.update_memory(3, content => 'lives in Bergen')"""


def test_a_changed_text_does_not_read_all_keywords_of_the_user(world):
    conn, _ = world
    blocks = []
    with conn.transaction(force_rollback=True):
        for prepared in ("SELECT", WORDS):
            conn.execute(prepared)
            for _ in range(2):
                with conn.transaction(force_rollback=True):
                    text = conn.execute(CHANGED).fetchall()[1][0]
            blocks.append(int(text.split("hit=")[1].split()[0]))
    assert blocks[1] < blocks[0] + 50
