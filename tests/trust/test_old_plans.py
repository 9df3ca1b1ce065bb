"""A connection that was there when the tables were small: its plans, and many rows since."""

from __future__ import annotations

from tests.everything import READS, make_world
from tests.rows import store, value

ROWS = 300
READ = """SELECT coalesce(sum(seq_tup_read), 0)::int FROM pg_stat_xact_user_tables
          WHERE schemaname = 'memoir'"""


def test_no_function_reads_a_table_again_for_every_row(db):
    # The best plan for few rows, which a connection keeps until the table is analyzed.
    make_world(db)
    db.execute("ANALYZE")
    db.execute("SET plan_cache_mode = force_generic_plan")
    for statement in READS.values():
        db.execute(statement)
    read = {}
    with db.transaction():
        store(db, ({"content": f"note {n} of the house"} for n in range(ROWS)))
        logged = "SELECT memoir.recall(query_text => 'note ' || n) FROM generate_series(1, 20) AS n"
        db.execute(logged)
        for name, statement in READS.items():
            before = value(db, READ)
            db.execute(statement)
            read[name] = value(db, READ) - before
    assert {name: rows for name, rows in read.items() if rows > 100 * ROWS} == {}
