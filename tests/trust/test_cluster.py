"""Rules for a cluster of rows by user_id, in the catalogue and in the statements of functions.

Citus is not here: `citus.sql` stands for it, and refuses what its documentation says it refuses.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import psycopg
import pytest
from tests.rows import call, found, remember, set_to, value
from tests.trust.statements import Function, functions, uses

from pgmemoir import server

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/distribute.sql"
CITUS = Path(__file__).with_name("citus.sql").read_text(encoding="utf-8")
OWNED = """
SELECT c.oid FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p')
  AND a.attname = 'user_id'"""

# What looks at many users at once: maintenance, the queue, models, checks. It runs where it is
# called and is never handed to the node of one user.
OF_ALL_USERS = {
    "_embed_users", "_job_users", "_index_plan", "_uncounted", "_upkeep_plan", "_report_quality",
    "_relevances", "_users_with_memories", "_without_its_vector",
    "_without_trace", "_free_number", "_left_over_indexes", "_tend_indexes", "_compile_near_rows",
    "_compile_leading_rows", "_forget_own_indexes", "_index_health", "_work_health", "drop_model",
    "fill_model", "_delete_traces", "_add_partition", "memories_without_vector", "models",
    "switch_model",
}  # fmt: skip
# What is of an attached table: whose a row is stands in the row, and some belong to nobody known.
# Attached tables are on the coordinator.
OF_A_SOURCE = {
    "_adding_statement", "_check_gone", "_empty_again", "_leave_table", "_record_failure",
    "_rows_not_held", "_source_add_many",
    "_source_added", "_source_changed", "_source_emptied", "_source_event", "_source_event_gone",
    "_source_gone", "_source_take", "_source_users", "_take_together", "_tend_source",
    "_tend_sources", "_try_again", "_wait_for_writers", "_waits_no_longer", "_wanted_rows",
    "detach_source", "fill_source",
}  # fmt: skip
# What a private function for one user takes in place of user_id: a row of his.
ROWS_OF_A_USER = {"memoir.job", "memoir.memory", "memoir.import"}
# Each only spares work that is done twice, or orders those who write the same configuration.
ADVISORY_LOCKS = {
    "_compile_near_rows", "_count_words", "_lock_configuration", "_make_profile", "_may_build",
    "_waits_for_another"
}  # fmt: skip
# The door, what row-level security asks of the node it runs on, how many profiles were made, and
# whether rows of the application are locked.
ASKING_WHO = {
    "_make_profile", "_resolve_user", "_own_words", "_own_rows_rule", "_compile_near_rows",
    "_upkeep_step",
}  # fmt: skip
NOTIFYING = {"_notify", "enqueue"}
ASSIGNMENTS = re.compile(r"\bSET\b(.*?)(?:\bFROM\b|\bWHERE\b|\bRETURNING\b|$)", re.DOTALL)


@pytest.fixture(scope="module")
def tables(shared_connection: list[psycopg.Connection]) -> set[str]:
    """The tables with rows of users."""
    conn = shared_connection[0]
    names = {row[0] for row in conn.execute(f"SELECT oid::regclass::text FROM ({OWNED}) AS o")}
    conn.rollback()
    return {name.removeprefix("memoir.") for name in names}


@pytest.fixture(scope="module")
def bodies(shared_connection: list[psycopg.Connection]) -> list[Function]:
    found = functions(shared_connection[0])
    shared_connection[0].rollback()
    return found


def test_unique_keys_of_user_tables_lead_with_user_id(tx):
    bad = tx.execute(
        "SELECT i.indexrelid::regclass::text FROM pg_index AS i JOIN pg_attribute AS a"
        " ON a.attrelid = i.indrelid AND a.attname = 'user_id'"
        f" WHERE i.indrelid IN ({OWNED}) AND i.indisunique AND i.indkey[0] <> a.attnum"
    )
    assert bad.fetchall() == []


def test_foreign_keys_between_user_tables_begin_with_user_id(tx):
    bad = tx.execute(
        "SELECT c.conname FROM pg_constraint AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]"
        " JOIN pg_attribute AS b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]"
        f" WHERE c.contype = 'f' AND c.confrelid IN ({OWNED})"
        " AND (a.attname <> 'user_id' OR b.attname <> 'user_id')"
    )
    assert bad.fetchall() == []


def test_configuration_refers_to_no_rows_of_users(tx):
    bad = tx.execute(
        "SELECT conname FROM pg_constraint WHERE contype = 'f'"
        f" AND confrelid IN ({OWNED}) AND conrelid NOT IN ({OWNED})"
    )
    assert bad.fetchall() == []


def test_no_foreign_key_sets_null(tx):
    bad = tx.execute(
        "SELECT conname FROM pg_constraint WHERE connamespace = 'memoir'::regnamespace"
        " AND contype = 'f' AND (confdeltype IN ('n', 'd') OR confupdtype IN ('n', 'd'))"
    )
    assert bad.fetchall() == []


def test_no_sql_function_returns_rows_of_users(bodies, tables):
    sets = [f.name for f in bodies if f.language == "sql" and f.is_set and [*uses(f, tables)]]
    assert set(sets) - OF_ALL_USERS == set()


def test_private_functions_over_user_tables_take_the_user_first(bodies, tables):
    bad = {
        f.name
        for f in bodies
        if f.name.startswith("_") and f.arguments and [*uses(f, tables)]
        and f.arguments[0] not in ("user_id", "owner")
        and not {*f.types[:1]} & ROWS_OF_A_USER
    }  # fmt: skip
    # A key that is no id has no memory, what archived an import is a job of its user, and
    # _rights_due has a list named relation, of tables.
    others = {"_check_key", "_archived_by", "_import_user", "_rights_due"}
    assert bad - OF_ALL_USERS - OF_A_SOURCE - others == set()


def test_every_statement_filters_by_user_in_every_table(bodies, tables):
    bad = set()
    for function in bodies:
        for use in uses(function, tables):
            inserted = re.search(rf"\bINSERT INTO {use.table}\b[^;]*?\buser_id\b", use.statement)
            if not inserted and not re.search(
                rf"\b{use.alias}\.user_id\b|USING \(user_id", use.statement
            ):
                bad.add(function.name)
    # _rights_due has a list named relation, of tables.
    assert bad - OF_ALL_USERS - OF_A_SOURCE - {"_rights_due"} == set()


def test_a_claim_skips_locked_rows_of_one_user_alone(bodies):
    skipping = [s for f in bodies for s in f.statements if "SKIP LOCKED" in s]
    assert skipping
    assert [s for s in skipping if "user_id" not in s] == []


def test_no_volatile_function_in_what_is_assigned(tx, bodies):
    volatile = {
        name
        for (name,) in tx.execute(
            "SELECT proname FROM pg_proc WHERE provolatile = 'v'"
            " AND pronamespace IN ('memoir'::regnamespace, 'pg_catalog'::regnamespace)"
        )
    } - {"_check_time"}  # volatile for the planner alone: it returns what it is given
    bad = {
        (function.name, called)
        for function in bodies
        for statement in function.statements
        if "UPDATE" in statement
        for assigned in ASSIGNMENTS.findall(statement)
        for called in re.findall(r"\b(\w+)\(", assigned)
        if called in volatile
    }
    assert bad == set()


def test_triggers_of_user_tables_stay_with_their_user(tx, bodies):
    names = tx.execute(
        "SELECT DISTINCT p.proname FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid"
        f" WHERE t.tgrelid IN ({OWNED}) AND NOT t.tgisinternal"
    )
    triggers = {name for (name,) in names}
    assert triggers == {
        "_drop_statistics", "_import_ended", "_mention_changed", "_restore_profile"
    }  # fmt: skip
    for function in (f for f in bodies if f.name in triggers):
        assert "pg_notify" not in function.body
        assert re.search(r"(OLD|NEW|changed)\.(user_id|ann)", function.body)


def test_notifications_are_sent_by_two_functions(bodies):
    assert {f.name for f in bodies if "pg_notify" in f.body} == NOTIFYING


def test_advisory_locks_only_spare_work(bodies):
    assert {f.name for f in bodies if "advisory" in f.body} == ADVISORY_LOCKS


def test_whose_memory_it_is_is_asked_at_the_door(tx):
    asking = tx.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'memoir'::regnamespace"
        " AND coalesce(pg_get_function_sqlbody(oid), prosrc) ~ 'current_setting\\(''+memoir'"
    )
    assert {name for (name,) in asking} == ASKING_WHO


def distribute(pytestconfig: pytest.Config, dsn: str) -> str:
    """What the script says; it must end well."""
    psql = server.psql(pytestconfig.getoption("pg"))
    command = [psql, dsn, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode == 0 else f"failed: {done.stderr}"


def test_without_citus_the_script_changes_nothing(pytestconfig, db, dsn):
    before = catalogue(db)
    assert "Citus is not installed here" in distribute(pytestconfig, dsn)
    assert catalogue(db) == before


def catalogue(conn: psycopg.Connection) -> list[tuple[object, ...]]:
    query = Path(__file__).resolve().parents[1] / "install/snapshot.sql"
    return sorted(conn.execute(query.read_bytes()).fetchall())


def test_the_script_spreads_all_tables_and_run_again_nothing(pytestconfig, db, dsn):
    db.execute(CITUS)
    said = distribute(pytestconfig, dsn)
    assert "memoir.memory is distributed by user_id" in said
    rows = db.execute(
        "SELECT c.oid::regclass::text, p.partmethod::text, p.near::text FROM pg_class AS c"
        " LEFT JOIN pg_dist_partition AS p ON p.logicalrelid = c.oid"
        " WHERE c.relnamespace = 'memoir'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND NOT c.relispartition"
    ).fetchall()
    owned = {row[0] for row in db.execute(f"SELECT oid::regclass::text FROM ({OWNED}) AS o")}
    assert {name for name, method, _ in rows if method is None} == {"memoir.migration"}
    assert {(name, near) for name, method, near in rows if method == "h"} == {
        (name, "memoir.profile") for name in owned - {"memoir.event_default"}
    }
    assert "all tables were distributed already" in distribute(pytestconfig, dsn)


def test_private_functions_of_a_user_run_where_he_lives(pytestconfig, db, dsn):
    db.execute(CITUS)
    distribute(pytestconfig, dsn)
    rows = db.execute(
        "SELECT p.proname, d.argument, d.near::text, d.forced FROM pg_proc AS p"
        " LEFT JOIN distributed_function AS d ON d.signature = p.oid"
        " WHERE p.pronamespace = 'memoir'::regnamespace AND p.prorettype <> 'trigger'::regtype"
    ).fetchall()
    there = {name for name, *how in rows if how == ["user_id", "memoir.profile", True]}
    assert {"_recall", "_remember", "_revise", "_take_jobs"} <= there
    assert there & (OF_ALL_USERS | {"_notify", "recall", "_resolve_user"}) == set()


def test_memoir_works_when_it_is_distributed(pytestconfig, db, dsn):
    remember(db, "tea of ada", user_id="ada")
    db.execute(CITUS)
    distribute(pytestconfig, dsn)
    db.execute("UPDATE memoir.mode_weight SET weight = 0 WHERE mode = 'execute'")
    call(db, "compile_configuration")
    remember(db, "tea with milk", "task", user_id="ada")
    assert found(db, "tea", user_id="ada") == ["tea of ada"]
    assert value(db, "SELECT count(*) FROM memoir.retrieval WHERE user_id = 'ada'") == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("CREATE UNIQUE INDEX lone ON memoir.memory (memory_id)", "unique key memoir.lone"),
        ("ALTER TABLE memoir.access ADD CONSTRAINT bad FOREIGN KEY (user_id, memory_id)"
         " REFERENCES memoir.memory ON DELETE SET NULL (memory_id)", "foreign key bad sets"),
        ("CREATE TABLE memoir.x (user_id text, y int UNIQUE)", "unique key memoir.x_y_key"),
    ],
)  # fmt: skip
def test_what_citus_would_refuse_stops_the_script_and_leaves_nothing(
    pytestconfig, db, dsn, change, reason
):
    db.execute(CITUS)
    db.execute(change)
    assert reason in distribute(pytestconfig, dsn)
    assert value(db, "SELECT count(*) FROM pg_dist_partition") == 0


def test_what_triggers_keep_can_be_made_without_them(tx):
    before = tx.execute("SELECT * FROM memoir.mode ORDER BY name").fetchall()
    tx.execute("SET LOCAL session_replication_role = replica")
    tx.execute("UPDATE memoir.mode SET kind_weights = '{}', dimensions = 7")
    set_to(tx, text_limit=77)
    tx.execute("DELETE FROM memoir.expansion")
    call(tx, "compile_configuration")
    assert tx.execute("SELECT * FROM memoir.mode ORDER BY name").fetchall() == before
    assert value(tx, "SELECT memoir._text_limit()") == 77
    assert value(tx, "SELECT count(*) FROM memoir.expansion") > 1000
