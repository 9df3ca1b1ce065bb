"""The settings of a session are the caller's: nothing stored or returned depends on them.

What is compared is in the server's binary form: the text of a time or a number is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

# Ids are those of sequences that begin anew. Times and numbers have digits that a
# shorter form loses.
STORE = """
SELECT memoir.use_model('three', 3);
SELECT memoir.remember('gateway 3.14 fails', importance => 0.1 + 0.2::float8,
    embedding => '[1,2,3]', created_at => '2026-03-29 01:30:00.123456Z');
SELECT memoir.remember('Where did Ken go?', 'turn', session_id => 's', turn => 0,
    speaker => 'Mara', created_at => '2026-03-08 07:30:00.654321Z');
SELECT memoir.refresh_statistics();
SELECT memoir.remember('Ken went to the gateway in Oslo', 'fact', embedding => '[3,1,2]',
    created_at => '2026-03-09 07:30:00.1Z');
SELECT memoir.relate(1, 3, 'related', 1 / 3::float8);
SELECT memoir.update_memory(3, importance => 0.1 + 0.7::float8);
UPDATE memoir.memory SET recorded_at = created_at + interval '1 microsecond';
SELECT memoir.import_day_log('{"date": "2026-03-04", "entries": [
    {"time": "09:30:00", "type": "alert", "content": "gateway"}]}');
SELECT memoir.migrate_memory_md(E'# Preferences\\n- [2026-02-14] early trains\\n');
UPDATE memoir.mode SET when_boost = when_boost / 3;
UPDATE memoir.kind SET importance = importance / 3;
CREATE VIEW public."A Note" AS
    SELECT 7 AS id, 'the roof leaks' AS content, timestamptz '2026-03-01 00:00Z' AS created_at;
SELECT memoir.attach_source('notes', 'fact', 'public."A Note"', source_id => '{id}',
    user_id => 'bob');
SELECT memoir.pull_source('notes')
"""
ASK = """
SELECT (memoir.recall('[1,3,3]', mode, 800, 'When did Ken go to Oslo?')).block
FROM unnest('{execute,conversation,search}'::text[]) AS mode;
SELECT * FROM memoir.memory_explain('[1,3,3]', 'conversation', 800, 'When did Ken go to Oslo?');
SELECT * FROM memoir.memory_explain('[1,3,3]', 'search', 800, 'gateway', as_of => '2026-03-20Z');
SELECT * FROM memoir.search_memories('gateway', min_relevance_score => 0);
SELECT memoir.call_tool('related', '{"key": "1"}');
SELECT next FROM memoir.list_memories(page_size => 2);
SELECT next FROM memoir.sessions();
SELECT memoir.export_markdown(), memoir.export_memory_json(), memoir.export_day_log('2026-03-04');
SELECT memoir.tokens('running stories of foo_bar-1 认证');
SELECT * FROM memoir.purge(1, dry_run => true);
SELECT m.memory_id, m.content, m.importance, m.created_at, r.old_values -> 'importance'
FROM memoir.memory AS m LEFT JOIN memoir.revision AS r USING (user_id, memory_id) ORDER BY 1;
SELECT memory_id, terms::text, cost, asks FROM memoir.trace ORDER BY 1;
SELECT h.name, e.entry_id, e.written, e.digest
FROM memoir.file_head AS h, memoir.file_entry AS e ORDER BY 1, 2;
SELECT name, asks_feature, when_feature FROM memoir.mode ORDER BY 1;
SELECT s.name, s.mapping - 'time_zone', memoir._kind_importance(8) FROM memoir.source AS s;
SELECT memoir.forget(3);
SELECT * FROM memoir.undo(3);
SELECT * FROM memoir.maintain('default')
"""
SEQUENCES = """
SELECT oid::regclass::text FROM pg_class
WHERE relnamespace = 'memoir'::regnamespace AND relkind = 'S'
"""
STRANGE = """
SET LOCAL extra_float_digits = -15; SET LOCAL DateStyle = 'German'; SET LOCAL array_nulls = off;
SET LOCAL TimeZone = 'Asia/Kolkata'; SET LOCAL quote_all_identifiers = on;
SET LOCAL default_text_search_config = 'pg_catalog.german'; SET LOCAL search_path = '';
SET LOCAL transform_null_equals = on; SET LOCAL IntervalStyle = 'sql_standard'
"""

# Other plans, little memory, parallel workers in every statement.
PLANNED_OTHERWISE = """
SET LOCAL enable_seqscan = off; SET LOCAL enable_hashagg = off; SET LOCAL enable_hashjoin = off;
SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_material = off;
SET LOCAL enable_nestloop = off; SET LOCAL enable_memoize = off; SET LOCAL geqo_threshold = 2;
SET LOCAL join_collapse_limit = 1; SET LOCAL from_collapse_limit = 1;
SET LOCAL work_mem = '64kB'; SET LOCAL plan_cache_mode = force_generic_plan;
SET LOCAL hnsw.ef_search = 1; SET LOCAL hnsw.iterative_scan = 'off';
SET LOCAL row_security = off; SET LOCAL check_function_bodies = off;
SET LOCAL debug_parallel_query = regress; SET LOCAL constraint_exclusion = on;
SET LOCAL enable_partitionwise_aggregate = on; SET LOCAL default_statistics_target = 1;
SET LOCAL plpgsql.variable_conflict = 'error'; SET LOCAL plpgsql.extra_errors = 'all';
DISCARD PLANS
"""


@contextmanager
def taken_back(conn: psycopg.Connection) -> Iterator[None]:
    """A part of a transaction, in which ids begin with 1."""
    with conn.transaction(force_rollback=True):
        for (sequence,) in conn.execute(SEQUENCES).fetchall():
            conn.execute(f"ALTER SEQUENCE {sequence} RESTART")
        yield


def answers(conn: psycopg.Connection, settings: str = "") -> dict[str, list[Any]]:
    """What is said to each question under these settings, about what was stored under them."""
    with taken_back(conn):
        conn.execute(settings)
        for statement in STORE.split(";\n"):
            conn.execute(statement)
        cursor = conn.cursor(binary=True)
        return {ask: cursor.execute(ask).fetchall() for ask in ASK.split(";\n")}


@pytest.mark.parametrize("settings", [STRANGE, PLANNED_OTHERWISE], ids=["strange", "plans"])
def test_no_setting_of_a_session_changes_what_is_stored_or_returned(tx, settings):
    usual, told = answers(tx), answers(tx, settings)
    assert {ask: told[ask] for ask in told if told[ask] != usual[ask]} == {}
