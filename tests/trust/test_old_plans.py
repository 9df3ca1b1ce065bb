"""A connection that was there when the tables were small: its plans, and many rows since."""

from __future__ import annotations

import psycopg
import pytest
from tests.databases import database
from tests.everything import READS, make_world
from tests.rows import call, remember, store, value

ROWS = 100
READ = """SELECT coalesce(sum(seq_tup_read), 0)::int FROM pg_stat_xact_user_tables
          WHERE schemaname = 'memoir'"""


def plan_for_few(conn):
    """The best plans for few rows, which a connection keeps until the tables are analyzed."""
    tables = """SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
                WHERE relkind = 'r' AND relnamespace = 'memoir'::regnamespace"""
    conn.execute(f"ANALYZE {value(conn, tables)}; SET plan_cache_mode = force_generic_plan")


@pytest.fixture(scope="module")
def small(installed):
    """The name of a database with few rows."""
    with database(installed, "small") as address:
        with psycopg.connect(**address, autocommit=True) as conn:
            make_world(conn)
            plan_for_few(conn)
        yield "small"


@pytest.fixture
def world(installed, small):
    """A connection to a copy of it, whose plans are kept."""
    kept = "-c plan_cache_mode=force_generic_plan"
    with (
        database(installed, "grown", of=small) as address,
        psycopg.connect(**address, options=kept, autocommit=True) as conn,
    ):
        yield conn


def test_no_function_reads_a_table_again_for_every_row(world):
    for statement in READS.values():
        world.execute(statement)
    read = {}
    with world.transaction():
        store(world, ({"content": f"note {n} of the house"} for n in range(300)))
        logged = "SELECT memoir.recall(query_text => 'note ' || n) FROM generate_series(1, 20) AS n"
        world.execute(logged)
        for name, statement in READS.items():
            before = value(world, READ)
            world.execute(statement)
            read[name] = value(world, READ) - before
    # 300 rows read for each of them are 90,000.
    assert {name: rows for name, rows in read.items() if rows > 30_000} == {}


SCANS = "SELECT sum(seq_scan)::int FROM pg_stat_xact_user_tables WHERE schemaname = 'memoir'"


@pytest.mark.parametrize("deletes", ["purge", "purge_user", "detach_source"])
def test_what_hangs_on_a_memory_is_found_by_index_when_a_user_is_purged(db, deletes):
    db.execute("CREATE TABLE thing (id int PRIMARY KEY, content text, user_id text)")
    call(db, "attach_source", name="n", kind="fact", relation="thing")
    call(db, "fill_source", name="n")
    plan_for_few(db)
    db.execute("INSERT INTO thing VALUES (1, 'tea', 'ada')")
    first = remember(db, "tea", user_id="ada")
    {
        "purge": lambda: call(db, "purge", memory_id=first, user_id="ada"),
        "purge_user": lambda: call(db, "purge_user", user_id="ada"),
        "detach_source": lambda: call(db, "detach_source", name="n", memories="purge"),
    }[deletes]()
    store(db, ({"content": f"note {n} of the house"} for n in range(ROWS)), "bob")
    with db.transaction():
        before = value(db, SCANS)
        call(db, "purge_user", user_id="bob")
        assert value(db, SCANS) - before < ROWS


@pytest.mark.parametrize(
    "first",
    [
        "set_keywords(3, '{norway}')",
        "relate(3, 4, 'related')",
        "supersede(3, 4)",
        "mention(3, 'Bergen')",
    ],
)
def test_what_a_row_hangs_on_is_found_by_index_when_many_are_stored(world, first):
    world.execute(f"SELECT memoir.{first}")
    given = {"keywords": ["house"], "sources": [5]}
    with world.transaction():
        before = value(world, f"{SCANS} AND relname = 'memory'")
        ids = store(world, ({"content": f"note {n} of the house", **given} for n in range(ROWS)))
        world.execute(
            "SELECT memoir.mention(id, 'Ada') FROM unnest(%s::bigint[]) AS id", (ids[:40],)
        )
        assert value(world, f"{SCANS} AND relname = 'memory'") - before < 40
