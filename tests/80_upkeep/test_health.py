"""What health() finds wrong, check by check, and what it says to do."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.jobs import enqueue
from tests.rows import call, recall, remember, value

NAMES = [
    "server", "pgvector", "version", "roles", "security", "triggers", "settings", "memories",
    "jobs", "sources", "upkeep", "indexes", "bloat", "unlogged", "statistics", "partitions",
]  # fmt: skip

# As a dump writes, which brings what it has.
DUMPED = "SET LOCAL check_function_bodies = off; "


def health(conn: psycopg.Connection) -> dict[str, Any]:
    """The rows by name."""
    return {row.name: row for row in call(conn, "health")}


def test_a_new_installation_is_healthy_whatever_quotes_the_session_wants(tx):
    tx.execute("SET LOCAL quote_all_identifiers = on")
    tx.execute("CREATE TABLE public.orders (user_id text)")  # no table of memoir
    tx.execute("CREATE POLICY everything ON public.orders USING (true)")
    rows = health(tx)
    assert list(rows) == NAMES
    assert {row.status for row in rows.values()} == {"ok"}


@pytest.mark.parametrize(
    ("change", "name", "status", "said"),
    [
        (DUMPED + "UPDATE memoir.setting SET value = '2' WHERE name = 'lower_by'",
         "settings", "error", "out of range: lower_by = 2"),
        (DUMPED + "UPDATE memoir.setting SET value = '0' WHERE name = 'embed_batch'",
         "settings", "error", "out of range: embed_batch = 0"),
        (DUMPED + "UPDATE memoir.setting SET value = '\"on\"' WHERE name = 'notify'",
         "settings", "error", 'out of range: notify = "on"'),
        ("INSERT INTO memoir.setting VALUES ('nightly_job', '3', 'a typo')",
         "settings", "warning", "unknown: nightly_job"),
        ("DELETE FROM memoir.setting WHERE name IN ('notify', 'job_days')",
         "settings", "error", "missing: job_days, notify"),
        ("ALTER TABLE memoir.mode DISABLE TRIGGER ALL; UPDATE memoir.mode SET dimensions = 7",
         "settings", "error", "modes are for another model"),
        ("ALTER TABLE memoir.memory DISABLE ROW LEVEL SECURITY",
         "security", "error", "off, or another than ours, for memory"),
        ("CREATE TABLE memoir.notes (user_id text)",
         "security", "error", "off, or another than ours, for notes"),
        ("ALTER POLICY own_rows ON memoir.memory WITH CHECK (true)",
         "security", "error", "off, or another than ours, for memory"),
        ("ALTER VIEW memoir.outbox RESET (security_invoker);"
         " ALTER FUNCTION memoir.get_memory_detail SECURITY DEFINER",
         "security", "error", "passed over by function get_memory_detail, view outbox,"
         " with the rights of the owner"),
        ("ALTER FUNCTION memoir._own_words RESET search_path",
         "security", "error", "passed over by function _own_words, with the rights of the owner"),
        ("CREATE POLICY everything ON memoir.memory FOR SELECT USING (true)",
         "security", "warning", "on; others' policies add to it: everything ON memoir.memory"),
        ("ALTER POLICY all_rows ON memoir.trace TO memoir_admin, memoir_reader",
         "security", "warning", "on; others' policies add to it: all_rows ON memoir.trace"),
        ("INSERT INTO memoir.job (user_id, kind, payload, created_at, run_at)"
         " VALUES ('ada', 'reflect', '{}', '2099-01-01', '2099-01-01')",
         "jobs", "warning", "1 waiting, 0 dead, 1 written while the clock was ahead"),
        ("ALTER TABLE memoir.memory DISABLE TRIGGER ALL",
         "triggers", "error", "switched off on memory"),
        ("ALTER TABLE memoir.trace ENABLE REPLICA TRIGGER drop_statistics_on_delete",
         "triggers", "error", "switched off on trace"),
        ("ALTER TABLE memoir.query_expansion SET UNLOGGED",
         "unlogged", "warning", "query_expansion, retrieval, tool_call: a crash empties them"),
        ("INSERT INTO pg_inherits SELECT n, 'memoir.event'::regclass, 2, false"
         " FROM generate_series(1, 250) AS n",
         "partitions", "warning", "so many, with their indexes, that a recall holds 262 locks"),
        ("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'memoir.memory_pkey'::regclass",
         "indexes", "error", "invalid: memory_pkey"),
        ("DROP INDEX memoir.trace_scan",
         "bloat", "error", "trace_scan is missing: a recall reads the table"),
        ("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'",
         "pgvector", "error", "0.7.4 in schema public"),
        ("CREATE SCHEMA elsewhere; ALTER EXTENSION vector SET SCHEMA elsewhere; "
         "UPDATE pg_extension SET extversion = '0.9.1' WHERE extname = 'vector'",
         "pgvector", "error", "0.9.1 in schema elsewhere, which is not on the functions' path"),
        ("DROP EXTENSION vector CASCADE", "pgvector", "error",
         "dropped, and with it all columns and functions of its types"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_what_to_do(tx, change, name, status, said):
    tx.execute(change)
    row = health(tx)[name]
    assert (row.status, row.value) == (status, said)
    assert row.advice


def test_what_is_said_to_do_switches_security_on_again(tx):
    tx.execute("ALTER TABLE memoir.memory DISABLE ROW LEVEL SECURITY")
    tx.execute("DROP POLICY own_rows ON memoir.profile")
    tx.execute("ALTER POLICY own_rows ON memoir.trace USING (true)")
    before = health(tx)["security"]
    assert before.value == "off, or another than ours, for memory, profile, trace"
    tx.execute(before.advice.partition(": ")[2])
    assert health(tx)["security"].status == "ok"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("CREATE POLICY everything ON memoir.memory USING (true)", "security"),
        ("ALTER POLICY own_rows ON memoir.memory WITH CHECK (true)", "security"),
        (
            "ALTER VIEW memoir.outbox RESET (security_invoker);"
            " ALTER FUNCTION memoir.recall SECURITY DEFINER;"
            " ALTER FUNCTION memoir._own_words RESET search_path",
            "security",
        ),
        ("ALTER TABLE memoir.memory DISABLE TRIGGER ALL", "triggers"),
    ],
)
def test_what_it_advises_there_helps(tx, change, name):
    tx.execute(change)
    _, _, advised = health(tx)[name].advice.partition(": ")
    tx.execute(advised.partition(" then ")[0])
    assert health(tx)[name].status == "ok"


def test_what_it_advises_of_triggers_the_owner_of_the_table_may_do(tx):
    tx.execute("ALTER TABLE memoir.memory DISABLE TRIGGER USER")
    _, _, advised = health(tx)["triggers"].advice.partition(": ")
    tx.execute("CREATE ROLE keeper; GRANT ALL ON SCHEMA memoir TO keeper")
    tx.execute("ALTER TABLE memoir.memory OWNER TO keeper; SET LOCAL ROLE keeper")
    tx.execute(advised.partition(" then ")[0])  # TRIGGER ALL is for superusers
    tx.execute("RESET ROLE")
    assert health(tx)["triggers"].status == "ok"


def test_a_policy_that_narrows_is_no_trouble(tx):
    tx.execute("CREATE POLICY less ON memoir.memory AS RESTRICTIVE USING (user_id <> 'bob')")
    assert health(tx)["security"].status == "ok"


def test_the_statement_it_advises_for_stale_modes_helps(tx):
    tx.execute("ALTER TABLE memoir.mode DISABLE TRIGGER ALL")
    tx.execute("UPDATE memoir.mode SET dimensions = 7")
    tx.execute(health(tx)["settings"].advice)
    assert health(tx)["settings"].status == "ok"


@pytest.mark.parametrize(
    "lost",
    ["UPDATE memoir.embedding_model SET active = false", "DELETE FROM memoir.embedding_model"],
)
def test_the_statement_it_advises_without_an_active_model_helps(db, lost):
    remember(db, "tea", embedding="[1,0]")
    db.execute(lost)
    rows = health(db)
    assert rows["settings"].value == "no embedding model is active: nothing can be stored"
    assert rows["memories"].status == "ok"
    db.execute(rows["settings"].advice)
    remember(db, "coffee", embedding="[0,1]")
    assert {row.status for row in health(db).values()} == {"ok"}


def test_upkeep_may_be_two_days_ago(tx):
    recall(tx, "tea")
    tx.execute("UPDATE memoir.retrieval SET created_at = now() - interval '47 hours'")
    assert health(tx)["upkeep"].value == "nothing is overdue"


def test_work_that_waits_is_counted(tx):
    remember(tx, "tea")
    remember(tx, "coffee", embedding="[1,0,0]", user_id="bob")
    job = enqueue(tx, "rolling_summary")
    tx.execute("UPDATE memoir.job SET status = 'dead' WHERE job_id = %s", (job,))
    recall(tx, "tea")
    tx.execute("UPDATE memoir.retrieval SET created_at = now() - interval '5 days'")
    rows = health(tx)
    said = {name: (rows[name].status, rows[name].value) for name in ("memories", "jobs", "upkeep")}
    assert said == {
        "memories": ("warning", "2 active, 1 without a vector"),
        "jobs": ("warning", "1 waiting, 1 dead"),
        "upkeep": ("warning", "nobody has called maintain for 5 days"),
    }


def test_indexes_in_the_order_of_another_system_are_told(tx):
    tx.execute("UPDATE pg_database SET datcollversion = '1' WHERE datname = current_database()")
    row = health(tx)["server"]
    assert (row.status, "sorts text differently" in row.value) == ("warning", True)
    assert row.advice.startswith(f"REINDEX (CONCURRENTLY) DATABASE {tx.info.dbname};")


def test_memories_that_nothing_recalls_are_an_error(tx):
    gone = remember(tx, "tea")
    remember(tx, "coffee")
    tx.execute("DELETE FROM memoir.trace WHERE memory_id = %s", (gone,))
    row = health(tx)["memories"]
    assert (row.status, row.value) == ("error", "1 active, 1 without a vector, 1 without a trace")
    lines = [line for (line,) in tx.execute("SELECT memoir.export_user()")]
    call(tx, "purge_user", user_id="default")
    call(tx, "import_user", lines=lines)
    assert health(tx)["memories"].value == "2 active, 2 without a vector"


def test_a_source_with_mistakes_is_told(tx):
    tx.execute("CREATE TABLE public.notes (id int PRIMARY KEY, content text, user_id text)")
    tx.execute("SELECT memoir.attach_source('notes', 'fact', 'public.notes')")
    tx.execute("SELECT memoir.fill_source('notes')")
    assert health(tx)["sources"].value == "1 attached, rows not taken in: 0"
    tx.execute("INSERT INTO public.notes VALUES (1, 'tea', ' '), (2, 'tea', 'ada')")
    row = health(tx)["sources"]
    assert (row.status, row.value) == ("warning", "1 attached, rows not taken in: 1")


def test_an_index_without_statistics_has_its_size_all_the_same(db):
    remember(db, "green tea")
    db.execute("UPDATE pg_class SET reltuples = -1 WHERE oid = 'memoir.trace_scan'::regclass")
    size = value(db, "SELECT pg_size_pretty(pg_relation_size('memoir.trace_scan'))")
    assert health(db)["bloat"].value == f"trace_scan has {size}"


def test_a_half_empty_index_has_a_statement_that_helps(tx):
    tx.execute(
        "CREATE OR REPLACE FUNCTION memoir._is_bloated(bytes bigint, needed bigint) RETURNS boolean"
        " LANGUAGE sql IMMUTABLE RETURN true"
    )
    row = health(tx)["bloat"]
    assert (row.status, "REINDEX INDEX CONCURRENTLY memoir.trace_scan;" in row.advice) == (
        "warning", True)  # fmt: skip


@pytest.mark.parametrize(
    ("role", "hidden"),
    [
        ("memoir_reader", {"memories", "jobs", "sources", "upkeep", "indexes"}),
        ("memoir_agent", {"memories", "jobs", "sources", "upkeep", "indexes"}),
        ("memoir_worker", {"upkeep"}),
        ("memoir_admin", set()),
    ],
)
def test_every_role_is_told_what_it_does_not_see(tx, role, hidden):
    remember(tx, "tea", user_id="ada")
    tx.execute(f"SET LOCAL ROLE {role}")
    rows = health(tx)
    assert {name for name, row in rows.items() if row.status == "unseen"} == hidden
    assert "error" not in {row.status for row in rows.values()}
    sees = "one user at a time" if "memories" in hidden else "all users"
    assert rows["security"].value == f"on; {role} sees {sees}"


def test_some_of_the_roles_are_too_few(tx):
    tx.execute(
        "SELECT set_config('memoir.test', (to_regrole('memoir_reader') IS NULL)::text, true)"
    )
    if tx.execute("SELECT current_setting('memoir.test')").fetchone() == ("false",):
        tx.execute("ALTER ROLE memoir_reader RENAME TO memoir_reader_gone")
    else:
        tx.execute("CREATE ROLE memoir_agent")
    row = health(tx)["roles"]
    assert (row.status, row.value.startswith("missing: memoir_reader")) == ("warning", True)


def test_it_says_what_keeps_vacuum_from_helping(db, dsn):
    db.execute("CREATE TABLE mine (n int); INSERT INTO mine VALUES (1)")
    before = "SELECT memoir._holds_back_vacuum(now() - interval '%s')"
    with psycopg.connect(dsn) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM mine")
        assert value(db, before % "1 hour") is None
        said = value(db, before % "0")
        assert said.startswith(f"Process {other.info.backend_pid} has had a transaction open since")
        # A small queue under such a transaction: what died is counted, not only what lives.
        db.execute(
            "INSERT INTO memoir.job (user_id, kind, payload) SELECT 'ada', 'rolling_summary', '{}'"
            " FROM generate_series(1, 10001); DELETE FROM memoir.job"
        )
        db.execute("VACUUM ANALYZE memoir.job")
        db.execute(
            "INSERT INTO memoir.uncompared SELECT 'ada', n FROM generate_series(1, 10001) AS n"
        )
        db.execute("SELECT pg_stat_force_next_flush()")
        advice = "VACUUM (ANALYZE) memoir.uncompared, memoir.job;"
        assert health(db)["statistics"].advice == advice
    db.execute(health(db)["statistics"].advice)
    assert health(db)["statistics"].status == "ok"
