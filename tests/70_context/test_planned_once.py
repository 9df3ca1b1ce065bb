"""What is asked again and again on a connection is planned there once."""

from __future__ import annotations

import psycopg
import pytest
from tests.rows import remember_all


@pytest.mark.parametrize(
    ("asked", "of"),
    [
        ("memoir.search_memories('tea')", "memoir._scored"),
        ("memoir.memory_search('tea')", "memoir._scored"),
        ("memoir.memory_explain(query_text => 'tea')", "memoir._scored"),
        ("memoir.embedding_text('green tea')", "memoir.query_terms"),
        ("memoir.related((SELECT min(memory_id) FROM memoir.memory))", "memoir.related"),
    ],
)
def test_no_plan_is_made_for_the_arguments_of_a_call(db, dsn, asked, of):
    remember_all(db, ["green tea", "black tea", "coffee"])
    db.execute("SELECT memoir.refresh_statistics('default')")
    with psycopg.connect(dsn, autocommit=True) as fresh:
        fresh.execute(f"SELECT count(*) FROM {asked}")
        kept = fresh.execute(
            "SELECT FROM pg_backend_memory_contexts AS c, pg_proc AS p"
            " WHERE c.name = 'CachedPlan' AND p.proname = split_part(%s, '.', 2)"
            " AND length(c.ident) > 300 AND position(left(c.ident, 300) IN p.prosrc) > 0",
            (of,),
        ).fetchall()
    assert kept
