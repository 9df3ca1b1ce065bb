"""A call that is stopped halfway, by a timeout or a full disk, leaves nothing of itself."""

from __future__ import annotations

import json
from contextlib import suppress

import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Literal
from tests.everything import OTHERS, READS, WRITES, make_world, public_functions
from tests.rows import refused, set_to, value

CANCELLED, DISK_FULL = "57014", "53100"

# Raises from the n-th row on that is written, whoever writes it; a sequence counts: no rollback
# takes it back. What is caught on the way is told apart from what never came.
_TRAP = """
CREATE SEQUENCE public.written;
CREATE SEQUENCE public.raised;
CREATE FUNCTION public.trap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('public.written') >= current_setting('trap.at')::bigint THEN
        PERFORM nextval('public.raised');
        RAISE EXCEPTION 'stopped here' USING ERRCODE = current_setting('trap.code');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$
"""
_TABLES = """SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname"""


# Which rows are in the tables, in short: as a function it is planned once, not for every test.
_ROWS = """CREATE FUNCTION public.rows() RETURNS TABLE (name text, content text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$ BEGIN RETURN QUERY {}; END $$"""


def set_trap(conn):
    """Triggers on every table, which raise at the write that `spring` says."""
    conn.execute(_TRAP)
    trigger = SQL("""CREATE TRIGGER trap BEFORE INSERT OR UPDATE OR DELETE ON memoir.{}
        FOR EACH ROW EXECUTE FUNCTION public.trap()""")
    tables = [name for (name,) in conn.execute(_TABLES)]
    for table in tables:
        conn.execute(trigger.format(Identifier(table)))
    # A row that was written has another xmin, even if it says the same. To read all columns of the
    # 12,000 rows of synonyms takes twenty times as long.
    of_one = SQL("SELECT {}, concat_ws(' ', count(*), sum(hashtextextended(t.xmin::text, 0)))"
                 " FROM memoir.{} AS t")  # fmt: skip
    whole = SQL(" UNION ALL ").join(of_one.format(name, Identifier(name)) for name in tables)
    conn.execute(SQL(_ROWS).format(whole))


def rows(conn):
    """Which rows are in the tables, in short."""
    return dict(conn.execute("SELECT * FROM public.rows()").fetchall())


def spring(conn, at, code):
    conn.execute("SELECT setval('public.written', 1, false), setval('public.raised', 1, false)")
    conn.execute(SQL("SET trap.at = {}; SET trap.code = {}").format(str(at), Literal(code)))


def stopped(conn, statement, at, code):
    """Whether the call was stopped at that write; it is rolled back where it was not."""
    spring(conn, at, code)
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(statement)
    except psycopg.Error as error:
        said = error
    else:
        assert not value(conn, "SELECT is_called FROM public.raised"), "the error was swallowed"
        return False
    assert (said.sqlstate, "stopped here" in str(said)) == (code, True)
    return True


@pytest.fixture(scope="module")
def trapped(world):
    set_trap(world)
    return world


@pytest.fixture(scope="module")
def before(trapped):
    """What is in the tables before and after every test of this world."""
    return rows(trapped)


# WHEN OTHERS catches a full disk, but no cancelled call: that one need not come at every write.
EVERY = {CANCELLED: 16, DISK_FULL: 1}


def test_every_public_function_is_in_the_list(tx):
    assert public_functions(tx) == {*READS, *WRITES, *OTHERS}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("code", [CANCELLED, DISK_FULL], ids=["timeout", "disk full"])
def test_a_call_stopped_at_any_write_says_so_and_leaves_nothing(trapped, before, name, code):
    at = 1
    while stopped(trapped, WRITES[name], at, code):
        at += EVERY[code]
    assert at > 1
    assert rows(trapped) == before


@pytest.mark.parametrize("name", READS)
def test_a_reader_writes_nothing_but_the_log(trapped, before, name):
    with trapped.transaction(force_rollback=True):
        trapped.execute("SET LOCAL trap.at = 1000000000")
        trapped.execute(READS[name])
        trapped.execute("SET CONSTRAINTS ALL IMMEDIATE")
        after = rows(trapped)
    changed = {table for table in before if after[table] != before[table]}
    assert changed <= {"retrieval", "tool_call"}


def test_a_load_that_takes_too_long_is_not_half_there(tx):
    memories = json.dumps([{"content": f"number {n} is a number"} for n in range(2000)])
    tx.execute("""CREATE FUNCTION pg_temp.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_sleep(60) WHERE NEW.content LIKE 'number 1000 %'; RETURN NEW; END $$""")
    tx.execute("""CREATE TRIGGER wait BEFORE INSERT ON memoir.memory
        FOR EACH ROW EXECUTE FUNCTION pg_temp.wait()""")
    tx.execute("SET LOCAL statement_timeout = '100ms'")
    said = refused(tx, "remember_many", memories=memories)
    tx.execute("SET LOCAL statement_timeout = 0")
    assert said.sqlstate == CANCELLED
    assert value(tx, "SELECT count(*) FROM memoir.memory") == 0


# What upkeep leaves, but for ids and times.
_LEFT = """SELECT 'memory', memory_id::text, status || importance::text FROM memoir.memory
UNION ALL SELECT 'access', memory_id::text, count::text FROM memoir.access
UNION ALL SELECT 'recall', retrieval_id::text, counted::text FROM memoir.retrieval
UNION ALL SELECT 'tool', tool_call_id::text, counted::text FROM memoir.tool_call
UNION ALL SELECT 'event', type, count(*)::text FROM memoir.event GROUP BY type
UNION ALL SELECT 'job', kind || user_id, count(*)::text || status FROM memoir.job
          GROUP BY kind, user_id, status
UNION ALL SELECT 'words', user_id || term, df::text FROM memoir.term"""


def left(conn):
    return sorted(conn.execute(_LEFT).fetchall())


@pytest.mark.parametrize("code", [CANCELLED, DISK_FULL], ids=["timeout", "disk full"])
def test_upkeep_stopped_between_any_two_commits_goes_on_from_there(db, code):
    make_world(db)
    set_to(db, maintain_batch=1)
    for _ in range(3):
        db.execute(READS["recall"])
    db.execute("UPDATE memoir.retrieval SET created_at = now() - interval '10 days' WHERE"
               " retrieval_id < 3")  # fmt: skip
    with db.transaction(force_rollback=True):
        db.execute("SELECT memoir.maintain()")
        whole = left(db)
    set_trap(db)
    stops = 0
    while upkeep_stopped(db, stops + 1, code):
        stops += 1
    assert stops > 20
    assert left(db) == whole


def upkeep_stopped(conn, at, code):
    spring(conn, at, code)
    with suppress(psycopg.Error):
        conn.execute("CALL memoir.maintain_all()")
        return False
    return True
